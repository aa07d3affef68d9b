package pdftext

import (
	"bytes"
	"strconv"
	"strings"
)

const maxNesting = 60

// A lexer reads the syntax that objects and content streams share.
type lexer struct {
	b  []byte
	at int
}

func (l *lexer) done() bool { return l.at >= len(l.b) }

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

func isDelimiter(c byte) bool { return strings.IndexByte("()<>[]{}/%", c) >= 0 }

func (l *lexer) space() {
	for !l.done() {
		switch c := l.b[l.at]; {
		case isSpace(c):
			l.at++
		case c == '%':
			for !l.done() && l.b[l.at] != '\n' && l.b[l.at] != '\r' {
				l.at++
			}
		default:
			return
		}
	}
}

// value reads the next value; an operator or a stray delimiter is an op, the
// end is nil.
func (l *lexer) value(depth int) any {
	l.space()
	if l.done() || depth > maxNesting {
		l.at = len(l.b)
		return nil
	}
	switch c := l.b[l.at]; c {
	case '/':
		l.at++
		return name(l.name())
	case '(':
		return l.literal()
	case '[':
		l.at++
		return l.array(depth)
	case '<':
		if l.at+1 < len(l.b) && l.b[l.at+1] == '<' {
			l.at += 2
			return l.dict(depth)
		}
		return l.hex()
	case ']', '>', '{', '}', ')':
		l.at++
		if c == '>' && !l.done() && l.b[l.at] == '>' {
			l.at++
			return op(">>")
		}
		return op(string(c))
	}
	return l.word()
}

func (l *lexer) token() string {
	start := l.at
	for !l.done() && !isSpace(l.b[l.at]) && !isDelimiter(l.b[l.at]) {
		l.at++
	}
	return string(l.b[start:l.at])
}

func (l *lexer) name() string {
	s := l.token()
	if !strings.Contains(s, "#") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '#' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// word reads a number, a reference, a constant or an operator.
func (l *lexer) word() any {
	s := l.token()
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || strings.ContainsAny(s, "nNxXpP_") {
		switch s {
		case "true":
			return true
		case "false":
			return false
		case "":
			l.at++
		}
		return op(s)
	}
	if n == float64(int(n)) && n >= 0 && n < 1<<28 {
		if r, ok := l.reference(int(n)); ok {
			return r
		}
	}
	return n
}

// reference reads the rest of "12 0 R".
func (l *lexer) reference(n int) (ref, bool) {
	rest := l.b[l.at:min(len(l.b), l.at+16)]
	t := bytes.TrimLeft(rest, " \r\n\t")
	digits := len(t) - len(bytes.TrimLeft(t, "0123456789"))
	if digits == 0 || len(t) == len(rest) {
		return 0, false
	}
	u := bytes.TrimLeft(t[digits:], " \r\n\t")
	if len(u) == len(t[digits:]) || len(u) == 0 || u[0] != 'R' || len(u) > 1 && !isSpace(u[1]) && !isDelimiter(u[1]) {
		return 0, false
	}
	l.at += len(rest) - len(u) + 1
	return ref(n), true
}

func (l *lexer) array(depth int) array {
	a := array{}
	for !l.done() {
		v := l.value(depth + 1)
		if v == op("]") || v == nil {
			break
		}
		if o, ok := v.(op); ok && (o == "endobj" || o == ">>") {
			break
		}
		a = append(a, v)
	}
	return a
}

func (l *lexer) dict(depth int) dict {
	d := dict{}
	for !l.done() {
		k := l.value(depth + 1)
		if k == op(">>") || k == nil || k == op("endobj") {
			break
		}
		key, ok := k.(name)
		if !ok {
			continue
		}
		v := l.value(depth + 1)
		if v == op(">>") {
			break
		}
		d[key] = v
	}
	return d
}

func (l *lexer) hex() str {
	l.at++
	end := bytes.IndexByte(l.b[l.at:], '>')
	if end < 0 {
		end = len(l.b) - l.at
	}
	s := unhex(l.b[l.at : l.at+end])
	l.at = min(len(l.b), l.at+end+1)
	return str(s)
}

func unhex(in []byte) []byte {
	out := make([]byte, 0, len(in)/2)
	high, half := byte(0), false
	for _, c := range in {
		n, err := strconv.ParseUint(string(c), 16, 8)
		if err != nil {
			continue
		}
		if half {
			out = append(out, high<<4|byte(n))
		} else {
			high = byte(n)
		}
		half = !half
	}
	if half {
		out = append(out, high<<4)
	}
	return out
}

// literal reads a string in parentheses.
func (l *lexer) literal() str {
	var b []byte
	depth := 0
	for ; !l.done(); l.at++ {
		c := l.b[l.at]
		switch c {
		case '(':
			if depth++; depth == 1 {
				continue
			}
		case ')':
			if depth--; depth == 0 {
				l.at++
				return str(b)
			}
		case '\\':
			b = l.escape(b)
			continue
		}
		b = append(b, c)
	}
	return str(b)
}

func (l *lexer) escape(b []byte) []byte {
	if l.at+1 == len(l.b) { // nothing is left to escape
		return b
	}
	l.at++
	c := l.b[l.at]
	if i := strings.IndexByte("nrtbf", c); i >= 0 {
		return append(b, "\n\r\t\b\f"[i])
	}
	switch {
	case c == '\r':
		if l.at+1 < len(l.b) && l.b[l.at+1] == '\n' {
			l.at++
		}
		return b
	case c == '\n':
		return b
	case c >= '0' && c <= '7':
		n := 0
		for i := 0; i < 3 && !l.done() && l.b[l.at] >= '0' && l.b[l.at] <= '7'; i++ {
			n = n*8 + int(l.b[l.at]-'0')
			l.at++
		}
		l.at--
		return append(b, byte(n))
	}
	return append(b, c)
}
