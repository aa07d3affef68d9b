package md

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// escape puts backslashes where the characters of a word would be read as
// Markdown. A next of -1 means that something unknown follows.
func escape(w string, prev, next rune, inLink bool) string {
	var b strings.Builder
	for w != "" {
		c, size := utf8.DecodeRuneInString(w)
		w = w[size:]
		after := next
		if w != "" {
			after, _ = utf8.DecodeRuneInString(w)
		}
		if needsEscape(c, prev, after, w, inLink) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
		prev = c
	}
	return b.String()
}

func needsEscape(c, prev, after rune, rest string, inLink bool) bool {
	switch c {
	case '\\':
		return after < 0 || isASCIIPunct(after)
	case '`':
		return true
	case '*':
		return !isSpace(prev) || !isSpace(after)
	case '_':
		return !(isWord(prev) && isWord(after)) && (!isSpace(prev) || !isSpace(after))
	case '~':
		return prev == '~' || after == '~' || after < 0 || !isSpace(prev) && !(prev == '(' && isWord(after))
	case '[':
		return inLink || strings.Contains(rest, "](") || strings.Contains(rest, "][")
	case ']':
		return inLink || after == '(' || after == '['
	case '!':
		return after < 0
	case '<':
		return after < 0 || after < utf8.RuneSelf && (unicode.IsLetter(after) || strings.ContainsRune("/!?", after))
	case '&':
		return isEntity(rest)
	}
	return false
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

func isASCIIPunct(r rune) bool {
	return r >= '!' && r <= '/' || r >= ':' && r <= '@' || r >= '[' && r <= '`' || r >= '{' && r <= '~'
}

// isEntity reports whether what follows an ampersand makes it an entity.
func isEntity(rest string) bool {
	name, _, ok := strings.Cut(rest, ";")
	if !ok || name == "" || len(name) > 32 {
		return false
	}
	return strings.IndexFunc(name, func(r rune) bool {
		return !(r == '#' || r < utf8.RuneSelf && isWord(r))
	}) < 0
}

// escapeLineStart escapes what would make the line another kind of block.
func escapeLineStart(l string) string {
	if l == "" {
		return l
	}
	switch l[0] {
	case '#':
		if t := strings.TrimLeft(l, "#"); len(l)-len(t) <= 6 && (t == "" || t[0] == ' ') {
			return `\` + l
		}
	case '>', '=':
		if l[0] == '>' || strings.Trim(l, "=") == "" {
			return `\` + l
		}
	case '-', '+', '*', '_':
		if len(l) == 1 || l[1] == ' ' || strings.Trim(l, l[:1]+" ") == "" || strings.Trim(l, "-:| ") == "" {
			return `\` + l
		}
	case ':', '|':
		if strings.Trim(l, "-:| ") == "" && len(l) > 1 {
			return `\` + l
		}
	case '~':
		if strings.HasPrefix(l, "~~~") {
			return `\` + l
		}
	case '[':
		if i := strings.Index(l, "]:"); i > 1 {
			return `\` + l
		}
	case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		t := strings.TrimLeft(l, "0123456789")
		if n := len(l) - len(t); n <= 9 && t != "" && (t[0] == '.' || t[0] == ')') && (len(t) == 1 || t[1] == ' ') {
			return l[:n] + `\` + t
		}
	}
	return l
}
