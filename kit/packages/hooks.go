package packages

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/agent"
	"github.com/whet-dev/whet/internal/proc"
	"github.com/whet-dev/whet/market"
	"github.com/whet-dev/whet/market/plugin"
)

// Events that packages have hooks for.
const (
	PreTool      = "pre_tool"
	PostTool     = "post_tool"
	SessionStart = "session_start"
	UserPrompt   = "user_prompt"
	Stop         = "stop"
)

// hookTime is how long a hook may take unless it says otherwise, and hookMost
// what it may say.
const (
	hookTime = 60 * time.Second
	hookMost = 10 * time.Minute
	hookText = 16 << 10 // bytes of what it prints that are read
)

// An input is what a hook reads on its standard input: the members are those of
// Claude Code's hooks, which others have taken over.
type input struct {
	Session  string          `json:"session_id"`
	Dir      string          `json:"cwd"`
	Event    string          `json:"hook_event_name"`
	Tool     string          `json:"tool_name,omitempty"`
	Args     json.RawMessage `json:"tool_input,omitempty"`
	Call     string          `json:"tool_use_id,omitempty"`
	Response *response       `json:"tool_response,omitempty"`
	Prompt   string          `json:"prompt,omitempty"`
	Source   string          `json:"source,omitempty"`
	Again    bool            `json:"stop_hook_active,omitempty"` // the model goes on because of a stop hook
}

type response struct {
	Text   string `json:"text"`
	Failed bool   `json:"is_error"`
}

// A verdict is what a hook said.
type verdict struct {
	block string // why not
	ask   string // why a person should be asked
	note  string // for the model
}

// Guard runs the trusted packages' hooks around calls.
func (s Set) Guard(log *slog.Logger) whet.Guard {
	g := whet.Guard{Name: "packages"}
	if s.hooks(PreTool) {
		g.Before = func(ctx context.Context, c *whet.Call) error {
			return s.each(ctx, PreTool, c.Session, log, callInput(c), func(p market.Package, v verdict) error {
				switch {
				case v.block != "":
					return whet.Refuse("refused by a hook, %s: %s", p.Provenance(), v.block)
				case v.ask != "":
					return c.Session.Allow(ctx, whet.Permission{Action: c.Tool, Subject: string(c.Args), Reason: p.ID + ": " + v.ask})
				}
				return nil
			})
		}
	}
	if s.hooks(PostTool) {
		g.After = func(ctx context.Context, c *whet.Call, r *whet.Result) error {
			in := callInput(c)
			in.Response = &response{r.Text, r.Failed}
			return s.each(ctx, PostTool, c.Session, log, in, func(p market.Package, v verdict) error {
				if said := cmp.Or(v.block, v.note); said != "" {
					r.Note("A hook, %s: %s", p.Provenance(), said)
				}
				return nil
			})
		}
	}
	return g
}

// An Event is one of a session, not of a call.
type Event struct {
	Name   string // SessionStart, UserPrompt or Stop
	Prompt string // what a person wrote, on UserPrompt
	Again  bool   // the model went on because of a hook on Stop already
}

// Said runs the hooks of an event, and returns what they have to say to the
// model. On Stop that makes it go on. The error is a refusal of the prompt, on
// UserPrompt.
func (s Set) Said(ctx context.Context, session whet.Session, e Event, log *slog.Logger) (texts []string, err error) {
	in := input{Prompt: e.Prompt, Again: e.Again}
	if e.Name == SessionStart {
		in.Source = "startup"
	}
	err = s.each(ctx, e.Name, session, log, in, func(p market.Package, v verdict) error {
		if e.Name == UserPrompt && v.block != "" {
			return whet.Refuse("the prompt is refused by a hook, %s: %s", p.Provenance(), v.block)
		}
		said := cmp.Or(v.block, v.note)
		if e.Name == Stop {
			said = v.block // anything else lets it rest
		}
		if said != "" {
			texts = append(texts, fmt.Sprintf("A hook, %s: %s", p.Provenance(), said))
		}
		return nil
	})
	return texts, err
}

func (s Set) hooks(event string) bool {
	return slices.ContainsFunc(s, func(p market.Package) bool {
		return p.Trusted && slices.ContainsFunc(p.Plugin.Hooks, func(h plugin.Hook) bool { return h.Event == event })
	})
}

