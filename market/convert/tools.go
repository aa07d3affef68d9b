package convert

import (
	"maps"
	"slices"
	"strings"

	"github.com/whet-dev/whet/internal/lazyregexp"
)

var number = lazyregexp.New(`^-?\d{1,9}(\.\d{1,9})?$`)

// toolNames are whet's names of other agents' tools, in lower case without
// underscores. An agent's tools are given by them.
var toolNames = map[string]string{
	"read": "read", "readfile": "read", "readmanyfiles": "read", "view": "read", "notebookread": "read",
	"glob": "glob", "findfiles": "glob", "list": "list", "ls": "ls", "listdirectory": "list", "listfiles": "list",
	"grep": "grep", "searchfilecontent": "grep", "grepsearch": "grep", "search": "grep",
	"edit": "edit", "replace": "edit", "multiedit": "multiedit", "strreplace": "edit", "write": "write", "writefile": "write", "create": "write",
	"patch": "patch", "applypatch": "apply_patch",
	"bash": "bash", "shell": "bash", "runshellcommand": "bash", "execcommand": "bash", "runterminalcommand": "bash", "execute": "bash",
	"webfetch": "webfetch", "fetch": "webfetch",
	"websearch": "websearch", "googlewebsearch": "websearch", "todowrite": "todowrite", "todoread": "todoread", "todolist": "todowrite",
	"task": "task", "agent": "agent", "notebookedit": "notebookedit", "lsp": "lsp", "skill": "skill", "question": "question",
	"killshell": "killshell", "bashoutput": "bashoutput", "taskoutput": "taskoutput",
	"astgrepsearch": "ast_grep_search", "astgrepreplace": "ast_grep_replace", "*": "*",
}

// tool is whet's name for another agent's tool, with what is in parentheses
// after it. MCP tools keep their names.
func tool(name string) (string, bool) {
	plain, rest, part := strings.Cut(strings.TrimSpace(name), "(")
	if strings.HasPrefix(plain, "mcp__") {
		return name, true
	}
	own, ok := toolNames[strings.ReplaceAll(strings.ToLower(strings.TrimSpace(plain)), "_", "")]
	if part {
		own += "(" + rest
	}
	return own, ok
}

// tools writes what an agent may use. A tool that whet doesn't have is left
// out, which never lets an agent do more.
func (b *builder) tools(head map[string]any, file string) (out front) {
	known := func(names []string) []string {
		kept := []string{}
		for _, name := range names {
			if own, ok := tool(name); ok {
				if !slices.Contains(kept, own) {
					kept = append(kept, own)
				}
				continue
			}
			b.once("tool-not-known", file, "whet has no tool %q, and leaves it out of agents", cut(name, 80))
		}
		return kept
	}
	denied := words(head["disallowedTools"])
	switch v := head["tools"].(type) {
	case nil:
	case map[string]any: // OpenCode: by name
		var on []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if v[name] == true {
				on = append(on, name)
			} else {
				denied = append(denied, name)
			}
		}
		if len(on) > 0 {
			out = append(out, field{"tools", known(on)})
		}
	default:
		if text(v) != "" || len(words(v)) > 0 {
			out = append(out, field{"tools", known(words(v))})
		}
	}
	if list := known(denied); len(list) > 0 {
		out = append(out, field{"disallowedTools", list})
	}
	if p, ok := head["permission"].(map[string]any); ok {
		kept := map[string]string{}
		for name, v := range p {
			own, known := tool(name)
			verdict, _ := v.(string)
			if !known {
				continue
			}
			if !slices.Contains([]string{"allow", "ask", "deny"}, verdict) {
				verdict = "deny" // part of a tool: less than whet can hold it to
			}
			kept[own] = verdict
		}
		if len(kept) > 0 {
			out = append(out, field{"permission", kept})
		}
	}
	return out
}
