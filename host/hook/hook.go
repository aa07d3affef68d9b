// Package hook answers the hook commands of coding agents: one process for one
// event. Each agent's wire format is a [Dialect], one file each; the path from
// event to answer is [Run]. No decision is made here: guards decide, dialects
// phrase.
package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/whet-dev/whet"
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
// data and two functions, so that all hosts share one path.
type Dialect struct {
	Name   string
	Tools  map[string]Tool // the host's own tools → ours
	Decode func(in []byte) (Event, error)
	// Encode writes exactly what this host takes for the reply, and nothing at
	// all for the zero Reply: silence is every host's "go on".
	Encode func(w io.Writer, e Event, r Reply) error
}

// A Tool names one of the host's own tools as guards know it.
type Tool struct {
	Name     string
	PathArg  string // the parameter that is the call's path
	PatchArg string // the parameter that is a patch
	Edits    bool   // writes the file at its path, or those that its patch names
}

// Dialects is the one list of hosts with hooks.
func Dialects() []*Dialect { return []*Dialect{claudeCode(), codex()} }

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

// maxSize is the size of the largest event that is read, in bytes.
const maxSize = 32 << 20

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
	e, err := d.Decode(b)
	if err != nil {
		return fmt.Errorf("reading %s's event: %w", d.Name, err)
	}
	if e.Phase == Other {
		return nil
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
	if t, ok := d.Tools[e.Call.Tool]; ok {
		e.Call.Tool, e.Call.Path = t.Name, whet.StringArg(e.Call.Args, t.PathArg)
		if e.Phase == After && t.Edits && !e.Result.Failed {
			e.Result.Changed = edited(&e.Call, t)
		}
	}
	return d.Encode(out, e, answer(ctx, kit, e))
}

// read returns the first JSON value of in.
func read(in io.Reader) ([]byte, error) {
	var raw json.RawMessage
	limited := &io.LimitedReader{R: in, N: maxSize}
	err := json.NewDecoder(limited).Decode(&raw)
	switch {
	case err == nil:
		return raw, nil
	case limited.N <= 0:
		return nil, fmt.Errorf("it is larger than %d MiB", maxSize>>20)
	case errors.Is(err, io.EOF):
		return nil, errors.New("standard input is empty; the host must send the event as JSON")
	}
	return nil, fmt.Errorf("not valid JSON: %w", err)
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
