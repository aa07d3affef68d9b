package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/internal/similar"
)

// A checker removes from one layer what its schema doesn't allow, and notes
// where the rest was set.
type checker struct {
	l       *loader
	source  string
	text    []byte // nil for an environment variable
	project bool
	trusted bool // a person has agreed to this project's settings that run programs
}

// object keeps the members of v that are right. It reports whether v is an
// object at all.
func (c *checker) object(v *hujson.Value, s *whet.Schema, path string) bool {
	if lit, ok := v.Value.(hujson.Literal); ok && (lit.Kind() == 't' || lit.Kind() == 'f') && member(s, "enabled") != nil {
		on, _ := hujson.Parse([]byte(`{"enabled":` + string(lit) + `}`)) // a constant but for true or false
		v.Value = on.Value
		c.l.Origins[join(path, "enabled")] = c.at(v)
		return true
	}
	obj, ok := v.Value.(*hujson.Object)
	if !ok {
		c.wrong(v, path, "want an object, got %s", v)
		return false
	}
	seen := map[string]bool{}
	var keep []hujson.ObjectMember
	// From the end, because of two members with one name the last one counts.
	for _, m := range slices.Backward(obj.Members) {
		name := m.Name.Value.(hujson.Literal).String()
		at := join(path, name)
		sub := member(s, name)
		switch {
		case seen[name]:
			c.wrong(&m.Name, "", "%s is set twice here; the last one counts", at)
			continue
		case sub == nil:
			c.wrong(&m.Name, "", "unknown key %q%s (ignored)", at, meant(name, s))
			continue
		case sub.UserOnly && c.project:
			c.wrong(&m.Name, "", "%s can't be set by a project, only in your own configuration (ignored)", at)
			continue
		case sub.Trusted && c.project && !c.trusted:
			c.wrong(&m.Name, "", "%s runs a program and comes from the project; it is ignored until you look at it and run `whet trust`", at)
			c.l.Problems[len(c.l.Problems)-1].Untrusted = true
			continue
		}
		seen[name] = true
		if c.value(&m.Value, sub, at) {
			keep = append(keep, m)
		}
	}
	slices.Reverse(keep)
	obj.Members = keep
	return true
}

func member(s *whet.Schema, name string) *whet.Schema {
	for _, p := range s.Properties {
		if p.Name == name {
			return p.Schema
		}
	}
	return s.Values
}

// value reports whether v is right, after mending what can be meant in one way only.
func (c *checker) value(v *hujson.Value, s *whet.Schema, path string) bool {
	if s.Type == "object" {
		return c.object(v, s, path)
	}
	if s.Type == "array" {
		return c.list(v, s, path)
	}
	if !c.plain(v, s, path) {
		return false
	}
	c.l.Origins[path] = c.at(v)
	return true
}

func (c *checker) list(v *hujson.Value, s *whet.Schema, path string) bool {
	if lit, ok := v.Value.(hujson.Literal); ok && lit.Kind() == '"' && s.Items.Type == "string" {
		c.wrong(v, path, "want a list, took %s as the only element", v)
		v.Value = &hujson.Array{Elements: []hujson.ArrayElement{{Value: lit}}}
	}
	arr, ok := v.Value.(*hujson.Array)
	if !ok {
		c.wrong(v, path, "want a list, got %s", v)
		return false
	}
	var keep []hujson.ArrayElement
	for i := range arr.Elements {
		el, at := &arr.Elements[i], fmt.Sprintf("%s[%d]", path, i)
		if s.Items.Type == "object" && c.object(el, s.Items, at) || s.Items.Type != "object" && c.plain(el, s.Items, at) {
			keep = append(keep, *el)
		}
	}
	arr.Elements = keep
	c.l.Origins[path] = c.at(v)
	return true
}

// plain checks a string, a number or a boolean.
func (c *checker) plain(v *hujson.Value, s *whet.Schema, path string) bool {
	lit, ok := v.Value.(hujson.Literal)
	want := map[string]struct{ kinds, name string }{
		"string": {`"`, "a text"}, "boolean": {"tf", "true or false"}, "integer": {"0", "a whole number"}, "number": {"0", "a number"},
	}[s.Type]
	switch {
	case !ok || !strings.ContainsRune(want.kinds, rune(lit.Kind())), s.Type == "integer" && json.Unmarshal(lit, new(int)) != nil:
		c.wrong(v, path, "want %s, got %s", want.name, v)
	case s.Minimum != nil && lit.Float() < *s.Minimum:
		c.wrong(v, path, "%s is less than the minimum %v", v, *s.Minimum)
	case s.Maximum != nil && lit.Float() > *s.Maximum:
		c.wrong(v, path, "%s is more than the maximum %v", v, *s.Maximum)
	case len(s.Enum) > 0 && !slices.Contains(s.Enum, lit.String()):
		c.wrong(v, path, "%s is none of %s", v, strings.Join(s.Enum, ", "))
	default:
		return true
	}
	return false
}

func (c *checker) wrong(v *hujson.Value, path, format string, a ...any) {
	for i, x := range a {
		if x, ok := x.(*hujson.Value); ok {
			a[i] = brief(x)
		}
	}
	text := fmt.Sprintf(format, a...)
	if path != "" {
		text = path + ": " + text
	}
	c.l.problem(c.at(v), "%s", text)
}

func brief(v *hujson.Value) string {
	switch x := v.Value.(type) {
	case *hujson.Object:
		return "an object"
	case *hujson.Array:
		return "a list"
	case hujson.Literal:
		if len(x) <= 60 {
			return string(x)
		}
	}
	return "a long text"
}

func (c *checker) at(v *hujson.Value) Origin {
	if c.text == nil {
		return Origin{Source: c.source}
	}
	before := string(c.text[:v.StartOffset])
	line := strings.Count(before, "\n")
	return Origin{c.source, line + 1, v.StartOffset - strings.LastIndexByte(before, '\n')}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// meant suggests the known key nearest to name.
func meant(name string, s *whet.Schema) string {
	for _, p := range s.Properties {
		if similar.Distance(strings.ToLower(name), strings.ToLower(p.Name)) <= 2 {
			return fmt.Sprintf(" - did you mean %q?", p.Name)
		}
	}
	return ""
}

// risky lists the settings in v that run programs, each with its value.
func risky(v hujson.Value, s *whet.Schema, path string) (settings []string) {
	obj, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	for _, m := range obj.Members {
		name := m.Name.Value.(hujson.Literal).String()
		switch sub := member(s, name); {
		case sub == nil:
		case sub.Trusted:
			value := m.Value.Clone()
			value.Minimize()
			settings = append(settings, join(path, name)+"="+value.String())
		default:
			settings = append(settings, risky(m.Value, sub, join(path, name))...)
		}
	}
	return settings
}
