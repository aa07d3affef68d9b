package convert

import (
	"path"
	"slices"
	"strings"

	"github.com/whet-dev/whet/market/plugin"
	"github.com/whet-dev/whet/market/tree"
)

// opencode takes the folder of a person or project for OpenCode: .opencode/, or
// the same without it, and its configuration.
func (b *builder) opencode(file string) error {
	m := object{}
	if file != "" {
		f, _ := b.in.Get(file)
		var err error
		if m, err = parse(f); err != nil {
			return err
		}
	}
	for _, base := range []string{"", ".opencode/"} {
		for _, dir := range []string{"agent", "agents"} {
			b.agentsIn(base + dir)
		}
		for _, dir := range []string{"command", "commands"} {
			b.commandsIn(base + dir)
		}
		for _, dir := range []string{"skill", "skills"} {
			if b.has(base + dir) {
				b.skillsIn(base + dir)
			}
		}
		for _, dir := range []string{"plugin", "plugins"} {
			b.modules(base + dir)
		}
	}
	servers := m.obj("mcp")
	if inner := servers.obj("servers"); inner != nil && inner.str("type") == "" { // the newer shape
		servers = inner
	}
	for _, name := range servers.keys() {
		s := servers.obj(name)
		if s == nil {
			continue
		}
		if s.str("type") == "local" {
			delete(s, "type")
		}
		b.server(name, s, file)
	}
	at := path.Dir(file)
	for _, name := range m.obj("agent").keys() {
		a := m.obj("agent").obj(name)
		b.agentOf(name, file, a, b.included(at, a.str("prompt")))
	}
	for _, name := range m.obj("command").keys() {
		c := m.obj("command").obj(name)
		b.command(name, c, b.included(at, c.str("template")), file)
	}
	for _, name := range m.list("instructions") {
		if clean, ok := local(path.Join(at, name)); ok && b.has(clean) && path.Ext(clean) == ".md" {
			b.instruction(clean)
		} else {
			b.note("not-applied", file, "the instructions %q: want one Markdown file of the package", cut(name, 100))
		}
	}
	b.opencodeRest(m, file)
	return nil
}

// included is a text that a configuration has, or the file that it names as
// {file:path}.
func (b *builder) included(at, s string) string {
	name, ok := strings.CutPrefix(s, "{file:")
	if !ok || !strings.HasSuffix(s, "}") {
		return s
	}
	clean, ok := local(path.Join(at, strings.TrimSuffix(name, "}")))
	f, there := b.in.Get(clean)
	if !ok || !there {
		return ""
	}
	return strings.ToValidUTF8(string(f.Data), "\ufffd")
}

// modules keeps JavaScript plugins where whet shows them and never runs them.
func (b *builder) modules(dir string) {
	for _, f := range b.below(dir) {
		if !slices.Contains([]string{".js", ".ts", ".mjs", ".cjs", ".mts"}, path.Ext(f.Name)) {
			continue
		}
		as := plugin.Namespace + "/opencode/plugins/" + strings.TrimPrefix(f.Name, dir+"/")
		b.files[as] = tree.File{Name: as, Exec: f.Exec, Data: f.Data}
		b.once("unsupported-component", dir, "plugins in JavaScript are kept in %s/opencode/, and whet never runs them", plugin.Namespace)
	}
}

func (b *builder) opencodeRest(m object, file string) {
	for _, name := range m.obj("formatter").keys() {
		f := m.obj("formatter").obj(name)
		if f.boolean("disabled") || len(f.list("command")) == 0 {
			continue
		}
		b.formatters[name] = map[string]any(f)
	}
	for _, key := range []string{"plugin", "lsp", "provider", "permission"} {
		if m[key] != nil {
			b.unsupported(file, key+" of the configuration")
		}
	}
}
