//go:build unix

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/whet-dev/whet/internal/peer"
	"github.com/whet-dev/whet/internal/scriptmodel"
)

// serveLint is the MCP server of the test's package.
func serveLint() int {
	s := mcp.NewServer(&mcp.Implementation{Name: "lint", Version: "1"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "check", Description: "Checks a text"}, func(_ context.Context, _ *mcp.CallToolRequest, in in) (*mcp.CallToolResult, any, error) {
		text := fmt.Sprintf("%s is fine at %s, token %q", in.Text, os.Getenv("PLUGIN_ROOT"), os.Getenv("E2E_TOKEN"))
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})
	if s.Run(context.Background(), &mcp.StdioTransport{}) != nil {
		return 1
	}
	return 0
}

// marketScript is what the model does with a package.
var marketScript = scriptmodel.Script{
	"market": {
		use("skill", args{"name": "review"}),
		use("task", args{"description": "judge", "prompt": "[[script:market-child]] judge", "subagent_type": "critic"}),
		say("done"),
	},
	"market-child":   {say("a fault")},
	"market-command": {say("audited")},
	"market-trusted": {
		use("reviewer__lint_check", args{"text": "hello"}),
		use("write", args{"filePath": "secret.txt", "content": "x"}),
		use("write", args{"filePath": "a.note", "content": "a   b\n"}),
		say("done"),
	},
}

