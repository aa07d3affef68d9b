package convert_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet/market/convert"
	"github.com/whet-dev/whet/market/plugin"
)

func TestCatalogue(t *testing.T) {
	files := archive(
		".claude-plugin/marketplace.json", `{"name":"acme","owner":{"name":"Acme"},"renames":{"old":"here"},"metadata":{"pluginRoot":"./plugins"},"plugins":[
			{"name":"here","source":"./plugins/here","version":"1.0.0","description":"is here","strict":true},
			{"name":"rooted","source":"here"},
			{"name":"lsp","source":"./plugins/lsp","strict":false,"description":"a server","lspServers":{"go":{"command":"gopls"}}},
			{"name":"one","source":"./","strict":false,"skills":["./skills/one"]},
			{"name":"hub","source":{"source":"github","repo":"acme/hub"}},
			{"name":"url","source":{"source":"url","url":"https://a.example/x.git"}},
			{"name":"sub","source":{"source":"git-subdir","url":"https://a.example/y.git","path":"z"}},
			{"name":"npm","source":{"source":"npm","package":"@acme/x"}},
			{"name":"out","source":"../../etc"},
			{"name":"empty","source":"./plugins/none"},
			{"source":"./nameless"},7]}`,
		"plugins/here/.claude-plugin/plugin.json", `{"name":"here","version":"2.0.0"}`,
		"plugins/here/commands/c.md", "c",
		"plugins/lsp/README.md", "r",
		"skills/one/SKILL.md", "---\nname: one\ndescription: d\n---\nx",
		"skills/two/SKILL.md", "---\nname: two\ndescription: d\n---\nx",
	)
	r, err := convert.Import(files, "x", "")
	if err != nil || r.Tree != nil {
		t.Fatal(r, err)
	}
	if d := cmp.Diff([]convert.Entry{
		{Name: "here", Version: "1.0.0", Description: "is here", Source: "plugins/here"},
		{Name: "rooted", Source: "plugins/here"},
		{Name: "lsp", Description: "a server", Source: "plugins/lsp"},
		{Name: "one", Source: "."},
		{Name: "hub", Source: "acme/hub", Remote: true},
		{Name: "url", Source: "https://a.example/x.git", Remote: true},
		{Name: "sub", Source: "https://a.example/y.git", Remote: true},
		{Name: "npm", Source: "@acme/x", Remote: true},
		{Name: "empty", Source: "plugins/none"},
	}, r.Catalogue); d != "" {
		t.Error(d)
	}

	for _, name := range []string{"here", "old"} {
		p, r := imported(t, files, "x", name)
		if p.Version != "2.0.0" || p.Description != "is here" || len(p.Commands) != 1 || r.Format != "claude-plugin" {
			t.Errorf("%s: %+v", name, p)
		}
	}
	p, r := imported(t, files, "x", "lsp")
	if p.Name != "lsp" || p.Description != "a server" || len(only(codes(r.Notes), "unsupported-component")) != 1 {
		t.Errorf("%+v %v", p, r.Notes)
	}
	// Another plugin's skills of the same directory aren't this one's.
	p, _ = imported(t, files, "x", "one")
	if len(p.Skills) != 1 || p.Skills[0].Name != "one" || p.Name != "one" {
		t.Errorf("%+v", p.Skills)
	}

	for name, code := range map[string]string{
		"hub": "remote-source-not-fetched", "url": "remote-source-not-fetched", "sub": "remote-source-not-fetched", "npm": "remote-source-not-fetched",
		"none": "no-such-plugin", "out": "no-such-plugin", "empty": "invalid-package",
	} {
		_, err := convert.Import(files, "x", name)
		if e := (*convert.Error)(nil); !errors.As(err, &e) || e.Code != code {
			t.Errorf("%s: %v, want %s", name, err, code)
		}
	}
	if _, err := convert.Import(archive(".claude-plugin/marketplace.json", "{"), "x", ""); err == nil || !strings.HasPrefix(err.Error(), ".claude-plugin/marketplace.json: it isn't JSON") {
		t.Error(err)
	}
}

// A repository that is one plugin often has a catalogue of itself.
func TestCatalogueOfItself(t *testing.T) {
	p, _ := imported(t, archive(
		".claude-plugin/marketplace.json", `{"name":"m","plugins":[{"name":"p","source":"./","strict":false}]}`,
		".claude-plugin/plugin.json", `{"name":"p","version":"1.0.0"}`,
		"commands/c.md", "c",
	), "x", "")
	if p.Name != "p" || len(p.Commands) != 1 {
		t.Errorf("%+v", p)
	}
}

