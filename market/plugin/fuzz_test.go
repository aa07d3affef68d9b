package plugin_test

import (
	"errors"
	"strings"
	"testing"
	"unicode"

	"github.com/whet-dev/whet/market/plugin"
)

// holds looks at what is true of every package that was taken.
func holds(t *testing.T, p *plugin.Plugin) {
	t.Helper()
	if !plugin.ValidName(p.Name) || !plugin.ValidVersion(p.Version) || strings.Count(p.ID, "/") != 1 || strings.Contains(p.Description, "\n") {
		t.Fatalf("%+v", p)
	}
	for _, s := range p.Servers {
		if (s.Command == "") == (s.URL == "") || strings.HasPrefix(s.Command, "/") || strings.Contains(s.Command, "..") && strings.HasPrefix(s.Command, "./..") {
			t.Fatalf("%+v", s)
		}
	}
	for _, x := range p.Programs() {
		if strings.ContainsFunc(x.Name+x.Line, func(r rune) bool { return r != '\n' && unicode.IsControl(r) }) {
			t.Fatalf("%q", x)
		}
	}
}

// FuzzParse gives every JSON file of a package and its texts anything.
func FuzzParse(f *testing.F) {
	f.Add(minimal, `{`+mcpSchema+`,"mcpServers":{}}`, `{"mcpServers":{"a":{"type":"stdio","command":"x","platforms":{"linux":{"args":["y"]}}}}}`, `{"hooks":{"stop":[{"command":"x"}]}}`, `{"f":{"command":["x"]}}`, "---\nname: a\ndescription: d\n---\nx")
	for _, row := range serverRows {
		f.Add(minimal, `{`+mcpSchema+`,"mcpServers":{"a":`+row.server+`}}`, `{}`, `{}`, `{}`, "---\n")
	}
	f.Add(`{`+schema+`,"name":"x","extensions":{"dev.whet":{"id":"a/b","requires":{"mcp":["a"]},"userConfig":{"K":{"type":"string"}},"agents":{"a":{"routing":{"avoid":["x"]}}}}}}`, "[]", "1", "null", `{"f":[]}`, "---\na: &b [*b]\n---\n")
	f.Fuzz(func(t *testing.T, manifest, servers, own, hooks, formatters, text string) {
		tr := archive(
			"plugin.json", manifest, "mcp.json", servers, plugin.OwnServers, own, plugin.Hooks, hooks, plugin.Formatters, formatters,
			"skills/a/SKILL.md", text, "dev.whet/agents/a.md", text, "dev.whet/commands/a.md", text, "dev.whet/instructions/a.md", text, "bin/server*", "x",
		)
		p, err := plugin.Parse(tr)
		if err != nil {
			if e := (*plugin.Error)(nil); !errors.As(err, &e) || e.Text == "" || e.Line < 0 {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		holds(t, p)
		if plugin.Exec(tr) == nil {
			t.Fatal("there is a file with the exec bit, and nothing that could run")
		}
	})
}

func FuzzFront(f *testing.F) {
	for _, s := range []string{"---\na: b\n---\nx", "---\na: b: c\n- d\n---\n", "---\r\n\r\n---", "---\na: [\n---\n", "---\n" + strings.Repeat("[", 500) + "\n---\n", "---\na: |\n  x\n---", "---\n? a\n: b\n---\n", "---\n<<: {a: b}\n---\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		head, body, loose := plugin.Front(text)
		if head == nil && loose {
			t.Fatal("no front matter, and loose")
		}
		if len(body) > len(text) {
			t.Fatal("the body is longer than the text")
		}
	})
}