// marketPackage writes a package with a part of each kind, and returns where.
func marketPackage(t *testing.T, h *home) string {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(h.dir, "reviewer")
	for name, text := range map[string]string{
		"plugin.json": `{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "reviewer", "version": "1.2.0", "description": "Reviews",
			"extensions": {"dev.whet": {"schema": 1, "id": "acme/reviewer", "agents": {"critic": {"extends": "oracle", "routing": {"lane": "reads diffs"}}}}}}`,
		"mcp.json":                       `{"$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json", "mcpServers": {"lint": {"type": "stdio", "command": "./server"}}}`,
		"server":                         "#!/bin/sh\nexec '" + self + "' lint\n",
		"skills/review/SKILL.md":         "---\nname: review\ndescription: How to review\n---\nLook for bugs.\n",
		"skills/review/style.md":         "Tabs.\n",
		"dev.whet/agents/critic.md":      "---\ndescription: Finds faults\n---\nBe strict.\n",
		"dev.whet/instructions/house.md": "Say please.\n",
		"dev.whet/commands/audit.md":     "---\ndescription: Audits\n---\n[[script:market-command]] Audit $ARGUMENTS !`touch " + filepath.Join(h.dir, "command-ran") + "` @~/.bashrc\n",
		"dev.whet/hooks/hooks.json":      `{"hooks": {"pre_tool": [{"matcher": "write", "command": "if grep -q secret; then echo secrets stay >&2; exit 2; fi"}]}}`,
		"dev.whet/formatters.json":       `{"squeeze": {"command": ["tr", "-s", " "], "stdin": true, "extensions": [".note"]}}`,
	} {
		h.write(filepath.Join(dir, name), text)
	}
	if err := os.Chmod(filepath.Join(dir, "server"), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// trust lets the package run what it brings.
func trust(t *testing.T, h *home) {
	t.Helper()
	var shown struct {
		Package struct{ Tree string }
	}
	if err := json.Unmarshal([]byte(h.run(t, nil, whetBinary(t), "market", "show", "acme/reviewer", "--json")), &shown); err != nil {
		t.Fatal(err)
	}
	h.run(t, nil, whetBinary(t), "market", "trust", "acme/reviewer", "--tree", shown.Package.Tree)
}

const marketLine = "from package acme/reviewer@1.2.0, third-party text"

// ready waits until OpenCode has opened the project: the first question may wait
// for all its plugins.
// It returns the configuration in force.
func (s *serve) ready(t *testing.T) (config openCodeConfig) {
	t.Helper()
	if !until(t.Context(), 60*time.Second, func() bool { return s.call("GET", "/config", nil, &config) == nil }) {
		b, _ := os.ReadFile(filepath.Join(s.dir, "opencode.log"))
		t.Fatalf("OpenCode did not open %s:\n%s", s.ws, tail(string(b), 4000))
	}
	return config
}

type openCodeConfig struct {
	Instructions []string
	Command      map[string]struct{ Template string }
}

// What an enabled package does in OpenCode: its texts at once, what it runs once
// a person trusts it.
func TestPeerOpenCodePackage(t *testing.T) {
	shared := theServe(t)
	whet := whetBinary(t)
	s := shared.in(t, "with a package")
	s.write("mine.md", "My own rule.\n")
	s.write("opencode.json", strings.Replace(s.read("opencode.json"), "{", `{"instructions": ["mine.md"], "command": {"audit": {"template": "of my own"}},`, 1))
	s.run(t, nil, whet, "market", "install", marketPackage(t, s.home))
	s.run(t, nil, whet, "market", "enable", "acme/reviewer", "--project")
	if c := s.ready(t); len(c.Instructions) != 2 || c.Instructions[0] != "mine.md" || c.Command["audit"].Template != "of my own" || c.Command["reviewer.audit"].Template == "" {
		t.Errorf("the person's configuration has become %+v", c)
	}
	_, parts := s.prompt(t, "", "plain", "market")
	if len(parts) != 2 || parts[0].State.Status != "completed" || parts[1].State.Status != "completed" {
		t.Fatalf("got %+v", parts)
	}
	wants(t, parts[0].State.Output, marketLine+":\n\nLook for bugs.", "style.md")
	bodies := asked(s.model, "market")
	wants(t, bodies[len(bodies)-1], "My own rule.", marketLine+`:\n\nSay please.`, `How to review (`+marketLine+`)`, `Finds faults. Lane: reads diffs. (`+marketLine+`)`)
	lacks(t, bodies[len(bodies)-1], "reviewer__lint")
	var child []string // a background task, which may have only just begun
	if !until(t.Context(), 30*time.Second, func() bool { child = asked(s.model, "market-child"); return len(child) > 0 }) {
		t.Fatal("the package's agent was asked nothing")
	}
	wants(t, child[len(child)-1], marketLine+`:\n\nBe strict.`, `"name":"read"`, `"name":"ast_grep_search"`)
	lacks(t, child[len(child)-1], `"name":"write"`, `"name":"bash"`, `"name":"edit"`, `"name":"other_grep"`)

	var session struct{ ID string }
	if err := s.call("POST", "/session", map[string]any{"title": "command"}, &session); err != nil {
		t.Fatal(err)
	}
	if err := s.call("POST", "/session/"+session.ID+"/command", map[string]any{"command": "reviewer.audit", "arguments": "the parser", "model": "scripted/plain", "agent": "build"}, nil); err != nil {
		t.Fatal(err)
	}
	wants(t, last(t, s.model, "market-command"), marketLine+`:\n\n[[script:market-command]] Audit the parser ! `)
	if _, err := os.Stat(filepath.Join(s.dir, "command-ran")); err == nil {
		t.Error("the command has run something")
	}

	trust(t, s.home)
	s = shared.in(t, "with a trusted package")
	s.write(".whet/whet.jsonc", `{"marketplace": {"packages": {"acme/reviewer": true}}}`)
	s.ready(t)
	_, parts = s.prompt(t, "", "plain", "market-trusted")
	if len(parts) != 3 {
		t.Fatalf("got %+v", parts)
	}
	wants(t, parts[0].State.Output, "hello is fine at "+filepath.Join(s.dir, ".local/share/whet/market/roots/acme/reviewer"), `token ""`)
	if parts[1].State.Status != "error" || !strings.Contains(parts[1].State.Error, "refused by a hook, "+marketLine+": secrets stay") {
		t.Errorf("the write that a hook forbids: %+v", parts[1].State)
	}
	if got := s.read("a.note"); got != "a b\n" {
		t.Errorf("a.note is %q, not formatted: %s", got, parts[2].State.Output)
	}
}

// Agents that whet is installed in get a trusted package's server by whet, and
// its formatter by their hooks.
func TestPeerPackageElsewhere(t *testing.T) {
	prepare := func(t *testing.T, h *home, host string) {
		t.Helper()
		h.run(t, nil, whetBinary(t), "market", "install", marketPackage(t, h))
		h.run(t, nil, whetBinary(t), "market", "enable", "acme/reviewer", "--user")
		trust(t, h)
		h.run(t, nil, whetBinary(t), "install", host, "--yes")
	}
	t.Run("claude-code", func(t *testing.T) {
		claude := peer.Find(t, "claude")
		dir := t.TempDir()
		note := filepath.Join(dir, "my project", "a.note")
		srv := model(t, scriptmodel.Script{"all": {
			use("mcp__reviewer__lint__check", args{"text": "hello"}),
			use("Write", args{"file_path": note, "content": "a   b\n"}),
			say("done"),
		}})
		h := newHome(t, dir)
		h.env = append(h.env, "ANTHROPIC_BASE_URL="+srv.URL, "ANTHROPIC_API_KEY=x", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
			"DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "IS_SANDBOX=1")
		prepare(t, h, "claude-code")
		h.run(t, nil, claude, "-p", "[[script:all]] go", "--model", "claude-sonnet-4-5", "--output-format", "stream-json", "--verbose", "--permission-mode", "bypassPermissions")
		wants(t, last(t, srv, "all"), "hello is fine at "+filepath.Join(dir, ".local/share/whet/market/roots/acme/reviewer"))
		if got := h.read("a.note"); got != "a b\n" {
			t.Errorf("a.note is %q", got)
		}
	})
	t.Run("codex", func(t *testing.T) {
		peer.Find(t, "codex")
		check := use("check", args{"text": "hello"})
		check.Calls[0].Namespace = "mcp__reviewer__lint"
		h, srv := codexHome(t, scriptmodel.Script{"all": {check, say("done")}})
		prepare(t, h, "codex")
		h.codex(t, "all")
		wants(t, last(t, srv, "all"), "hello is fine at "+filepath.Join(h.dir, ".local/share/whet/market/roots/acme/reviewer"))
	})
}
