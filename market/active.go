package market

import (
	"context"
	"fmt"
	"slices"

	"github.com/whet-dev/whet/market/plugin"
	"github.com/whet-dev/whet/market/store"
	"github.com/whet-dev/whet/market/tree"
)

// Active returns the packages in force for a project: enabled, whole, with what
// they require, and admitted beside the others. It takes no lock and creates
// nothing. A package in trouble costs only itself, and a diagnostic; the error is
// for a store or a configuration that can't be read.
func Active(ctx context.Context, w Where) ([]Package, []Diagnostic, error) {
	if len(w.activation().enabled()) == 0 {
		return nil, nil, nil // the common case costs nothing more
	}
	s, err := w.state()
	if err != nil {
		return nil, nil, err
	}
	trees := map[string]tree.Tree{}
	s.damaged = func(id string, p store.Package) []store.Finding {
		t, found := s.store.Load(id, p)
		trees[id] = t
		return found
	}
	in, notes := s.admit()
	var out []Package
	for _, a := range in {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		p, err := plugin.Parse(trees[a.id])
		if err != nil {
			notes = append(notes, Diagnostic{"disk", a.id, string(InvalidPackage), err.Error()})
			continue
		}
		out = append(out, s.inForce(a, p))
	}
	return out, notes, nil
}

// inForce leaves of p what is admitted.
func (s *state) inForce(a *admission, p *plugin.Plugin) Package {
	p.Agents = slices.DeleteFunc(p.Agents, func(x plugin.Agent) bool { return !slices.Contains(a.agents, x.Name) })
	p.Skills = slices.DeleteFunc(p.Skills, func(x plugin.Skill) bool { return a.skills[x.Name] == nil })
	p.Commands = slices.DeleteFunc(p.Commands, func(x plugin.Command) bool { return a.commands[x.Name] == nil })
	p.Servers = slices.DeleteFunc(p.Servers, func(x plugin.Server) bool { return !a.trusted || a.servers[x.Name] == "" })
	if !a.trusted {
		p.Hooks, p.Formatters = nil, nil
	}
	return Package{
		ID: a.id, Version: a.pkg.Version, Tree: a.pkg.Tree, Plugin: p, Trusted: a.trusted,
		Root: s.store.Root(a.id, a.pkg.Tree), Data: s.store.Data(a.id),
		Skills: a.skills, Commands: a.commands, Servers: a.servers,
	}
}

// Live is one package as it was when a session began.
type Live struct {
	ID      string   `json:"id"`
	Version string   `json:"version"`
	Tree    string   `json:"tree"`
	Agents  []string `json:"agents,omitempty"`
	Parts   string   `json:"parts,omitempty"` // what of it was admitted, by name
	Trusted bool     `json:"trusted,omitempty"`
}

func (l Live) equal(m Live) bool {
	return l.ID == m.ID && l.Tree == m.Tree && l.Parts == m.Parts && l.Trusted == m.Trusted && slices.Equal(l.Agents, m.Agents)
}

// Snapshot returns what is in force now, for a session that begins to say later
// whether that has changed.
func Snapshot(w Where) ([]Live, error) {
	s, err := w.state()
	if err != nil {
		return nil, err
	}
	in, _ := s.admit()
	return live(in), nil
}

func live(in []*admission) []Live {
	out := []Live{}
	for _, a := range in {
		out = append(out, Live{
			ID: a.id, Version: a.pkg.Version, Tree: a.pkg.Tree, Agents: a.agents,
			Parts: fmt.Sprint(a.skills, a.commands, a.servers), Trusted: a.trusted && a.pkg.Components.Executable() > 0,
		})
	}
	return out
}
