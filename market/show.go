package market

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/whet-dev/whet/internal/escape"
	"github.com/whet-dev/whet/market/plugin"
	"github.com/whet-dev/whet/market/store"
)

const nothing = "no packages installed"

// List says what is installed, a line for each package.
func (m *Market) List() (Outcome, error) {
	s, err := m.state()
	if err != nil {
		return Outcome{}, coded("list", err)
	}
	o := Outcome{Action: "list", OK: true, Text: nothing}
	var lines []string
	for _, id := range s.lock.IDs() {
		sum := s.summary(id)
		o.Packages = append(o.Packages, sum)
		lines = append(lines, strings.Join(sum.Columns(), "\t"))
	}
	if lines != nil {
		o.Text = strings.Join(lines, "\n")
	}
	return o, nil
}

// summary describes an installed package, the zero Summary with its id if it
// isn't.
func (s *state) summary(id string) Summary {
	p, ok := s.lock.Packages[id]
	if !ok {
		return Summary{ID: id}
	}
	sum := Summary{
		ID: id, Version: p.Version, Tree: p.Tree, Title: p.Title, State: "disabled", Trusted: s.trust.Has(id, p),
		Files: p.Files, Bytes: p.Bytes, Source: p.Source, Signature: p.Signature, Components: p.Components,
	}
	if l, on := s.decides(id, ""); on {
		sum.State = "enabled(" + l.Scope + ")"
	}
	return sum
}

// Columns are the summary's line in a list: name, state, kinds of parts (with !
// for those that run something and may not yet), title.
func (s Summary) Columns() []string {
	return []string{s.ID + "@" + s.Version, s.State, cmp.Or(strings.Join(s.kinds(), ","), "-"), escape.Lines(s.Title)}
}

func (s Summary) kinds() (kinds []string) {
	c, off := s.Components, "!"
	if s.Trusted {
		off = ""
	}
	for _, k := range []struct {
		name string
		n    int
	}{
		{"agent", len(c.Agents)},
		{"skill", len(c.Skills)},
		{"command", len(c.Commands)},
		{"instruction", len(c.Instructions)},
		{"mcp" + off, len(c.MCP)},
		{"hook" + off, c.Hooks},
		{"formatter" + off, len(c.Formatters)},
	} {
		if k.n > 0 {
			kinds = append(kinds, k.name)
		}
	}
	return kinds
}

// Verify reads every stored byte of a package again, of all if id is empty. The
// outcome is not OK if anything is not as it was installed.
func (m *Market) Verify(ctx context.Context, id string) (Outcome, error) {
	s, err := m.state()
	if err != nil {
		return Outcome{}, coded("verify", err)
	}
	ids := s.lock.IDs()
	if id != "" {
		if !slices.Contains(ids, id) {
			return Outcome{}, coded("verify", notInstalled(id))
		}
		ids = []string{id}
	}
	o := Outcome{Action: "verify", OK: true, Text: nothing}
	var lines []string
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return Outcome{}, err
		}
		p := s.lock.Packages[id]
		found := s.store.Verify(id, p)
		if len(found) == 0 {
			found = s.invalid(id, p)
		}
		if len(found) == 0 {
			lines = append(lines, fmt.Sprintf("OK %s@%s %s", id, p.Version, plural(p.Files, "file")))
		}
		for _, f := range found {
			o.OK = false
			lines = append(lines, escape.Lines(fmt.Sprintf("FAIL %s@%s %s", id, p.Version, f)))
			o.Diagnostics = append(o.Diagnostics, Diagnostic{"disk", id, "corrupt", f.String()})
		}
		for _, l := range p.Lint {
			lines = append(lines, escape.Lines("  note: "+l))
		}
		o.Packages = append(o.Packages, s.summary(id))
	}
	if lines != nil {
		o.Text = strings.Join(lines, "\n")
	}
	return o, nil
}

// invalid checks that a whole package still means what was installed.
func (s *state) invalid(id string, p store.Package) []store.Finding {
	t, found := s.store.Load(id, p)
	if found != nil {
		return found
	}
	got, err := plugin.Parse(t)
	if err != nil {
		return []store.Finding{{What: err.Error()}}
	}
	if got.ID != id || got.Version != p.Version {
		return []store.Finding{{What: fmt.Sprintf("is %s@%s by its manifest", got.ID, got.Version)}}
	}
	return nil
}

// A Detail is all that is known of one package.
type Detail struct {
	Summary
	Description string           `json:"description,omitempty"`
	Programs    []plugin.Program `json:"programs,omitempty"`
	Settings    []plugin.Setting `json:"settings,omitempty"`
	Lacks       []string         `json:"lacks,omitempty"`
	Lint        []string         `json:"lint,omitempty"`
	Requires    store.Requires   `json:"requires,omitzero"`
	Plugin      *plugin.Plugin   `json:"-"`
}

