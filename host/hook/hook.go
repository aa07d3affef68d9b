// Package hook answers the hook commands of coding agents: one process for one
// event. Each agent's wire format is a [Dialect], one file each; the path from
// event to answer is [Run]. No decision is made here: guards decide, dialects
// phrase.
package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/internal/hosttool"
	"github.com/whet-dev/whet/internal/project"
)

// A Phase says which moment of a session an event is about.
type Phase int

const (
	Other  Phase = iota // an event that no guard has business with
	Before              // a tool is about to run
	After               // a tool has run
	Reset               // the context was compacted, or the session ended
	Prompt              // a person wrote
	Idle                // the model ends its turn
)

// An Event is a hook event in our own words.
type Event struct {
	Phase  Phase
	Name   string // the host's name for the event, echoed in its replies
	Call   whet.Call
	Result whet.Result // After only
}

// A Reply is what the guards decided. The zero Reply lets things go on.
type Reply struct {
	Refuse string          // if set, stop the call and tell the model this
	Args   json.RawMessage // if set, run the call with these arguments instead
	Note   string          // if set, show the model this beside the result
	GoOn   string          // if set, the model doesn't end its turn but reads this
}

// A Dialect is one host's way of saying an Event and hearing a Reply. It is
// data and three functions, so that all hosts share one path.
type Dialect struct {
	Name  string
	Tools hosttool.Table
	// Own is how the host's names of whet's own tools begin. Those are guarded
	// where they are served.
	Own    string
	Decode func(in []byte) (Event, error)
	// Encode writes exactly what this host takes for the reply. What it can't be
	// told is left out. A host that only hears an exit status gets a *[Blocked].
	Encode func(w io.Writer, e Event, r Reply) error
	// Sample returns an event as the host sends it; nil if it has none for the
	// phase. The doctor sends it, and the table in the host's page is made by it.
	Sample func(Sample) []byte
	// Prompts says that the host takes a note with a person's prompt.
	Prompts bool
	// Stops says that the host can be kept from ending a turn.
	Stops bool
	// Shared says that other hosts read this host's hooks too, and call with
	// events of their own.
	Shared bool
	// Twice says that the host reads other hosts' hooks, so that two processes
	// may be asked about one call.
	Twice bool
	// Strict says that the host takes a failing hook for "block this call".
	Strict bool
}

// A Sample says what a sample event is about.
type Sample struct {
	Phase  Phase
	Tool   string // the host's name
	Args   json.RawMessage
	Result string // After only
	Dir    string // the project directory
	Agent  string // a sub-agent's id, for hosts that tell it
}

// Blocked is an answer that the host hears as exit status 2 with the reason on
// standard error.
type Blocked struct{ Reason string }

func (b *Blocked) Error() string { return b.Reason }

// Dialects is the one list of hosts with hooks.
func Dialects() []*Dialect {
	return []*Dialect{
		claudeCode(), codex(), gemini(), qwen(), cursor(), copilot(), vscode(), crush(), goose(), windsurf(),
	}
}

// Lookup returns the dialect called name.
func Lookup(name string) (*Dialect, error) {
	var names []string
	for _, d := range Dialects() {
		if d.Name == name {
			return d, nil
		}
		names = append(names, d.Name)
	}
	return nil, fmt.Errorf("unknown host %q; known: %s", name, strings.Join(names, ", "))
}

// Setup makes what an event needs once its directory is known.
type Setup func(dir, worktree string) (*whet.Kit, func(session string) whet.Store)

// Run reads one event, asks the guards, and writes one reply. It doesn't wait
// for the end of in, which some hosts never close; how long it may wait for the
// event is the caller's to bound.
func Run(ctx context.Context, d *Dialect, setup Setup, in io.Reader, out io.Writer) error {
	b, err := read(in)
	if err != nil {
		return fmt.Errorf("reading %s's event: %w", d.Name, err)
	}
	if d.Shared {
		d = speaker(d, b, os.Getenv)
	}
	e, err := d.Decode(b)
	if err != nil {
		return fmt.Errorf("reading %s's event: %w", d.Name, err)
	}
	var r Reply
	switch {
	case e.Call.Tool == ProbeTool:
		r.Refuse = probed
	case e.Phase == After && d.Own != "" && e.Call.Tool == d.Own+"task":
		// Where it was served nobody knows whose session launched the task: that
		// much is taken from here.
		e.Call.Tool = "task"
		r = reply(ctx, d, setup, e)
	case e.Phase != Other && (d.Own == "" || !strings.HasPrefix(e.Call.Tool, d.Own)):
		r = reply(ctx, d, setup, e)
	}
	return d.Encode(out, e, r)
}

// ProbeTool is the tool of an event by which the doctor asks whether whet is in
// a host's path. No model can call it.
const ProbeTool = "whet_probe"

// probed is the answer to it.
const probed = "whet is in the path"

// Probed reports whether a host that got this output and exit status from a
// hook would have been answered by whet.
func Probed(output string) bool { return strings.Contains(output, probed) }

func reply(ctx context.Context, d *Dialect, setup Setup, e Event) Reply {
	if e.Phase == Idle && !d.Stops {
		return Reply{}
	}
	s := &e.Call.Session
	s.Host = d.Name
	if s.Dir != "" {
		s.Worktree = project.Worktree(s.Dir)
	}
	kit, store := setup(s.Dir, s.Worktree)
	if s.ID != "" {
		s.Store = store(d.Name + "/" + s.ID)
	}
	if d.Twice && answered(e) {
		return Reply{}
	}
	tool := d.Tools[e.Call.Tool]
	d.Tools.Name(&e.Call)
	if e.Phase == After && !e.Result.Failed {
		e.Result.Changed = tool.Edited(&e.Call)
	}
	if e.Phase == Prompt && !d.Prompts {
		// What is said here is lost, so nothing may count as said.
		kit.Reset(ctx, *s)
		unsaid := *s
		unsaid.Store = nil
		_ = kit.Prompt(ctx, unsaid)
		return Reply{}
	}
	return answer(ctx, kit, e)
}

// answered reports whether another process has been asked about the same moment
// of the same call. A call without an id can't be told from the next one.
func answered(e Event) (yes bool) {
	const remembered = 32
	if e.Call.ID == "" || e.Call.Session.Store == nil {
		return false
	}
	key := fmt.Sprint(e.Phase, " ", e.Call.ID)
	_ = whet.Update(e.Call.Session, "answered", func(keys *[]string) error {
		if yes = slices.Contains(*keys, key); !yes {
			*keys = append(*keys, key)
			*keys = (*keys)[max(0, len(*keys)-remembered):]
		}
		return nil
	})
	return yes
}

func answer(ctx context.Context, kit *whet.Kit, e Event) (r Reply) {
	switch c := e.Call; e.Phase {
	case Before:
		if err := kit.Before(ctx, &c); err != nil {
			r.Refuse = err.Error()
		} else if !bytes.Equal(c.Args, e.Call.Args) {
			r.Args = c.Args
		}
	case After:
		res := e.Result
		kit.After(ctx, &c, &res)
		r.Note = strings.TrimSpace(strings.TrimPrefix(res.Text, e.Result.Text))
	case Reset:
		kit.Reset(ctx, c.Session)
	case Prompt:
		kit.Reset(ctx, c.Session)
		r.Note = kit.Prompt(ctx, c.Session)
	case Idle:
		r.GoOn = kit.Idle(ctx, c.Session)
	}
	return r
}
