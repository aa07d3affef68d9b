package hook

import (
	"io"

	"github.com/whet-dev/whet/internal/hosttool"
)

func codex() *Dialect {
	return &Dialect{
		Name: "codex",
		Tools: hosttool.Table{
			"Bash":         {Name: "bash"},
			"exec_command": {Name: "bash"},
			"apply_patch":  {Name: "apply_patch", PatchArg: "command", Edits: true},
			"spawn_agent":  {Name: "task"},
		},
		Own:     "mcp__whet__",
		Prompts: true,
		Stops:   true,
		Decode:  decodeShape,
		Encode:  encodeCodex,
		Sample:  shapeSample,
	}
}

// encodeCodex writes what Codex 0.171 takes. It parses strictly: one field too
// many, or new arguments without "allow", and the original call runs.
func encodeCodex(w io.Writer, e Event, r Reply) error {
	s := specific{Event: e.Name}
	switch {
	case r.GoOn != "":
		return encodeGoOn(w, r)
	case r.Refuse != "":
		s.Decision, s.Reason = "deny", r.Refuse
	case r.Args != nil:
		s.Decision, s.Input = "allow", r.Args
	case r.Note != "" && (e.Name == "PostToolUse" || e.Name == "UserPromptSubmit"):
		s.Context = r.Note
	default:
		return nil
	}
	return s.write(w)
}