func TestGeminiExtension(t *testing.T) {
	p, r := imported(t, archive(
		"gemini-extension.json", `{"name":"ext","version":"1.0.0","contextFileName":["GEMINI.md","more.md","../out.md"],
			"mcpServers":{"node":{"command":"node","args":["${extensionPath}${/}server.js"],"cwd":"${extensionPath}","trust":true},
				"old":{"url":"https://a.example/sse"},"new":{"httpUrl":"https://a.example/mcp"}},
			"excludeTools":["run_shell_command"],"themes":[],"settings":[{"name":"API Key","envVar":"EXT_KEY","sensitive":true},{"name":"bad","envVar":"A B"}]}`,
		"GEMINI.md", "Context.\n", "more.md", "More.",
		"commands/fs/grep.toml", "description = \"Greps\"\nprompt = \"\"\"\nFind {{args}}:\n!{grep -r {{args}} .}\n\"\"\"\n",
		"commands/bad.toml", "prompt = ",
		"agents/a.md", "---\nname: a\ndescription: d\ntools:\n  - read_file\n  - run_shell_command\n  - google_web_search\n---\nPrompt.",
		"skills/s/SKILL.md", "---\nname: s\ndescription: d\n---\nx",
		"hooks/hooks.json", `{"hooks":{"BeforeTool":[{"matcher":"write_file|replace","hooks":[{"type":"command","command":"node ${extensionPath}/h.js","timeout":1500}]}]}}`,
		"policies/p.toml", "", "server.js", "x", "h.js", "x",
	), "x", "")
	if d := cmp.Diff([]plugin.Text{
		{Name: "gemini", File: "dev.whet/instructions/gemini.md", Body: "Context."},
		{Name: "more", File: "dev.whet/instructions/more.md", Body: "More."},
	}, p.Instructions); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]plugin.Command{{
		Text: plugin.Text{Name: "fs:grep", File: "dev.whet/commands/fs/grep.md", Body: "Find $ARGUMENTS:\n!{grep -r $ARGUMENTS .}"}, Description: "Greps",
	}}, p.Commands); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]plugin.Server{
		{Name: "new", Type: "streamable-http", URL: "https://a.example/mcp"},
		{Name: "node", Type: "stdio", Command: "node", Args: []string{"${PLUGIN_ROOT}/server.js"}, Env: map[string]string{"EXT_KEY": "${user_config.EXT_KEY}"}},
		{Name: "old", Type: "sse", URL: "https://a.example/sse"},
	}, p.Servers); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]plugin.Hook{{Event: "pre_tool", Matcher: "write|edit", Command: "node ${PLUGIN_ROOT}/h.js", Timeout: 2, Dialect: "gemini"}}, p.Hooks); d != "" {
		t.Error(d)
	}
	if len(p.Agents) != 1 || !strings.Contains(content(t, r.Tree, "dev.whet/agents/a.md"), `tools: ["read", "bash", "websearch"]`) {
		t.Error(content(t, r.Tree, "dev.whet/agents/a.md"))
	}
	if d := cmp.Diff([]string{
		"not-applied gemini-extension.json", "invalid-setting ", "invalid-command commands/bad.toml", "shell-in-command commands/fs/grep.toml",
		"not-applied gemini-extension.json", "unsupported-component policies", "unsupported-component gemini-extension.json",
	}, codes(r.Notes)); d != "" {
		t.Error(d)
	}
}

func TestBundle(t *testing.T) {
	files := archive(
		"manifest.json", `{"manifest_version":"0.3","name":"my-ext","display_name":"My Ext","version":"1.0.0","description":"d","author":{"name":"A"},
			"server":{"type":"node","entry_point":"server/index.js","mcp_config":{"command":"node","args":["${__dirname}/server/index.js","${user_config.dirs}"],
				"env":{"API_KEY":"${user_config.api_key}","ALL":"1"},
				"platform_overrides":{"win32":{"command":"node.exe","env":{"ALL":"2"}},"`+platform()+`":{"env":{"ALL":"3"}}}}},
			"user_config":{"api_key":{"type":"string","title":"Key","sensitive":true,"required":true},"dirs":{"type":"directory","multiple":true,"default":["${HOME}/x"]}}}`,
		"server/index.js", "x",
	)
	p, r := imported(t, files, "x", "")
	if d := cmp.Diff([]plugin.Server{{
		Name: "my-ext", Type: "stdio", Command: map[bool]string{true: "node.exe", false: "node"}[runtime.GOOS == "windows"],
		Args: []string{"${PLUGIN_ROOT}/server/index.js", "${user_config.dirs}"},
		Env:  map[string]string{"API_KEY": "${user_config.api_key}", "ALL": map[bool]string{true: "2", false: "3"}[runtime.GOOS == "windows"]},
	}}, p.Servers); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]plugin.Setting{
		{Name: "api_key", Title: "Key", Type: "string", Sensitive: true, Required: true, Env: "MY_EXT_API_KEY"},
		{Name: "dirs", Type: "directory", Env: "MY_EXT_DIRS"},
	}, p.Settings); d != "" {
		t.Error(d)
	}
	if len(plugin.Exec(r.Tree)) == 0 || p.Title != "My Ext" {
		t.Error("a bundle is always executable")
	}
}

