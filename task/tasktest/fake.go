// Package tasktest holds what tests of background tasks share: a backend that
// does what a test tells it, and the suite that every real backend passes.
package tasktest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/whet-dev/whet/task"
)

// A Fake is a backend whose runs do what the test says. It is for tests of the
// runner and proves nothing about real agents.
type Fake struct {
	Hear task.Hear

	mu      sync.Mutex
	runs    map[string]*FakeRun
	onStart func(task.Run) error
	onNote  func(task.Run, task.Note) error
	onStop  func(task.Run) error
	blind   error
	starts  []string // every start that had an effect: id and prompt
}

// A FakeRun is how one task looks.
type FakeRun struct {
	Gen   uint32
	Look  task.Look
	Notes []task.Note
}

// Name implements [task.Backend].
func (f *Fake) Name() string { return "fake" }

// Set changes how the fake behaves: each function may be nil.
func (f *Fake) Set(start func(task.Run) error, note func(task.Run, task.Note) error, stop func(task.Run) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.onStart, f.onNote, f.onStop = start, note, stop
}

// Blind makes every look fail with err, or succeed again with nil.
func (f *Fake) Blind(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.blind = err
}

// Start implements [task.Backend].
func (f *Fake) Start(ctx context.Context, r task.Run) (string, error) {
	f.mu.Lock()
	hook := f.onStart
	f.mu.Unlock()
	var lost error
	if hook != nil {
		if err := hook(r); task.RefusalOf(err) != nil {
			return "", err
		} else if err != nil {
			lost = err // taken, and the answer got lost
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.runs == nil {
		f.runs = map[string]*FakeRun{}
	}
	x := f.runs[r.Task.ID]
	switch {
	case x == nil || x.Gen != r.Task.Gen:
		f.starts = append(f.starts, r.Task.ID+" "+r.Prompt)
		f.runs[r.Task.ID] = &FakeRun{Gen: r.Task.Gen, Look: task.Look{Live: task.LiveBusy, Active: time.Now()}, Notes: r.Notes}
	case x.Look.Live == task.LiveParked:
		x.Look.Live = task.LiveBusy
	}
	return "session of " + r.Task.ID, lost
}

// Note implements [task.Backend].
func (f *Fake) Note(_ context.Context, r task.Run, n task.Note) error {
	f.mu.Lock()
	hook := f.onNote
	f.mu.Unlock()
	if hook != nil {
		if err := hook(r, n); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	x := f.runs[r.Task.ID]
	if x == nil || x.Look.Ended() {
		return &task.Refusal{Reason: "it has ended"}
	}
	x.Notes = append(x.Notes, n)
	return nil
}

// Interrupt implements [task.Backend].
func (f *Fake) Interrupt(_ context.Context, r task.Run) error {
	f.mu.Lock()
	hook := f.onStop
	f.mu.Unlock()
	if hook != nil {
		return hook(r)
	}
	f.Change(r.Task.ID, func(x *FakeRun) { x.Look.Live, x.Look.End = task.LiveQuiet, task.Aborted })
	return nil
}

// Look implements [task.Backend].
func (f *Fake) Look(_ context.Context, r task.Run) (task.Look, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.blind != nil {
		return task.Look{}, f.blind
	}
	x := f.runs[r.Task.ID]
	if x == nil || x.Gen != r.Task.Gen {
		return task.Look{Live: task.LiveQuiet}, nil
	}
	l := x.Look
	l.Read = slices.Clone(l.Read)
	return l, nil
}

// Close implements [task.Backend]. The runs stay as they are: they live
// elsewhere.
func (f *Fake) Close() error { return nil }

// Change changes how a task looks, and says that something happened.
func (f *Fake) Change(id string, set func(*FakeRun)) {
	f.mu.Lock()
	x := f.runs[id]
	if x == nil {
		f.mu.Unlock()
		return
	}
	set(x)
	gen, hear := x.Gen, f.Hear
	f.mu.Unlock()
	if hear != nil {
		hear(id, gen, task.Progress{})
	}
}

// Live sets how a task looks from outside.
func (f *Fake) Live(id string, l task.Liveness) {
	f.Change(id, func(x *FakeRun) { x.Look.Live, x.Look.Active = l, time.Now() })
}

// End ends a task's run.
func (f *Fake) End(id string, k task.Kind, text, reason string) {
	f.Change(id, func(x *FakeRun) {
		x.Look.Live, x.Look.End, x.Look.Text, x.Look.Reason = task.LiveQuiet, k, text, reason
	})
}

// Read says that a task's run has read its messages.
func (f *Fake) Read(id string) {
	f.Change(id, func(x *FakeRun) {
		for _, n := range x.Notes {
			x.Look.Read = append(x.Look.Read, n.ID)
		}
	})
}

// Prompts returns the starts that had an effect so far.
func (f *Fake) Prompts() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.starts)
}