// each runs the hooks of an event one after the other, until then returns an
// error. A hook in trouble is logged and stops nothing.
func (s Set) each(ctx context.Context, event string, session whet.Session, log *slog.Logger, in input, then func(market.Package, verdict) error) error {
	in.Session, in.Dir = session.ID, session.Dir
	for _, p := range s {
		if !p.Trusted {
			continue
		}
		for _, h := range p.Plugin.Hooks {
			d := dialects[h.Dialect]
			names := append(d.tools(in.Tool), in.Source)
			if h.Event != event || !matches(h.Matcher, names) {
				continue
			}
			said := in
			said.Event, said.Tool = d.event(event), names[0]
			v, err := run(ctx, p, h, said)
			if err != nil {
				log.Warn("a hook of a package failed; the session goes on without it", "package", p.ID, "event", event, "err", err)
				continue
			}
			if err := then(p, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// callInput is what a hook reads of a call.
func callInput(c *whet.Call) input {
	in := input{Tool: c.Tool, Call: c.ID}
	args := map[string]json.RawMessage{}
	if json.Unmarshal(c.Args, &args) == nil && c.Path != "" {
		abs := c.Path
		if !filepath.IsAbs(abs) {
			abs = filepath.Join(c.Session.Dir, abs)
		}
		args["file_path"], _ = json.Marshal(abs) // a string always marshals
	}
	in.Args, _ = json.Marshal(args) // it was parsed from JSON
	return in
}

// matches reports whether a matcher means one of the names. One that is no
// regular expression means none.
func matches(matcher string, names []string) bool {
	if matcher == "" || matcher == "*" || strings.Join(names, "") == "" {
		return true
	}
	re, err := regexp.Compile(`^(?:` + matcher + `)$`)
	return err == nil && slices.ContainsFunc(names, func(n string) bool { return n != "" && re.MatchString(n) })
}

// run runs one hook in the project's directory.
func run(ctx context.Context, p market.Package, h plugin.Hook, in input) (v verdict, err error) {
	e := environ{p, in.Dir, os.Environ()}
	if err := e.ready(); err != nil {
		return v, err
	}
	path, args, err := e.line(h)
	if err != nil {
		return v, err
	}
	b, err := json.Marshal(in)
	if err != nil {
		return v, err
	}
	limit := hookTime
	if h.Timeout > 0 {
		limit = min(time.Duration(h.Timeout)*time.Second, hookMost)
	}
	var out head
	r, err := proc.Run(ctx, proc.Command{
		Path: path, Args: args, Dir: in.Dir, Env: e.list(),
		Stdin: bytes.NewReader(b), Stdout: &out, MaxOutput: hookText, Timeout: limit,
	})
	switch said := strings.ToValidUTF8(strings.TrimSpace(string(r.Output)), "\ufffd"); {
	case err != nil:
		return v, err
	case r.TimedOut:
		return v, fmt.Errorf("%s: stopped after %v", h.Command, limit)
	case r.Code == 2: // of all exit codes this one blocks
		return verdict{block: cmp.Or(said, noReason)}, nil
	case r.Code != 0:
		return v, fmt.Errorf("%s: exit code %d: %s", h.Command, r.Code, said)
	}
	return decide(h.Event, out.String()), nil
}

const noReason = "it gave no reason"

// line is the program that a hook is: one for a shell, unless it has arguments.
func (e environ) line(h plugin.Hook) (path string, args []string, err error) {
	if h.Args == nil {
		path, err = agent.Shell()
		return path, []string{"-c", h.Command}, err
	}
	if path, err = e.expand(h.Command); err != nil {
		return "", nil, err
	}
	for _, a := range h.Args {
		if a, err = e.expand(a); err != nil {
			return "", nil, err
		}
		args = append(args, a)
	}
	return e.program(path), args, nil
}

// head keeps the first bytes that are written to it.
type head struct{ bytes.Buffer }

func (h *head) Write(p []byte) (int, error) {
	if room := hookText - h.Len(); room > 0 {
		_, _ = h.Buffer.Write(p[:min(room, len(p))]) // a Buffer takes all
	}
	return len(p), nil
}

// decide reads what a hook printed: JSON with a decision, or plain text, which
// is for the model where a session starts or a person wrote.
func decide(event, out string) (v verdict) {
	out = strings.ToValidUTF8(strings.TrimSpace(out), "\ufffd")
	var said struct {
		Decision string `json:"decision"`
		Reason   string `json:"reason"`
		Specific struct {
			Permission string `json:"permissionDecision"`
			Reason     string `json:"permissionDecisionReason"`
			Context    string `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
	}
	if !strings.HasPrefix(out, "{") || json.Unmarshal([]byte(out), &said) != nil {
		if event == SessionStart || event == UserPrompt {
			v.note = out
		}
		return v
	}
	reason := cmp.Or(said.Specific.Reason, said.Reason, noReason)
	switch {
	case said.Decision == "block" || said.Decision == "deny" || said.Specific.Permission == "deny":
		v.block = reason
	case said.Specific.Permission == "ask":
		v.ask = reason
	}
	v.note = said.Specific.Context
	return v
}