// Show describes a package, as Markdown. Its prompts are quoted only with
// content set.
func (m *Market) Show(id string, content bool) (Outcome, error) {
	d, err := m.Detail(id)
	if err != nil {
		return Outcome{}, coded("show", err)
	}
	return Outcome{Action: "show", OK: true, Package: &d.Summary, Text: d.text(content), Detail: d}, nil
}

// Detail returns all that is known of a package.
func (m *Market) Detail(id string) (*Detail, error) {
	s, err := m.state()
	if err != nil {
		return nil, err
	}
	p, ok := s.lock.Packages[id]
	if !ok {
		return nil, notInstalled(id)
	}
	d := &Detail{Summary: s.summary(id), Description: p.Description, Lint: p.Lint, Requires: p.Requires}
	t, found := s.store.Load(id, p)
	if found != nil {
		d.State = "corrupt"
		d.Lint = append(d.Lint, "damaged: "+brief(found))
		return d, nil
	}
	if d.Plugin, err = plugin.Parse(t); err != nil {
		return nil, err
	}
	d.Programs, d.Settings = d.Plugin.Programs(), d.Plugin.Settings
	offered := map[string]bool{}
	for _, other := range s.enabled() {
		c := s.lock.Packages[other].Components
		for _, n := range c.Skills {
			offered["skill "+n] = true
		}
		for _, n := range c.MCP {
			offered["mcp "+n] = true
		}
	}
	d.Lacks = s.lacks(p.Requires, offered)
	return d, nil
}

func (d *Detail) text(content bool) string {
	var b strings.Builder
	line := func(format string, a ...any) {
		fmt.Fprintln(&b, strings.TrimRight(escape.Lines(fmt.Sprintf(format, a...)), " "))
	}
	line("# %s@%s", d.ID, d.Version)
	if d.Title != "" {
		line("\n**%s**", d.Title)
	}
	if d.Description != "" {
		line("\n%s", d.Description)
	}
	line("")
	line("- state: %s", d.State)
	line("- source: %s (%s)", d.Source.Path, d.Source.Kind)
	line("- format: %s", d.Source.Format)
	line("- tree: %s, %s, %d bytes", d.Tree, plural(d.Files, "file"), d.Bytes)
	line("- signature: %s %s %s", d.Signature.Status, d.Signature.Principal, d.Signature.Key)
	c := d.Components
	for _, k := range []struct {
		name  string
		names []string
	}{
		{"agents", c.Agents},
		{"skills", c.Skills},
		{"commands", c.Commands},
		{"instructions", c.Instructions},
		{"MCP servers", c.MCP},
		{"formatters", c.Formatters},
	} {
		if len(k.names) > 0 {
			line("- %s: %s", k.name, strings.Join(k.names, ", "))
		}
	}
	if c.Hooks > 0 {
		line("- hooks: %d", c.Hooks)
	}
	for _, r := range []struct {
		kind  string
		names []string
	}{{"skill", d.Requires.Skills}, {"mcp", d.Requires.MCP}, {"tool", d.Requires.Tools}} {
		for _, n := range r.names {
			is := "met"
			if slices.Contains(d.Lacks, r.kind+" "+n) {
				is = "missing"
			}
			line("- requires %s %s: %s", r.kind, n, is)
		}
	}
	for _, s := range d.Settings {
		line("- setting %s: %s (from $%s)", s.Name, s.Title, s.Env)
	}
	if len(d.Programs) > 0 {
		state := "off until a person runs: whet market trust " + d.ID
		switch {
		case d.Trusted:
			state = "trusted"
		case d.Components.Executable() == 0:
			state = "only if an agent calls it"
		}
		line("\n## Would run (%s)\n", state)
		for _, p := range d.Programs {
			if p.Line == "" { // the file is what would run
				line("- %s %s", p.Kind, p.Name)
				continue
			}
			line("- %s %s: `%s`", p.Kind, p.Name, p.Line)
		}
	}
	if len(d.Lint) > 0 {
		line("\n## Look at\n")
		for _, l := range d.Lint {
			line("- %s", l)
		}
	}
	if content && d.Plugin != nil {
		for _, t := range texts(d.Plugin) {
			fmt.Fprintf(&b, "\n## %s\n\n%s\n", escape.Lines(t.File), fenced(escape.Lines(t.Body)))
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// fenced quotes text with a fence that is longer than any in it.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.TrimRight(text, "\n") + "\n" + fence
}

// texts lists everything of a package that enters a prompt.
func texts(p *plugin.Plugin) (all []plugin.Text) {
	for _, x := range p.Agents {
		all = append(all, x.Text)
	}
	for _, x := range p.Skills {
		all = append(all, x.Text)
	}
	for _, x := range p.Commands {
		all = append(all, x.Text)
	}
	return append(all, p.Instructions...)
}
