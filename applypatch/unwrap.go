package applypatch

import (
	"encoding/json"
	"path"
	"regexp"
	"strings"
	"sync"
)

// source is the patch text as lines, with the number of its first one.
type source struct {
	lines []string
	first int // 1-based patch line of lines[0]
	dir   string
}

func splitSource(text string) source {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSuffix(l, "\r")
	}
	return source{lines: lines, first: 1}
}

// fromArgv returns the patch of a JSON argument array: ["apply_patch", PATCH] or
// ["bash", "-lc", SCRIPT].
func fromArgv(text string) string {
	if !strings.HasPrefix(strings.TrimSpace(text), "[") {
		return text
	}
	var argv []string
	if json.Unmarshal([]byte(text), &argv) != nil || len(argv) < 2 {
		return text
	}
	switch path.Base(argv[0]) {
	case "apply_patch", "applypatch":
		if len(argv) == 2 {
			return argv[1]
		}
	case "bash", "sh", "zsh":
		if len(argv) == 3 && (argv[1] == "-lc" || argv[1] == "-c") {
			return argv[2]
		}
	}
	return text
}

var heredoc = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(?:cd\s+(?:'([^']+)'|"([^"$` + "`" + `]+)"|([^\s'"$` + "`" + `;&|]+))\s*&&\s*)?(?:(?:cat|apply_patch|applypatch)\s+)?<<-?\s*(?:'(\w+)'|"(\w+)"|(\w+))\s*$`)
})

// unwrap peels what can't hide an operation: blank lines, code fences and a
// here-document around the envelope.
func (s source) unwrap() source {
	for range 4 {
		s = s.trim()
		if len(s.lines) < 2 {
			return s
		}
		head, last := s.lines[0], s.lines[len(s.lines)-1]
		if f := fence(head); f != "" && strings.TrimSpace(last) == f {
			s = s.inner()
			continue
		}
		if !strings.Contains(head, "<<") {
			return s
		}
		m := heredoc().FindStringSubmatch(head)
		if m == nil || strings.TrimSpace(last) != m[4]+m[5]+m[6] {
			return s
		}
		if d := m[1] + m[2] + m[3]; d != "" {
			s.dir = path.Join(s.dir, d)
			if path.IsAbs(d) {
				s.dir = d
			}
		}
		s = s.inner()
	}
	return s
}

func fence(line string) string {
	line = strings.TrimSpace(line)
	for _, c := range []string{"`", "~"} {
		n := len(line) - len(strings.TrimLeft(line, c))
		if n >= 3 && !strings.Contains(line[n:], c) {
			return line[:n]
		}
	}
	return ""
}

func (s source) inner() source {
	s.lines, s.first = s.lines[1:len(s.lines)-1], s.first+1
	return s
}

const invisible = " \t\ufeff\u200b\u200c\u200d\u2060"

func (s source) trim() source {
	blank := func(l string) bool { return strings.Trim(l, invisible) == "" }
	for len(s.lines) > 0 && blank(s.lines[0]) {
		s.lines, s.first = s.lines[1:], s.first+1
	}
	for len(s.lines) > 0 && blank(s.lines[len(s.lines)-1]) {
		s.lines = s.lines[:len(s.lines)-1]
	}
	if n := len(s.lines); n > 0 {
		s.lines[0] = strings.TrimLeft(s.lines[0], invisible)
		if trimBlank(s.lines[n-1]) == endMark { // indented as the very last line it is no context
			s.lines[n-1] = endMark
		}
	}
	return s
}
