package hook

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/whet-dev/whet/internal/hosttool"
)

func gemini() *Dialect {
	return &Dialect{
		Name: "gemini",
		Tools: hosttool.Table{
			"read_file":         {Name: "read", PathArg: "file_path"},
			"grep_search":       {Name: "grep", PathArg: "dir_path"},
			"glob":              {Name: "glob", PathArg: "dir_path"},
			"replace":           {Name: "edit", PathArg: "file_path", Edits: true},
			"write_file":        {Name: "write", PathArg: "file_path", Edits: true},
			"run_shell_command": {Name: "bash"},
			"web_fetch":         {Name: "webfetch"},
			"invoke_agent":      {Name: "task"},
		},
		Own:     "mcp_whet_",
		Prompts: true,
		Stops:   true,
		Decode:  decodeGemini,
		Encode:  encodeGemini,
		Sample: func(s Sample) []byte {
			v := object{
				"session_id": "sample", "cwd": s.Dir, "hook_event_name": "BeforeTool",
				"tool_name": s.Tool, "tool_input": s.Args,
			}
			if s.Phase == After {
				v["hook_event_name"], v["tool_response"] = "AfterTool", object{"llmContent": s.Result}
			}
			return v.json()
		},
	}
}

func decodeGemini(in []byte) (e Event, err error) {
	var v struct {
		shape
		Response struct {
			Content json.RawMessage `json:"llmContent"`
			Error   json.RawMessage `json:"error"`
		} `json:"tool_response"`
	}
	if err := json.Unmarshal(in, &v); err != nil {
		return e, err
	}
	if v.Event == "" {
		return e, fmt.Errorf("no hook_event_name in it; is this the event of another host?")
	}
	e = v.event()
	switch v.Event {
	case "BeforeTool":
		e.Phase = Before
	case "AfterTool":
		e.Phase, e.Result.Text = After, geminiText(v.Response.Content)
		e.Result.Failed = len(v.Response.Error) > 0 && string(v.Response.Error) != "null"
	case "BeforeAgent":
		if v.byPerson() {
			e.Phase = Prompt
		}
	case "AfterAgent":
		e.Phase = Idle
	case "SessionEnd": // not PreCompress, which comes before each turn whether or not anything is compressed
		e.Phase = Reset
	case "SessionStart":
		if v.Source == "clear" {
			e.Phase = Reset
		}
	}
	return e, nil
}

// geminiText reads a result, which is a text, a part, or a list of both.
func geminiText(raw json.RawMessage) string {
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		parts = []json.RawMessage{raw}
	}
	var out []string
	for _, p := range parts {
		var part struct {
			Text string `json:"text"`
		}
		if json.Unmarshal(p, &part) == nil && part.Text != "" {
			out = append(out, part.Text)
		} else {
			out = append(out, responseText(p))
		}
	}
	return strings.Join(out, "\n")
}

// encodeGemini writes what Gemini CLI 0.61 takes. New arguments are merged into
// the model's; without a decision the host's own confirmation follows.
func encodeGemini(w io.Writer, e Event, r Reply) error {
	type specific struct {
		Event   string          `json:"hookEventName"`
		Input   json.RawMessage `json:"tool_input,omitempty"`
		Context string          `json:"additionalContext,omitempty"`
	}
	var v struct {
		Decision string    `json:"decision,omitempty"`
		Reason   string    `json:"reason,omitempty"`
		Specific *specific `json:"hookSpecificOutput,omitempty"`
	}
	switch {
	case r.GoOn != "":
		v.Decision, v.Reason = "deny", r.GoOn // it goes on with the reason as its prompt
	case r.Refuse != "":
		v.Decision, v.Reason = "deny", r.Refuse
	case r.Args != nil || r.Note != "":
		v.Specific = &specific{e.Name, r.Args, r.Note}
	default:
		return nil
	}
	return json.NewEncoder(w).Encode(v)
}
