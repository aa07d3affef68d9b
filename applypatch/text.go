package applypatch

import (
	"bytes"
	"unicode/utf8"
)

const utf8BOM = "\ufeff"

// text is a file's content seen as lines. The line table is made on first use:
// an exact patch of a big file never needs it.
type text struct {
	b      []byte // without the byte order mark
	bom    bool
	sep    byte    // '\n', or '\r' in a file that has only those
	starts []int32 // where each line starts, then len(b)
	valid  int8    // is it UTF-8? 0 not known yet, 1 yes, -1 no
}

func newText(b []byte) *text {
	t := &text{b: b, sep: '\n'}
	if bytes.HasPrefix(b, []byte(utf8BOM)) {
		t.b, t.bom = b[len(utf8BOM):], true
	}
	if bytes.IndexByte(t.b, '\n') < 0 && bytes.IndexByte(t.b, '\r') >= 0 {
		t.sep = '\r'
	}
	return t
}

func (t *text) utf8() bool {
	if t.valid == 0 {
		t.valid = -1
		if utf8.Valid(t.b) {
			t.valid = 1
		}
	}
	return t.valid > 0
}

// binary reports whether the file is better not edited by lines: it has a NUL
// near its start (as UTF-16 text has) or a UTF-16 byte order mark.
func binary(b []byte) bool {
	return bytes.HasPrefix(b, []byte("\xff\xfe")) || bytes.HasPrefix(b, []byte("\xfe\xff")) ||
		bytes.IndexByte(b[:min(len(b), 8<<10)], 0) >= 0
}

func (t *text) table() []int32 {
	if t.starts != nil {
		return t.starts
	}
	s := make([]int32, 1, bytes.Count(t.b, []byte{t.sep})+2)
	for i := 0; ; {
		j := bytes.IndexByte(t.b[i:], t.sep)
		if j < 0 {
			break
		}
		i += j + 1
		s = append(s, int32(i))
	}
	if int(s[len(s)-1]) < len(t.b) {
		s = append(s, int32(len(t.b)))
	}
	t.starts = s
	return s
}

// lines is the number of lines; a last line needs no terminator to count.
func (t *text) lines() int { return len(t.table()) - 1 }

// offset is where line i starts; i may be lines().
func (t *text) offset(i int) int { return int(t.table()[i]) }

// line returns line i without its terminator.
func (t *text) line(i int) []byte {
	b := t.b[t.offset(i):t.offset(i+1)]
	return b[:len(b)-len(t.terminator(b))]
}

// eol returns the terminator of line i: "\n", "\r\n", "\r" or "".
func (t *text) eol(i int) string { return t.terminator(t.b[t.offset(i):t.offset(i+1)]) }

func (t *text) terminator(line []byte) string {
	n := len(line)
	switch {
	case n == 0 || line[n-1] != t.sep:
		return ""
	case t.sep == '\r':
		return "\r"
	case n > 1 && line[n-2] == '\r':
		return "\r\n"
	}
	return "\n"
}

// firstEOL is the terminator of the first line that has one, "\n" if none has.
func (t *text) firstEOL() string {
	i := bytes.IndexByte(t.b, t.sep)
	if i < 0 {
		return "\n"
	}
	return t.terminator(t.b[:i+1])
}

// eolKind names the line endings in use: "lf", "crlf", "cr", "mixed", or "none".
func (t *text) eolKind() string {
	lf := bytes.Count(t.b, []byte{'\n'})
	crlf := bytes.Count(t.b, []byte("\r\n"))
	switch {
	case t.sep == '\r':
		return "cr"
	case lf == 0:
		return "none"
	case crlf == 0:
		return "lf"
	case crlf == lf:
		return "crlf"
	}
	return "mixed"
}
