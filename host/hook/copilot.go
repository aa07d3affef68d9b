package hook

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/whet-dev/whet/internal/hosttool"
)

func copilot() *Dialect {
	return &Dialect{
		Name: "copilot",
		Tools: hosttool.Table{
			"view":       {Name: "read", PathArg: "path"},
			"grep":       {Name: "grep", PathArg: "path"},
			"glob":       {Name: "glob", PathArg: "path"},
			"edit":       {Name: "edit", PathArg: "path", Edits: true},
			"create":     {Name: "write", PathArg: "path", Edits: true},
			"bash":       {Name: "bash"},
			"powershell": {Name: "bash"},
			"web_fetch":  {Name: "webfetch"},
			"task":       {Name: "task"},
		},
		Own:    "whet-",
		Decode: decodeCopilot,
		Encode: encodeCopilot,
		Sample: func(s Sample) []byte {
			v := object{"sessionId": "sample", "timestamp": 1, "cwd": s.Dir, "toolName": s.Tool, "toolArgs": string(s.Args)}
			if s.Phase == After {
				v["toolResult"] = object{"resultType": "success", "textResultForLlm": s.Result}
			}
			return v.json()
		},
		Shared: true,
		Twice:  true,
		Strict: true,
	}
}

// decodeCopilot tells the events, which have no names, by what they carry.
func decodeCopilot(in []byte) (e Event, err error) {
	var v struct {
		SessionID string          `json:"sessionId"`
		Cwd       string          `json:"cwd"`
		Tool      string          `json:"toolName"`
		Args      json.RawMessage `json:"toolArgs"` // an object, or one as a text
		Prompt    *string         `json:"prompt"`
		Reason    string          `json:"reason"` // of a session's end
		Result    *struct {
			Type string `json:"resultType"`
			Text string `json:"textResultForLlm"`
		} `json:"toolResult"`
	}
	if err := json.Unmarshal(in, &v); err != nil {
		return e, err
	}
	e.Call.Tool, e.Call.Args = v.Tool, v.Args
	e.Call.Session.ID, e.Call.Session.Dir = v.SessionID, v.Cwd
	var text string
	if json.Unmarshal(v.Args, &text) == nil && text != "" {
		if !json.Valid([]byte(text)) {
			return e, fmt.Errorf("toolArgs is not JSON: %.80q", text)
		}
		e.Call.Args = json.RawMessage(text)
	}
	switch {
	case v.Tool != "" && v.Result != nil:
		e.Name, e.Phase = "postToolUse", After
		e.Result.Text, e.Result.Failed = v.Result.Text, v.Result.Type != "success"
	case v.Tool != "":
		e.Name, e.Phase = "preToolUse", Before
	case v.Prompt != nil || v.Reason != "":
		e.Phase = Reset
	case v.SessionID == "":
		return e, fmt.Errorf("neither sessionId nor toolName in it; is this the event of another host?")
	}
	return e, nil
}

// encodeCopilot writes what Copilot CLI 1.0 takes.
func encodeCopilot(w io.Writer, _ Event, r Reply) error {
	var v struct {
		Decision string          `json:"permissionDecision,omitempty"`
		Reason   string          `json:"permissionDecisionReason,omitempty"`
		Args     json.RawMessage `json:"modifiedArgs,omitempty"`
		Context  string          `json:"additionalContext,omitempty"`
	}
	switch {
	case r.Refuse != "":
		v.Decision, v.Reason = "deny", r.Refuse
	case r.Args != nil || r.Note != "":
		v.Args, v.Context = r.Args, r.Note
	default:
		return nil
	}
	return json.NewEncoder(w).Encode(v)
}
