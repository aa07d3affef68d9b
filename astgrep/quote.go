package astgrep

import (
	"strconv"
	"strings"

	"github.com/whet-dev/whet/internal/escape"
)

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
	s = escape.Text(s)
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
