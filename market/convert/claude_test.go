package convert_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet/market/plugin"
)

// A plugin with the traps that published ones have.
func TestClaudePlugin(t *testing.T) {
	p, r := imported(t, archive(
		".claude-plugin/plugin.json", `{"name":"dev-kit","version":"1.0.0","description":"d","author":"Me","repository":{"type":"git","url":"https://a.example/r"},
			"commands":["./more/extra.md"],"skills":"./extra-skills/","agents":["./none.md"],"outputStyles":"./styles","userConfig":{"region":{"description":"The region","type":"string"}}}`,
		// A description with a colon isn't valid YAML, and the tools are a string.
		"agents/Code_Reviewer.md", "---\nname: code-reviewer\ndescription: Use this agent when: a review is wanted. Examples: user: \"review\"\ntools: Read, Grep, Bash(git diff:*), KillShell, SomethingNew\nmodel: sonnet\ncolor: red\n---\n\nReview with ${CLAUDE_PLUGIN_ROOT}/rules.md.\n",
		"agents/listed.md", "---\nname: listed\ndescription: d\ntools:\n  - Read\n  - mcp__x__y\nmodel: gpt-9\n---\nPrompt.",
		"agents/unlisted.md", "---\nname: unlisted\ndescription: d\nmodel: inherit\n---\nPrompt.",
		"agents/none.md", "---\nname: none\ndescription: d\ntools: SomethingNew\n---\nPrompt.",
		"agents/README.md", "no agent",
		"commands/git/commit.md", "---\nallowed-tools: Bash(git add:*)\nargument-hint: [message]\ndescription: Commit\n---\nStatus: !`git status`\n$ARGUMENTS\n",
		"more/extra.md", "Do more.\n",
		"skills/pdf/SKILL.md", "---\nname: PDF Tools\ndescription: Use for PDFs\nversion: 1.0\nallowed-tools:\n  - Read\n  - Bash\nmetadata:\n  n: 1\n---\nRun ${CLAUDE_PLUGIN_ROOT}/skills/pdf/run.py\n",
		"skills/pdf/run.py*", "print()",
		"skills/good/SKILL.md", "---\nname: good\ndescription: d\n---\nbytes stay\r\n",
		"skills/Odd_Name/SKILL.md", "---\nname: odd\ndescription: d\n---\nx",
		"skills/Odd_Name/ref.md", "ref",
		"skills/mute/SKILL.md", "---\nname: mute\n---\n",
		"extra-skills/more/SKILL.md", "---\nname: more\ndescription: d\n---\nx",
		"hooks/hooks.json", `{"description":"d","hooks":{
			"PreToolUse":[{"matcher":"Write|Edit|MultiEdit","hooks":[{"type":"command","command":"python3 ${CLAUDE_PLUGIN_ROOT}/hooks/check.py","timeout":10}]},
				{"matcher":"Notebook.*","hooks":[{"type":"command","command":"x"}]},
				{"matcher":"(?=look)","hooks":[{"type":"command","command":"x"}]},
				{"hooks":[{"type":"prompt","prompt":"p"},{"type":"command","command":"x","if":"Edit(*.go)"},{"type":"command","command":"echo ${user_config.region}"}]}],
			"Stop":[{"hooks":[{"type":"command","command":"node","args":["${CLAUDE_PLUGIN_ROOT}/stop.js"],"timeout":5000}]}],
			"SessionStart":[{"matcher":"startup|resume","hooks":[{"type":"command","command":"y"}]}],
			"SessionEnd":[{"hooks":[{"type":"command","command":"x"}]}]}}`,
		".mcp.json", `{"local":{"command":"${CLAUDE_PLUGIN_ROOT}/bin/serve","args":["--root","${CLAUDE_PLUGIN_ROOT}"],"env":{"REGION":"${user_config.region}"}},
			"hosted":{"type":"http","url":"https://mcp.example/mcp"},
			"token":{"type":"http","url":"https://mcp.example/t","headers":{"Authorization":"Bearer ${ACME_TOKEN}","X-Env":"${ACME_ENV:-prod}"}},
			"line":{"command":"npx -y some-server"},
			"socket":{"type":"ws","url":"wss://x.example"},
			"host":{"url":"https://${HOST}/mcp"},
			"absolute":{"command":"/usr/bin/x"}}`,
		"bin/serve*", "#!/bin/sh", "hooks/check.py", "x", "stop.js", "x", "rules.md", "r",
		".lsp.json", `{"go":{"command":"gopls"}}`,
	), "dir", "")

	if d := cmp.Diff([]string{
		"missing-file ./none.md",
		"front-matter-repaired agents/Code_Reviewer.md",
	}, only(codes(r.Notes), "missing-file", "front-matter-repaired")); d != "" {
		t.Error(d)
	}
	if p.Name != "dev-kit" || p.ID != "local/dev-kit" || p.Version != "1.0.0" || p.Author != "Me" {
		t.Errorf("%+v", p)
	}

	// Agents: tools that whet has, never more than was allowed.
	heads := map[string]string{
		"code-reviewer": "---\ndescription: \"Use this agent when: a review is wanted. Examples: user: \\\"review\\\"\"\nmodel: \"sonnet\"\ntools: [\"read\", \"grep\", \"bash(git diff:*)\", \"killshell\"]\ncolor: \"red\"\n---\n\nReview with ${PLUGIN_ROOT}/rules.md.\n",
		"listed":        "---\ndescription: \"d\"\ntools: [\"read\", \"mcp__x__y\"]\n---\n\nPrompt.\n",
		"unlisted":      "---\ndescription: \"d\"\n---\n\nPrompt.\n",
		"none":          "---\ndescription: \"d\"\ntools: []\n---\n\nPrompt.\n",
	}
	if len(p.Agents) != len(heads) {
		t.Errorf("%d agents", len(p.Agents))
	}
	for name, want := range heads {
		if d := cmp.Diff(want, content(t, r.Tree, "dev.whet/agents/"+name+".md")); d != "" {
			t.Error(d)
		}
	}

	wantCommands := []plugin.Command{
		{Text: plugin.Text{Name: "extra", File: "dev.whet/commands/extra.md", Body: "Do more."}, Description: "Do more."},
		{Text: plugin.Text{Name: "git:commit", File: "dev.whet/commands/git/commit.md", Body: "Status: !`git status`\n$ARGUMENTS"}, Description: "Commit", Hint: "[message]"},
	}
	if d := cmp.Diff(wantCommands, p.Commands); d != "" {
		t.Error(d)
	}

	var skills []string
	for _, s := range p.Skills {
		skills = append(skills, s.File)
	}
	if d := cmp.Diff([]string{"skills/good/SKILL.md", "skills/more/SKILL.md", "skills/odd-name/SKILL.md", "skills/pdf/SKILL.md"}, skills); d != "" {
		t.Error(d)
	}
	const pdf = "---\nname: \"pdf\"\ndescription: \"Use for PDFs\"\nallowed-tools: \"Read Bash\"\nmetadata:\n  \"n\": \"1\"\n  \"name\": \"PDF Tools\"\n  \"version\": \"1\"\n---\n\nRun ${PLUGIN_ROOT}/skills/pdf/run.py\n"
	if d := cmp.Diff(pdf, content(t, r.Tree, "skills/pdf/SKILL.md")); d != "" {
		t.Error(d)
	}
	if got := content(t, r.Tree, "dev.whet/original/skills/pdf/SKILL.md"); !strings.HasPrefix(got, "---\nname: PDF Tools\n") {
		t.Errorf("the original is %q", got)
	}
	if got := content(t, r.Tree, "skills/good/SKILL.md"); !strings.HasSuffix(got, "bytes stay\r\n") {
		t.Errorf("what conforms was changed: %q", got)
	}
	content(t, r.Tree, "skills/odd-name/ref.md")
	if f, _ := r.Tree.Get("skills/pdf/run.py"); !f.Exec {
		t.Error("the exec bit is lost")
	}

	wantHooks := []plugin.Hook{
		{Event: "pre_tool", Matcher: "write|edit|multiedit", Command: "python3 ${PLUGIN_ROOT}/hooks/check.py", Timeout: 10, Dialect: "claude-code"},
		{Event: "pre_tool", Matcher: "(?i).*(?:Notebook.*).*", Command: "x", Dialect: "claude-code"},
		{Event: "session_start", Matcher: "startup|resume", Command: "y", Dialect: "claude-code"},
		{Event: "stop", Command: "node", Args: []string{"${PLUGIN_ROOT}/stop.js"}, Timeout: 600, Dialect: "claude-code"},
	}
	if d := cmp.Diff(wantHooks, p.Hooks); d != "" {
		t.Error(d)
	}

	wantServers := []plugin.Server{
		{Name: "hosted", Type: "streamable-http", URL: "https://mcp.example/mcp"},
		{Name: "line", Type: "stdio", Command: "npx", Args: []string{"-y", "some-server"}},
		{Name: "local", Type: "stdio", Command: "./bin/serve", Args: []string{"--root", "${PLUGIN_ROOT}"}, Env: map[string]string{"REGION": "${user_config.region}"}},
		{Name: "token", Type: "streamable-http", URL: "https://mcp.example/t", Headers: map[string]string{"Authorization": "Bearer ${user_config.ACME_TOKEN}", "X-Env": "${user_config.ACME_ENV}"}},
	}
	if d := cmp.Diff(wantServers, p.Servers); d != "" {
		t.Error(d)
	}
	if portable := content(t, r.Tree, "mcp.json"); strings.Contains(portable, "user_config") || strings.Contains(portable, "TOKEN") || !strings.Contains(portable, "hosted") {
		t.Errorf("the portable file is %s", portable)
	}
	wantSettings := []plugin.Setting{
		{Name: "ACME_ENV", Type: "string", Env: "ACME_ENV", Default: "prod"},
		{Name: "ACME_TOKEN", Type: "string", Env: "ACME_TOKEN", Sensitive: true, Required: true},
		{Name: "HOST", Type: "string", Env: "HOST", Required: true},
		{Name: "region", Title: "The region", Type: "string", Env: "DEV_KIT_REGION"},
	}
	if d := cmp.Diff(wantSettings, p.Settings); d != "" {
		t.Error(d)
	}

	count := map[string]int{}
	for _, n := range r.Notes {
		count[n.Code]++
	}
	if d := cmp.Diff(map[string]int{
		"missing-file": 1, "front-matter-repaired": 1, "tool-not-known": 1, "model-not-known": 1, "shell-in-command": 1,
		"not-applied": 1, "skill-rewritten": 1, "invalid-skill": 1, "invalid-server": 3,
		"unsupported-hook": 4, "unsupported-component": 4,
	}, count); d != "" {
		t.Error(d, r.Notes)
	}
}

