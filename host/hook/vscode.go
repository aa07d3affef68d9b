package hook

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/whet-dev/whet/internal/hosttool"
)

// vscode are the agents of VS Code itself. They read the hooks of Claude Code
// and of Copilot CLI, and send events of their own.
func vscode() *Dialect {
	return &Dialect{
		Name: "vscode",
		Tools: hosttool.Table{
			"read_file":              {Name: "read", PathArg: "filePath"},
			"create_file":            {Name: "write", PathArg: "filePath", Edits: true},
			"replace_string_in_file": {Name: "edit", PathArg: "filePath", Edits: true},
			"insert_edit_into_file":  {Name: "edit", PathArg: "filePath", Edits: true},
			"apply_patch":            {Name: "apply_patch", PatchArg: "input", Edits: true},
			"run_in_terminal":        {Name: "bash"},
			"fetch_webpage":          {Name: "webfetch"},
			"runSubagent":            {Name: "task"},
		},
		Own:    "mcp_whet_",
		Decode: decodeVSCode,
		Encode: encodeClaudeCode,
		Sample: func(s Sample) []byte {
			v := object{
				"sessionId": "sample", "hookEventName": "PreToolUse", "cwd": s.Dir,
				"tool_name": s.Tool, "tool_input": s.Args, "tool_use_id": "sample",
			}
			if s.Phase == After {
				v["hookEventName"], v["tool_response"] = "PostToolUse", s.Result
			}
			return v.json()
		},
		Twice: true,
	}
}

func decodeVSCode(in []byte) (e Event, err error) {
	var v struct {
		shape
		SessionID string `json:"sessionId"`
		Event     string `json:"hookEventName"`
	}
	if err := json.Unmarshal(in, &v); err != nil {
		return e, err
	}
	v.shape.Event = cmp.Or(v.Event, v.shape.Event)
	v.shape.SessionID = cmp.Or(v.SessionID, v.shape.SessionID)
	if v.shape.Event == "" {
		return e, fmt.Errorf("no hookEventName in it; is this the event of another host?")
	}
	return v.claude(), nil
}
