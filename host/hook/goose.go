package hook

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/whet-dev/whet/internal/hosttool"
)

// goose doesn't tell its hooks a call's result, and hears only refusals.
func goose() *Dialect {
	d := &Dialect{
		Name: "goose",
		Tools: hosttool.Table{
			"developer__write": {Name: "write", PathArg: "path", Edits: true},
			"developer__edit":  {Name: "edit", PathArg: "path", Edits: true},
			"developer__tree":  {Name: "list", PathArg: "path"},
			"developer__shell": {Name: "bash"},
		},
		Own:    "whet__",
		Encode: encodeGoose,
		Sample: func(s Sample) []byte {
			v := object{
				"event": "PreToolUse", "session_id": "sample", "matcher_context": s.Tool, "working_dir": s.Dir,
				"tool_name": s.Tool, "tool_input": s.Args, "tool_call_id": "sample",
			}
			if s.Phase == After {
				v["event"] = "PostToolUse"
			}
			return v.json()
		},
	}
	d.Decode = func(in []byte) (e Event, err error) {
		var v struct {
			shape
			Event string `json:"event"`
			Dir   string `json:"working_dir"`
			Call  string `json:"tool_call_id"`
		}
		if err := json.Unmarshal(in, &v); err != nil {
			return e, err
		}
		if v.Event == "" {
			return e, fmt.Errorf("no event in it; is this the event of another host?")
		}
		v.shape.Event, v.Cwd, v.ToolUseID = v.Event, v.Dir, v.Call
		e = v.event()
		switch v.Event {
		case "PreToolUse":
			e.Phase = Before
		case "PostToolUse":
			// Without the result nothing but an edit is worth a guard's look.
			if d.Tools[v.Tool].Edits {
				e.Phase = After
			}
		case "UserPromptSubmit", "SessionEnd":
			e.Phase = Reset
		}
		return e, nil
	}
	return d
}

func encodeGoose(w io.Writer, _ Event, r Reply) error {
	if r.Refuse == "" {
		return nil
	}
	return json.NewEncoder(w).Encode(struct {
		Decision string `json:"decision"`
		Reason   string `json:"reason"`
	}{"block", r.Refuse})
}
