package hook

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/whet-dev/whet/internal/hosttool"
)

// crush only has an event before a call, and none in sub-agents.
func crush() *Dialect {
	return &Dialect{
		Name: "crush",
		Tools: hosttool.Table{
			"view":      {Name: "read", PathArg: "file_path"},
			"grep":      {Name: "grep", PathArg: "path"},
			"glob":      {Name: "glob", PathArg: "path"},
			"edit":      {Name: "edit", PathArg: "file_path", Edits: true},
			"multiedit": {Name: "edit", PathArg: "file_path", Edits: true},
			"write":     {Name: "write", PathArg: "file_path", Edits: true},
			"bash":      {Name: "bash"},
			"fetch":     {Name: "webfetch"},
			"agent":     {Name: "task"},
		},
		Own:    "mcp_whet_",
		Decode: decodeCrush,
		Encode: encodeCrush,
		Sample: func(s Sample) []byte {
			if s.Phase != Before {
				return nil
			}
			return object{"event": "PreToolUse", "session_id": "sample", "cwd": s.Dir, "tool_name": s.Tool, "tool_input": s.Args}.json()
		},
	}
}

func decodeCrush(in []byte) (e Event, err error) {
	var v struct {
		shape
		Event string `json:"event"`
	}
	if err := json.Unmarshal(in, &v); err != nil {
		return e, err
	}
	if v.Event == "" {
		return e, fmt.Errorf("no event in it; is this the event of another host?")
	}
	v.shape.Event = v.Event
	e = v.event()
	if v.Event == "PreToolUse" {
		e.Phase = Before
	}
	return e, nil
}

// encodeCrush rewrites without a decision: "allow" would skip the person's.
func encodeCrush(w io.Writer, _ Event, r Reply) error {
	v := struct {
		Version  int             `json:"version"`
		Decision string          `json:"decision,omitempty"`
		Reason   string          `json:"reason,omitempty"`
		Input    json.RawMessage `json:"updated_input,omitempty"`
	}{Version: 1}
	switch {
	case r.Refuse != "":
		v.Decision, v.Reason = "deny", r.Refuse
	case r.Args != nil:
		v.Input = r.Args
	default:
		return nil
	}
	return json.NewEncoder(w).Encode(v)
}
