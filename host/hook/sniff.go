package hook

import (
	"encoding/json"
	"strings"
)

// speaker returns the dialect that an event is really in. Hosts read each
// other's configuration: the command that a person gave to Claude Code may be
// called by Cursor, VS Code and others, each with its own events and its own
// strictness about replies.
func speaker(d *Dialect, in []byte, env func(string) string) *Dialect {
	var v struct {
		HookEventName  string `json:"hookEventName"`
		HookEvent      string `json:"hook_event_name"`
		ConversationID string `json:"conversation_id"`
		TurnID         string `json:"turn_id"`
		SessionID      string `json:"sessionId"`
		Action         string `json:"agent_action_name"`
		Event          string `json:"event"`
		Matched        string `json:"matcher_context"`
	}
	if json.Unmarshal(in, &v) != nil {
		return d // which will say what is wrong with it
	}
	name := d.Name
	switch {
	case v.HookEventName != "":
		name = "vscode"
	case v.ConversationID != "":
		name = "cursor"
	case v.SessionID != "":
		name = "copilot"
	case v.Action != "":
		name = "windsurf"
	case v.Event != "" && env("CRUSH_EVENT")+env("CRUSH_SESSION_ID")+env("CRUSH_TOOL_NAME") != "":
		name = "crush"
	case v.Event != "":
		name = "goose"
	case v.TurnID != "":
		name = "codex"
	case strings.HasPrefix(v.HookEvent, "Before"), strings.HasPrefix(v.HookEvent, "After"):
		name = "gemini"
	case v.HookEvent != "" && env("QWEN_PROJECT_DIR") != "":
		name = "qwen"
	case v.HookEvent != "":
		name = "claude-code"
	}
	if found, err := Lookup(name); err == nil {
		return found
	}
	return d
}
