package loop

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// Normal returns the text without what differs each time and means nothing:
// dates, times of day, durations, process ids, UUIDs and addresses. It is for
// comparing only. A changing time can be the news itself, so texts that are
// equal only in this form never lead to a refusal.
func Normal(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		if i > 0 && wordByte(text[i-1]) {
			b.WriteByte(text[i])
			i++
			continue
		}
		if n := volatile(text[i:]); n > 0 {
			b.WriteByte('#')
			i += n
			continue
		}
		b.WriteByte(text[i])
		i++
	}
	return b.String()
}

func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}

// volatile returns how many bytes at the beginning of s, the beginning of a
// word, mean nothing; 0 if it isn't such.
func volatile(s string) int {
	c := s[0]
	switch {
	case c >= '0' && c <= '9':
		for _, shape := range []string{"dddd-dd-dd", "dd:dd:dd", "d:dd:dd", "dd:dd"} {
			if n := shaped(s, shape); n > 0 {
				return n + clock(s[n:])
			}
		}
		if strings.HasPrefix(s, "0x") {
			if n := hexes(s[2:]); n >= 4 {
				return 2 + n
			}
		}
		if n := uuid(s); n > 0 {
			return n
		}
		return duration(s)
	case c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F':
		return uuid(s)
	case (c == 'p' || c == 'P') && len(s) > 4 && strings.EqualFold(s[:3], "pid"):
		rest := strings.TrimLeft(s[3:], " :=#")
		if n := digits(rest); n > 0 && len(rest) < len(s)-3 {
			return len(s) - len(rest) + n
		}
	}
	return 0
}

// shaped returns the length of shape, in which d is a digit, if s begins so.
func shaped(s, shape string) int {
	if len(s) < len(shape) {
		return 0
	}
	for i := range len(shape) {
		if shape[i] == 'd' && (s[i] < '0' || s[i] > '9') || shape[i] != 'd' && s[i] != shape[i] {
			return 0
		}
	}
	return len(shape)
}

// clock returns the length of what may follow a date or a time of day:
// "T12:00:00.123Z" and the like.
func clock(s string) (n int) {
	for _, shape := range []string{"Tdd:dd:dd", " dd:dd:dd", "Tdd:dd", " dd:dd", ":dd"} {
		if n = shaped(s, shape); n > 0 {
			break
		}
	}
	if n+1 < len(s) && (s[n] == '.' || s[n] == ',') {
		if d := digits(s[n+1:]); d > 0 {
			n += 1 + d
		}
	}
	switch rest := s[n:]; {
	case strings.HasPrefix(rest, "Z"):
		n++
	case shaped(rest, "+dd:dd") > 0 || shaped(rest, "-dd:dd") > 0:
		n += len("+dd:dd")
	}
	return n
}

func digits(s string) (n int) {
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

func hexes(s string) (n int) {
	for n < len(s) && (s[n] >= '0' && s[n] <= '9' || s[n] >= 'a' && s[n] <= 'f' || s[n] >= 'A' && s[n] <= 'F') {
		n++
	}
	return n
}

func uuid(s string) int {
	n := 0
	for i, want := range []int{8, 4, 4, 4, 12} {
		if i > 0 {
			if n >= len(s) || s[n] != '-' {
				return 0
			}
			n++
		}
		if hexes(s[n:]) != want {
			return 0
		}
		n += want
	}
	return n
}

// duration returns the length of numbers with units of time: 1.5 s, 2m30s.
func duration(s string) (n int) {
	for {
		m := quantity(s[n:])
		if n += m; m == 0 || n == len(s) || digits(s[n:]) == 0 {
			return n
		}
	}
}

// quantity returns the length of a number with one unit of time.
func quantity(s string) int {
	n := digits(s)
	if n > 0 && n < len(s) && s[n] == '.' {
		n += 1 + digits(s[n+1:])
	}
	rest := strings.TrimPrefix(s[n:], " ")
	for _, unit := range []string{"milliseconds", "millisecond", "microseconds", "seconds", "second", "minutes", "minute", "hours", "hour", "secs", "sec", "mins", "min", "ms", "µs", "us", "ns", "s", "m", "h"} {
		tail, ok := strings.CutPrefix(rest, unit)
		if ok && n > 0 && (tail == "" || !wordByte(tail[0]) || digits(tail) > 0) {
			return len(s) - len(tail)
		}
	}
	return 0
}

// cosmetic are arguments that tell people what a call is for, or how long it
// may take. They don't change what comes back.
func cosmetic(name string) bool {
	switch strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name)) {
	case "description", "explanation", "reason", "rationale", "purpose", "intent", "justification", "comment", "note", "summary", "thought", "toolsummary", "toolaction", "timeout", "timeoutms":
		return true
	}
	return false
}

// looseKey identifies a call as [Key] does, but whatever its cosmetic
// arguments, the white space at the end of texts, the spelling of paths, and
// which part of a file or of the matches it asks for.
func looseKey(tool string, args json.RawMessage) string {
	var m map[string]json.RawMessage
	if json.Unmarshal(args, &m) != nil {
		return Key(tool, args)
	}
	var names []string
	for name := range m {
		if cosmetic(name) || part(tool, name) {
			names = append(names, name)
		}
	}
	if len(names) < len(m) { // else they are what the call is about
		for _, name := range names {
			delete(m, name)
		}
	}
	for name, raw := range m {
		var s string
		if raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
			continue
		}
		s = strings.TrimRight(s, " \t\r\n")
		if slices.Contains(pathArgs[:], name) && s != "" {
			s = path.Clean(s)
		}
		m[name], _ = json.Marshal(s) // a string always marshals
	}
	b, err := json.Marshal(m)
	if err != nil {
		return Key(tool, args)
	}
	return Key(tool, b)
}

// errorLine is the line of an error by which it is compared. What a shell
// prints begins with much that different failures share: there all counts.
func errorLine(tool, text string) string {
	text = Normal(text)
	if tool == "bash" {
		return text
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}
