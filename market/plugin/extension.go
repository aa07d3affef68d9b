package plugin

import (
	"maps"
	"slices"
	"strings"

	"github.com/whet-dev/whet/internal/lazyregexp"
)

// extension reads what the manifest says under whet's namespace. What would
// change who the package is or what it needs must be right; anything else is
// left out alone.
func (p *parser) extension(v value) error {
	m, err := v.object()
	if err != nil {
		return err
	}
	if schema, ok := v.get("schema"); ok && schema.v != 1.0 {
		return schema.fail("it is of a newer whet; want 1")
	}
	known := []string{"schema", "id", "title", "requires", "optional", "userConfig", "agents"}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(known, key) {
			p.note("unknown-field", Manifest, "%q under %s is ignored", cut(key, 64), Namespace)
		}
	}
	id, err := v.str("id")
	if err != nil {
		return err
	}
	id = strings.ToLower(strings.TrimSpace(id))
	if id != "" && !packageID.MatchString(id) {
		field, _ := v.get("id")
		return field.fail("want publisher/name, each up to 64 of a-z, 0-9, ., - and _, not %q", cut(id, 140))
	}
	if title, err := v.str("title"); err != nil {
		return err
	} else if title != "" {
		p.p.Title = title
	}
	if p.p.Requires, err = requires(v, "requires"); err != nil {
		return err
	}
	if p.p.Optional, err = requires(v, "optional"); err != nil {
		return err
	}
	p.settings(v)
	p.routing(v)
	return p.identify(id)
}

func requires(v value, key string) (r Requires, err error) {
	x, ok := v.get(key)
	if !ok {
		return r, nil
	}
	if _, err = x.object(); err != nil {
		return r, err
	}
	if r.Whet, err = x.str("whet"); err != nil {
		return r, err
	}
	for _, f := range []struct {
		name string
		to   *[]string
	}{{"skills", &r.Skills}, {"mcp", &r.MCP}, {"tools", &r.Tools}} {
		if *f.to, err = x.list(f.name); err != nil {
			return r, err
		}
		if len(*f.to) > maxList {
			field, _ := x.get(f.name)
			return r, field.fail("more than %d names", maxList)
		}
	}
	return r, nil
}

// SettingName is what a setting may be called.
var SettingName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`)

var variable = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// settings reads userConfig.
func (p *parser) settings(v value) {
	x, ok := v.get("userConfig")
	if !ok {
		return
	}
	m, err := x.object()
	if err != nil {
		p.noteErr("invalid-setting", "userConfig", err)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		member, _ := x.get(name)
		s, err := setting(name, member)
		if err != nil {
			p.noteErr("invalid-setting", "a setting", err)
			continue
		}
		p.p.Settings = append(p.p.Settings, s)
	}
}

func setting(name string, v value) (s Setting, err error) {
	if !SettingName.MatchString(name) {
		return s, v.fail("want a name of up to 64 letters, digits, ., - and _")
	}
	if _, err = v.object(); err != nil {
		return s, err
	}
	s.Name = name
	if err := v.strs(to{"title", &s.Title}, to{"type", &s.Type}, to{"default", &s.Default}, to{"env", &s.Env}); err != nil {
		return s, err
	}
	if s.Sensitive, err = v.boolean("sensitive"); err != nil {
		return s, err
	}
	if s.Required, err = v.boolean("required"); err != nil {
		return s, err
	}
	if s.Type == "" {
		s.Type = "string"
	}
	switch {
	case !slices.Contains([]string{"string", "number", "boolean", "directory", "file"}, s.Type):
		return s, v.fail("its type is %q; want string, number, boolean, directory or file", cut(s.Type, 64))
	case s.Env != "" && !variable.MatchString(s.Env):
		return s, v.fail("%q is no name of an environment variable", cut(s.Env, 64))
	}
	s.Title = cut(oneLine(s.Title), 200)
	return s, nil
}

// routing reads what the manifest says of agents.
func (p *parser) routing(v value) {
	x, ok := v.get("agents")
	if !ok {
		return
	}
	m, err := x.object()
	if err != nil {
		p.noteErr("invalid-agent", "agents", err)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		member, _ := x.get(name)
		a, err := route(member)
		if err != nil {
			p.noteErr("invalid-agent", "what the manifest says of an agent", err)
			continue
		}
		p.routes[name] = a
	}
}

func route(v value) (a Agent, err error) {
	if _, err = v.object(); err != nil {
		return a, err
	}
	if a.Extends, err = v.str("extends"); err != nil {
		return a, err
	}
	r, ok := v.get("routing")
	if !ok {
		return a, nil
	}
	if _, err = r.object(); err != nil {
		return a, err
	}
	if a.Lane, err = r.str("lane"); err != nil {
		return a, err
	}
	if a.When, err = r.list("delegateWhen"); err != nil {
		return a, err
	}
	a.Avoid, err = r.list("avoid")
	if len(a.When) > maxList || len(a.Avoid) > maxList {
		return a, r.fail("more than %d lines", maxList)
	}
	return a, err
}