// only are the codes that begin with one of the words.
func only(codes []string, words ...string) (out []string) {
	for _, c := range codes {
		for _, w := range words {
			if strings.HasPrefix(c, w) {
				out = append(out, c)
			}
		}
	}
	return out
}

// Half of the published server files are bare, half have mcpServers around.
func TestClaudeServerFiles(t *testing.T) {
	for name, file := range map[string]string{
		"bare":     `{"s":{"command":"npx"}}`,
		"wrapped":  `{"mcpServers":{"s":{"command":"npx"}}}`,
		"comments": "\ufeff{// c\n\"mcpServers\":{\"s\":{\"type\":\"stdio\",\"command\":\"npx\",},}}",
	} {
		p, _ := imported(t, archive(".mcp.json", file), "x", "")
		if len(p.Servers) != 1 || p.Servers[0].Name != "s" {
			t.Errorf("%s: %v", name, p.Servers)
		}
	}
	p, r := imported(t, archive(".mcp.json", `{"mcpServers":`, "commands/c.md", "c"), "x", "")
	if len(p.Commands) != 1 || len(r.Notes) != 1 || r.Notes[0].Code != "invalid-mcp" {
		t.Errorf("%v %v", p.Commands, r.Notes)
	}
	p, _ = imported(t, archive(".claude-plugin/plugin.json", `{"name":"x","mcpServers":{"s":{"command":"npx"}},"hooks":{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]}}}`), "x", "")
	if len(p.Servers) != 1 || len(p.Hooks) != 1 {
		t.Errorf("in the manifest: %v %v", p.Servers, p.Hooks)
	}
}

