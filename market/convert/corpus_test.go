package convert_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet/market/convert"
	"github.com/whet-dev/whet/market/tree"
)

// A catalogue with the shapes that were counted in a large published one: of 54
// plugins in it 14 have no manifest, 12 of them nothing but language servers
// in the catalogue; server files are bare in 10 and wrapped in 5; 18 agents have
// their tools in a string and 4 in a list, and 4 heads that aren't valid YAML; of
// 31 skills 7 conform, 24 have fields of their own, 8 a list of tools, one another
// name. The texts are made up: this is a double of that catalogue.
func TestCatalogueOfManyShapes(t *testing.T) {
	files := map[string]string{}
	var entries []string
	put := func(name, format string, args ...any) { files[name] = fmt.Sprintf(format, args...) }
	skill, agent := 0, 0
	for i := range 54 {
		name := fmt.Sprintf("plugin-%02d", i)
		dir := "plugins/" + name + "/"
		entry := fmt.Sprintf(`{"name":"%s","source":"./%s","description":"d"`, name, strings.TrimSuffix(dir, "/"))
		if i < 12 {
			put(dir+"README.md", "%s", name)
			entries = append(entries, entry+`,"strict":false,"lspServers":{"x":{"command":"x-ls"}}}`)
			continue
		}
		entries = append(entries, entry+"}")
		if i >= 14 {
			put(dir+".claude-plugin/plugin.json", `{"name":%q,"description":"d","author":{"name":"A","email":"a@a.example"}}`, name)
		}
		switch {
		case i >= 14 && i < 24:
			put(dir+".mcp.json", `{"%s":{"type":"http","url":"https://mcp.example/%d"}}`, name, i)
		case i >= 24 && i < 29:
			put(dir+".mcp.json", `{"mcpServers":{"%s":{"command":"npx","args":["-y","x"]}}}`, name)
		default:
			put(dir+"commands/"+name+".md", "---\ndescription: d\n---\nDo $ARGUMENTS")
		}
		if agent < 26 && i >= 28 {
			head := "description: d\ntools: Glob, Grep, LS, Read, NotebookRead, WebFetch, TodoWrite, WebSearch, KillShell, BashOutput"
			switch {
			case agent >= 22:
				head = "description: Use this agent when: it fits. Examples: user: \"x\" assistant: \"y\"\nmodel: sonnet"
			case agent >= 18:
				head = "description: d\ntools:\n  - Read\n  - Grep"
			}
			put(dir+"agents/"+name+".md", "---\nname: %s\n%s\n---\nPrompt.", name, head)
			agent++
		}
		for range 2 {
			if skill >= 31 || i < 30 {
				break
			}
			name, head := fmt.Sprintf("skill-%02d", skill), "description: d"
			if skill >= 7 {
				head += "\nversion: 0.1.0"
			}
			if skill >= 23 {
				head += "\nallowed-tools: [Read, Write]"
			}
			as := name
			if skill == 30 {
				as = "Another Name"
			}
			put(dir+"skills/"+name+"/SKILL.md", "---\nname: %s\n%s\n---\nText.", as, head)
			skill++
		}
	}
	files[".claude-plugin/marketplace.json"] = `{"name":"m","owner":{"name":"A"},"plugins":[` + strings.Join(entries, ",") + `]}`
	var list []tree.File
	for name, text := range files {
		list = append(list, tree.File{Name: name, Data: []byte(text)})
	}
	all := tree.New(list)
	r, err := convert.Import(all, "m", "")
	if err != nil || len(r.Catalogue) != 54 {
		t.Fatal(err, len(r.Catalogue))
	}
	got := map[string]int{}
	for _, e := range r.Catalogue {
		p, r := imported(t, all, "m", e.Name)
		got["agents"] += len(p.Agents)
		got["skills"] += len(p.Skills)
		got["servers"] += len(p.Servers)
		got["commands"] += len(p.Commands)
		for _, n := range r.Notes {
			got[n.Code]++
		}
	}
	if d := cmp.Diff(map[string]int{
		"agents": 26, "skills": 31, "servers": 15, "commands": 27,
		"front-matter-repaired": 4, "unsupported-component": 12, "skill-rewritten": 13,
	}, got); d != "" {
		t.Error(d)
	}
}
