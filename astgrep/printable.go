package astgrep

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// printable returns s with everything escaped that could move a cursor, hide
// text or break a line. A tab stays.
func printable(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if shows(r) && (r != utf8.RuneError || n > 1) {
			b.WriteString(s[i : i+n])
		} else {
			q := strconv.QuoteToASCII(s[i : i+n])
			b.WriteString(q[1 : len(q)-1])
		}
		i += n
	}
	return b.String()
}

func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' && s[i] != '\t' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

func shows(r rune) bool {
	return r == '\t' || r >= ' ' && r < 0x7f || r > 0xa0 && !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co)
}

func quote(s string) string { return `"` + brief(s, 200) + `"` }

// brief returns s on one line, its first most characters if it has more.
func brief(s string, most int) string {
	cut := false
	n := 0
	for i := range s {
		if n++; n > most {
			s, cut = s[:i], true
			break
		}
	}
	s = printable(s)
	if cut {
		s += "..."
	}
	return s
}

func plural(n int, noun string) string {
	text := thousands(n) + " " + noun
	switch {
	case n == 1:
		return text
	case strings.HasSuffix(noun, "ch"):
		return text + "es"
	}
	return text + "s"
}

func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
