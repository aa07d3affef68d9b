package hook

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/whet-dev/whet/internal/hosttool"
)

func cursor() *Dialect {
	return &Dialect{
		Name: "cursor",
		Tools: hosttool.Table{
			"Read":   {Name: "read", PathArg: "file_path"},
			"Grep":   {Name: "grep", PathArg: "path"},
			"Write":  {Name: "write", PathArg: "file_path", Edits: true},
			"Delete": {Name: "delete", PathArg: "file_path"},
			"Shell":  {Name: "bash"},
			"Fetch":  {Name: "webfetch"},
			"Task":   {Name: "task"},
			// Where whet's own is served nobody knows whose session launched the task.
			"MCP:task": {Name: "task"},
		},
		Stops:  true,
		Decode: decodeCursor,
		Encode: encodeCursor,
		Sample: func(s Sample) []byte {
			v := object{
				"hook_event_name": "preToolUse", "conversation_id": "sample", "generation_id": "sample",
				"workspace_roots": []string{s.Dir}, "cwd": s.Dir, "tool_name": s.Tool, "tool_input": s.Args, "tool_use_id": "sample",
			}
			if s.Phase == After {
				v["hook_event_name"], v["tool_output"] = "postToolUse", s.Result
			}
			if s.Agent != "" {
				v["parent_tool_call_id"] = s.Agent
			}
			return v.json()
		},
		Twice: true, // it reads Claude Code's settings
	}
}

func decodeCursor(in []byte) (e Event, err error) {
	var v struct {
		shape
		ConversationID string          `json:"conversation_id"`
		ParentCall     string          `json:"parent_tool_call_id"` // of a sub-agent
		Roots          []string        `json:"workspace_roots"`
		Output         json.RawMessage `json:"tool_output"`
		ErrorMessage   string          `json:"error_message"`
	}
	if err := json.Unmarshal(in, &v); err != nil {
		return e, err
	}
	if v.Event == "" {
		return e, fmt.Errorf("no hook_event_name in it; is this the event of another host?")
	}
	v.SessionID, v.AgentID = cmp.Or(v.ConversationID, v.SessionID), v.ParentCall
	if len(v.Roots) > 0 {
		v.Cwd = cmp.Or(v.Cwd, v.Roots[0])
	}
	e = v.event()
	switch v.Event {
	case "preToolUse":
		e.Phase = Before
	case "postToolUse":
		e.Phase, e.Result.Text = After, responseText(slices.Concat(v.Output, v.Response))
	case "postToolUseFailure":
		e.Phase, e.Result.Text, e.Result.Failed = After, cmp.Or(v.ErrorMessage, v.Error), true
	case "beforeSubmitPrompt":
		if v.byPerson() {
			e.Phase = Prompt
		}
	case "stop":
		e.Phase = Idle
	case "preCompact", "sessionEnd":
		e.Phase = Reset
	}
	return e, nil
}

// encodeCursor writes what Cursor takes. Silence would count as a failed hook,
// and an object of the wrong shape as a refusal: {} is its "no opinion".
func encodeCursor(w io.Writer, e Event, r Reply) error {
	const longest = 10_000 // characters of context
	var v struct {
		Permission string          `json:"permission,omitempty"`
		ToUser     string          `json:"user_message,omitempty"`
		ToAgent    string          `json:"agent_message,omitempty"`
		Input      json.RawMessage `json:"updated_input,omitempty"`
		Context    string          `json:"additional_context,omitempty"`
		GoOn       string          `json:"followup_message,omitempty"`
	}
	switch {
	case r.GoOn != "":
		v.GoOn = r.GoOn
	case r.Refuse != "":
		v.Permission, v.ToUser, v.ToAgent = "deny", r.Refuse, r.Refuse
	case r.Args != nil:
		v.Input = r.Args
	case e.Name == "postToolUse":
		v.Context = r.Note
		if utf8.RuneCountInString(r.Note) > longest {
			v.Context = string([]rune(r.Note)[:longest])
		}
	}
	return json.NewEncoder(w).Encode(v)
}
