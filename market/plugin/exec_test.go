package plugin_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet/market/plugin"
	"github.com/whet-dev/whet/market/tree"
)

// serverRows are servers, and what is wrong with them; the real Codex is asked
// the same.
var serverRows = []struct{ name, server, err string }{
	{"program", `{"type":"stdio","command":"npx","args":["-y","x"],"env":{"A":"${PLUGIN_DATA}/a"},"cwd":"${PLUGIN_ROOT}"}`, ""},
	{"file", `{"type":"stdio","command":"./bin/server","cwd":"./bin"}`, ""},
	{"no type", `{"command":"npx"}`, "type: want"},
	{"http", `{"type":"http","url":"https://a.example"}`, "type: want"},
	{"field of another", `{"type":"stdio","command":"npx","url":"https://a.example"}`, "a stdio server has no such field"},
	{"line for a shell", `{"type":"stdio","command":"npx -y x"}`, "not a line for a shell"},
	{"path", `{"type":"stdio","command":"bin/server"}`, "begins with ./"},
	{"absolute", `{"type":"stdio","command":"/bin/sh"}`, "begins with ./"},
	{"out", `{"type":"stdio","command":"./../x"}`, "leads out"},
	{"out later", `{"type":"stdio","command":"./bin/../../x"}`, "leads out"},
	{"backslash", `{"type":"stdio","command":".\\bin"}`, "without placeholders"},
	{"missing file", `{"type":"stdio","command":"./none"}`, "there is no file none"},
	{"placeholder", `{"type":"stdio","command":"${PLUGIN_ROOT}/bin/server"}`, "without placeholders"},
	{"no command", `{"type":"stdio"}`, "it is missing"},
	{"option", `{"type":"stdio","command":"-x"}`, "no program's name"},
	{"reserved variable", `{"type":"stdio","command":"npx","env":{"PLUGIN_ROOT":"/"}}`, "is set by whoever starts the server"},
	{"variable with =", `{"type":"stdio","command":"npx","env":{"A=B":"c"}}`, "can't be a variable"},
	{"zero byte", `{"type":"stdio","command":"npx","args":["a\u0000b"]}`, "a zero byte"},
	{"directory out", `{"type":"stdio","command":"npx","cwd":"${PLUGIN_ROOT}/../.."}`, "leads out of its directory"},
	{"directory elsewhere", `{"type":"stdio","command":"npx","cwd":"/tmp"}`, "want ./"},
	{"directory without ./", `{"type":"stdio","command":"npx","cwd":"data"}`, "want ./"},
	{"directory that only begins so", `{"type":"stdio","command":"npx","cwd":"${PLUGIN_ROOT}x"}`, "want ./"},
	{"empty directory", `{"type":"stdio","command":"npx","cwd":""}`, "want ./"},
	{"remote", `{"type":"streamable-http","url":"https://a.example/mcp","headers":{"X-A":"b"}}`, ""},
	{"sse", `{"type":"sse","url":"https://a.example/sse"}`, ""},
	{"this machine", `{"type":"streamable-http","url":"http://127.0.0.1:80/"}`, ""},
	{"this machine by IPv6", `{"type":"streamable-http","url":"http://[::1]:80/"}`, ""},
	{"localhost", `{"type":"streamable-http","url":"http://localhost/"}`, ""},
	{"not this machine", `{"type":"streamable-http","url":"http://localhost.evil.example/"}`, "want https"},
	{"plain http", `{"type":"streamable-http","url":"http://a.example/"}`, "want https"},
	{"user", `{"type":"streamable-http","url":"https://u:p@a.example/"}`, "a user or a fragment"},
	{"fragment", `{"type":"streamable-http","url":"https://a.example/#x"}`, "a user or a fragment"},
	{"placeholder in the address", `{"type":"streamable-http","url":"https://a.example/${KEY}"}`, "placeholders aren't expanded"},
	{"no address", `{"type":"sse"}`, "want an absolute https address"},
	{"file address", `{"type":"sse","url":"file:///etc/passwd"}`, "want an absolute https address"},
	{"header twice", `{"type":"sse","url":"https://a.example","headers":{"A":"1","a":"2"}}`, "is there twice"},
	{"header with a line", `{"type":"sse","url":"https://a.example","headers":{"A":"1\r\nB: 2"}}`, "no valid header"},
	{"header's value", `{"type":"sse","url":"https://a.example","headers":{"A":1}}`, "want a string"},
	{"list", `[]`, "want an object"},
}

