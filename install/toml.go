package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// A table is a TOML table that whet owns whole. The library reads the file
// before and after, the edit itself is one of text.
type table struct {
	path   []string
	values [][2]string // key and value, in TOML
}

func (t table) header() string { return "[" + strings.Join(t.path, ".") + "]" }

// apply appends the table, or replaces the one that is there.
func (t table) apply(text []byte) ([]byte, error) {
	nl := "\n"
	if bytes.Contains(text, []byte("\r\n")) {
		nl = "\r\n"
	}
	block := t.header() + nl
	for _, kv := range t.values {
		block += kv[0] + " = " + kv[1] + nl
	}
	want, err := readTOML([]byte(block))
	if err != nil {
		return nil, err
	}
	have, err := readTOML(text)
	if err != nil {
		return nil, err
	}
	is, there := lookup(have, t.path)
	should, _ := lookup(want, t.path)
	if there && reflect.DeepEqual(is, should) {
		return text, nil
	}
	base, err := t.undo(text)
	if err != nil {
		return nil, err
	}
	if len(base) > 0 {
		if !bytes.HasSuffix(base, []byte("\n")) {
			block = nl + block
		}
		block = nl + block
	}
	out := append(base[:len(base):len(base)], block...)
	return out, t.check(text, out, true)
}

// undo removes the table's lines.
func (t table) undo(text []byte) ([]byte, error) {
	have, err := readTOML(text)
	if err != nil {
		return nil, err
	}
	if _, there := lookup(have, t.path); !there {
		return text, nil
	}
	var before, after []string
	var block, rest []string // rest: blank lines and comments, which may belong to what follows
	in := false
	for line := range strings.Lines(string(text)) {
		bare := strings.TrimSpace(line)
		switch {
		case bare == t.header():
			in = true
			block = append(block, line)
		case in && strings.HasPrefix(bare, "["):
			in = false
			after = append(append(after, rest...), line)
			rest = nil
		case in && (bare == "" || strings.HasPrefix(bare, "#")):
			rest = append(rest, line)
		case in:
			block = append(append(block, rest...), line)
			rest = nil
		case len(block) > 0:
			after = append(after, line)
		default:
			before = append(before, line)
		}
	}
	after = append(after, rest...)
	if len(block) == 0 {
		return nil, fmt.Errorf("%s is written in a way that can't be edited safely; remove it by hand", strings.Join(t.path, "."))
	}
	if n := len(before); n > 0 && strings.TrimSpace(before[n-1]) == "" { // the line that apply put before it
		before = before[:n-1]
	}
	out := []byte(strings.Join(before, "") + strings.Join(after, ""))
	return out, t.check(text, out, false)
}

// check makes sure that nothing but the table has changed.
func (t table) check(before, after []byte, there bool) error {
	a, err := readTOML(before)
	if err != nil {
		return err
	}
	b, err := readTOML(after)
	if err == nil {
		_, found := lookup(b, t.path)
		drop(a, t.path)
		drop(b, t.path)
		if found == there && reflect.DeepEqual(a, b) {
			return nil
		}
	}
	return errors.New("an edit would change more than whet's own lines; add or remove them by hand")
}

func readTOML(text []byte) (map[string]any, error) {
	var v map[string]any
	if err := toml.Unmarshal(text, &v); err != nil {
		var at *toml.DecodeError
		if errors.As(err, &at) {
			line, column := at.Position()
			return nil, fmt.Errorf("line %d, column %d: %w", line, column, err)
		}
		return nil, err
	}
	return v, nil
}

func lookup(v any, path []string) (any, bool) {
	for _, name := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[name]; !ok {
			return nil, false
		}
	}
	return v, true
}

// drop removes what is at path, and the tables that are empty then.
func drop(m map[string]any, path []string) {
	if len(path) == 1 {
		delete(m, path[0])
		return
	}
	if sub, ok := m[path[0]].(map[string]any); ok {
		drop(sub, path[1:])
		if len(sub) == 0 {
			delete(m, path[0])
		}
	}
}

// quoteTOML writes s as a basic string, whose escapes are those of JSON.
func quoteTOML(s string) string {
	b, _ := json.Marshal(s) // a string always marshals
	return string(b)
}
