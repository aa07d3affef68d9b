package market

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/whet-dev/whet/market/store"
)

// An admission is a package in force and what of it is.
type admission struct {
	id       string
	pkg      store.Package
	trusted  bool
	agents   []string
	skills   map[string][]string // names under which each is reached
	commands map[string][]string
	servers  map[string]string
}

// A state is all that decides what is in force.
type state struct {
	lock  *store.Lock
	trust store.Trust
	// distrust is why nothing is trusted, if that can't be read.
	distrust error
	activation
	store *store.Store
	where Where
	// damaged tells what is wrong with a package's files.
	damaged func(id string, p store.Package) []store.Finding
}

// state reads the store and the configuration.
func (w Where) state() (*state, error) {
	dir, err := store.Place(w.getenv)
	if err != nil {
		return nil, err
	}
	s := &state{store: &store.Store{Dir: dir}, where: w, activation: w.activation()}
	s.damaged = s.store.Look
	if s.lock, err = s.store.Read(); err != nil {
		return s, err
	}
	s.trust, s.distrust = s.store.Trusted()
	return s, nil
}

// admit decides what is in force. It doesn't depend on the order of anything.
func (s *state) admit() (in []*admission, notes []Diagnostic) {
	note := func(id, code, format string, a ...any) {
		notes = append(notes, Diagnostic{"disk", id, code, fmt.Sprintf(format, a...)})
	}
	if s.distrust != nil {
		note("", "untrusted", "nothing executable runs: %v", s.distrust)
	}
	for _, id := range s.enabled() {
		p, ok := s.lock.Packages[id]
		if !ok {
			l, _ := s.decides(id, "")
			note(id, "missing", "enabled by %s and not installed", l.at(id))
			continue
		}
		if found := s.damaged(id, p); len(found) > 0 {
			note(id, "corrupt", "%s", brief(found))
			continue
		}
		if s.Options.RequireSignature == "always" && p.Signature.Status != "valid" {
			note(id, string(BadSignature), "its signature is %s, and marketplace.requireSignature wants a valid one", p.Signature.Status)
			continue
		}
		in = append(in, &admission{id: id, pkg: p, trusted: s.trust.Has(id, p)})
	}
	in = s.satisfied(in, note)
	s.name(in, note)
	return in, notes
}

func brief(found []store.Finding) string {
	text := found[0].String()
	if n := len(found) - 1; n > 0 {
		text += fmt.Sprintf(", and %d more", n)
	}
	return text
}

type noter func(id, code, format string, a ...any)

// satisfied drops packages that lack what they require, until those that are
// left have it all.
func (s *state) satisfied(in []*admission, note noter) []*admission {
	for {
		n := len(in)
		offered := map[string]bool{}
		for _, a := range in {
			for _, name := range a.pkg.Components.Skills {
				offered["skill "+name] = true
			}
			for _, name := range a.pkg.Components.MCP {
				offered["mcp "+name] = offered["mcp "+name] || a.trusted
			}
		}
		in = slices.DeleteFunc(in, func(a *admission) bool {
			lacks := s.lacks(a.pkg.Requires, offered)
			if lacks != nil {
				note(a.id, "missing-required-dependency", "it requires %s", strings.Join(lacks, ", "))
			}
			return lacks != nil
		})
		if len(in) == n {
			return in
		}
	}
}

// lacks lists what of r is neither offered by a package nor there without any.
func (s *state) lacks(r store.Requires, offered map[string]bool) (lacks []string) {
	for _, k := range []struct {
		kind  string
		names []string
	}{{"skill", r.Skills}, {"mcp", r.MCP}, {"tool", r.Tools}} {
		for _, name := range k.names {
			if !offered[k.kind+" "+name] && !s.has(k.kind, name) {
				lacks = append(lacks, k.kind+" "+name)
			}
		}
	}
	return lacks
}

func (s *state) has(kind, name string) bool { return s.where.Has != nil && s.where.Has(kind, name) }

