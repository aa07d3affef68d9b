package install

import (
	"path/filepath"
	"strings"

	"github.com/whet-dev/whet/npm/opencode"
)

// A Host is a coding agent that whet can be installed in.
type Host struct {
	Name     string // as in `whet hook NAME`
	Title    string
	Program  string // what it is started by
	dirs     func(Env) []string
	files    func(Env) []file
	replaces func(Env) []file // in addition, with --replace
	// Todo is what remains for the person; "" if nothing does.
	Todo string
}

// A file is one that the host reads, and what whet puts there.
type file struct {
	path  string
	edits []change
	table *table
	whole []byte // the file is whet's own
	more  *guestTables
}

// seconds is how long a hook may take before the host gives it up. After a call
// a formatter may be at work.
func seconds(event string) int {
	if e := strings.ToLower(event); strings.HasPrefix(e, "post") || strings.HasPrefix(e, "after") {
		return 30
	}
	return 10
}

// Hosts lists the agents, those first that have whet's capabilities in full.
func Hosts() []Host {
	return []Host{
		{
			Name: "opencode", Title: "OpenCode", Program: "opencode",
			dirs: func(e Env) []string { return []string{e.config("opencode")} },
			files: func(e Env) []file {
				return []file{{path: e.config("opencode", "plugin", "whet.js"), whole: opencode.Plugin(e.Exe)}}
			},
		},
		{
			Name: "claude-code", Title: "Claude Code", Program: "claude",
			dirs: func(e Env) []string { return []string{e.claude()} },
			files: func(e Env) []file {
				hooks := file{path: filepath.Join(e.claude(), "settings.json")}
				handler := func(event string) entry {
					return entry{Type: "command", Command: e.hookExe(), Args: []string{"hook", "claude-code"}, Timeout: seconds(event)}
				}
				for _, event := range []string{"PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "PreCompact", "Stop"} {
					hooks.edits = append(hooks.edits, group(event, "", handler(event)))
				}
				hooks.edits = append(hooks.edits, group("SessionStart", "clear", handler("SessionStart")))
				server := entry{Type: "stdio", Command: e.exe(), Args: []string{"mcp"}}
				return []file{hooks, {path: e.claudeState(), edits: e.servers("mcpServers", server)}}
			},
			replaces: func(e Env) []file {
				return []file{{path: filepath.Join(e.claude(), "settings.json"), edits: []change{word("WebFetch", "permissions", "deny")}}}
			},
		},
		{
			Name: "codex", Title: "Codex", Program: "codex",
			dirs: func(e Env) []string { return []string{e.codex()} },
			files: func(e Env) []file {
				hooks := file{path: filepath.Join(e.codex(), "hooks.json")}
				handler := func(event string) entry {
					return entry{Type: "command", Command: e.shell("codex"), Timeout: seconds(event)}
				}
				for _, event := range []string{"PreToolUse", "PostToolUse"} {
					hooks.edits = append(hooks.edits, group(event, "*", handler(event)))
				}
				for _, event := range []string{"UserPromptSubmit", "PreCompact", "Stop"} {
					hooks.edits = append(hooks.edits, group(event, "", handler(event)))
				}
				server := e.codexServer("whet", "mcp")
				return []file{hooks, {path: filepath.Join(e.codex(), "config.toml"), table: &server, more: e.codexGuests()}}
			},
			Todo: "open /hooks in Codex and trust whet's: it skips hooks that nobody has trusted, silently",
		},
		{
			Name: "gemini", Title: "Gemini CLI", Program: "gemini",
			dirs: func(e Env) []string { return []string{e.home(".gemini")} },
			files: func(e Env) []file {
				return []file{geminiLike(e, "gemini", e.home(".gemini", "settings.json"), "BeforeTool", "AfterTool", "BeforeAgent", "AfterAgent")}
			},
			replaces: func(e Env) []file {
				return []file{{path: e.home(".gemini", "settings.json"), edits: []change{word("web_fetch", "tools", "exclude")}}}
			},
		},
		{
			Name: "qwen", Title: "Qwen Code", Program: "qwen",
			dirs: func(e Env) []string { return []string{e.home(".qwen")} },
			files: func(e Env) []file {
				return []file{geminiLike(e, "qwen", e.home(".qwen", "settings.json"), "PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "PreCompact", "Stop")}
			},
			replaces: func(e Env) []file {
				return []file{{path: e.home(".qwen", "settings.json"), edits: []change{word("web_fetch", "tools", "exclude")}}}
			},
		},
		{
			Name: "cursor", Title: "Cursor", Program: "cursor",
			dirs: func(e Env) []string { return []string{e.home(".cursor")} },
			files: func(e Env) []file {
				hooks := file{path: e.home(".cursor", "hooks.json"), edits: []change{version()}}
				for _, event := range []string{"preToolUse", "postToolUse", "postToolUseFailure", "beforeSubmitPrompt", "preCompact", "stop"} {
					hooks.edits = append(hooks.edits, hook(event, entry{Command: e.shell("cursor"), Timeout: seconds(event)}))
				}
				return []file{hooks, e.server(e.home(".cursor", "mcp.json"))}
			},
		},
		{
			Name: "copilot", Title: "Copilot CLI", Program: "copilot",
			dirs: func(e Env) []string { return []string{e.home(".copilot")} },
			files: func(e Env) []file {
				server := entry{Type: "local", Command: e.exe(), Args: []string{"mcp"}, Tools: []string{"*"}}
				return []file{copilotHooks(e), {path: e.home(".copilot", "mcp-config.json"), edits: e.servers("mcpServers", server)}}
			},
		},
		{
			Name: "vscode", Title: "VS Code", Program: "code",
			dirs: func(e Env) []string { return []string{e.vscode()} },
			files: func(e Env) []file { // it reads Copilot's hooks
				server := entry{Type: "stdio", Command: e.exe(), Args: []string{"mcp"}}
				return []file{copilotHooks(e), {path: filepath.Join(e.vscode(), "mcp.json"), edits: e.servers("servers", server)}}
			},
		},
		{
			Name: "crush", Title: "Crush", Program: "crush",
			dirs: func(e Env) []string { return []string{e.config("crush")} },
			files: func(e Env) []file {
				server := entry{Type: "stdio", Command: e.exe(), Args: []string{"mcp"}}
				return []file{{path: e.config("crush", "crush.json"), edits: append([]change{
					hook("PreToolUse", entry{Name: "whet", Command: e.shell("crush"), Timeout: seconds("PreToolUse")}),
				}, e.servers("mcp", server)...)}}
			},
			replaces: func(e Env) []file {
				return []file{{path: e.config("crush", "crush.json"), edits: []change{word("fetch", "options", "disabled_tools")}}}
			},
		},
		{
			Name: "goose", Title: "goose", Program: "goose",
			dirs: func(e Env) []string { return []string{e.config("goose")} },
			files: func(e Env) []file {
				handler := func(event string) []entry {
					return []entry{{Type: "command", Command: e.shell("goose"), Timeout: seconds(event)}}
				}
				dir := e.home(".agents", "plugins", "whet")
				return []file{
					{path: filepath.Join(dir, "plugin.json"), whole: pretty(map[string]any{"name": "whet", "version": "1.0.0", "description": "Whet sharpens the tools that a coding agent already has"})},
					{path: filepath.Join(dir, "hooks", "hooks.json"), whole: pretty(map[string]any{"hooks": map[string]any{
						"PreToolUse":       []any{map[string]any{"hooks": handler("PreToolUse")}},
						"PostToolUse":      []any{map[string]any{"matcher": "developer__write|developer__edit", "hooks": handler("PostToolUse")}},
						"UserPromptSubmit": []any{map[string]any{"hooks": handler("UserPromptSubmit")}},
					}})},
				}
			},
			Todo: "add whet's own tools with `goose configure`: a command-line extension, `whet mcp`",
		},
		{
			Name: "windsurf", Title: "Windsurf", Program: "windsurf",
			dirs: func(e Env) []string { return []string{e.home(".codeium", "windsurf")} },
			files: func(e Env) []file {
				hooks := file{path: e.home(".codeium", "windsurf", "hooks.json")}
				for _, event := range []string{"pre_write_code", "post_write_code", "pre_user_prompt"} {
					hooks.edits = append(hooks.edits, hook(event, entry{Command: e.shell("windsurf")}))
				}
				return []file{hooks, e.server(e.home(".codeium", "windsurf", "mcp_config.json"))}
			},
		},
	}
}
