package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// An Error is why a package is none: its manifest can't be taken.
type Error struct {
	File    string
	Pointer string // JSON pointer of the value; empty is the whole
	Line    int    // 1-based; 0 is unknown
	Text    string
}

func (e *Error) Error() string {
	at := e.File
	if e.Line > 0 {
		at = fmt.Sprintf("%s:%d", at, e.Line)
	}
	if e.Pointer != "" {
		at += ": " + e.Pointer
	}
	return at + ": " + e.Text
}

// A doc is a JSON file that knows where its values are.
type doc struct {
	file string
	data []byte
}

// A value is one of a doc.
type value struct {
	d   *doc
	ptr string
	v   any
}

// parseJSON reads a strict JSON object.
func parseJSON(file string, data []byte) (value, error) {
	d := &doc{file, data}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		e := &Error{File: file, Text: "it isn't JSON: " + err.Error()}
		if s := (*json.SyntaxError)(nil); errors.As(err, &s) {
			e.Line = lineAt(data, int(s.Offset))
		}
		return value{}, e
	}
	root := value{d, "", v}
	if _, ok := v.(map[string]any); !ok {
		return value{}, root.fail("want an object")
	}
	return root, nil
}

func lineAt(data []byte, offset int) int {
	return 1 + bytes.Count(data[:min(max(offset, 0), len(data))], []byte("\n"))
}

// fail is an error at the value.
func (v value) fail(format string, args ...any) *Error {
	e := &Error{File: v.d.file, Pointer: v.ptr, Text: fmt.Sprintf(format, args...)}
	if root, err := hujson.Parse(v.d.data); err == nil {
		if at := root.Find(v.ptr); at != nil {
			e.Line = lineAt(v.d.data, at.StartOffset)
		}
	}
	return e
}

// get is the member of an object.
func (v value) get(key string) (value, bool) {
	m, _ := v.v.(map[string]any)
	x, ok := m[key]
	esc := strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
	return value{v.d, v.ptr + "/" + esc, x}, ok
}

func (v value) object() (map[string]any, error) {
	m, ok := v.v.(map[string]any)
	if !ok {
		return nil, v.fail("want an object")
	}
	return m, nil
}

func (v value) text() (string, error) {
	s, ok := v.v.(string)
	if !ok {
		return "", v.fail("want a string")
	}
	return s, nil
}

// str is the optional string at key.
func (v value) str(key string) (string, error) {
	x, ok := v.get(key)
	if !ok {
		return "", nil
	}
	return x.text()
}

// A to is where the optional string at key goes.
type to struct {
	key string
	at  *string
}

func (v value) strs(fields ...to) (err error) {
	for _, f := range fields {
		if *f.at, err = v.str(f.key); err != nil {
			return err
		}
	}
	return nil
}

// boolean is the optional truth value at key.
func (v value) boolean(key string) (bool, error) {
	x, ok := v.get(key)
	if !ok {
		return false, nil
	}
	b, ok := x.v.(bool)
	if !ok {
		return false, x.fail("want true or false")
	}
	return b, nil
}

// list is the optional list of strings at key; nil if it isn't there.
func (v value) list(key string) ([]string, error) {
	x, ok := v.get(key)
	if !ok {
		return nil, nil
	}
	items, ok := x.v.([]any)
	if !ok {
		return nil, x.fail("want a list of strings")
	}
	out := []string{}
	for i := range items {
		s, err := x.item(i).text()
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// stringMap is the optional object of strings at key.
func (v value) stringMap(key string) (map[string]string, error) {
	x, ok := v.get(key)
	if !ok {
		return nil, nil
	}
	m, err := x.object()
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		member, _ := x.get(k)
		if out[k], err = member.text(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// item is the i-th of a list.
func (v value) item(i int) value {
	items, _ := v.v.([]any)
	return value{v.d, fmt.Sprintf("%s/%d", v.ptr, i), items[i]}
}
