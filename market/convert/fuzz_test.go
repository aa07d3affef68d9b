package convert_test

import (
	"errors"
	"testing"

	"github.com/whet-dev/whet/market/convert"
	"github.com/whet-dev/whet/market/plugin"
)

// total looks that an import either says why not, or makes a package that
// whet takes whole.
func total(t *testing.T, files ...string) {
	t.Helper()
	r, err := convert.Import(archive(files...), "x", "")
	if err != nil {
		var own *convert.Error
		var theirs *plugin.Error
		if !errors.As(err, &own) && !errors.As(err, &theirs) {
			t.Fatalf("%T %v", err, err)
		}
		return
	}
	if r.Tree == nil {
		for _, e := range r.Catalogue {
			if _, err := convert.Import(archive(files...), "x", e.Name); err != nil {
				var own *convert.Error
				var theirs *plugin.Error
				if !errors.As(err, &own) && !errors.As(err, &theirs) {
					t.Fatalf("%T %v", err, err)
				}
			}
		}
		return
	}
	if r.Format != convert.Native {
		conforms(t, r)
	}
}

func FuzzCatalogue(f *testing.F) {
	f.Add(`{"plugins":[{"name":"a","source":"./","strict":false,"skills":["./skills/a"]},{"name":"b","source":{"source":"local","path":"x"}}],"renames":{"c":"a"}}`)
	f.Add(`{"metadata":{"pluginRoot":"p"},"plugins":[{"name":"a","source":"../x"},7,{"source":""},{"name":"a","source":{"source":"url","url":1}}]}`)
	f.Fuzz(func(t *testing.T, catalogue string) {
		total(t, ".claude-plugin/marketplace.json", catalogue, "skills/a/SKILL.md", "---\nname: a\ndescription: d\n---\nx", "x/commands/c.md", "c")
	})
}

func FuzzImport(f *testing.F) {
	manifests := []string{".claude-plugin/plugin.json", ".codex-plugin/plugin.json", ".cursor-plugin/plugin.json", "gemini-extension.json", "manifest.json", "opencode.json", "x.json"}
	text := "---\nname: A b\ndescription: a: b\ntools: Read, X\nmodel: m\n---\nx $ARGUMENTS !`x`"
	servers := `{"mcpServers":{"a":{"command":"${CLAUDE_PLUGIN_ROOT}/b","args":["${X:-y}"],"env":{"A":"$B"}},"c":{"url":"https://a/${T}"}}}`
	hooks := `{"hooks":{"PreToolUse":[{"matcher":"Edit|Write","hooks":[{"type":"command","command":"x"}]}]}}`
	for i, m := range []string{
		`{"name":"x","agents":["./agents/a.md"],"skills":"./","mcpServers":{"a":{"command":"x"}},"hooks":{"Stop":[]},"userConfig":{"k":{"type":"string"}}}`,
		`{"name":"x","mcpServers":"./.mcp.json"}`, `{"name":"x"}`,
		`{"name":"x","settings":[{"name":"n","envVar":"A"}],"mcpServers":{"a":{"command":"node"}},"contextFileName":"agents/a.md"}`,
		`{"manifest_version":"0.3","name":"x","server":{"type":"node","entry_point":"b","mcp_config":{"command":"b","platform_overrides":{"linux":{"env":{"a":"b"}}}}}}`,
		`{"mcp":{"a":{"type":"local","command":["x"]}},"agent":{"a":{"prompt":"{file:b}"}},"formatter":{"f":{"command":["x"]}}}`,
		`{"schemaVersion":1,"id":"a/b","agentName":"c","prompt":"p"}`,
	} {
		f.Add(i, m, text, servers, hooks)
	}
	f.Fuzz(func(t *testing.T, kind int, manifest, text, servers, hooks string) {
		name := manifests[uint(kind)%uint(len(manifests))]
		if name == "x.json" {
			total(t, name, manifest)
			return
		}
		total(t, name, manifest, "agents/a.md", text, "commands/a/b.md", text, "commands/t.toml", text, "skills/s/SKILL.md", text, ".opencode/agent/o.md", text, ".mcp.json", servers, "hooks/hooks.json", hooks, "b*", "x")
	})
}