// platform is what bundles call the system of the test.
func platform() string {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return "darwin"
	}
	return runtime.GOOS
}

func TestBundleKinds(t *testing.T) {
	for _, tt := range []struct{ name, server, command, err string }{
		{"binary with a path", `{"type":"binary","entry_point":"server/tool","mcp_config":{"command":"server/tool"}}`, "./server/tool", ""},
		{"binary in the root", `{"type":"binary","entry_point":"server/tool","mcp_config":{"command":"${__dirname}/server/tool"}}`, "./server/tool", ""},
		{"binary by itself", `{"type":"binary","entry_point":"server/tool"}`, "./server/tool", ""},
		{"python", `{"type":"python","entry_point":"server/tool"}`, "python3", ""},
		{"uv", `{"type":"uv","entry_point":"server/tool"}`, "uv", ""},
		{"node", `{"type":"node","entry_point":"./server/tool"}`, "node", ""},
		{"no entry", `{"type":"node","entry_point":"server/none"}`, "", "there is no such file in the bundle"},
		{"entry outside", `{"type":"node","entry_point":"../x"}`, "", "there is no such file in the bundle"},
		{"unknown type", `{"type":"jar","entry_point":"server/tool"}`, "", "want node, python, uv or binary"},
		{"command outside", `{"type":"binary","entry_point":"server/tool","mcp_config":{"command":"${__dirname}/../sh"}}`, "", "leads out of the package"},
		{"absolute command", `{"type":"binary","entry_point":"server/tool","mcp_config":{"command":"/bin/sh"}}`, "", "absolute path"},
		{"setting as command", `{"type":"binary","entry_point":"server/tool","mcp_config":{"command":"${user_config.x}"}}`, "", "placeholder"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := convert.Import(archive("manifest.json", `{"dxt_version":"0.1","name":"b","version":"1.0.0","server":`+tt.server+`}`, "server/tool", "x"), "x", "")
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("%v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			p := conforms(t, r)
			if len(p.Servers) != 1 || p.Servers[0].Command != tt.command {
				t.Errorf("%+v", p.Servers)
			}
			if f, _ := r.Tree.Get("server/tool"); f.Exec != strings.HasPrefix(tt.name, "binary") {
				t.Errorf("exec bit %v", f.Exec)
			}
		})
	}
	_, err := convert.Import(archive("manifest.json", `{"manifest_version":"2.0","name":"b"}`), "x", "")
	if e := (*convert.Error)(nil); !errors.As(err, &e) || e.Code != "unsupported" {
		t.Error(err)
	}
}

