package install

import (
	"cmp"
	"encoding/json"
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
	edits []edit
	table *table
	whole []byte // the file is whet's own
}

// Seconds that a hook may take before the host gives it up.
const seconds = 10

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
				handler := map[string]any{"type": "command", "command": e.exe(), "args": []string{"hook", "claude-code"}, "timeout": seconds}
				for _, event := range []string{"PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "PreCompact"} {
					hooks.edits = append(hooks.edits, group(event, nil, handler))
				}
				hooks.edits = append(hooks.edits, group("SessionStart", "clear", handler))
				server := map[string]any{"type": "stdio", "command": e.exe(), "args": []string{"mcp"}}
				return []file{hooks, {path: e.claudeState(), edits: []edit{member("mcpServers", server)}}}
			},
			replaces: func(e Env) []file {
				return []file{{path: filepath.Join(e.claude(), "settings.json"), edits: []edit{word("WebFetch", "permissions", "deny")}}}
			},
		},
		{
			Name: "codex", Title: "Codex", Program: "codex",
			dirs: func(e Env) []string { return []string{e.codex()} },
			files: func(e Env) []file {
				hooks := file{path: filepath.Join(e.codex(), "hooks.json")}
				handler := map[string]any{"type": "command", "command": e.shell("codex"), "timeout": seconds}
				for _, event := range []string{"PreToolUse", "PostToolUse"} {
					hooks.edits = append(hooks.edits, group(event, "*", handler))
				}
				for _, event := range []string{"UserPromptSubmit", "PreCompact"} {
					hooks.edits = append(hooks.edits, group(event, nil, handler))
				}
				return []file{hooks, {path: filepath.Join(e.codex(), "config.toml"), table: &table{
					path:   []string{"mcp_servers", "whet"},
					values: [][2]string{{"command", quoteJSON(e.exe())}, {"args", `["mcp"]`}},
				}}}
			},
			Todo: "open /hooks in Codex and trust whet's: it skips hooks that nobody has trusted, silently",
		},
		{
			Name: "gemini", Title: "Gemini CLI", Program: "gemini",
			dirs: func(e Env) []string { return []string{e.home(".gemini")} },
			files: func(e Env) []file {
				return []file{geminiLike(e, "gemini", e.home(".gemini", "settings.json"), "BeforeTool", "AfterTool", "BeforeAgent", "PreCompress")}
			},
			replaces: func(e Env) []file {
				return []file{{path: e.home(".gemini", "settings.json"), edits: []edit{word("web_fetch", "tools", "exclude")}}}
			},
		},
		{
			Name: "qwen", Title: "Qwen Code", Program: "qwen",
			dirs: func(e Env) []string { return []string{e.home(".qwen")} },
			files: func(e Env) []file {
				return []file{geminiLike(e, "qwen", e.home(".qwen", "settings.json"), "PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "PreCompact")}
			},
			replaces: func(e Env) []file {
				return []file{{path: e.home(".qwen", "settings.json"), edits: []edit{word("web_fetch", "tools", "exclude")}}}
			},
		},
		{
			Name: "cursor", Title: "Cursor", Program: "cursor",
			dirs: func(e Env) []string { return []string{e.home(".cursor")} },
			files: func(e Env) []file {
				hooks := file{path: e.home(".cursor", "hooks.json"), edits: []edit{version()}}
				for _, event := range []string{"preToolUse", "postToolUse", "postToolUseFailure", "beforeSubmitPrompt", "preCompact"} {
					hooks.edits = append(hooks.edits, hook(event, map[string]any{"command": e.shell("cursor"), "timeout": seconds}))
				}
				return []file{hooks, e.server(e.home(".cursor", "mcp.json"))}
			},
		},
		{
			Name: "copilot", Title: "Copilot CLI", Program: "copilot",
			dirs: func(e Env) []string { return []string{e.home(".copilot")} },
			files: func(e Env) []file {
				server := map[string]any{"type": "local", "command": e.exe(), "args": []string{"mcp"}, "tools": []string{"*"}}
				return []file{copilotHooks(e), {path: e.home(".copilot", "mcp-config.json"), edits: []edit{member("mcpServers", server)}}}
			},
		},
		{
			Name: "vscode", Title: "VS Code", Program: "code",
			dirs: func(e Env) []string { return []string{e.vscode()} },
			files: func(e Env) []file { // it reads Copilot's hooks
				server := map[string]any{"type": "stdio", "command": e.exe(), "args": []string{"mcp"}}
				return []file{copilotHooks(e), {path: filepath.Join(e.vscode(), "mcp.json"), edits: []edit{member("servers", server)}}}
			},
		},
		{
			Name: "crush", Title: "Crush", Program: "crush",
			dirs: func(e Env) []string { return []string{e.config("crush")} },
			files: func(e Env) []file {
				server := map[string]any{"type": "stdio", "command": e.exe(), "args": []string{"mcp"}}
				return []file{{path: e.config("crush", "crush.json"), edits: []edit{
					hook("PreToolUse", map[string]any{"name": "whet", "command": e.shell("crush"), "timeout": seconds}),
					member("mcp", server),
				}}}
			},
			replaces: func(e Env) []file {
				return []file{{path: e.config("crush", "crush.json"), edits: []edit{word("fetch", "options", "disabled_tools")}}}
			},
		},
		{
			Name: "goose", Title: "goose", Program: "goose",
			dirs: func(e Env) []string { return []string{e.config("goose")} },
			files: func(e Env) []file {
				handler := []any{map[string]any{"type": "command", "command": e.shell("goose"), "timeout": seconds}}
				dir := e.home(".agents", "plugins", "whet")
				return []file{
					{path: filepath.Join(dir, "plugin.json"), whole: pretty(map[string]any{"name": "whet", "version": "1.0.0", "description": "Whet sharpens the tools that a coding agent already has"})},
					{path: filepath.Join(dir, "hooks", "hooks.json"), whole: pretty(map[string]any{"hooks": map[string]any{
						"PreToolUse":       []any{map[string]any{"hooks": handler}},
						"PostToolUse":      []any{map[string]any{"matcher": "developer__write|developer__edit", "hooks": handler}},
						"UserPromptSubmit": []any{map[string]any{"hooks": handler}},
					}})},
				}
			},
			Todo: "add whet's own tools with `goose configure`: a command-line extension, `whet mcp`",
		},
		{
			Name: "windsurf", Title: "Windsurf", Program: "windsurf",
			dirs: func(e Env) []string { return []string{e.home(".codeium", "windsurf")} },
			files: func(e Env) []file {
				return []file{
					{path: e.home(".codeium", "windsurf", "hooks.json"), edits: []edit{hook("post_write_code", map[string]any{"command": e.shell("windsurf")})}},
					e.server(e.home(".codeium", "windsurf", "mcp_config.json")),
				}
			},
		},
	}
}

