// Package whet is the kernel: the few types that every tool, guard and host
// speaks.
//
// A [Tool] is something a model can call. A [Guard] looks at a call before it
// runs and at its result after. A [Kit] is a list of both. A host (packages
// under host/) turns what some coding agent says on the wire into a [Call],
// hands it to the Kit, and turns the answer back.
//
// The package knows no host and no feature, and imports nothing from the rest
// of the module.
package whet

import (
	"context"
	"encoding/json"
	"fmt"
)

// A Call is one use of one tool, whoever runs it.
type Call struct {
	ID      string          // the host's id for this call; may be empty
	Tool    string          // canonical name: "read", "grep", "apply_patch", ...
	Args    json.RawMessage // as the model wrote them; a guard may replace them
	Path    string          // the path argument as given, if the tool has one
	Session Session

	// Progress, if not nil, hears how far a long call has come. Use Report.
	Progress func(done, total int64, msg string)
}

// Report tells the caller how far the call has come: done of total in the
// tool's own unit (total 0 if unknown), and what it is doing.
func (c *Call) Report(done, total int64, msg string) {
	if c.Progress != nil {
		c.Progress(done, total, msg)
	}
}

// A Session is the conversation that a call belongs to.
type Session struct {
	ID       string
	Agent    string // "orchestrator", "explorer", ...; empty if the host won't say
	Host     string // "claude-code", "codex", "opencode", "mcp", ...; empty if unknown
	Dir      string // project directory, absolute; empty if unknown
	Worktree string // root of the version-controlled tree around Dir; may equal Dir or be empty
	Store    Store  // survives between calls, even across processes

	// Ask puts a question to the person at the host. It returns nil for yes
	// and a *Refusal for no. A nil Ask means there is nobody to ask. Use Allow.
	Ask func(context.Context, Permission) error
}

// A Permission is what a tool wants a person to agree to.
type Permission struct {
	Action  string // "bash", "edit", "webfetch", ...
	Subject string // the command, path or address in question
	Reason  string // why it is asked, for the person; may be empty
}

// Allow asks the person, and refuses if there is nobody to ask.
func (s Session) Allow(ctx context.Context, p Permission) error {
	if s.Ask == nil {
		return Refuse("refused: %s %q needs a person's permission and there is nobody to ask; do without it or say what is needed", p.Action, p.Subject)
	}
	return s.Ask(ctx, p)
}

// Roots returns the directories that the session's tools may touch: the
// project directory and the worktree around it.
func (s Session) Roots() []string {
	switch {
	case s.Dir == "":
		return nil
	case s.Worktree == "" || s.Worktree == s.Dir:
		return []string{s.Dir}
	}
	return []string{s.Dir, s.Worktree}
}

// A Store keeps small named values for one session. Update runs f on the old
// value while nobody else can touch it, in this process or another, then keeps
// what f returns. If f fails, the value stays as it was.
type Store interface {
	Update(name string, f func(old []byte) ([]byte, error)) error
}

// Update runs f on the session's value called name, decoded as a T. A value
// that can't be decoded counts as absent: no stored state is worth failing a
// call for. A session without a Store starts from zero each time.
func Update[T any](s Session, name string, f func(*T) error) error {
	if s.Store == nil {
		return f(new(T))
	}
	return s.Store.Update(name, func(old []byte) ([]byte, error) {
		v := new(T)
		if len(old) > 0 && json.Unmarshal(old, v) != nil {
			v = new(T)
		}
		if err := f(v); err != nil {
			return nil, err
		}
		return json.Marshal(v)
	})
}

// A Result is what the model reads, and the same thing for machines.
type Result struct {
	Text    string   `json:"text"`
	Data    any      `json:"data,omitempty"`
	Failed  bool     `json:"failed,omitempty"`
	Changed []string `json:"changed,omitempty"` // absolute paths of the files that the call wrote
}

// Note adds a paragraph after the tool's own output.
func (r *Result) Note(format string, a ...any) {
	if r.Text != "" {
		r.Text += "\n\n"
	}
	r.Text += fmt.Sprintf(format, a...)
}

// A Guard watches calls. Each part may be nil. The parts may run in different
// processes: keep what they share in the session's Store.
type Guard struct {
	Name string
	// Before may change c.Args. A [Refusal] stops the call; any other error is
	// the guard's own trouble: it is logged and the call goes on.
	Before func(ctx context.Context, c *Call) error
	// After may change r. Its error is logged and nothing more.
	After func(ctx context.Context, c *Call, r *Result) error
	// Reset tells that the model no longer stands where it stood: a person
	// wrote, its context was compacted, or the session ended.
	Reset func(ctx context.Context, s Session) error
	// Prompt tells that a person wrote, and returns what the model should read
	// beside that; "" for nothing.
	Prompt func(ctx context.Context, s Session) (string, error)
	// Idle is asked when the model ends its turn. What it returns makes the model
	// go on with that; "" lets it rest.
	Idle func(ctx context.Context, s Session) (string, error)
}

// A Refusal is a guard's answer to the model in place of running the call.
type Refusal struct{ Reason string }

func (r *Refusal) Error() string { return r.Reason }

// Refuse returns a *[Refusal].
func Refuse(format string, a ...any) error { return &Refusal{fmt.Sprintf(format, a...)} }
