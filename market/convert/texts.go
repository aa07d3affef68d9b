package convert

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/whet-dev/whet/internal/lazyregexp"
	"github.com/whet-dev/whet/market/plugin"
	"github.com/whet-dev/whet/market/tree"
)

// roots are the names that other programs have for the package's directories.
// In a text for a model or a command line they become those of the Agent Plugin
// format.
var roots = strings.NewReplacer(
	"${CLAUDE_PLUGIN_ROOT}", "${PLUGIN_ROOT}", "$CLAUDE_PLUGIN_ROOT", "${PLUGIN_ROOT}",
	"${CLAUDE_PLUGIN_DATA}", "${PLUGIN_DATA}", "$CLAUDE_PLUGIN_DATA", "${PLUGIN_DATA}",
	"${CURSOR_PLUGIN_ROOT}", "${PLUGIN_ROOT}",
	"${extensionPath}", "${PLUGIN_ROOT}", "${/}", "/", "${pathSeparator}", "/",
	"${__dirname}", "${PLUGIN_ROOT}",
)

// A front is front matter to be written: fields in order.
type front []field

type field struct {
	key string
	v   any // string, json.Number, []string or map[string]string
}

// file writes front matter and body. Strings are quoted as JSON does, which is
// YAML too.
func (f front) file(body string) []byte {
	var b bytes.Buffer
	b.WriteString("---\n")
	for _, x := range f {
		switch v := x.v.(type) {
		case string:
			fmt.Fprintf(&b, "%s: %s\n", x.key, quoted(v))
		case json.Number:
			fmt.Fprintf(&b, "%s: %s\n", x.key, v)
		case []string:
			items := make([]string, len(v))
			for i, s := range v {
				items[i] = quoted(s)
			}
			fmt.Fprintf(&b, "%s: [%s]\n", x.key, strings.Join(items, ", "))
		case map[string]string:
			fmt.Fprintf(&b, "%s:\n", x.key)
			for _, k := range slices.Sorted(maps.Keys(v)) {
				fmt.Fprintf(&b, "  %s: %s\n", quoted(k), quoted(v[k]))
			}
		}
	}
	b.WriteString("---\n\n")
	b.WriteString(strings.TrimSpace(body))
	b.WriteString("\n")
	return b.Bytes()
}

func quoted(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(strings.ToValidUTF8(s, "\ufffd")) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}

// readFront reads a text of the source; loose front matter is noted.
func (b *builder) readFront(f tree.File) (head map[string]any, body string) {
	head, body, loose := plugin.Front(strings.ToValidUTF8(string(f.Data), "\ufffd"))
	if loose {
		b.note("front-matter-repaired", f.Name, "it isn't valid YAML, and was read line by line")
	}
	return head, roots.Replace(body)
}

// skillsIn takes the skills of a directory: it is one, or each directory in it
// that has a SKILL.md.
func (b *builder) skillsIn(dir string) {
	found := false
	for _, f := range b.below(dir) {
		if path.Base(f.Name) != "SKILL.md" {
			continue
		}
		at := path.Dir(f.Name)
		if at == dir || path.Dir(at) == dir {
			found = true
			b.skill(at, path.Base(at))
		}
	}
	if !found && dir != "skills" {
		b.note("invalid-skill", dir, "there is no SKILL.md in it or right below it")
	}
}

// skill takes the skill in a directory of the source to skills/<name>.
func (b *builder) skill(dir, name string) {
	f, ok := b.in.Get(path.Join(dir, "SKILL.md"))
	if !ok {
		return
	}
	name = skillSlug(name)
	to := "skills/" + name
	if b.made[to+"/SKILL.md"] {
		return // named twice
	}
	if _, taken := b.files[to+"/SKILL.md"]; taken && to != dir {
		b.note("duplicate-name", f.Name, "there is a skill %s already; this one is left out", name)
		return
	}
	if to != dir {
		for _, g := range b.below(dir) {
			as := to + "/" + strings.TrimPrefix(g.Name, dir+"/")
			b.files[as] = tree.File{Name: as, Exec: g.Exec, Data: g.Data}
			if dir == "." || strings.HasPrefix(dir, "skills/") {
				delete(b.files, g.Name)
			}
		}
	}
	data, err := b.conform(f, name)
	if err != nil {
		b.note("invalid-skill", f.Name, "the skill is left out: %v", err)
		b.drop(to + "/SKILL.md")
		return
	}
	if string(data) != string(f.Data) {
		b.put(to+"/SKILL.md", data)
	}
	b.made[to+"/SKILL.md"] = true
}

