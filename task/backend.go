package task

import (
	"context"
	"errors"
	"time"
)

// A Backend works on tasks. One backend works on many tasks at once; every
// method may be called at any time from any goroutine, bounds itself by ctx,
// and may be called again for the same [Run] without a second effect.
//
// What a backend says through [Hear] is a hint, so that nothing has to be
// polled often; what counts is what Look returns.
type Backend interface {
	// Name is what tasks and settings call it.
	Name() string
	// Start hands r to the worker: a new conversation, or r.Task.Session going
	// on. It returns the backend's name for the conversation. A [*Refusal] means
	// that nothing was started; any other error that this isn't known.
	Start(ctx context.Context, r Run) (session string, err error)
	// Note gives a message to the run for its next step. It neither starts nor
	// interrupts anything. Errors are as of Start.
	Note(ctx context.Context, r Run, n Note) error
	// Interrupt asks the run to end. That it has, only Look tells.
	Interrupt(ctx context.Context, r Run) error
	// Look says how the run is.
	Look(ctx context.Context, r Run) (Look, error)
	// Close ends every run and its processes before it returns. The runs can be
	// looked at and revived later.
	Close() error
}

// A Run is one generation of a task, with what is to be said to the worker.
type Run struct {
	Task   Task
	Prompt string // empty where the run is only referred to, or goes on after a restart
	Notes  []Note // not read by the last run, to be said first
}

// A Note is a message to a running task.
type Note struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Liveness is how a run looks from outside.
type Liveness string

// The ways a run can look.
const (
	LiveBusy  Liveness = "busy"
	LiveRetry Liveness = "retry" // at work, waiting for its provider
	LiveQuiet Liveness = "quiet" // not at work
	LiveGone  Liveness = "gone"  // its process has ended
	// LiveParked is a run that our own restart interrupted and that Start, with
	// an empty prompt, lets go on where it was.
	LiveParked Liveness = "parked"
)

// A Look is what a backend knows of a run.
type Look struct {
	Live    Liveness
	End     Kind     // Done, Erred, Aborted or Deleted; 0 if there is no evidence of an end
	Session string   // the backend's own name for the conversation, once it has one
	Text    string   // the answer, or what there is of one
	Reason  string   // why it failed, or waits, or is gone
	Usage   Usage    // of all generations
	Read    []string // ids of the notes that an answer began after
	Tool    string   // running now
	Changed []string
	Active  time.Time // last sign of life; zero if unknown
	// The rest is the runner's to set: what the task's worktree was found to
	// hold, and who else has changed its files.
	Checkout *Checkout
	Also     []Also
}

// Ended reports evidence of an end.
func (l Look) Ended() bool { return l.End != 0 }

// Hear is how a backend tells that something about a run has changed, and
// appends a line to the task's log.
type Hear func(id string, gen uint32, e Progress)

// Progress is something that a person may want to see happen. An empty one
// only asks for a Look.
type Progress struct {
	Kind string `json:"kind,omitempty"` // "text", "call", "result", "retry", "note", "error"
	Text string `json:"text,omitempty"`
}

// A Refusal says that a backend has not started what was asked of it, and why.
type Refusal struct {
	Reason string
	// Overload tells that the provider has too much to do: the same may work
	// after the time given.
	Overload bool
	After    time.Duration
}

func (r *Refusal) Error() string { return r.Reason }

// RefusalOf returns the refusal in err, nil if it is none.
func RefusalOf(err error) *Refusal {
	var r *Refusal
	if errors.As(err, &r) {
		return r
	}
	return nil
}