func TestServers(t *testing.T) {
	for _, tt := range serverRows {
		t.Run(tt.name, func(t *testing.T) {
			p, err := plugin.Parse(archive(
				"plugin.json", minimal,
				"mcp.json", `{`+mcpSchema+`,"mcpServers":{"it":`+tt.server+`,"other":{"type":"stdio","command":"npx"}}}`,
				"bin/server*", "x",
			))
			if err != nil {
				t.Fatal(err)
			}
			isIt := func(s plugin.Server) bool { return s.Name == "it" }
			if !slices.ContainsFunc(p.Servers, func(s plugin.Server) bool { return s.Name == "other" }) {
				t.Error("the other server is lost")
			}
			switch {
			case tt.err == "" && (len(p.Notes) > 0 || !slices.ContainsFunc(p.Servers, isIt)):
				t.Error(p.Notes)
			case tt.err != "" && (len(p.Notes) != 1 || p.Notes[0].Code != "invalid-server" || !strings.Contains(p.Notes[0].Text, tt.err) || slices.ContainsFunc(p.Servers, isIt)):
				t.Errorf("%v, want %s", p.Notes, tt.err)
			}
		})
	}
}

func TestServerFiles(t *testing.T) {
	for name, file := range map[string]string{
		"no JSON":       `{`,
		"other version": `{"$schema":"https://agent-plugins.org/schemas/1.1.0/mcp.schema.json","mcpServers":{}}`,
		"no schema":     `{"mcpServers":{}}`,
		"no servers":    `{` + mcpSchema + `}`,
		"field":         `{` + mcpSchema + `,"mcpServers":{},"more":1}`,
		"array":         `[]`,
	} {
		p, err := plugin.Parse(archive("plugin.json", minimal, "mcp.json", file, "skills/a/SKILL.md", "---\nname: a\ndescription: d\n---\nx"))
		if err != nil || len(p.Skills) != 1 || len(p.Notes) != 1 || p.Notes[0].Code != "invalid-mcp" {
			t.Errorf("%s: %v %v", name, p, err)
		}
	}
}