func skillSlug(name string) string {
	name = slug(name, '-', "-")
	for strings.Contains(name, "--") {
		name = strings.ReplaceAll(name, "--", "-")
	}
	if len(name) > 64 {
		name = strings.Trim(name[:64], "-")
	}
	if name == "" {
		name = "skill"
	}
	return name
}

// conform rewrites a SKILL.md to what the Agent Skills format allows.
func (b *builder) conform(f tree.File, name string) ([]byte, error) {
	if _, err := plugin.ReadSkill(name, f.Data); err == nil {
		return []byte(roots.Replace(string(f.Data))), nil
	}
	head, body := b.readFront(f)
	out := front{{"name", name}}
	description := oneLine(text(head["description"]))
	if description == "" {
		description = firstLine(body)
	}
	if description == "" {
		return nil, fmt.Errorf("it has no description: say when it is to be used")
	}
	out = append(out, field{"description", cut(description, 1024)})
	if s := text(head["license"]); s != "" {
		out = append(out, field{"license", s})
	}
	if s := text(head["compatibility"]); s != "" {
		out = append(out, field{"compatibility", cut(s, 500)})
	}
	if tools := allowedTools(head["allowed-tools"]); tools != "" {
		out = append(out, field{"allowed-tools", tools})
	}
	meta := map[string]string{}
	if m, ok := head["metadata"].(map[string]any); ok {
		for k, v := range m {
			meta[k] = anyText(v)
		}
	}
	for k, v := range head {
		if !slices.Contains([]string{"name", "description", "license", "compatibility", "allowed-tools", "metadata"}, k) {
			meta[k] = anyText(v)
		}
	}
	if was := text(head["name"]); was != name && was != "" {
		meta["name"] = was
	}
	if len(meta) > 0 {
		out = append(out, field{"metadata", meta})
	}
	data := out.file(body)
	if _, err := plugin.ReadSkill(name, data); err != nil {
		return nil, err
	}
	b.once("skill-rewritten", f.Name, "the front matter of skills was made to conform; how they were is below %s", plugin.Original)
	return data, nil
}

// allowedTools is a list as the format wants it: a string with spaces.
func allowedTools(v any) string {
	if s, ok := v.(string); ok {
		return oneLine(s)
	}
	return strings.Join(words(v), " ")
}

// anyText is any value as a string, lists and maps as JSON.
func anyText(v any) string {
	switch v.(type) {
	case []any, map[string]any:
		data, err := json.Marshal(v)
		if err != nil {
			return fmt.Sprint(v)
		}
		return string(data)
	}
	return text(v)
}

// firstLine is the first line of prose.
func firstLine(body string) string {
	for line := range strings.Lines(body) {
		if line = strings.TrimSpace(strings.TrimLeft(line, "#> ")); line != "" && line != "---" {
			return line
		}
	}
	return ""
}

func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

var agentStart = lazyregexp.New(`^[^a-z]+`)

// agent takes one agent.
func (b *builder) agent(name string, f tree.File) {
	head, body := b.readFront(f)
	if s := text(head["name"]); s != "" {
		name = s
	}
	b.agentOf(name, f.Name, head, body)
}

// agentOf writes an agent in whet's own dialect: a tool that it doesn't know
// would make it leave the whole agent out.
func (b *builder) agentOf(name, file string, head map[string]any, body string) {
	name = agentStart.ReplaceAllString(slug(name, '-', "_-"), "")
	if len(name) > 64 {
		name = name[:64]
	}
	to := plugin.Namespace + "/agents/" + name + ".md"
	description := oneLine(text(head["description"]))
	switch {
	case name == "":
		b.note("invalid-agent", file, "it is left out: its name has no letter")
		return
	case b.made[to]:
		b.note("duplicate-name", file, "there is an agent %s already; this one is left out", name)
		return
	case strings.TrimSpace(body) == "":
		b.note("invalid-agent", file, "it is left out: there is no prompt in it")
		return
	case text(head["mode"]) == "primary":
		b.note("unsupported-component", file, "a primary agent: whet gives work to specialists only")
		return
	}
	if description == "" {
		if description = firstLine(body); description == "" {
			description = name
		}
	}
	out := front{{"description", cut(description, 1024)}}
	if mode := text(head["mode"]); mode == "subagent" || mode == "all" {
		out = append(out, field{"mode", mode})
	}
	if model := b.model(head, file); model != "" {
		out = append(out, field{"model", model})
	}
	out = append(out, b.tools(head, file)...)
	if s := text(head["color"]); s != "" {
		out = append(out, field{"color", s})
	}
	for _, key := range []string{"temperature", "maxTurns", "max_turns", "steps"} {
		if s := text(head[key]); number.MatchString(s) {
			out = append(out, field{key, json.Number(s)})
		}
	}
	b.put(to, out.file(body))
}

