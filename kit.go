package whet

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
)

// A Kit is the tools and guards in force.
type Kit struct {
	Tools  []Tool
	Guards []Guard // top to bottom before a call, bottom to top after it
	Log    *slog.Logger
}

// Before runs the guards in order. Its only error is a *[Refusal].
func (k *Kit) Before(ctx context.Context, c *Call) error {
	for _, g := range k.Guards {
		if g.Before == nil {
			continue
		}
		err := k.part(g.Name, "before", func() error { return g.Before(ctx, c) })
		if refusal := (*Refusal)(nil); errors.As(err, &refusal) {
			return refusal
		}
	}
	return nil
}

// After runs the guards in reverse order.
func (k *Kit) After(ctx context.Context, c *Call, r *Result) {
	for _, g := range slices.Backward(k.Guards) {
		if g.After != nil {
			_ = k.part(g.Name, "after", func() error { return g.After(ctx, c, r) })
		}
	}
}

// Reset tells the guards that the session's model starts afresh.
func (k *Kit) Reset(ctx context.Context, s Session) {
	for _, g := range k.Guards {
		if g.Reset != nil {
			_ = k.part(g.Name, "reset", func() error { return g.Reset(ctx, s) })
		}
	}
}

// Prompt tells the guards that a person wrote, and returns what they have to
// say to the model.
func (k *Kit) Prompt(ctx context.Context, s Session) string {
	return k.say("prompt", func(g Guard) (string, error) {
		if g.Prompt == nil {
			return "", nil
		}
		return g.Prompt(ctx, s)
	})
}

// Idle asks the guards whether the model may end its turn, and returns what it
// should go on with, "" if it may.
func (k *Kit) Idle(ctx context.Context, s Session) string {
	return k.say("idle", func(g Guard) (string, error) {
		if g.Idle == nil {
			return "", nil
		}
		return g.Idle(ctx, s)
	})
}

// say collects what a part of each guard says.
func (k *Kit) say(part string, of func(Guard) (string, error)) string {
	var said []string
	for _, g := range k.Guards {
		_ = k.part(g.Name, part, func() error {
			text, err := of(g)
			if text != "" {
				said = append(said, text)
			}
			return err
		})
	}
	return strings.Join(said, "\n\n")
}

// part runs one part of a guard. A guard in trouble must never cost the call:
// what isn't a Refusal is logged here, a panic too.
func (k *Kit) part(guard, part string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			k.log().Error("guard panicked", "guard", guard, "part", part, "panic", p, "stack", string(debug.Stack()))
		} else if refusal := (*Refusal)(nil); err != nil && !errors.As(err, &refusal) {
			k.log().Warn("guard failed open", "guard", guard, "part", part, "err", err)
		}
	}()
	return f()
}

// ErrNoTool reports a call to a tool that the kit doesn't have.
var ErrNoTool = errors.New("no such tool")

// Tool returns the kit's tool called name.
func (k *Kit) Tool(name string) (Tool, error) {
	for _, t := range k.Tools {
		if t.Name == name {
			return t, nil
		}
	}
	names := make([]string, len(k.Tools))
	for i, t := range k.Tools {
		names[i] = t.Name
	}
	return Tool{}, fmt.Errorf("%w: %q; there are: %s", ErrNoTool, name, strings.Join(names, ", "))
}

// Call runs one of the kit's own tools: Before, Run, After. A refusal or a
// tool's error comes back as a failed Result, for the model to read.
func (k *Kit) Call(ctx context.Context, c *Call) (*Result, error) {
	t, err := k.Tool(c.Tool)
	if err != nil {
		return nil, err
	}
	c.ID = cmp.Or(c.ID, rand.Text())
	if c.Path == "" && t.PathArg != "" {
		c.Path = StringArg(c.Args, t.PathArg)
	}
	if err := k.Before(ctx, c); err != nil {
		return &Result{Text: err.Error(), Failed: true}, nil
	}
	r := k.run(ctx, t, c)
	k.After(ctx, c, r)
	return r, nil
}

func (k *Kit) run(ctx context.Context, t Tool, c *Call) (r *Result) {
	defer func() {
		if p := recover(); p != nil {
			k.log().Error("tool panicked", "tool", t.Name, "panic", p, "stack", string(debug.Stack()))
			r = &Result{Text: fmt.Sprintf("%s: internal error: %v; the call did not finish, check what it changed before repeating it", t.Name, p), Failed: true}
		}
	}()
	r, err := t.Run(ctx, c)
	if err != nil {
		r = &Result{Text: err.Error(), Failed: true}
	}
	if r.Failed {
		r.Text = shortened(r.Text)
	}
	return r
}

// maxError is how much a model is told of what went wrong, in bytes: some errors
// repeat what it sent, or what a program printed.
const maxError = 48 << 10

// shortened takes from the middle of a text what makes it longer than maxError.
func shortened(s string) string {
	if len(s) <= maxError {
		return s
	}
	const half = maxError / 2
	return fmt.Sprintf("%s\n[... %d bytes left out ...]\n%s", strings.ToValidUTF8(s[:half], ""), len(s)-2*half, strings.ToValidUTF8(s[len(s)-half:], ""))
}

func (k *Kit) log() *slog.Logger { return cmp.Or(k.Log, slog.Default()) }

// StringArg returns the string that args has under name, in any spelling of
// the name that [Decode] takes for it; "" if there is none.
func StringArg(args json.RawMessage, name string) string {
	var m map[string]json.RawMessage
	var s string
	if json.Unmarshal(args, &m) != nil {
		return ""
	}
	if v, ok := m[name]; ok {
		_ = json.Unmarshal(v, &s)
		return s
	}
	for key, v := range m {
		if plain(key) == plain(name) && json.Unmarshal(v, &s) == nil {
			return s
		}
	}
	return ""
}
