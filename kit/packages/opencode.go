package packages

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/whet-dev/whet/agent"
	"github.com/whet-dev/whet/market"
	"github.com/whet-dev/whet/market/plugin"
)

// A Host is what must be known to put packages into another agent's
// configuration.
type Host struct {
	Exe string // whet's own path, by which servers are started
	Dir string // where texts are written that the host reads from files
}

// OpenCode returns what the packages add to OpenCode's configuration, by its
// sections. Skills and instructions it reads from files: they are written below
// the host's Dir with the line that says where they are from.
func (s Set) OpenCode(h Host) (map[string]any, error) {
	agents, commands, servers := map[string]any{}, map[string]any{}, map[string]any{}
	for _, p := range s {
		for _, a := range p.Plugin.Agents {
			if r, err := roleOf(p, a); err == nil {
				agents[r.Name] = openCodeAgent(p, a, r)
			}
		}
		for _, k := range p.Plugin.Commands {
			for _, name := range p.Commands[k.Name] {
				commands[name] = openCodeCommand(p, k)
			}
		}
	}
	for _, x := range s.Servers() {
		servers[x.ID] = map[string]any{"type": "local", "command": append([]string{h.Exe}, serving(x.Name)...)}
	}
	out := map[string]any{}
	for section, members := range map[string]map[string]any{"agent": agents, "command": commands, "mcp": servers} {
		if len(members) > 0 {
			out[section] = members
		}
	}
	skills, instructions, err := s.write(h.Dir)
	if skills != "" {
		out["skills"] = map[string]any{"paths": []string{skills}}
	}
	if instructions != nil {
		out["instructions"] = instructions
	}
	return out, err
}

func openCodeAgent(p market.Package, a plugin.Agent, r agent.Role) map[string]any {
	out := map[string]any{
		"mode": "subagent", "prompt": r.Prompt, "permission": openCodeLane(r.Tools),
		"description": strings.Join(lane(a), " ") + " (" + p.Provenance() + ")",
	}
	if r.Model != "" {
		out["model"] = r.Model
	}
	if r.MaxSteps > 0 {
		out["steps"] = r.MaxSteps
	}
	return out
}

// openCodeTools are OpenCode's own tools by the name of their permission, and
// ours that go under it.
var openCodeTools = map[string][]string{
	"bash": {"bash"}, "edit": {"edit", "write", "apply_patch"}, "webfetch": {"webfetch"},
	"read": {"read"}, "glob": {"glob"}, "grep": {"grep"}, "list": {"glob"},
	"task": nil, "todowrite": nil, "todoread": nil, "question": nil, "websearch": nil, "codesearch": nil, "lsp": nil,
}

// openCodeLane holds an agent to its tools by taking the others away. It allows
// nothing that a person's own rules, which it goes over, may ask about or deny.
// Tools of servers and of whet have a _ in their names.
func openCodeLane(tools []string) map[string]string {
	rules := map[string]string{"*_*": "deny", "external_directory": "ask", "doom_loop": "ask"} // the first comes first in JSON
	for permission, names := range openCodeTools {
		if !slices.ContainsFunc(names, func(n string) bool { return slices.Contains(tools, n) }) {
			rules[permission] = "deny"
		}
	}
	for name, rule := range map[string]string{"ast_grep_search": "allow", "ast_grep_replace": "ask"} {
		if slices.Contains(tools, name) {
			rules[name] = rule
		}
	}
	return rules
}

func openCodeCommand(p market.Package, k plugin.Command) map[string]any {
	out := map[string]any{"template": p.Provenance() + ":\n\n" + tame(k.Body), "description": oneLine(k.Description) + " (" + p.Provenance() + ")"}
	if k.Agent != "" {
		out["agent"] = k.Agent
	}
	if strings.Contains(k.Model, "/") {
		out["model"] = k.Model
	}
	return out
}

var reaching = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("!`|@[~/]|@[^\\s`]*\\.\\.") })

// tame breaks what OpenCode would do by itself when a person calls a command:
// run what stands in !`…`, and read files outside of the project after an @.
// Nobody has agreed to either, and a package has no way to ask.
func tame(template string) string {
	return reaching().ReplaceAllStringFunc(template, func(m string) string { return m[:1] + " " + m[1:] })
}

// textsFor is how long texts stay for hosts that were started with them.
const textsFor = 30 * 24 * time.Hour

// write writes the skills and the instructions into a directory of their own,
// named after what is in it: a running host goes on reading what it had.
func (s Set) write(dir string) (skills string, instructions []string, err error) {
	files := map[string]string{}
	var order []string
	put := func(name, text string) string {
		name = filepath.Join(name) // in the system's form
		if files[name] == "" {
			order = append(order, name)
		}
		files[name] = text
		return name
	}
	for _, p := range s {
		for i, t := range p.Plugin.Instructions {
			name := fmt.Sprintf("instructions/%s-%d.md", strings.ReplaceAll(p.ID, "/", "-"), i+1)
			instructions = append(instructions, put(name, p.Provenance()+":\n\n"+clip(t.Body)+"\n"))
		}
		for _, k := range p.Plugin.Skills {
			if names := p.Skills[k.Name]; len(names) > 0 {
				name := strings.NewReplacer(".", "-", "_", "-").Replace(names[0])
				put("skills/"+name+"/SKILL.md", openCodeSkill(p, k, name))
				skills = "skills"
			}
		}
	}
	if len(order) == 0 {
		return "", nil, nil
	}
	slices.Sort(order)
	sum := sha256.New()
	for _, name := range order {
		fmt.Fprintf(sum, "%s\x00%s\x00", name, files[name])
	}
	top := filepath.Join(dir, hex.EncodeToString(sum.Sum(nil)[:8]))
	if err := publish(top, files); err != nil {
		return "", nil, fmt.Errorf("writing the packages' texts for the host: %w", err)
	}
	prune(dir, top)
	for i, name := range instructions {
		instructions[i] = filepath.Join(top, name)
	}
	if skills != "" {
		skills = filepath.Join(top, skills)
	}
	return skills, instructions, nil
}

func openCodeSkill(p market.Package, k plugin.Skill, name string) string {
	description, _ := json.Marshal(oneLine(k.Description) + " (" + p.Provenance() + ")") // a string always marshals, and is YAML
	return fmt.Sprintf("---\nname: %s\ndescription: %s\n---\n%s\n", name, description, skillBody(p, k))
}

// publish makes the directory whole or not at all.
func publish(top string, files map[string]string) error {
	now := time.Now()
	if os.Chtimes(top, now, now) == nil {
		return nil // it is there
	}
	if err := os.MkdirAll(filepath.Dir(top), 0o700); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(top), ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp) // which is not there any more if all went well
	for name, text := range files {
		path := filepath.Join(tmp, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	if err := os.Rename(tmp, top); err != nil {
		if _, there := os.Stat(top); there == nil {
			return nil // another one of us was faster
		}
		return err
	}
	return nil
}

// prune removes what no host reads any more.
func prune(dir, keep string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if info, err := e.Info(); err == nil && path != keep && time.Since(info.ModTime()) > textsFor {
			_ = os.RemoveAll(path) // the next one will do
		}
	}
}
