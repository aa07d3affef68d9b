package search

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable returns s with everything escaped that could move a cursor, hide
// text or break a line: control and format characters and bytes that aren't
// UTF-8. A tab stays.
func Printable(s string) string {
	if clean(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteString(`\x` + hex2(s[i]))
		case shows(r):
			b.WriteRune(r)
		default:
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		}
		i += n
	}
	return b.String()
}

func clean(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' && s[i] != '\t' || s[i] >= 0x7f {
			return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !shows(r) }) < 0
		}
	}
	return true
}

func shows(r rune) bool {
	return r == '\t' || r >= ' ' && r < 0x7f || r > 0xa0 && !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co)
}

func hex2(c byte) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[c>>4], digits[c&15]})
}

// maxQuoted is how much of a model's own text it is shown again, in bytes.
const maxQuoted = 1000

func quote(s string) string {
	if len(s) > maxQuoted {
		return fmt.Sprintf(`"%s ..." (%d bytes)`, Printable(strings.ToValidUTF8(s[:maxQuoted], "")), len(s))
	}
	return `"` + Printable(s) + `"`
}