func TestCodexPlugin(t *testing.T) {
	p, r := imported(t, archive(
		".codex-plugin/plugin.json", `{"name":"kit","version":"2.0.0","skills":"./skills/","mcpServers":"./.codex-plugin/mcp.json","hooks":"./.codex-plugin/hooks.json","interface":{"displayName":"The Kit"}}`,
		".codex-plugin/mcp.json", `{"mcpServers":{"s":{"command":"node","args":["./start.mjs"]}}}`,
		".codex-plugin/hooks.json", `{"hooks":{"PreToolUse":[{"matcher":"Bash|apply_patch","hooks":[{"type":"command","command":"node \"${PLUGIN_ROOT}/h.mjs\""}]}]}}`,
		".app.json", `{"apps":{}}`,
		"skills/s/SKILL.md", "---\nname: s\ndescription: d\n---\nx",
	), "x", "")
	if p.Title != "The Kit" || len(p.Skills) != 1 || len(p.Servers) != 1 || r.Format != "codex-plugin" {
		t.Errorf("%+v", p)
	}
	if d := cmp.Diff([]plugin.Hook{{Event: "pre_tool", Matcher: "bash|apply_patch", Command: `node "${PLUGIN_ROOT}/h.mjs"`, Dialect: "codex"}}, p.Hooks); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"unsupported-component .app.json"}, codes(r.Notes)); d != "" {
		t.Error(d)
	}
}

