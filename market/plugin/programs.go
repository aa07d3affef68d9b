package plugin

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/whet-dev/whet/internal/escape"
	"github.com/whet-dev/whet/internal/lazyregexp"
)

// A Program is something that the package would have run, for a person to read.
type Program struct {
	Kind string // hook, mcp, remote, formatter, script or module
	Name string // its event, server, formatter or file
	Line string // the command line, or the address of a remote server
}

// Programs lists all that the package would have run, in a stable order. The
// lines have no character that a terminal would act on.
func (p *Plugin) Programs() (list []Program) {
	add := func(kind, name, line string) {
		list = append(list, Program{kind, escape.Lines(oneLine(name)), escape.Lines(line)})
	}
	for _, h := range p.Hooks {
		line := h.Command
		if h.Args != nil {
			line = quote(append([]string{h.Command}, h.Args...))
		}
		name := h.Event
		if h.Matcher != "" {
			name += " on " + h.Matcher
		}
		add("hook", name, line)
	}
	for _, s := range p.Servers {
		if s.Type == "stdio" {
			add("mcp", s.Name, s.line()+p.reads(s.line()))
			continue
		}
		line := s.URL
		for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
			line += " " + name + ": " + s.Headers[name]
		}
		add("remote", s.Name, line+p.reads(line))
	}
	for _, f := range p.Formatters {
		var use struct{ Command []string }
		_ = json.Unmarshal(f.Value, &use) // checked when it was read
		add("formatter", f.Name, quote(use.Command))
	}
	for _, name := range p.Scripts {
		add("script", name, "")
	}
	for _, name := range p.Modules {
		add("module", name, "")
	}
	return list
}

// line is a server's command line, with the variables that it sets.
func (s Server) line() string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		words = append(words, name+"="+quote([]string{s.Env[name]}))
	}
	return strings.Join(append(words, quote(append([]string{s.Command}, s.Args...))), " ")
}

// reads says which variables of the environment a text's settings are taken
// from.
func (p *Plugin) reads(text string) (out string) {
	for _, s := range p.Settings {
		if s.Env != "" && strings.Contains(text, "${user_config."+s.Name+"}") {
			out += " (reads $" + s.Env + ")"
		}
	}
	return out
}

var plain = lazyregexp.New(`^[\w@%+=:,./${}-]+$`)

// quote is words as a shell would take them; placeholders stay readable.
func quote(words []string) string {
	out := slices.Clone(words)
	for i, w := range words {
		if !plain.MatchString(w) {
			out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}
