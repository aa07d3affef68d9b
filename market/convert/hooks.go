package convert

import (
	"math"
	"regexp"
	"strings"

	"github.com/whet-dev/whet/internal/lazyregexp"
)

// events are whet's names of other hosts' events.
var events = map[string]string{
	"PreToolUse": "pre_tool", "PostToolUse": "post_tool", "SessionStart": "session_start", "Stop": "stop", "UserPromptSubmit": "user_prompt",
	"BeforeTool": "pre_tool", "AfterTool": "post_tool", "BeforeAgent": "user_prompt", "AfterAgent": "stop", // Gemini
	"preToolUse": "pre_tool", "postToolUse": "post_tool", "sessionStart": "session_start", "stop": "stop", "beforeSubmitPrompt": "user_prompt", // Cursor
}

// hookFile takes a JSON file of hooks.
func (b *builder) hookFile(name, dialect string) {
	f, ok := b.in.Get(name)
	if !ok {
		return
	}
	o, err := parse(f)
	if err != nil {
		b.note("invalid-hooks", name, "no hook of it is taken: %s", strings.TrimPrefix(err.Error(), name+": "))
		return
	}
	if inner := o.obj("hooks"); inner != nil {
		o = inner
	}
	b.hooksOf(o, name, dialect)
}

// hooksOf takes hooks by event: groups with a matcher, or, as Cursor has them,
// the hooks themselves.
func (b *builder) hooksOf(o object, file, dialect string) {
	for _, event := range o.keys() {
		groups, _ := o[event].([]any)
		own, ok := events[event]
		if !ok {
			if len(groups) > 0 {
				b.once("unsupported-component", file, "hooks on %s: whet has no such event", cut(event, 80))
			}
			continue
		}
		for _, g := range groups {
			m, _ := g.(map[string]any)
			group := object(m)
			list, nested := group["hooks"].([]any)
			if !nested {
				list = []any{m}
			}
			for _, h := range list {
				m, _ := h.(map[string]any)
				b.hook(own, group, object(m), file, dialect)
			}
		}
	}
}

func (b *builder) hook(event string, group, h object, file, dialect string) {
	out := map[string]any{"dialect": dialect}
	drop := func(why string) {
		b.note("unsupported-hook", file, "a hook on %s is left out: %s", event, why)
	}
	if kind := h.str("type"); kind != "" && kind != "command" {
		drop("its type is " + cut(kind, 40) + ", and only commands are run")
		return
	}
	command := roots.Replace(h.str("command"))
	args := h.list("args")
	switch {
	case strings.TrimSpace(command) == "":
		drop("it has no command")
		return
	case h["if"] != nil:
		drop("it has a condition that whet can't hold it to")
		return
	case strings.EqualFold(h.str("shell"), "powershell"):
		drop("it is for PowerShell")
		return
	case strings.Contains(command, "${user_config."):
		drop("a setting in a shell's line would be run as part of it")
		return
	}
	out["command"] = command
	if _, ok := h["args"]; ok {
		for i := range args {
			args[i] = roots.Replace(args[i])
		}
		if args == nil {
			args = []string{}
		}
		out["args"] = args
	}
	switch {
	case event == "pre_tool" || event == "post_tool" || event == "session_start": // how it started
		matcher, ok := matcherOf(group.str("matcher"))
		if !ok {
			drop("its matcher isn't a regular expression that can be used")
			return
		}
		if matcher != "" {
			out["matcher"] = matcher
		}
	case group.str("matcher") != "" && group.str("matcher") != "*":
		b.once("not-applied", file, "matchers of hooks on %s", event)
	}
	if n, ok := h["timeout"].(float64); ok && n > 0 {
		if dialect == "gemini" {
			n /= 1000 // milliseconds there
		}
		out["timeout"] = int(math.Min(math.Ceil(n), 600))
	}
	for _, key := range []string{"async", "once", "asyncRewake", "onFailure"} {
		if h[key] != nil {
			b.once("not-applied", file, "%q of hooks", key)
		}
	}
	b.hooks[event] = append(b.hooks[event], out)
}

var simpleMatcher = lazyregexp.New(`^[A-Za-z0-9_|, -]+$`)

// matcherOf is a matcher of other hosts, by whet's names and over whole names:
// a list of names, or a regular expression that may match anywhere.
func matcherOf(m string) (string, bool) {
	if m == "" || m == "*" || m == ".*" {
		return "", true
	}
	if simpleMatcher.MatchString(m) {
		var names []string
		for name := range strings.FieldsFuncSeq(m, func(r rune) bool { return r == '|' || r == ',' || r == ' ' }) {
			if own, ok := tool(name); ok {
				name = own
			}
			names = append(names, regexp.QuoteMeta(name))
		}
		return strings.Join(names, "|"), len(names) > 0
	}
	re := "(?i).*(?:" + m + ").*"
	if _, err := regexp.Compile(re); err != nil || len(re) > 1000 {
		return "", false
	}
	return re, true
}
