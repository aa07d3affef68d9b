package format

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

const bom = "\ufeff"

// A source is a file's text, and what of its form must be kept: the byte order
// mark and each line's own ending.
type source struct {
	bom   bool
	raw   []string // lines with the endings they have
	lines []string // the same, every ending a "\n"
	eol   string   // the ending that most lines have
}

func read(data []byte) source {
	text, found := strings.CutPrefix(string(data), bom)
	s := source{bom: found, lines: split(text), eol: "\n"}
	s.raw = strings.SplitAfter(text, "\n")[:len(s.lines)]
	if 2*strings.Count(text, "\r\n") > strings.Count(text, "\n") {
		s.eol = "\r\n"
	}
	return s
}

// text is what a formatter is given.
func (s source) text() string { return strings.Join(s.lines, "") }

// apply puts the spans of formatted in place of those of the source. All other
// lines keep their bytes.
func (s source) apply(ss []span, formatted []string) []byte {
	var b bytes.Buffer
	if s.bom {
		b.WriteString(bom)
	}
	i := 0
	for _, sp := range ss {
		for ; i < sp.a0; i++ {
			b.WriteString(s.raw[i])
		}
		for _, l := range formatted[sp.b0:sp.b1] {
			body, ended := strings.CutSuffix(l, "\n")
			b.WriteString(body)
			if ended {
				b.WriteString(s.eol)
			}
		}
		i = sp.a1
	}
	for ; i < len(s.raw); i++ {
		b.WriteString(s.raw[i])
	}
	return b.Bytes()
}

// sane says why out can't be in's formatted text; "" if it can. A formatter
// changes layout: whoever loses words has lost the program.
func sane(in, out string) string {
	const slack = 1 << 10
	switch {
	case strings.TrimSpace(out) == "" && strings.TrimSpace(in) != "":
		return "it printed nothing"
	case utf8.ValidString(in) && !utf8.ValidString(out):
		return "what it printed is not UTF-8"
	case len(out) > 4*len(in)+slack || 4*len(out)+slack < len(in):
		return "what it printed is of a quite different size"
	}
	want := words(in)
	lost, all := 0, 0
	for w, n := range words(out) {
		want[w] -= n
	}
	for _, n := range want {
		lost += max(n, 0)
	}
	for _, n := range words(in) {
		all += n
	}
	if lost > all/5 {
		return "what it printed lacks a part of the text"
	}
	return ""
}

// words counts the words of two letters and more, whatever their case.
func words(text string) map[string]int {
	m := map[string]int{}
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if len(w) > 1 {
			m[strings.ToLower(w)]++
		}
	}
	return m
}

// generated reports whether a program wrote the text and will write it again.
func generated(text []byte) bool {
	head := text[:min(len(text), 2<<10)]
	return bytes.Contains(head, []byte("@generated")) ||
		bytes.Contains(head, []byte("Code generated ")) && bytes.Contains(head, []byte("DO NOT EDIT"))
}
