package packages

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/agent"
	"github.com/whet-dev/whet/market"
	"github.com/whet-dev/whet/market/plugin"
)

func withHooks(p market.Package, hooks ...plugin.Hook) market.Package {
	p.Plugin.Hooks = hooks
	p.Plugin.Settings = nil
	return p
}

func TestHooks(t *testing.T) {
	if _, err := agent.Shell(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	tool := whet.Tool{
		Name: "write", PathArg: "path", Input: func() *whet.Schema { return &whet.Schema{Type: "object"} },
		Run: func(context.Context, *whet.Call) (*whet.Result, error) { return &whet.Result{Text: "written"}, nil },
	}
	for name, c := range map[string]struct {
		hook plugin.Hook
		tool string
		want string
	}{
		"exit 2 blocks":             {plugin.Hook{Event: PreTool, Matcher: "write", Command: "echo not here >&2; exit 2"}, "write", "refused by a hook, " + provenance + ": not here"},
		"by Claude Code's name":     {plugin.Hook{Event: PreTool, Dialect: "claude-code", Matcher: "Edit|Write", Command: "exit 2"}, "write", "refused by a hook, " + provenance + ": it gave no reason"},
		"a whole name only":         {plugin.Hook{Event: PreTool, Matcher: "Writ", Command: "exit 2"}, "write", "written"},
		"edits by a patch":          {plugin.Hook{Event: PreTool, Dialect: "codex", Matcher: "Edit", Command: "exit 2"}, "apply_patch", "refused by a hook, " + provenance + ": it gave no reason"},
		"every tool":                {plugin.Hook{Event: PreTool, Matcher: "*", Command: "exit 2"}, "write", "refused by a hook, " + provenance + ": it gave no reason"},
		"a bad matcher is none":     {plugin.Hook{Event: PreTool, Matcher: "(", Command: "exit 2"}, "write", "written"},
		"another exit code doesn't": {plugin.Hook{Event: PreTool, Command: "exit 1"}, "write", "written"},
		"too late":                  {plugin.Hook{Event: PreTool, Command: "sleep 60", Timeout: 1}, "write", "written"},
		"a decision in JSON":        {plugin.Hook{Event: PreTool, Command: `echo '{"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}}'`}, "write", "refused by a hook, " + provenance + ": no"},
		"asks, and nobody is there": {plugin.Hook{Event: PreTool, Command: `echo '{"hookSpecificOutput": {"permissionDecision": "ask"}}'`}, "write", `refused: write "{\"path\":\"a.txt\"}" needs a person's permission and there is nobody to ask; do without it or say what is needed`},
		"by Gemini CLI's name":      {plugin.Hook{Event: PreTool, Dialect: "gemini", Matcher: "write_file|replace", Command: "grep -q BeforeTool && exit 2"}, "write", "refused by a hook, " + provenance + ": it gave no reason"},
		"not by another's":          {plugin.Hook{Event: PreTool, Matcher: "Write", Command: "exit 2"}, "write", "written"},
		"a program":                 {plugin.Hook{Event: PreTool, Command: "sh", Args: []string{"-c", "echo ${PLUGIN_ROOT} >&2; exit 2"}}, "write", "refused by a hook, " + provenance + ": ROOT"},
		"in our words":              {plugin.Hook{Event: PreTool, Command: `grep -q '"hook_event_name":"pre_tool","tool_name":"write"' && exit 2`}, "write", "refused by a hook, " + provenance + ": it gave no reason"},
		"what it reads":             {plugin.Hook{Event: PreTool, Dialect: "claude-code", Command: "cat >&2; exit 2"}, "write", "refused by a hook, " + provenance + `: {"session_id":"s1","cwd":"` + dir + `","hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":"` + filepath.Join(dir, "a.txt") + `","path":"a.txt"},"tool_use_id":"c1"}`},
		"its environment":           {plugin.Hook{Event: PreTool, Command: `echo "$PLUGIN_ROOT|$SOME_TOKEN|$(pwd)" >&2; exit 2`}, "write", "refused by a hook, " + provenance + ": ROOT||" + dir},
		"after":                     {plugin.Hook{Event: PostTool, Matcher: "write", Command: "grep -q '\"text\":\"written\"' && echo well written >&2 && exit 2"}, "write", "written\n\nA hook, " + provenance + ": well written"},
		"after, in JSON":            {plugin.Hook{Event: PostTool, Command: `echo '{"hookSpecificOutput": {"additionalContext": "look again"}}'`}, "write", "written\n\nA hook, " + provenance + ": look again"},
		"after, plain words":        {plugin.Hook{Event: PostTool, Command: "echo nothing for the model"}, "write", "written"},
		"another event":             {plugin.Hook{Event: Stop, Command: "exit 2"}, "write", "written"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("SOME_TOKEN", "of the person")
			p := withHooks(reviewer(t, true), c.hook)
			patch := tool
			patch.Name, patch.PathArg = "apply_patch", ""
			k := &whet.Kit{Tools: []whet.Tool{tool, patch}, Log: slog.New(slog.DiscardHandler)}
			k.Guards = []whet.Guard{Set{p}.Guard(k.Log)}
			call := &whet.Call{ID: "c1", Tool: c.tool, Args: json.RawMessage(`{"path":"a.txt"}`), Session: whet.Session{ID: "s1", Dir: dir}}
			r, err := k.Call(t.Context(), call)
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.Replace(c.want, "ROOT", p.Root, 1); r.Text != want {
				t.Errorf("got  %s\nwant %s", r.Text, want)
			}
		})
	}
}

