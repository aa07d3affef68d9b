package convert

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/whet-dev/whet/market/tree"
)

// An object is JSON of another program's, whose members may be of any kind: what
// isn't of the wanted one counts as missing.
type object map[string]any

// The largest manifest that was met is a catalogue of 290 plugins, with 130 KB
// and 1000 brackets.
const (
	maxJSON     = 4 << 20
	maxBrackets = 50_000
)

// parse reads a JSON object; comments, trailing commas and a byte-order mark
// are allowed, as most of the programs do.
func parse(f tree.File) (object, error) {
	// The depth isn't limited by the parser, and a stack that overflows can't be
	// caught: there may be no more brackets than it bears.
	if n := bytes.Count(f.Data, []byte("[")) + bytes.Count(f.Data, []byte("{")); n > maxBrackets || len(f.Data) > maxJSON {
		return nil, fail("invalid-package", f.Name, "it is larger than what a manifest may be")
	}
	data, err := hujson.Standardize([]byte(strings.TrimPrefix(string(f.Data), "\ufeff")))
	if err != nil {
		return nil, fail("invalid-package", f.Name, "it isn't JSON: %s", strings.TrimPrefix(err.Error(), "hujson: "))
	}
	var o object
	if err := json.Unmarshal(data, &o); err != nil || o == nil {
		return nil, fail("invalid-package", f.Name, "want a JSON object")
	}
	return o, nil
}

func (o object) str(key string) string {
	s, _ := o[key].(string)
	return s
}

func (o object) obj(key string) object {
	m, _ := o[key].(map[string]any)
	return m
}

func (o object) boolean(key string) bool {
	b, _ := o[key].(bool)
	return b
}

// list are the strings of a list, or of one string.
func (o object) list(key string) (out []string) {
	switch v := o[key].(type) {
	case string:
		return []string{v}
	case []any:
		for _, x := range v {
			if s, ok := x.(string); ok {
				out = append(out, s)
			}
		}
	}
	return out
}

// keys are the members in order.
func (o object) keys() []string { return slices.Sorted(maps.Keys(o)) }

// text is a scalar as a string.
func text(v any) string {
	switch v := v.(type) {
	case nil, []any, map[string]any:
		return ""
	case string:
		return v
	}
	return fmt.Sprint(v)
}

// words are the names of a list, or of a string with commas between them.
func words(v any) (out []string) {
	switch v := v.(type) {
	case string:
		for w := range strings.SplitSeq(v, ",") {
			if w = strings.TrimSpace(w); w != "" {
				out = append(out, w)
			}
		}
	case []any:
		for _, x := range v {
			if w := strings.TrimSpace(text(x)); w != "" {
				out = append(out, w)
			}
		}
	}
	return out
}

// local is a path in the package that a manifest gives; ok is false for one
// that leads out of it, and "." is the package.
func local(p string) (clean string, ok bool) {
	p = strings.TrimPrefix(p, "${CLAUDE_PLUGIN_ROOT}/")
	if strings.HasPrefix(p, "/") || strings.ContainsAny(p, "\\\x00") {
		return "", false
	}
	clean = path.Clean(p)
	return clean, clean != ".." && !strings.HasPrefix(clean, "../")
}

// oneLine is s without line breaks and runs of spaces.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
