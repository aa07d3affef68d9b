package market

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/whet-dev/whet/internal/escape"
	"github.com/whet-dev/whet/market/store"
)

// Status says what is installed, what is configured, what the session has, and
// what is wrong between them.
func (m *Market) Status() (Outcome, error) {
	s, err := m.state()
	o := Outcome{Action: "status", OK: true, ReloadRequired: unknown}
	if s == nil {
		return Outcome{}, coded("status", err)
	}
	var in []*admission
	if err != nil {
		code := string(IO)
		if errors.Is(err, store.ErrLockfile) {
			code = string(Lockfile)
		}
		o.Diagnostics = append(o.Diagnostics, Diagnostic{"disk", "", code, err.Error()})
		s.lock = &store.Lock{}
	} else {
		corrupt := s.corrupt()
		s.damaged = func(id string, _ store.Package) []store.Finding { return corrupt[id] }
		for _, id := range s.lock.IDs() {
			sum := s.summary(id)
			if len(corrupt[id]) > 0 {
				sum.State = "corrupt"
				if !s.on(id) { // admit says it of those that are on
					o.Diagnostics = append(o.Diagnostics, Diagnostic{"disk", id, "corrupt", brief(corrupt[id])})
				}
			}
			o.Packages = append(o.Packages, sum)
		}
		var notes []Diagnostic
		in, notes = s.admit()
		o.Diagnostics = append(o.Diagnostics, notes...)
		o.ReloadRequired = m.reload(s, in)
	}
	for _, p := range s.broken {
		o.Diagnostics = append(o.Diagnostics, Diagnostic{"disk", "", "config", p.String()})
	}
	slices.SortStableFunc(o.Diagnostics, func(a, b Diagnostic) int { return strings.Compare(a.ID, b.ID) })
	if o.ReloadRequired == "true" {
		o.Notes = []string{"takes effect in the next session; the running session is not changed"}
	}
	o.Text = m.statusText(s, o)
	return o, nil
}

// corrupt looks quickly at every installed package: at one that is off only
// from the outside, unless that looks touched.
func (s *state) corrupt() map[string][]store.Finding {
	found := map[string][]store.Finding{}
	for id, p := range s.lock.Packages {
		if !s.on(id) && s.store.Glance(id, p) {
			continue
		}
		if f := s.store.Look(id, p); len(f) > 0 {
			found[id] = f
		}
	}
	return found
}

func (m *Market) statusText(s *state, o Outcome) string {
	var b strings.Builder
	line := func(format string, a ...any) {
		fmt.Fprintln(&b, strings.TrimRight(escape.Lines(fmt.Sprintf(format, a...)), " "))
	}
	section := func(name string, n int) {
		if n > 0 {
			line("%s:", name)
		}
	}
	var files []string
	for _, scope := range []string{"project", "user"} {
		if f, err := m.file(scope); err == nil {
			files = append(files, f.path)
		}
	}
	line("project: %s (scope files: %s)", cmp.Or(m.Dir, "none"), strings.Join(files, ", "))
	line("reload_required: %s", o.ReloadRequired)
	for _, n := range o.Notes {
		line("note: %s", n)
	}
	line("")
	if len(o.Packages) == 0 && len(o.Diagnostics) == 0 {
		line(nothing)
	}
	section("installed", len(o.Packages))
	for _, p := range o.Packages {
		if p.State == "corrupt" {
			line("  %s@%s corrupt", p.ID, p.Version)
			continue
		}
		exec := "none"
		if p.Components.Executable() > 0 {
			exec = map[bool]string{true: "trusted", false: "untrusted"}[p.Trusted]
		}
		line("  %s@%s %s signature=%s exec=%s", p.ID, p.Version, abbreviated(p.Tree), p.Signature.Status, exec)
	}
	on := s.enabled()
	section("configured", len(on))
	for _, id := range on {
		l, _ := s.decides(id, "")
		line("  %s %s", id, l.Scope)
	}
	if m.Live != nil {
		if was, ok := m.Live(); ok {
			section("live_packages", len(was))
			for _, l := range was {
				line("  %s@%s %s", l.ID, l.Version, agents(l.Agents))
			}
		}
	}
	section("diagnostics", len(o.Diagnostics))
	for _, d := range o.Diagnostics {
		line("  %s %s %s: %s", d.Scope, cmp.Or(d.ID, "-"), d.Code, d.Text)
	}
	return strings.TrimRight(b.String(), "\n")
}

func agents(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "agent=" + strings.Join(names, ",")
}
