package convert

import (
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/whet-dev/whet/market/plugin"
	"github.com/whet-dev/whet/market/tree"
)

// gemini takes an extension for Gemini CLI, or for Qwen Code, which has the same
// format.
func (b *builder) gemini(file string) error {
	f, _ := b.in.Get(file)
	m, err := parse(f)
	if err != nil {
		return err
	}
	b.describe(m)
	context := m.list("contextFileName")
	if len(context) == 0 {
		for _, name := range []string{"GEMINI.md", "QWEN.md"} {
			if _, ok := b.in.Get(name); ok && strings.HasPrefix(file, strings.ToLower(stem(name))) {
				context = append(context, name)
			}
		}
	}
	for _, name := range context {
		if clean, ok := local(name); ok {
			b.instruction(clean)
		}
	}
	b.serversOf(geminiServers(m.obj("mcpServers")), file)
	b.geminiSettings(m)
	for _, f := range b.below("commands") {
		if strings.HasSuffix(f.Name, ".toml") {
			b.tomlCommand(f)
		}
	}
	b.commandsIn("commands")
	b.agentsIn("agents")
	b.skillsIn("skills")
	b.hookFile("hooks/hooks.json", dialect("gemini-extension"))
	if len(m.list("excludeTools")) > 0 {
		b.note("not-applied", file, "excludeTools: a package takes no tools away; set permissions for that")
	}
	if b.has("policies") {
		b.unsupported("policies", "policies: a package sets no permissions")
	}
	for _, key := range []string{"themes", "plan", "migratedTo"} {
		if m[key] != nil {
			b.unsupported(file, key)
		}
	}
	return nil
}

// geminiServers marks the transport: "url" is the older one there.
func geminiServers(servers object) object {
	for _, name := range servers.keys() {
		s := servers.obj(name)
		if s.str("url") != "" && s.str("type") == "" && s.str("httpUrl") == "" {
			s["type"] = "sse"
		}
	}
	return servers
}

// geminiSettings takes the settings: each is a variable that the servers get.
func (b *builder) geminiSettings(m object) {
	list, _ := m["settings"].([]any)
	for _, x := range list {
		o, _ := x.(map[string]any)
		s := object(o)
		env := s.str("envVar")
		if !plugin.SettingName.MatchString(env) {
			b.note("invalid-setting", "", "the setting %q is left out: it names no variable", cut(s.str("name"), 80))
			continue
		}
		title := s.str("name")
		if title == "" {
			title = s.str("description")
		}
		b.settings[env] = map[string]any{"type": "string", "env": env, "sensitive": s.boolean("sensitive"), "title": cut(oneLine(title), 200)}
		b.addEnv(env, "${user_config."+env+"}")
	}
}

// tomlCommand takes a command of Gemini's. Directories in its name become
// colons, as they do there.
func (b *builder) tomlCommand(f tree.File) {
	var c struct {
		Description string `toml:"description"`
		Prompt      string `toml:"prompt"`
	}
	if err := toml.Unmarshal([]byte(strings.TrimPrefix(string(f.Data), "\ufeff")), &c); err != nil {
		b.note("invalid-command", f.Name, "it is left out: it isn't TOML: %s", oneLine(err.Error()))
		return
	}
	body := strings.ReplaceAll(roots.Replace(c.Prompt), "{{args}}", "$ARGUMENTS")
	name := strings.TrimSuffix(strings.TrimPrefix(f.Name, "commands/"), ".toml")
	b.command(name, map[string]any{"description": c.Description}, body, f.Name)
}