// geminiLike is a settings file of Gemini CLI or of what grew from it. They
// count time in milliseconds.
func geminiLike(e Env, host, path string, events ...string) file {
	f := file{path: path}
	for _, event := range events {
		f.edits = append(f.edits, group(event, nil, map[string]any{"type": "command", "name": "whet", "command": e.shell(host), "timeout": seconds * 1000}))
	}
	f.edits = append(f.edits, member("mcpServers", map[string]any{"command": e.exe(), "args": []string{"mcp"}}))
	return f
}

func copilotHooks(e Env) file {
	hooks := map[string]any{}
	for _, event := range []string{"preToolUse", "postToolUse", "userPromptSubmitted"} {
		hooks[event] = []any{map[string]any{"type": "command", "bash": e.shell("copilot"), "powershell": "& " + e.shell("copilot"), "timeoutSec": seconds}}
	}
	return file{path: e.home(".copilot", "hooks", "whet.json"), whole: pretty(map[string]any{"version": 1, "hooks": hooks})}
}

// server is the file in which many hosts list their MCP servers.
func (e Env) server(path string) file {
	return file{path: path, edits: []edit{member("mcpServers", map[string]any{"command": e.exe(), "args": []string{"mcp"}})}}
}

// member is whet's entry in an object of MCP servers.
func member(object string, value map[string]any) edit {
	return edit{path: []string{object}, name: "whet", value: value, ours: runsWhet}
}

// hook is whet's entry in a list of hooks.
func hook(event string, handler map[string]any) edit {
	return edit{path: []string{"hooks", event}, value: handler, ours: runsWhet}
}

// group is whet's entry where hooks come in groups with a matcher; a nil
// matcher is left out and means all.
func group(event string, matcher any, handler map[string]any) edit {
	g := map[string]any{"hooks": []any{handler}}
	if matcher != nil {
		g["matcher"] = matcher
	}
	return edit{path: []string{"hooks", event}, value: g, ours: func(v any) bool {
		m, _ := v.(map[string]any)
		hooks, _ := m["hooks"].([]any)
		return len(hooks) == 1 && runsWhet(hooks[0])
	}}
}

// word is an element of a list of names; nobody else's, as it is put there only
// on demand.
func word(value string, path ...string) edit {
	return edit{path: path, value: value, ours: func(v any) bool { return v == value }}
}

// version is the member that Cursor demands. It isn't ours to take out.
func version() edit {
	return edit{name: "version", value: 1, ours: func(any) bool { return false }}
}

// runsWhet reports whether a command is whet, wherever it is: another one of
// ours would be asked twice.
func runsWhet(v any) bool {
	c, ok := commandOf(v)
	return ok && c.isWhet()
}

func pretty(v any) []byte {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // our own values always marshal
	return []byte(b.String())
}

// An Env is the machine that whet is installed on.
type Env struct {
	GOOS     string
	Home     string
	Exe      string // whet's own path, absolute and the same after an upgrade
	Getenv   func(string) string
	LookPath func(string) (string, error)
}

func (e Env) home(parts ...string) string {
	return filepath.Join(append([]string{e.Home}, parts...)...)
}

// config is below the directory for configuration, which these hosts look for
// in the same place on every system.
func (e Env) config(parts ...string) string {
	return filepath.Join(append([]string{cmp.Or(e.Getenv("XDG_CONFIG_HOME"), e.home(".config"))}, parts...)...)
}

func (e Env) claude() string { return cmp.Or(e.Getenv("CLAUDE_CONFIG_DIR"), e.home(".claude")) }

func (e Env) claudeState() string {
	return filepath.Join(cmp.Or(e.Getenv("CLAUDE_CONFIG_DIR"), e.Home), ".claude.json")
}

func (e Env) codex() string { return cmp.Or(e.Getenv("CODEX_HOME"), e.home(".codex")) }

func (e Env) vscode() string {
	switch e.GOOS {
	case "darwin":
		return e.home("Library", "Application Support", "Code", "User")
	case "windows":
		return filepath.Join(cmp.Or(e.Getenv("APPDATA"), e.home("AppData", "Roaming")), "Code", "User")
	}
	return e.config("Code", "User")
}

// exe is the program with forward slashes: a shell on Windows eats the others.
func (e Env) exe() string {
	if e.GOOS == "windows" {
		return strings.ReplaceAll(e.Exe, `\`, "/")
	}
	return e.Exe
}

// shell is the hook command for hosts that give it to a shell.
func (e Env) shell(host string) string { return quoteShell(e.GOOS, e.exe()) + " hook " + host }
