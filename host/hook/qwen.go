package hook

import (
	"io"

	"github.com/whet-dev/whet/internal/hosttool"
)

func qwen() *Dialect {
	return &Dialect{
		Name: "qwen",
		Tools: hosttool.Table{
			"read_file":         {Name: "read", PathArg: "file_path"},
			"grep_search":       {Name: "grep", PathArg: "path"},
			"glob":              {Name: "glob", PathArg: "path"},
			"edit":              {Name: "edit", PathArg: "file_path", Edits: true},
			"write_file":        {Name: "write", PathArg: "file_path", Edits: true},
			"notebook_edit":     {Name: "edit", PathArg: "notebook_path"},
			"run_shell_command": {Name: "bash"},
			"web_fetch":         {Name: "webfetch"},
			"agent":             {Name: "task"},
		},
		Own:     "mcp__whet__",
		Prompts: true,
		Stops:   true,
		Decode:  decodeShape,
		Encode:  encodeQwen,
		Sample:  shapeSample,
	}
}

// encodeQwen writes what Qwen Code 0.24 takes: it reads new arguments in the
// answer to a permission request only, not before a call.
func encodeQwen(w io.Writer, e Event, r Reply) error {
	s := specific{Event: e.Name}
	switch {
	case r.GoOn != "":
		return encodeGoOn(w, r)
	case r.Refuse != "":
		s.Decision, s.Reason = "deny", r.Refuse
	case r.Note != "":
		s.Context = r.Note
	default:
		return nil
	}
	return s.write(w)
}
