package webfetch

import (
	"strings"
	"unicode"
)

// A section is a heading of a Markdown text and what follows it, to the next
// heading of its level or above.
type section struct {
	level      int // 0 is the text before the first heading
	title      string
	path       string // the titles above and its own
	start, end int    // bytes; own ends the text before the first section inside
	own        int
}

// splitSections finds the sections of a Markdown text, outside of code.
func splitSections(s string) []section {
	out := []section{{}}
	fence := ""
	for at := 0; at < len(s); {
		l, _, _ := strings.Cut(s[at:], "\n")
		if fence = nextFence(fence, l); fence == "" {
			t := strings.TrimLeft(l, "#")
			if n := len(l) - len(t); n >= 1 && n <= 6 && strings.HasPrefix(t, " ") {
				out = append(out, section{level: n, title: plainHeading(t), start: at})
			}
		}
		at += len(l) + 1
	}
	var stack []int
	for i := range out {
		out[i].own, out[i].end = len(s), len(s)
		if i+1 < len(out) {
			out[i].own = out[i+1].start
		}
		for len(stack) > 0 && out[stack[len(stack)-1]].level >= out[i].level {
			out[stack[len(stack)-1]].end = out[i].start
			stack = stack[:len(stack)-1]
		}
		var names []string
		for _, j := range stack {
			if out[j].title != "" {
				names = append(names, out[j].title)
			}
		}
		out[i].path = strings.Join(append(names, out[i].title), " > ")
		if out[i].level > 0 {
			stack = append(stack, i)
		}
	}
	if out[0].own == 0 {
		out = out[1:]
	} else {
		out[0].end = out[0].own
	}
	return out
}

// plainHeading is a heading's text without its markup.
func plainHeading(s string) string {
	s = strings.TrimSpace(strings.TrimRight(strings.TrimSpace(s), "#"))
	for {
		open := strings.Index(s, "[")
		mid := strings.Index(s, "](")
		if open < 0 || mid < open {
			break
		}
		end := strings.Index(s[mid:], ")")
		if end < 0 {
			break
		}
		s = s[:open] + s[open+1:mid] + s[mid+end+1:]
	}
	return strings.TrimSpace(strings.NewReplacer("`", "", "**", "", "\\", "").Replace(s))
}

// slug is a heading's text as sites make fragments of it.
func slug(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_':
			b.WriteRune(r)
		case r == ' ' || r == '-' || r == '.' || r == '/':
			if s := b.String(); s != "" && s[len(s)-1] != '-' {
				b.WriteByte('-')
			}
		}
	}
	return strings.Trim(b.String(), "-")
}

// findSection finds what a name means: a heading, the fragment of one, or an
// element of the page with that id.
func findSection(s string, secs []section, anchors map[string]string, name string) (section, bool) {
	name = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(name), "#"))
	if name == "" {
		return section{}, false
	}
	tests := []func(section) bool{
		func(x section) bool { return strings.EqualFold(x.title, name) },
		func(x section) bool { return slug(x.title) == slug(name) },
	}
	if t := anchors[name]; t != "" {
		tests = append([]func(section) bool{func(x section) bool { return strings.EqualFold(x.title, t) }}, tests...)
	}
	tests = append(tests, func(x section) bool { return strings.Contains(strings.ToLower(x.title), strings.ToLower(name)) })
	for _, test := range tests {
		for _, x := range secs {
			if x.level > 0 && test(x) {
				return x, true
			}
		}
	}
	if t := anchors[name]; t != "" { // an entry without a heading, such as a term
		if at := strings.Index(strings.NewReplacer("`", "", "*", "", "\\", "").Replace(s), t); at >= 0 {
			if line := lineHolding(s, t); line >= 0 {
				return section{title: t, path: t, start: line, end: blockEnd(s, line), own: blockEnd(s, line)}, true
			}
		}
	}
	return section{}, false
}

// lineHolding is the start of the first line whose text, without markup, has t.
func lineHolding(s, t string) int {
	strip := strings.NewReplacer("`", "", "*", "", "\\", "", "[", "", "]", "")
	t = strip.Replace(t)
	for at := 0; at < len(s); {
		l, _, _ := strings.Cut(s[at:], "\n")
		if strings.Contains(strip.Replace(l), t) {
			return at
		}
		at += len(l) + 1
	}
	return -1
}

// blockEnd is where the item that begins at a line ends: before the next line
// that is indented no deeper.
func blockEnd(s string, start int) int {
	l, _, _ := strings.Cut(s[start:], "\n")
	depth := len(l) - len(strings.TrimLeft(l, " "))
	for at := start + len(l) + 1; at < len(s); {
		l, _, _ := strings.Cut(s[at:], "\n")
		if t := strings.TrimLeft(l, " "); t != "" && len(l)-len(t) <= depth {
			return at
		}
		at += len(l) + 1
	}
	return len(s)
}
