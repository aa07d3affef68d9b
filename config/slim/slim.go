// Package slim translates the configuration of oh-my-opencode-slim, a plugin
// with several of the same capabilities, into whet's.
package slim

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/whet-dev/whet/internal/jsonc"
)

// A Setting is one of whet's, and what it comes from.
type Setting struct {
	Path  []string // in whet's configuration
	Value any
	From  string // where it stood, such as agents.explorer.model
	Line  int    // from 1
}

// A Note is a key that was not taken, and why.
type Note struct {
	From string
	Line int
	Why  string
}

// An Import is what a file becomes, in the order of its lines. Every key of the
// file is in one of the two.
type Import struct {
	Settings []Setting
	Notes    []Note
}

type reader struct {
	*jsonc.Document
	Import
}

// Read translates a file. Its error says that the text is no JSON with comments.
func Read(text []byte) (*Import, error) {
	d, err := jsonc.Parse(text)
	if err != nil {
		return nil, err
	}
	r := &reader{Document: d}
	top, _ := d.Get()
	o, _ := top.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(o)) {
		switch key {
		case "$schema", "preset": // the preset is named where it is read
		case "webfetch":
			r.each(o[key], r.webfetch, key)
		case "disabled_tools":
			r.take([]string{"tools", "disabled"}, o[key], key)
		case "agents":
			r.each(o[key], r.agent, key)
		case "presets":
			r.presets(o)
		case "acpAgents":
			r.each(o[key], r.acp, key)
		case "backgroundJobs":
			r.each(o[key], r.jobs, key)
		case "council":
			r.council(o[key])
		default:
			r.leave(unknown, key)
		}
	}
	slices.SortStableFunc(r.Settings, func(a, b Setting) int { return a.Line - b.Line })
	slices.SortStableFunc(r.Notes, func(a, b Note) int { return a.Line - b.Line })
	return &r.Import, nil
}

const unknown = "whet has no such setting"

func (r *reader) take(path []string, value any, from ...string) {
	r.Settings = append(r.Settings, Setting{path, value, strings.Join(from, "."), r.Line(from...)})
}

func (r *reader) leave(why string, from ...string) {
	r.Notes = append(r.Notes, Note{strings.Join(from, "."), r.Line(from...), why})
}

// each reads the members of an object.
func (r *reader) each(v any, read func(v any, at []string), at ...string) {
	o, ok := v.(map[string]any)
	if !ok {
		r.leave("want an object", at...)
		return
	}
	for _, k := range slices.Sorted(maps.Keys(o)) {
		read(o[k], append(slices.Clone(at), k))
	}
}

func (r *reader) webfetch(v any, at []string) {
	switch at[1] {
	case "enabled":
		r.take([]string{"webfetch", "enabled"}, v, at...)
	case "model":
		r.take([]string{"webfetch", "model"}, models(v), at...)
	default:
		r.leave(unknown, at...)
	}
}

// models are the names in a model setting: one, or several in order, each
// perhaps with a variant.
func models(v any) (names []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case map[string]any:
		id, _ := v["id"].(string)
		if variant, ok := v["variant"].(string); ok {
			id += "#" + variant
		}
		return []string{id}
	case []any:
		for _, e := range v {
			names = append(names, models(e)...)
		}
	}
	return names
}

// agent reads one agent's overrides.
func (r *reader) agent(v any, at []string) {
	name := at[len(at)-1]
	r.each(v, func(v any, at []string) {
		if at[len(at)-1] != "model" {
			r.leave("whet's specialists have their own; agents in files can have others", at...)
			return
		}
		names := models(v)
		if len(names) == 0 {
			r.leave("it names no model", at...)
			return
		}
		path := []string{"task", "agents", name, "model"}
		if name == "orchestrator" {
			path = []string{"agent", "model"}
		}
		first, _, _ := strings.Cut(names[0], "#")
		r.take(path, first, at...)
		if len(names) > 1 {
			r.leave("whet takes the first model; the others are not fallen back to", at...)
		}
	}, at...)
}

