package packages

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/whet-dev/whet"
)

// Bounds of a schema that a server sends: how deep it goes, and how many parts
// it has in all.
const (
	maxNesting = 6
	maxParts   = 2000
)

// A schemaReader turns a server's JSON Schema into the part of it that every
// model vendor takes. Where the two differ, the model is told less, and the
// server checks what it gets anyway.
type schemaReader struct {
	defs map[string]any
	left int // parts that may still be read
}

func schemaOf(v any) *whet.Schema {
	b, err := json.Marshal(v)
	top := map[string]any{}
	if err == nil {
		err = json.Unmarshal(b, &top)
	}
	if err != nil || top == nil {
		return &whet.Schema{Type: "object", Properties: whet.Properties{}}
	}
	r := &schemaReader{defs: map[string]any{}, left: maxParts}
	for _, key := range []string{"$defs", "definitions"} {
		defs, _ := top[key].(map[string]any)
		for name, d := range defs {
			r.defs["#/"+key+"/"+name] = d
		}
	}
	s := r.read(top, 0)
	if s.Type != "object" {
		return &whet.Schema{Type: "object", Properties: whet.Properties{}}
	}
	return s
}

var propertyName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`) })

func (r *schemaReader) read(v any, depth int) *whet.Schema {
	m, _ := v.(map[string]any)
	if r.left--; r.left < 0 {
		depth = maxNesting
	}
	if ref, ok := m["$ref"].(string); ok && depth < maxNesting {
		return r.read(r.defs[ref], depth+1)
	}
	for _, union := range []string{"anyOf", "oneOf", "allOf"} {
		all, _ := m[union].([]any)
		for _, one := range all {
			if o, _ := one.(map[string]any); o != nil && o["type"] != "null" && m["type"] == nil && depth < maxNesting {
				s := r.read(one, depth+1)
				if text, ok := m["description"].(string); ok {
					s.Description = cut(text, 1024)
				}
				return s
			}
		}
	}
	s := &whet.Schema{Type: typeOf(m)}
	if text, ok := m["description"].(string); ok {
		s.Description = cut(oneLine(text), 1024)
	}
	switch s.Type {
	case "string":
		all, _ := m["enum"].([]any)
		for _, x := range all {
			if text, ok := x.(string); ok {
				s.Enum = append(s.Enum, text)
			}
		}
	case "array":
		s.Items = &whet.Schema{Type: "string"}
		if depth < maxNesting && m["items"] != nil {
			s.Items = r.read(m["items"], depth+1)
		}
	case "object":
		r.members(s, m, depth)
	}
	return s
}

func (r *schemaReader) members(s *whet.Schema, m map[string]any, depth int) {
	s.Properties = whet.Properties{}
	props, _ := m["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(props)) {
		if depth < maxNesting && propertyName().MatchString(name) {
			s.Properties = append(s.Properties, whet.Property{Name: name, Schema: r.read(props[name], depth+1)})
		}
	}
	required, _ := m["required"].([]any)
	for _, x := range required {
		name, _ := x.(string)
		if slices.ContainsFunc(s.Properties, func(p whet.Property) bool { return p.Name == name }) {
			s.Required = append(s.Required, name)
		}
	}
}

// typeOf returns the one type that stands for what m allows.
func typeOf(m map[string]any) string {
	known := []string{"string", "number", "integer", "boolean", "array", "object"}
	var types []any
	switch t := m["type"].(type) {
	case string:
		types = []any{t}
	case []any:
		types = t
	}
	for _, t := range types {
		if name, ok := t.(string); ok && slices.Contains(known, name) {
			return name
		}
	}
	switch {
	case m["properties"] != nil:
		return "object"
	case m["items"] != nil:
		return "array"
	}
	return "string"
}

// cut shortens a text to n bytes.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n-3], "") + "…"
}