// name gives every component the names it is reached by.
func (s *state) name(in []*admission, note noter) {
	spaces := map[string]int{}
	for _, a := range in {
		spaces[short(a.id)]++
	}
	space := func(a *admission) string {
		if spaces[short(a.id)] > 1 {
			return strings.Replace(a.id, "/", ".", 1)
		}
		return short(a.id)
	}
	s.nameAgents(in, note)
	for _, a := range in {
		a.skills, a.commands, a.servers = map[string][]string{}, map[string][]string{}, map[string]string{}
	}
	s.nameParts(in, "skill", space, note, func(a *admission) ([]string, map[string][]string) { return a.pkg.Components.Skills, a.skills })
	s.nameParts(in, "command", space, note, func(a *admission) ([]string, map[string][]string) { return a.pkg.Components.Commands, a.commands })
	nameServers(in, space, note)
}

func short(id string) string { return id[strings.IndexByte(id, '/')+1:] }

// nameAgents drops agents of a name that is taken. They have no other.
func (s *state) nameAgents(in []*admission, note noter) {
	claims := map[string]int{}
	for _, a := range in {
		for _, name := range a.pkg.Components.Agents {
			claims[name]++
		}
	}
	for _, a := range in {
		for _, name := range a.pkg.Components.Agents {
			switch {
			case s.has("agent", name):
				note(a.id, "collision", "agent %s is left out: there is one of that name already", name)
			case claims[name] > 1:
				note(a.id, "collision", "agent %s is left out: another package has one of that name", name)
			default:
				a.agents = append(a.agents, name)
			}
		}
	}
}

// nameParts names skills or commands: SPACE.NAME always, and the bare name
// if nothing else claims it. Of several with the same bytes one is left.
func (s *state) nameParts(in []*admission, kind string, space func(*admission) string, note noter, parts func(*admission) ([]string, map[string][]string)) {
	claims := map[string][]*admission{}
	for _, a := range in {
		names, _ := parts(a)
		for _, name := range names {
			claims[name] = append(claims[name], a)
		}
	}
	for name, all := range claims {
		first, same := all[0], true
		for _, a := range all[1:] {
			same = same && s.part(kind, name, a) == s.part(kind, name, first)
		}
		if same {
			all, claims[name] = all[:1], all
		}
		taken := s.has(kind, name)
		for _, a := range all {
			_, names := parts(a)
			if !taken && len(all) == 1 {
				names[name] = append(names[name], name)
			}
			names[name] = append(names[name], space(a)+"."+name)
		}
		if same {
			_, names := parts(first)
			for _, a := range claims[name][1:] {
				names[name] = append(names[name], space(a)+"."+name)
			}
		}
	}
	for _, a := range in { // in order, which the loop over a map is not
		names, reached := parts(a)
		for _, name := range names {
			full := space(a) + "." + name
			if r := reached[name]; len(r) > 0 && r[0] != name {
				note(a.id, "collision", "%s %s is reached as %s only: there is another of that name", kind, name, full)
			}
		}
	}
}

// part returns what tells a skill or command from another of its name.
func (s *state) part(kind, name string, a *admission) string {
	prefix := "skills/" + name + "/"
	if kind == "command" {
		prefix = commandFile(name)
	}
	if part := s.store.Part(a.pkg.Tree, prefix); part != "" {
		return part
	}
	return a.id
}

// serverName keeps what every host takes in the name of an MCP server.
func serverName(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 128 && (r == '_' || r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '_'
	}, s)
}

func nameServers(in []*admission, space func(*admission) string, note noter) {
	claims := map[string]int{}
	id := func(a *admission, name string) string {
		return serverName(space(a) + "__" + name)
	}
	for _, a := range in {
		for _, name := range a.pkg.Components.MCP {
			claims[id(a, name)]++
		}
	}
	for _, a := range in {
		for _, name := range a.pkg.Components.MCP {
			if n := id(a, name); claims[n] == 1 {
				a.servers[name] = n
				continue
			}
			note(a.id, "collision", "MCP server %s is left out: another would be called %s too", name, id(a, name))
		}
	}
}