func TestSessionHooks(t *testing.T) {
	if _, err := agent.Shell(); err != nil {
		t.Skip(err)
	}
	session := whet.Session{ID: "s1", Dir: t.TempDir()}
	log := slog.New(slog.DiscardHandler)
	for name, c := range map[string]struct {
		hook  plugin.Hook
		event Event
		want  []string
	}{
		"the start":            {plugin.Hook{Event: SessionStart, Matcher: "startup|resume", Command: "echo hello"}, Event{Name: SessionStart}, []string{"A hook, " + provenance + ": hello"}},
		"another start":        {plugin.Hook{Event: SessionStart, Matcher: "compact", Command: "echo hello"}, Event{Name: SessionStart}, nil},
		"a prompt":             {plugin.Hook{Event: UserPrompt, Command: `grep -o '"prompt":"[^"]*"'`}, Event{Name: UserPrompt, Prompt: "do it"}, []string{"A hook, " + provenance + `: "prompt":"do it"`}},
		"a prompt, refused":    {plugin.Hook{Event: UserPrompt, Command: "echo not on Sundays >&2; exit 2"}, Event{Name: UserPrompt, Prompt: "do it"}, []string{"error: the prompt is refused by a hook, " + provenance + ": not on Sundays"}},
		"the end":              {plugin.Hook{Event: Stop, Command: "echo tests fail >&2; exit 2"}, Event{Name: Stop}, []string{"A hook, " + provenance + ": tests fail"}},
		"the end, in JSON":     {plugin.Hook{Event: Stop, Command: `echo '{"decision": "block", "reason": "not yet"}'`}, Event{Name: Stop}, []string{"A hook, " + provenance + ": not yet"}},
		"the end, plain words": {plugin.Hook{Event: Stop, Command: "echo fine"}, Event{Name: Stop}, nil},
		"the end, again":       {plugin.Hook{Event: Stop, Command: `grep -q '"stop_hook_active":true' || exit 2`}, Event{Name: Stop, Again: true}, nil},
	} {
		got, err := Set{withHooks(reviewer(t, true), c.hook)}.Said(t.Context(), session, c.event, log)
		if err != nil {
			got = []string{"error: " + err.Error()}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}
