package rpc

import (
	"slices"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/internal/hosttool"
)

// own lists the tools that a host has itself, as its guards must see them.
func own(host string) hosttool.Table {
	t := hosttool.Table{
		"read":      {Name: "read", PathArg: "filePath"},
		"grep":      {Name: "grep", PathArg: "path"},
		"glob":      {Name: "glob", PathArg: "path"},
		"edit":      {Name: "edit", PathArg: "filePath", Edits: true},
		"write":     {Name: "write", PathArg: "filePath", Edits: true},
		"bash":      {Name: "bash"},
		"webfetch":  {Name: "webfetch"},
		"task":      {Name: "task"},
		"todowrite": {Name: "todowrite"},
		"skill":     {Name: "skill"},
	}
	patch := hosttool.Tool{Name: "apply_patch", PatchArg: "patchText", Edits: true}
	switch host {
	case "opencode":
		t["apply_patch"] = patch
	case "opencode2":
		t["patch"] = patch
		t["subagent"] = hosttool.Tool{Name: "task"}
	default:
		return nil
	}
	return t
}

// offered drops the tools that the host has itself: its own are guarded, so a
// second one under the same name would only take their place. A page as
// Markdown is worth taking it, and so are tasks that nothing loses.
func offered(tools []whet.Tool, own hosttool.Table) []whet.Tool {
	has := map[string]bool{}
	for _, t := range own {
		has[t.Name] = t.Name != "webfetch" && t.Name != "task"
	}
	return slices.DeleteFunc(slices.Clone(tools), func(t whet.Tool) bool { return has[t.Name] })
}
