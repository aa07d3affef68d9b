package webfetch

import (
	"bytes"
	"encoding/json"
	"strings"
)

// frontmatter collects "key: value" lines whose values are JSON, so that
// nothing a page says can end the block or add a key.
type frontmatter struct{ b strings.Builder }

// add writes the key unless the value is its type's zero.
func (f *frontmatter) add(key string, v any) {
	switch x := v.(type) {
	case string:
		if x == "" {
			return
		}
	case int:
		if x == 0 {
			return
		}
	case int64:
		if x == 0 {
			return
		}
	case bool:
		if !x {
			return
		}
	}
	f.addAlways(key, v)
}

func (f *frontmatter) addAlways(key string, v any) { f.b.WriteString(key + ": " + jsonText(v) + "\n") }

// list writes a list; nil is left out.
func (f *frontmatter) list(key string, items []string) {
	if items == nil {
		return
	}
	if len(items) == 0 {
		f.b.WriteString(key + ": []\n")
		return
	}
	f.b.WriteString(key + ":\n")
	for _, it := range items {
		f.b.WriteString("  - " + jsonText(it) + "\n")
	}
}

// String returns the block with the blank line after it, or nothing.
func (f *frontmatter) String() string {
	if f.b.Len() == 0 {
		return ""
	}
	return "---\n" + f.b.String() + "---\n\n"
}

// jsonText encodes on one line, keeping <, > and & readable. The separators
// U+0085, U+2028 and U+2029 are escaped: some readers take them for line ends.
func jsonText(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return `""`
	}
	return strings.NewReplacer("\u0085", `\u0085`, "\u007f", `\u007f`).Replace(strings.TrimSuffix(b.String(), "\n"))
}

// inComment makes a block fit for an HTML or XML comment, in which "--" may
// not stand.
func inComment(block string) string {
	block = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(block), "---\n"), "\n---")
	return "<!--\n" + strings.ReplaceAll(strings.ReplaceAll(block, "--", `-\u002d`), "-->", `-\u002d>`) + "\n-->"
}

// hasFrontmatter reports whether a text begins with a block of its own.
func hasFrontmatter(s string) bool {
	s = strings.TrimLeft(s, "\ufeff \n")
	return strings.HasPrefix(s, "---\n") || strings.HasPrefix(s, "---\r\n")
}