// presets reads the one that is in force; what stands directly under agents
// wins over it.
func (r *reader) presets(top map[string]any) {
	active, _ := top["preset"].(string)
	all, ok := top["presets"].(map[string]any)
	if !ok {
		r.leave("want an object", "presets")
		return
	}
	own, _ := top["agents"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if name != active {
			r.leave("only the preset in force is taken", "presets", name)
			continue
		}
		at := []string{"presets", name}
		preset, _ := all[name].(map[string]any)
		if agents, ok := preset["agents"]; ok {
			at = append(at, "agents")
			preset, _ = agents.(map[string]any)
		}
		for _, a := range slices.Sorted(maps.Keys(preset)) {
			here := append(slices.Clone(at), a)
			switch {
			case a == "marketplace":
				r.packages(preset[a], here)
			case own[a] != nil:
				r.leave("agents."+a+" wins", here...)
			default:
				r.agent(preset[a], here)
			}
		}
	}
}

// packages reads which packages of the marketplace a preset has on.
func (r *reader) packages(v any, at []string) {
	r.each(v, func(v any, at []string) {
		list, _ := v.([]any)
		on, known := map[string]bool{"agents": true, "agents_add": true, "agents_remove": false}[at[len(at)-1]]
		if !known {
			r.leave(unknown, at...)
			return
		}
		for i, id := range list {
			if id, ok := id.(string); ok {
				r.take([]string{"marketplace", "packages", id}, on, append(slices.Clone(at), strconv.Itoa(i))...)
			}
		}
	}, at...)
}

func (r *reader) acp(v any, at []string) {
	name := at[1]
	r.each(v, func(v any, at []string) {
		switch key := at[2]; key {
		case "command", "args", "env":
			r.take([]string{"task", "acp", name, key}, v, at...)
		default:
			r.leave("permissions are in task.allow, the rest is the agent's own", at...)
		}
	}, at...)
}

func (r *reader) jobs(v any, at []string) {
	switch at[1] {
	case "wallClockTimeoutMs":
		r.scaled([]string{"task", "maxRunS"}, v, 1000, at...)
	case "stopConfirmationMs":
		r.scaled([]string{"task", "stopGraceMS"}, v, 1, at...)
	case "concurrency":
		r.each(v, r.concurrency, at...)
	default:
		r.leave(unknown, at...)
	}
}

func (r *reader) concurrency(v any, at []string) {
	switch at[2] {
	case "default":
		r.scaled([]string{"task", "total"}, v, 1, at...)
	case "provider", "model":
		r.each(v, func(v any, at []string) { r.scaled([]string{"task", "models", at[3]}, v, 1, at...) }, at...)
	default:
		r.leave(unknown, at...)
	}
}

// scaled takes an integer, divided and rounded up: never less than was meant.
func (r *reader) scaled(path []string, v any, by int64, at ...string) {
	number, _ := v.(json.Number)
	n, err := number.Int64()
	if err != nil {
		r.leave(fmt.Sprintf("want an integer, not %v", v), at...)
		return
	}
	r.take(path, (n+by-1)/by, at...)
}

// council reads the seats of the preset in force.
func (r *reader) council(v any) {
	o, _ := v.(map[string]any)
	active, ok := o["default_preset"].(string)
	if !ok {
		active = "default"
	}
	r.each(v, func(v any, at []string) {
		switch at[1] {
		case "default_preset":
		case "presets":
			r.each(v, func(v any, at []string) {
				if at[2] != active {
					r.leave("only the preset in force is taken", at...)
					return
				}
				r.each(v, r.seat, at...)
			}, at...)
		default:
			r.leave(unknown, at...)
		}
	}, "council")
}

func (r *reader) seat(v any, at []string) {
	name := at[len(at)-1]
	r.each(v, func(v any, at []string) {
		if names := models(v); at[len(at)-1] == "model" && len(names) > 0 {
			first, _, _ := strings.Cut(names[0], "#")
			r.take([]string{"task", "agents", "councillor-" + name, "model"}, first, at...)
			return
		}
		r.leave(unknown, at...)
	}, at...)
}
