package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Several hosts send events in the shape that Claude Code began. No two accept
// the same replies, so only the reading is shared.
type shape struct {
	SessionID string          `json:"session_id"`
	Cwd       string          `json:"cwd"`
	Event     string          `json:"hook_event_name"`
	AgentID   string          `json:"agent_id"` // of a sub-agent, which shares its parent's session id
	AgentType string          `json:"agent_type"`
	ToolUseID string          `json:"tool_use_id"`
	Tool      string          `json:"tool_name"`
	Input     json.RawMessage `json:"tool_input"`
	Response  json.RawMessage `json:"tool_response"`
	Error     string          `json:"error"`
	Source    string          `json:"source"`
	Prompt    *string         `json:"prompt"`
}

func decodeShape(in []byte) (e Event, err error) {
	var v shape
	if err := json.Unmarshal(in, &v); err != nil {
		return e, err
	}
	if v.Event == "" {
		return e, fmt.Errorf("no hook_event_name in it; is this the event of another host?")
	}
	return v.claude(), nil
}

// event returns what all events of the family tell, without a phase.
func (v shape) event() (e Event) {
	e.Name = v.Event
	e.Call.ID, e.Call.Tool, e.Call.Args = v.ToolUseID, v.Tool, v.Input
	e.Call.Session.ID, e.Call.Session.Agent, e.Call.Session.Dir = v.SessionID, v.AgentType, v.Cwd
	if v.AgentID != "" {
		e.Call.Session.ID += "/" + v.AgentID
	}
	return e
}

// byPerson tells a person's prompt from that of a timer or another session, from
// the empty one that Gemini CLI's descendants send with each tool's result, and
// from what we ourselves made the model go on with.
func (v shape) byPerson() bool {
	if v.Prompt != nil && (*v.Prompt == "" || strings.HasPrefix(*v.Prompt, ourPrompt)) {
		return false
	}
	return v.Source == "" || v.Source == "user"
}

// ourPrompt is how the notice of a task's end begins.
const ourPrompt = `<task id="tsk_`

// claude returns the event as Claude Code means it.
func (v shape) claude() Event {
	e := v.event()
	switch v.Event {
	case "PreToolUse":
		e.Phase = Before
	case "PostToolUse":
		e.Phase, e.Result.Text = After, responseText(v.Response)
	case "PostToolUseFailure":
		e.Phase, e.Result.Text, e.Result.Failed = After, v.Error, true
	case "UserPromptSubmit":
		if v.byPerson() {
			e.Phase = Prompt
		}
	case "Stop":
		e.Phase = Idle
	case "SessionStart":
		if v.Source == "clear" || v.Source == "compact" {
			e.Phase = Reset
		}
	case "PreCompact", "PostCompact", "SessionEnd":
		e.Phase = Reset
	}
	return e
}

// shapeSample returns an event of that shape.
func shapeSample(s Sample) []byte {
	v := object{
		"session_id": "sample", "cwd": s.Dir, "hook_event_name": "PreToolUse",
		"tool_name": s.Tool, "tool_input": s.Args, "tool_use_id": "sample",
	}
	if s.Phase == After {
		v["hook_event_name"], v["tool_response"] = "PostToolUse", s.Result
	}
	if s.Agent != "" {
		v["agent_id"] = s.Agent
	}
	return v.json()
}

type object map[string]any

func (o object) json() []byte {
	b, _ := json.Marshal(o) // samples always marshal
	return b
}

// specific is the reply that hosts of Claude Code's family take, each less of
// it than the next one.
type specific struct {
	Event    string          `json:"hookEventName"`
	Decision string          `json:"permissionDecision,omitempty"`
	Reason   string          `json:"permissionDecisionReason,omitempty"`
	Input    json.RawMessage `json:"updatedInput,omitempty"`
	Context  string          `json:"additionalContext,omitempty"`
}

func (s specific) write(w io.Writer) error {
	return json.NewEncoder(w).Encode(map[string]specific{"hookSpecificOutput": s})
}

// volatile are members of a response that tell how long it took: with them, no
// two results would ever be the same.
var volatile = []string{"durationMs", "duration_ms", "durationSeconds"}

// responseText returns a result as text: a string as it is, anything else as
// JSON in one form, without what is volatile.
func responseText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return string(bytes.TrimSpace(raw))
	}
	for _, k := range volatile {
		delete(m, k)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // what a tool has said must be found as it is
	if err := e.Encode(m); err != nil {
		return string(raw)
	}
	return string(bytes.TrimSpace(b.Bytes()))
}

// encodeGoOn keeps the model from ending its turn.
func encodeGoOn(w io.Writer, r Reply) error {
	return json.NewEncoder(w).Encode(map[string]string{"decision": "block", "reason": r.GoOn})
}
