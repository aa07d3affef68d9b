package plugin

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"

	"github.com/whet-dev/whet/internal/lazyregexp"
)

// maxFront and maxBrackets are more than any front matter needs. The time that
// the YAML parser takes grows with the square of either.
const (
	maxFront    = 32 << 10
	maxBrackets = 300
)

// Front splits a Markdown file into its front matter, which is between two
// lines of ---, and its body. A file without one has a nil head. Front matter
// that is not valid YAML is read line by line as "key: rest of the line", and
// loose says so: published agents have unquoted colons in their descriptions.
func Front(text string) (head map[string]any, body string, loose bool) {
	text = strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\ufeff")
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return nil, text, false
	}
	raw, body, closed := strings.Cut("\n"+rest, "\n---")
	if !closed || len(raw) > maxFront {
		return nil, text, false
	}
	if i := strings.IndexByte(body, '\n'); i >= 0 {
		body = body[i+1:]
	} else {
		body = ""
	}
	head, ok = parseYAML(raw)
	if !ok {
		head = parseLines(raw)
	}
	return head, body, !ok
}

// SafeYAML reports whether text is YAML that can be read in a time that fits its
// length: without aliases, a few lines of which can stand for more than memory
// holds, and without nesting that nobody writes.
func SafeYAML(text string) bool {
	switch {
	case len(text) > maxFront,
		strings.Count(text, "[")+strings.Count(text, "{") > maxBrackets,
		strings.Contains(text, strings.Repeat("- ", 16)):
		return false
	case !strings.ContainsAny(text, "*&"):
		return true
	}
	for _, tok := range lexer.Tokenize(text) {
		if tok.Type == token.AliasType || tok.Type == token.AnchorType {
			return false
		}
	}
	return true
}

// parseYAML reads a mapping.
func parseYAML(raw string) (head map[string]any, ok bool) {
	defer func() {
		if recover() != nil {
			head, ok = nil, false
		}
	}()
	if !SafeYAML(raw) {
		return nil, false
	}
	head = map[string]any{}
	if err := yaml.Unmarshal([]byte(raw), &head); err != nil {
		return nil, false
	}
	if head == nil {
		head = map[string]any{}
	}
	return head, true
}

var frontLine = lazyregexp.New(`^([A-Za-z_][\w-]*)\s*:(?:\s+(.*)|\s*)$`)

// parseLines reads "key: rest of the line"; what is indented below belongs to
// the key, and so do list items.
func parseLines(raw string) map[string]any {
	head := map[string]any{}
	key := ""
	for line := range strings.Lines(raw) {
		line = strings.TrimRight(line, " \t\n")
		if m := frontLine.FindStringSubmatch(line); m != nil {
			key = m[1]
			if v := m[2]; v != "|" && v != ">" && v != "|-" && v != ">-" {
				head[key] = unquote(v)
			} else {
				head[key] = ""
			}
			continue
		}
		line = strings.TrimSpace(line)
		if key == "" || line == "" {
			continue
		}
		item, isItem := strings.CutPrefix(line, "- ")
		switch was := head[key].(type) {
		case []any:
			head[key] = append(was, unquote(item))
		case string:
			if isItem && was == "" {
				head[key] = []any{unquote(item)}
			} else {
				head[key] = strings.TrimSpace(was + "\n" + line)
			}
		}
	}
	return head
}

func unquote(s string) string {
	s = strings.TrimSpace(s)
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

// scalar is a front matter's value as a string; ok is false for lists and maps.
func scalar(v any) (s string, ok bool) {
	switch v := v.(type) {
	case nil:
		return "", true
	case string:
		return v, true
	case []any, map[string]any:
		return "", false
	}
	return fmt.Sprint(v), true
}

// oneLine is s without line breaks and runs of spaces.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