// Only whet's own file may have settings, and only declared ones.
func TestOwnServers(t *testing.T) {
	manifest := `{` + schema + `,"name":"x","extensions":{"dev.whet":{"userConfig":{"KEY":{"env":"ACME_KEY"}}}}}`
	p, err := plugin.Parse(archive("plugin.json", manifest, "dev.whet/mcp.json", `{"mcpServers":{
		"a":{"type":"streamable-http","url":"https://a.example/${user_config.KEY}","headers":{"Authorization":"Bearer ${user_config.KEY}"}},
		"b":{"type":"stdio","command":"npx","args":["${user_config.OTHER}"]},
		"c":{"type":"streamable-http","url":"https://${user_config.KEY}/"},
		"d":{"type":"stdio","command":"d","platforms":{"linux":{"command":"e"},"darwin":{"command":"e"},"win32":{"command":"e"}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range p.Servers {
		names = append(names, s.Name+" "+s.Command)
	}
	if d := cmp.Diff([]string{"a ", "d e"}, names); d != "" || len(p.Notes) != 2 {
		t.Error(d, p.Notes)
	}
	want := []plugin.Program{
		{Kind: "remote", Name: "a", Line: "https://a.example/${user_config.KEY} Authorization: Bearer ${user_config.KEY} (reads $ACME_KEY)"},
		{Kind: "mcp", Name: "d", Line: "e"},
	}
	if d := cmp.Diff(want, p.Programs()); d != "" {
		t.Error(d)
	}
}

func TestHooks(t *testing.T) {
	p, err := plugin.Parse(archive("plugin.json", minimal, "dev.whet/hooks/hooks.json", `{"hooks":{
		"pre_tool":[{"matcher":"edit|write","command":"${PLUGIN_ROOT}/check.sh","timeout":10,"dialect":"claude-code"},{"command":"node","args":["a b"]},
			{"matcher":"(","command":"x"},{"command":" "},{"command":"x","timeout":601},{"command":"x","if":"y"},{"command":"a\u0000"},7],
		"nap":[{"command":"x"}],"stop":{}}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []plugin.Hook{
		{Event: "pre_tool", Matcher: "edit|write", Command: "${PLUGIN_ROOT}/check.sh", Timeout: 10, Dialect: "claude-code"},
		{Event: "pre_tool", Command: "node", Args: []string{"a b"}},
	}
	if d := cmp.Diff(want, p.Hooks); d != "" {
		t.Error(d)
	}
	if len(p.Notes) != 8 {
		t.Errorf("%d notes: %v", len(p.Notes), p.Notes)
	}
	if d := cmp.Diff([]plugin.Program{
		{Kind: "hook", Name: "pre_tool on edit|write", Line: "${PLUGIN_ROOT}/check.sh"},
		{Kind: "hook", Name: "pre_tool", Line: "node 'a b'"},
	}, p.Programs()); d != "" {
		t.Error(d)
	}
}

// A line for a person has nothing in it that a terminal acts on.
func TestProgramsAreVisible(t *testing.T) {
	p := &plugin.Plugin{
		Hooks:   []plugin.Hook{{Event: "stop", Command: "echo \x1b[8mhidden\u202e\x07"}},
		Servers: []plugin.Server{{Name: "s\x1b\n- module safe", Type: "stdio", Command: "x", Args: []string{"it's", "\x9b0m"}, Env: map[string]string{"LD_PRELOAD": "./a b"}}},
		Scripts: []string{"run.sh"}, Modules: []string{"m.ts"},
		Formatters: []plugin.Formatter{{Name: "f", Value: []byte(`{"command":["f","$FILE"]}`)}},
	}
	want := []plugin.Program{
		{Kind: "hook", Name: "stop", Line: "echo ␛[8mhidden\ufffd␇"},
		{Kind: "mcp", Name: "s␛ - module safe", Line: `LD_PRELOAD='./a b' x 'it'\''s' '` + "\ufffd0m'"},
		{Kind: "formatter", Name: "f", Line: "f $FILE"},
		{Kind: "script", Name: "run.sh"},
		{Kind: "module", Name: "m.ts"},
	}
	if d := cmp.Diff(want, p.Programs()); d != "" {
		t.Error(d)
	}
}

// Trust hangs on this digest: each change that could run something else must
// change it, and prose must not.
func TestExec(t *testing.T) {
	base := []string{
		"plugin.json", `{` + schema + `,"name":"x","version":"1.0.0","extensions":{"dev.whet":{"userConfig":{"KEY":{"env":"ACME_KEY"}}}}}`,
		"dev.whet/hooks/hooks.json", `{"hooks":{"stop":[{"command":"node ${PLUGIN_ROOT}/hooks/a.js ${PLUGIN_ROOT}/rules.md"}]}}`,
		"hooks/a.js", `require("../lib/b")`,
		"lib/b.js", "1",
		"rules.md", "rules",
		"README.md", "read me",
		"LICENSE", "MIT",
		"skills/a/SKILL.md", "---\nname: a\ndescription: d\n---\nx",
		"dev.whet/agents/a.md", "---\ndescription: d\n---\nx",
		"run.md*", "#!/bin/sh",
		"dev.whet/original/hooks/a.js", "old",
		".whet-signature/a.sig", "sig",
	}
	was := plugin.Exec(archive(base...))
	var names []string
	for _, f := range was {
		names = append(names, f.Name)
	}
	if d := cmp.Diff([]string{"dev.whet/hooks/hooks.json", "hooks/a.js", "lib/b.js", "plugin.json", "rules.md", "run.md"}, names); d != "" {
		t.Error(d)
	}
	const digest = "sha256:9762616c1771bf033e5e034c8e527f4971dc30a6a488abee23d9fdfc00e9c806"
	if was.Digest() != digest {
		t.Errorf("digest %s", was.Digest())
	}
	for _, tt := range []struct {
		file string
		kept bool
	}{
		{"README.md", true},
		{"LICENSE", true},
		{"skills/a/SKILL.md", true},
		{"dev.whet/agents/a.md", true},
		{"dev.whet/original/hooks/a.js", true},
		{".whet-signature/a.sig", true},
		{"dev.whet/hooks/hooks.json", false},
		{"hooks/a.js", false},
		{"lib/b.js", false}, // named by no configuration, and run all the same
		{"rules.md", false}, // prose, but handed to a program
		{"run.md", false},
	} {
		tr := archive(base...)
		for i := range tr {
			if tr[i].Name == tt.file {
				tr[i].Data = append(tr[i].Data, '\n')
			}
		}
		if kept := plugin.Exec(tr).Digest() == digest; kept != tt.kept {
			t.Errorf("%s changed: trust kept is %v", tt.file, kept)
		}
	}
	changed := func(old, now string) bool {
		tr := archive(base...)
		for i := range tr {
			if tr[i].Name == plugin.Manifest {
				tr[i].Data = []byte(strings.Replace(string(tr[i].Data), old, now, 1))
			}
		}
		return plugin.Exec(tr).Digest() != digest
	}
	if changed(`"version":"1.0.0"`, `"version":"1.0.1"`) || !changed("ACME_KEY", "OTHER_KEY") {
		t.Error("of the manifest only the settings count")
	}
	tr := archive(base...)
	for i := range tr {
		tr[i].Exec = tr[i].Exec || tr[i].Name == "README.md"
	}
	if plugin.Exec(tr).Digest() == digest {
		t.Error("a file got the exec bit, and trust is kept")
	}
}

func TestExecOfProse(t *testing.T) {
	if got := plugin.Exec(archive("plugin.json", minimal, "skills/a/SKILL.md", "---\nname: a\ndescription: d\n---\nx", "skills/a/run.py", "1")); got != nil {
		t.Error(got)
	}
	remote := plugin.Exec(archive("plugin.json", minimal, "skills/a/run.py", "1", "mcp.json", `{`+mcpSchema+`,"mcpServers":{"a":{"type":"sse","url":"https://a.example"}}}`))
	if len(remote) != 1 || remote[0].Name != "mcp.json" {
		t.Error(remote)
	}
	if got := plugin.Exec(tree.Tree{}); got != nil {
		t.Error(got)
	}
}
