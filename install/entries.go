package install

import (
	"encoding/json"
	"strings"
)

// An entry is a hook or a server as hosts write it; each takes some of the members.
type entry struct {
	Type       string   `json:"type,omitempty"`
	Name       string   `json:"name,omitempty"`
	Command    string   `json:"command,omitempty"`
	Args       []string `json:"args,omitempty"`
	Bash       string   `json:"bash,omitempty"`
	PowerShell string   `json:"powershell,omitempty"`
	Tools      []string `json:"tools,omitempty"`
	Timeout    int      `json:"timeout,omitempty"`
	TimeoutSec int      `json:"timeoutSec,omitempty"`
}

// geminiLike is a settings file of Gemini CLI or of what grew from it. They
// count time in milliseconds.
func geminiLike(e Env, host, path string, events ...string) file {
	f := file{path: path}
	for _, event := range events {
		f.edits = append(f.edits, group(event, "", entry{Type: "command", Name: "whet", Command: e.shell(host), Timeout: seconds(event) * 1000}))
	}
	f.edits = append(f.edits, e.servers("mcpServers", entry{Command: e.exe(), Args: []string{"mcp"}})...)
	return f
}

func copilotHooks(e Env) file {
	hooks := map[string]any{}
	for _, event := range []string{"preToolUse", "postToolUse", "userPromptSubmitted"} {
		hooks[event] = []any{entry{Type: "command", Bash: e.shell("copilot"), PowerShell: "& " + e.shell("copilot"), TimeoutSec: seconds(event)}}
	}
	return file{path: e.home(".copilot", "hooks", "whet.json"), whole: pretty(map[string]any{"version": 1, "hooks": hooks})}
}

// server is the file in which many hosts list their MCP servers.
func (e Env) server(path string) file {
	return file{path: path, edits: e.servers("mcpServers", entry{Command: e.exe(), Args: []string{"mcp"}})}
}

// member is whet's entry in an object of MCP servers.
func member(object string, value entry) edit {
	return edit{path: []string{object}, name: "whet", value: value, ours: runsWhet}
}

// hook is whet's entry in a list of hooks.
func hook(event string, handler entry) edit {
	return edit{path: []string{"hooks", event}, value: handler, ours: runsWhet}
}

// group is whet's entry where hooks come in groups with a matcher; none means all.
func group(event string, matcher string, handler entry) edit {
	value := struct {
		Matcher string  `json:"matcher,omitempty"`
		Hooks   []entry `json:"hooks"`
	}{matcher, []entry{handler}}
	return edit{path: []string{"hooks", event}, value: value, ours: func(v any) bool {
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