func TestCursorPlugin(t *testing.T) {
	p, r := imported(t, archive(
		".cursor-plugin/plugin.json", `{"name":"kit"}`,
		"mcp.json", `{"mcpServers":{"s":{"url":"https://a.example/mcp"}}}`,
		"rules/always.mdc", "---\nalwaysApply: true\n---\nBe brief.",
		"rules/some.mdc", "---\nglobs: *.ts\n---\nTypes.",
		"hooks/hooks.json", `{"version":1,"hooks":{"preToolUse":[{"command":"./check.sh","matcher":"Write"}],"beforeShellExecution":[{"command":"x"}]}}`,
	), "x", "")
	if len(p.Servers) != 1 || len(p.Instructions) != 1 || p.Instructions[0].Body != "Be brief." {
		t.Errorf("%+v", p)
	}
	if d := cmp.Diff([]plugin.Hook{{Event: "pre_tool", Matcher: "write", Command: "./check.sh", Dialect: "cursor"}}, p.Hooks); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"unsupported-component hooks/hooks.json", "unsupported-component rules/some.mdc"}, only(codes(r.Notes), "unsupported")); d != "" {
		t.Error(d)
	}
	if got := content(t, r.Tree, "dev.whet/original/mcp.json"); !strings.Contains(got, `"url"`) {
		t.Error(got)
	}
}

func TestSkillAlone(t *testing.T) {
	p, r := imported(t, archive("SKILL.md", "---\nname: brand-voice\ndescription: d\n---\nx", "LICENSE.txt", "MIT", "scripts/run.sh*", "x"), "dir", "")
	if p.Name != "brand-voice" || len(p.Skills) != 1 || p.Skills[0].File != "skills/brand-voice/SKILL.md" {
		t.Errorf("%+v", p)
	}
	content(t, r.Tree, "skills/brand-voice/scripts/run.sh")
	if _, ok := r.Tree.Get("SKILL.md"); ok {
		t.Error("it is there twice")
	}
	p, _ = imported(t, archive("SKILL.md", "Just text.\n"), "My Notes", "")
	if p.Name != "my-notes" || len(p.Skills) != 1 || p.Skills[0].Description != "Just text." {
		t.Errorf("%+v", p)
	}
}