// model keeps a name that says a provider, and those that every host has.
func (b *builder) model(head map[string]any, file string) string {
	m := text(head["model"])
	if m == "" {
		if mc, ok := head["modelConfig"].(map[string]any); ok {
			m = text(mc["model"])
		}
	}
	switch {
	case m == "" || m == "inherit":
		return ""
	case strings.Contains(m, "/"), slices.Contains([]string{"opus", "sonnet", "haiku"}, m):
		return m
	}
	b.once("model-not-known", file, "the model %q is another program's; the agent takes the session's", cut(m, 80))
	return ""
}

// command takes one command. Its name has a colon for each directory.
func (b *builder) command(name string, head map[string]any, body, file string) {
	segments := strings.Split(name, "/")
	for i, s := range segments {
		segments[i] = slug(s, '-', "._-")
		if segments[i] == "" {
			b.note("invalid-command", file, "it is left out: its name has no letter")
			return
		}
	}
	name = strings.Join(segments, "/")
	to := plugin.Namespace + "/commands/" + name + ".md"
	switch {
	case b.made[to]:
		b.note("duplicate-name", file, "there is a command %s already; this one is left out", name)
		return
	case strings.TrimSpace(body) == "":
		b.note("invalid-command", file, "it is left out: there is no text in it")
		return
	}
	var out front
	description := oneLine(text(head["description"]))
	if description == "" {
		description = firstLine(body)
	}
	out = append(out, field{"description", cut(description, 1000)})
	hint := oneLine(text(head["argument-hint"]))
	if list := words(head["argument-hint"]); hint == "" && len(list) > 0 {
		hint = "[" + strings.Join(list, ", ") + "]"
	}
	if hint != "" {
		out = append(out, field{"argument-hint", cut(hint, 1000)})
	}
	if agent := text(head["agent"]); agent != "" {
		out = append(out, field{"agent", agent})
	}
	if model := b.model(head, file); model != "" {
		out = append(out, field{"model", model})
	}
	if head["allowed-tools"] != nil {
		b.once("not-applied", file, "allowed-tools of commands: no tool is allowed beforehand")
	}
	if strings.Contains(body, "!`") || strings.Contains(body, "!{") {
		b.once("shell-in-command", file, "shell lines in commands stay as text, and aren't run")
	}
	b.put(to, out.file(body))
}

// commandsIn takes the Markdown files below a directory, or one file.
func (b *builder) commandsIn(dir string) {
	for _, f := range b.markdown(dir) {
		head, body := b.readFront(f)
		name := strings.TrimSuffix(f.Name, ".md")
		if f.Name == dir {
			name = path.Base(name)
		}
		b.command(strings.TrimPrefix(name, dir+"/"), head, body, f.Name)
	}
}

// agentsIn takes the Markdown files below a directory, or one file.
func (b *builder) agentsIn(dir string) {
	for _, f := range b.markdown(dir) {
		b.agent(strings.TrimSuffix(stem(f.Name), ".agent"), f)
	}
}

func (b *builder) markdown(dir string) (out []tree.File) {
	if f, ok := b.in.Get(dir); ok {
		return []tree.File{f}
	}
	for _, f := range b.below(dir) {
		if strings.HasSuffix(f.Name, ".md") && !strings.EqualFold(path.Base(f.Name), "README.md") && !inSkill(f.Name) {
			out = append(out, f)
		}
	}
	return out
}

// inSkill reports whether a file is a skill's, in a directory that holds more.
func inSkill(name string) bool { return path.Base(name) == "SKILL.md" }

// instruction takes a text that is always on.
func (b *builder) instruction(file string) {
	f, ok := b.in.Get(file)
	if !ok {
		b.note("missing-file", file, "the manifest names it, and it isn't there")
		return
	}
	_, body := b.readFront(f)
	name := slug(stem(file), '-', "_-")
	if name == "" || strings.TrimSpace(body) == "" {
		b.note("invalid-instruction", file, "it is left out: it is empty, or its name has no letter")
		return
	}
	b.put(plugin.Namespace+"/instructions/"+name+".md", []byte(strings.TrimSpace(body)+"\n"))
}
