package plugin

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Hooks and Formatters are whet's files of both.
const (
	Hooks      = Namespace + "/hooks/hooks.json"
	Formatters = Namespace + "/formatters.json"
)

// Events are those that a hook may be for.
var Events = []string{"pre_tool", "post_tool", "session_start", "stop", "user_prompt"}

// maxTimeout is the seconds that a hook may ask for.
const maxTimeout = 600

// hooks reads the hooks: a list for each event.
func (p *parser) hooks() {
	f, ok := p.t.Get(Hooks)
	if !ok {
		return
	}
	root, err := parseJSON(f.Name, f.Data)
	if err != nil {
		p.noteErr("invalid-hooks", "every hook", err)
		return
	}
	list, _ := root.get("hooks")
	events, err := list.object()
	if err != nil {
		p.noteErr("invalid-hooks", "every hook", err)
		return
	}
	for _, event := range slices.Sorted(maps.Keys(events)) {
		at, _ := list.get(event)
		items, ok := at.v.([]any)
		if !ok || !slices.Contains(Events, event) {
			p.noteErr("invalid-hook", "an event's hooks", at.fail("want a list of hooks for one of %s", strings.Join(Events, ", ")))
			continue
		}
		for i := range items {
			h, err := hook(event, at.item(i))
			if err != nil {
				p.noteErr("invalid-hook", "a hook", err)
				continue
			}
			p.p.Hooks = append(p.p.Hooks, h)
		}
	}
}

func hook(event string, v value) (h Hook, err error) {
	m, err := v.object()
	if err != nil {
		return h, err
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains([]string{"matcher", "command", "args", "timeout", "dialect"}, key) {
			field, _ := v.get(key)
			return h, field.fail("a hook has no such field")
		}
	}
	h.Event = event
	if h.Matcher, err = v.str("matcher"); err != nil {
		return h, err
	}
	if h.Command, err = v.str("command"); err != nil {
		return h, err
	}
	if h.Args, err = v.list("args"); err != nil {
		return h, err
	}
	if h.Dialect, err = v.str("dialect"); err != nil {
		return h, err
	}
	if t, ok := v.get("timeout"); ok {
		n, ok := t.v.(float64)
		if !ok || n < 0 || n > maxTimeout || n != float64(int(n)) {
			return h, t.fail("want whole seconds up to %d", maxTimeout)
		}
		h.Timeout = int(n)
	}
	if _, err := regexp.Compile(h.Matcher); err != nil || len(h.Matcher) > 1000 {
		return h, v.fail("matcher: want a regular expression in RE2's syntax")
	}
	if strings.TrimSpace(h.Command) == "" || strings.Contains(strings.Join(append(h.Args, h.Command), ""), "\x00") {
		return h, v.fail("command: it is missing, or has a zero byte")
	}
	return h, nil
}

// formatters reads the formatters by name.
func (p *parser) formatters() {
	f, ok := p.t.Get(Formatters)
	if !ok {
		return
	}
	root, err := parseJSON(f.Name, f.Data)
	if err != nil {
		p.noteErr("invalid-formatters", "every formatter", err)
		return
	}
	m, _ := root.object()
	for _, name := range slices.Sorted(maps.Keys(m)) {
		v, _ := root.get(name)
		if _, err := v.object(); err != nil {
			p.noteErr("invalid-formatter", "a formatter", err)
			continue
		}
		if command, err := v.list("command"); err != nil || len(command) == 0 || command[0] == "" {
			p.noteErr("invalid-formatter", "a formatter", v.fail("command: want the program and its arguments"))
			continue
		}
		raw, err := json.Marshal(v.v)
		if err != nil {
			p.noteErr("invalid-formatter", "a formatter", err)
			continue
		}
		p.p.Formatters = append(p.p.Formatters, Formatter{name, raw})
	}
}