func TestOpenCode(t *testing.T) {
	p, r := imported(t, archive(
		"opencode.jsonc", `{// comment
			"mcp":{"local":{"type":"local","command":["npx","-y","x"],"environment":{"K":"{env:OC_KEY}"}},"far":{"type":"remote","url":"https://a.example/mcp"},"off":{"type":"local","command":["x"],"enabled":false}},
			"agent":{"planner":{"description":"Plans","mode":"subagent","prompt":"{file:./prompts/plan.txt}","tools":{"write":false,"edit":false}},"build":{"mode":"primary","prompt":"p"}},
			"command":{"test":{"template":"Run $ARGUMENTS","description":"Tests"}},
			"instructions":["AGENTS.md","docs/*.md","https://a.example/x.md"],
			"formatter":{"mine":{"command":["fmt","$FILE"],"extensions":[".x"]},"gofmt":{"disabled":true}},
			"plugin":["opencode-x"],"permission":{"edit":"deny"},}`,
		"prompts/plan.txt", "You plan.", "AGENTS.md", "Rules.",
		".opencode/agent/review.md", "---\ndescription: Reviews\nmode: all\npermission:\n  edit: deny\n  bash:\n    \"git *\": allow\n  external_directory: deny\n---\nYou review.",
		".opencode/command/fix.md", "---\ndescription: Fix\nagent: review\n---\nFix $ARGUMENTS",
		".opencode/skill/s/SKILL.md", "---\nname: s\ndescription: d\n---\nx",
		".opencode/plugin/p.ts", "export {}",
	), "folder", "")
	var names []string
	for _, a := range p.Agents {
		names = append(names, a.Name+": "+a.Body)
	}
	for _, c := range p.Commands {
		names = append(names, c.Name+": "+c.Body)
	}
	for _, s := range p.Skills {
		names = append(names, s.Name)
	}
	for _, i := range p.Instructions {
		names = append(names, i.Name+": "+i.Body)
	}
	if d := cmp.Diff([]string{"planner: You plan.", "review: You review.", "fix: Fix $ARGUMENTS", "test: Run $ARGUMENTS", "s", "agents: Rules."}, names); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]plugin.Server{
		{Name: "far", Type: "streamable-http", URL: "https://a.example/mcp"},
		{Name: "local", Type: "stdio", Command: "npx", Args: []string{"-y", "x"}, Env: map[string]string{"K": "${user_config.OC_KEY}"}},
	}, p.Servers); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"dev.whet/opencode/plugins/p.ts"}, p.Modules); d != "" {
		t.Error(d)
	}
	if len(p.Formatters) != 1 || p.Formatters[0].Name != "mine" {
		t.Error(p.Formatters)
	}
	if got := content(t, r.Tree, "dev.whet/agents/review.md"); !strings.Contains(got, "permission:\n  \"bash\": \"deny\"\n  \"edit\": \"deny\"\n---") {
		t.Error(got)
	}
	if d := cmp.Diff([]string{
		"unsupported-component .opencode/plugin", "invalid-server opencode.jsonc", "unsupported-component opencode.jsonc",
		"not-applied opencode.jsonc", "not-applied opencode.jsonc", "unsupported-component opencode.jsonc", "unsupported-component opencode.jsonc",
	}, codes(r.Notes)); d != "" {
		t.Error(d)
	}

	// The newer shape of servers.
	p, _ = imported(t, archive("opencode.json", `{"mcp":{"servers":{"s":{"type":"local","command":["npx"]}}}}`), "x", "")
	if len(p.Servers) != 1 {
		t.Error(p.Servers)
	}
}

func TestSingleFile(t *testing.T) {
	file := `{"schemaVersion":2,"id":" Acme/Reviewer ","version":"1.2.0","displayName":"Reviewer","description":"Reviews code","agentName":"reviewer","prompt":"You review.\n",
		"skills":["git"],"mcps":["context7"],"tools":["read","grep","made_up"],"author":"Acme","tags":["review"],"license":"MIT","compatibility":{"plugin":">=1"},
		"model":"session","routing":{"lane":"reviews","delegateWhen":["a"]},"temperature":0.2,"extends":"explorer"}`
	p, r := imported(t, archive("reviewer.json", file), "x", "")
	if d := cmp.Diff(plugin.Requires{Skills: []string{"git"}, MCP: []string{"context7"}, Tools: []string{"read", "grep", "made_up"}}, p.Requires); d != "" {
		t.Error(d)
	}
	if p.ID != "acme/reviewer" || p.Version != "1.2.0" || p.Title != "Reviewer" || p.License != "MIT" {
		t.Errorf("%+v", p)
	}
	if d := cmp.Diff([]plugin.Agent{{
		Text: plugin.Text{Name: "reviewer", File: "dev.whet/agents/reviewer.md", Body: "You review."}, Description: "Reviews code", Extends: "explorer", Lane: "reviews", When: []string{"a"},
	}}, p.Agents); d != "" {
		t.Error(d)
	}
	content(t, r.Tree, "dev.whet/original/reviewer.json")
	if !strings.HasPrefix(r.Upstream, "sha256:") {
		t.Error(r.Upstream)
	}
	for name, bad := range map[string]string{
		"version": `{"schemaVersion":4,"id":"a/b","agentName":"c","prompt":"p"}`, "id": `{"schemaVersion":1,"id":"b","agentName":"c","prompt":"p"}`,
		"kind": `{"schemaVersion":2,"kind":"profile","id":"a/b"}`, "JSON": `{"schemaVersion":1`,
	} {
		if _, err := convert.Import(archive("p.json", bad), "x", ""); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

// The digest is what sha256sum gives for the compact JSON with its members
// sorted: U+1F600 is two UTF-16 units, which sort before U+FF21.
func TestUpstreamDigest(t *testing.T) {
	_, r := imported(t, archive("p.json", "\ufeff{ \"schemaVersion\": 1.0, \"\uff21\": 1e0, \"\U0001f600\": true, \"é\": null,\n \"prompt\": \"<p>\\u2028\", \"id\": \"a/b\", \"agentName\": \"c\", \"n\": [0.10, 100] }"), "x", "")
	const want = "sha256:61f495e60c443c0221c7340b8dd29a06f786724e73c72938f1d6bb470a1abb11"
	if r.Upstream != want {
		t.Errorf("%s", r.Upstream)
	}
}
