package hook

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/whet-dev/whet/internal/hosttool"
)

// windsurf names actions, not tools, and hears only an exit status.
func windsurf() *Dialect {
	return &Dialect{
		Name: "windsurf",
		Tools: hosttool.Table{
			"read_code":    {Name: "read", PathArg: "file_path"},
			"write_code":   {Name: "edit", PathArg: "file_path", Edits: true},
			"run_command":  {Name: "bash"},
			"mcp_tool_use": {Name: "mcp"},
		},
		Decode: decodeWindsurf,
		Encode: func(_ io.Writer, e Event, r Reply) error {
			if r.Refuse != "" && strings.HasPrefix(e.Name, "pre_") {
				return &Blocked{r.Refuse}
			}
			return nil
		},
		Sample: func(s Sample) []byte {
			v := object{"agent_action_name": "pre_" + s.Tool, "trajectory_id": "sample", "execution_id": "sample", "tool_info": s.Args}
			if s.Phase == After {
				v["agent_action_name"] = "post_" + s.Tool
			}
			return v.json()
		},
	}
}

func decodeWindsurf(in []byte) (e Event, err error) {
	var v struct {
		Action     string          `json:"agent_action_name"`
		Trajectory string          `json:"trajectory_id"`
		Execution  string          `json:"execution_id"`
		Info       json.RawMessage `json:"tool_info"`
	}
	if err := json.Unmarshal(in, &v); err != nil {
		return e, err
	}
	if v.Action == "" {
		return e, fmt.Errorf("no agent_action_name in it; is this the event of another host?")
	}
	e.Name, e.Call.ID, e.Call.Args, e.Call.Session.ID = v.Action, v.Execution, v.Info, v.Trajectory
	e.Call.Session.Dir, _ = os.Getwd() // hooks run in the workspace
	if tool, ok := strings.CutPrefix(v.Action, "pre_"); ok {
		e.Phase, e.Call.Tool = Before, tool
	}
	switch v.Action {
	case "post_write_code": // of the others it doesn't tell the result
		e.Phase, e.Call.Tool = After, "write_code"
	case "pre_user_prompt":
		e.Phase, e.Call.Tool = Reset, ""
	}
	return e, nil
}
