package hook

import (
	"io"

	"github.com/whet-dev/whet/internal/hosttool"
)

func claudeCode() *Dialect {
	return &Dialect{
		Name: "claude-code",
		Tools: hosttool.Table{
			"Read":         {Name: "read", PathArg: "file_path"},
			"Grep":         {Name: "grep", PathArg: "path"},
			"Glob":         {Name: "glob", PathArg: "path"},
			"Edit":         {Name: "edit", PathArg: "file_path", Edits: true},
			"MultiEdit":    {Name: "edit", PathArg: "file_path", Edits: true},
			"Write":        {Name: "write", PathArg: "file_path", Edits: true},
			"NotebookEdit": {Name: "edit", PathArg: "notebook_path"},
			"Bash":         {Name: "bash"},
			"WebFetch":     {Name: "webfetch"},
			"Agent":        {Name: "task"},
			"Task":         {Name: "task"},
			"TaskOutput":   {Name: "task_result"},
		},
		Own:     "mcp__whet__",
		Prompts: true,
		Stops:   true,
		Decode:  decodeShape,
		Encode:  encodeClaudeCode,
		Sample:  shapeSample,
		Shared:  true,
	}
}

// encodeClaudeCode rewrites without a permissionDecision: the new arguments go
// through the host's own permission check, which "allow" would skip.
func encodeClaudeCode(w io.Writer, e Event, r Reply) error {
	s := specific{Event: e.Name, Input: r.Args, Context: r.Note}
	switch {
	case r.GoOn != "":
		return encodeGoOn(w, r)
	case r.Refuse != "":
		s.Decision, s.Reason = "deny", r.Refuse
	case r.Args == nil && r.Note == "":
		return nil
	}
	return s.write(w)
}
