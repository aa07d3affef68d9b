package convert

import (
	"path"
	"slices"
	"strings"
)

// claude takes a plugin for Claude Code, Codex or Cursor: their layouts are
// one. The manifest may be missing, and a catalogue's entry may say more, or be
// the manifest (strict: false).
func (b *builder) claude(format, file string, entry object) error {
	m := object{}
	if file != "" {
		f, _ := b.in.Get(file)
		var err error
		if m, err = parse(f); err != nil {
			return err
		}
	}
	b.describe(entry)
	b.describe(m)
	if ui := m.obj("interface"); ui.str("displayName") != "" { // Codex
		b.title = ui.str("displayName")
	}
	b.userConfig(m.obj("userConfig"))
	only := entry != nil && entry["strict"] == false
	b.claudeSkills(m, entry, only)
	if format != "codex-plugin" {
		b.each("agents", only, b.agentsIn, m, entry)
		b.each("commands", only, b.commandsIn, m, entry)
	}
	for _, o := range []object{m, entry} {
		b.claudeServers(o)
		b.claudeHooks(format, o)
	}
	if len(b.servers)+len(b.own) == 0 {
		for _, name := range []string{".mcp.json", "mcp.json"} {
			b.serverFile(name)
		}
	}
	if len(b.hooks) == 0 {
		b.hookFile("hooks/hooks.json", dialect(format))
	}
	b.claudeRest(m, entry)
	return nil
}

// each takes a kind of component from its own directory and from those that
// the manifests name.
func (b *builder) each(key string, only bool, take func(string), manifests ...object) {
	dirs := []string{key}
	var named []string
	for _, o := range manifests {
		for _, p := range o.list(key) {
			if clean, ok := local(p); ok && b.has(clean) {
				named = append(named, clean)
			} else {
				b.note("missing-file", p, "the manifest names it, and it isn't in the package")
			}
		}
	}
	if only && len(named) > 0 {
		dirs = nil
	}
	dirs = append(dirs, named...)
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
		take(dir)
	}
}

// claudeSkills takes the skills. Where the catalogue's entry is the manifest and
// names some, the others belong to the catalogue's other plugins.
func (b *builder) claudeSkills(m, entry object, only bool) {
	if only && len(entry.list("skills")) > 0 {
		named := map[string]bool{}
		for _, p := range append(entry.list("skills"), m.list("skills")...) {
			clean, _ := local(p)
			named[clean] = true
		}
		for _, f := range b.below("skills") {
			parts := strings.SplitN(f.Name, "/", 3)
			if len(parts) == 3 && !named[parts[0]+"/"+parts[1]] && !named["skills"] && !named["."] {
				delete(b.files, f.Name)
			}
		}
	}
	b.each("skills", only, b.skillsIn, m, entry)
	if _, ok := b.in.Get("SKILL.md"); ok && len(b.below("skills")) == 0 {
		b.skill(".", b.name) // a plugin that is one skill
	}
}

func (b *builder) claudeServers(o object) {
	switch v := o["mcpServers"].(type) {
	case map[string]any:
		b.serversOf(object(v), "the manifest")
	case string, []any:
		for _, p := range o.list("mcpServers") {
			if clean, ok := local(p); ok {
				b.serverFile(clean)
			}
		}
	}
}

func (b *builder) claudeHooks(format string, o object) {
	switch v := o["hooks"].(type) {
	case map[string]any:
		inner := object(v)
		if h := inner.obj("hooks"); h != nil {
			inner = h
		}
		b.hooksOf(inner, "the manifest", dialect(format))
	case string, []any:
		for _, p := range o.list("hooks") {
			if clean, ok := local(p); ok {
				b.hookFile(clean, dialect(format))
			}
		}
	}
}

// dialect is the wire format of a host's hooks.
func dialect(format string) string {
	switch format {
	case "codex-plugin":
		return "codex"
	case "cursor-plugin":
		return "cursor"
	case "gemini-extension":
		return "gemini"
	}
	return "claude-code"
}

// unknownParts are what such plugins may have that whet has no counterpart of.
var unknownParts = []struct{ key, file, what string }{
	{"lspServers", ".lsp.json", "language servers"},
	{"outputStyles", "output-styles", "output styles"},
	{"monitors", "monitors", "monitors"},
	{"themes", "themes", "themes"},
	{"apps", ".app.json", "apps"},
	{"channels", "", "channels"},
	{"", "bin", "programs put on PATH"},
	{"", "settings.json", "settings"},
}

func (b *builder) claudeRest(m, entry object) {
	for _, u := range unknownParts {
		_, inManifest := m[u.key]
		_, inEntry := entry[u.key]
		switch {
		case u.file != "" && b.has(u.file):
			b.unsupported(u.file, u.what)
		case u.key != "" && (inManifest || inEntry):
			b.unsupported("", u.what)
		}
	}
	for _, f := range b.below("rules") {
		if path.Ext(f.Name) != ".mdc" {
			continue
		}
		if head, _ := b.readFront(f); head["alwaysApply"] == true {
			b.instruction(f.Name)
		} else {
			b.unsupported(f.Name, "a rule for some files only")
		}
	}
}

// loneSkills takes a skill, or a directory of them.
func (b *builder) loneSkills(file string) {
	if file == "SKILL.md" {
		f, _ := b.in.Get(file)
		if head, _ := b.readFront(f); text(head["name"]) != "" {
			b.name = text(head["name"])
		}
		b.skill(".", b.name)
		return
	}
	b.skillsIn("skills")
}
