// Package escape makes text that comes from files and models fit to be shown.
package escape

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns s with everything escaped that could move a cursor, hide text or
// break a line: control and format characters and bytes that aren't UTF-8. A
// tab stays.
func Text(s string) string {
	if clean(s) {
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

func clean(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' && s[i] != '\t' || s[i] >= 0x7f {
			return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !shows(r) }) < 0
		}
	}
	return true
}

func shows(r rune) bool {
	return r == '\t' || r != 0xa0 && !Hidden(r) && !unicode.Is(unicode.Co, r)
}

// Hidden reports whether a character does something without being seen: it
// moves the cursor or speaks to the terminal (controls, tabs and line ends among
// them), changes the order of what stands beside it, or has no width.
func Hidden(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return r < ' ' || r == 0x7f
	case r >= 0xe0000 && r <= 0xe0fff: // tags, and selectors that can carry any text
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) || r == '\u115f' || r == '\u3164'
}

// Lines returns a text of many lines for a person: what is hidden has a mark in
// its place. Line ends and tabs stay, and what joins letters of one word or
// parts of an emoji.
func Lines(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	prev := rune(0)
	return strings.Map(func(r rune) rune {
		before := prev
		prev = r
		switch {
		case r == '\n' || r == '\t' || !Hidden(r):
			return r
		case r < ' ':
			return 0x2400 + r // the picture of the control character
		case (r == '\u200c' || r == '\u200d') && before > unicode.MaxASCII:
			return r
		}
		return utf8.RuneError
	}, s)
}
