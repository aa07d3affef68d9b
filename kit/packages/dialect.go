package packages

import "cmp"

// A dialect is how a host speaks of events and tools to the hooks that were
// written for it. The zero value is whet's own.
type dialect struct {
	events map[string]string
	// names are a tool's, by ours; a hook is told the first. Whoever guards edits
	// means those by a patch too, where the host has no name for them.
	names map[string][]string
}

// dialects are those that a hook can be in.
var dialects = map[string]dialect{
	"claude-code": {claudeEvents, claudeTools},
	"codex":       {claudeEvents, claudeTools}, // it has taken over both
	"gemini": {
		map[string]string{PreTool: "BeforeTool", PostTool: "AfterTool", SessionStart: "SessionStart", UserPrompt: "BeforeAgent", Stop: "AfterAgent"},
		map[string][]string{
			"bash": {"run_shell_command"}, "read": {"read_file"}, "grep": {"search_file_content", "grep_search"}, "glob": {"glob"}, "webfetch": {"web_fetch"},
			"write": {"write_file"}, "edit": {"replace"},
			"apply_patch": {"apply_patch", "replace", "write_file"}, "ast_grep_replace": {"ast_grep_replace", "replace"},
		},
	},
}

var claudeEvents = map[string]string{
	PreTool: "PreToolUse", PostTool: "PostToolUse", SessionStart: "SessionStart", UserPrompt: "UserPromptSubmit", Stop: "Stop",
}

var claudeTools = map[string][]string{
	"bash": {"Bash"}, "read": {"Read"}, "grep": {"Grep"}, "glob": {"Glob"}, "webfetch": {"WebFetch"}, "task": {"Task", "Agent"}, "skill": {"Skill"},
	"write": {"Write"}, "edit": {"Edit", "MultiEdit"},
	"apply_patch": {"apply_patch", "Edit", "MultiEdit", "Write"}, "ast_grep_replace": {"ast_grep_replace", "Edit", "MultiEdit"},
}

func (d dialect) event(ours string) string { return cmp.Or(d.events[ours], ours) }

// tools returns the names of a tool, the first as it is told.
func (d dialect) tools(ours string) []string {
	if names := d.names[ours]; names != nil {
		return append(names[:len(names):len(names)], ours)
	}
	return []string{ours}
}
