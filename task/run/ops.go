package run

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/store"
)

// Status says how a task is, looked up right now.
func (r *Runner) Status(q task.Request) (*task.Reply, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, err := r.named(q)
	if err != nil {
		return nil, err
	}
	r.fresh(e)
	place := r.place(e)
	return &task.Reply{Task: e.Task, Place: place, Text: task.Status(e.Task, place, time.Now())}, nil
}

// fresh looks at a task that may have changed. r.mu is held, and let go while
// the look takes.
func (r *Runner) fresh(e *entry) {
	b := r.backends[e.Backend]
	if b == nil || e.Phase.Closed() && !e.Uncertain && e.Phase != task.Stopped || e.Phase == task.Queued && !e.Slot {
		return
	}
	run := r.run(e, "")
	r.mu.Unlock()
	l, err := r.lookNow(b, run)
	r.mu.Lock()
	r.saw(e, run.Task.Gen, l, err)
}

// Result gives a task's answer. Reading an end acknowledges it.
func (r *Runner) Result(q task.Request) (*task.Reply, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, err := r.named(q)
	if err != nil {
		return nil, err
	}
	r.fresh(e)
	text, failed := task.Result(e.Task, q.Offset, q.Limit)
	if e.Phase.Closed() && !q.Person {
		if _, err := r.apply(e, e.Event(task.Acknowledged), nil); err != nil {
			return nil, err
		}
	}
	return &task.Reply{Task: e.Task, Text: text, Failed: failed}, nil
}

// maxMessage bounds a message, in characters: it is a note, not a new task.
const maxMessage = 2000

// Message gives a running task a message for its next step.
func (r *Runner) Message(q task.Request) (*task.Reply, error) {
	if err := r.orchestrator(q.Caller); err != nil {
		return nil, err
	}
	text := strings.TrimSpace(q.Text)
	switch n := len([]rune(text)); {
	case n == 0:
		return nil, task.Errorf(task.BadRequest, "the message is empty")
	case n > maxMessage:
		return nil, task.Errorf(task.BadRequest, "the message has %d characters, and %d is the limit: put the material into a file and name that", n, maxMessage)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e, err := r.named(q)
	if err != nil {
		return nil, err
	}
	n := store.Note{ID: r.newID(), Task: e.ID, Gen: e.Gen, Text: text, State: store.NoteQueued}
	if fx, err := r.apply(e, e.Event(task.WantMessage), nil); err != nil {
		return nil, err
	} else if fx.Has(task.Refuse) {
		return nil, r.noMessage(e)
	}
	if err := r.store.Commit(store.Change{Task: e.Task, Kind: "message", Body: text, Notes: []store.Note{n}}); err != nil {
		r.step(e, e.Event(task.MessageFailed), nil)
		return nil, err
	}
	return r.deliver(e, n)
}

func (r *Runner) noMessage(e *entry) error {
	switch {
	case e.Phase.Closed():
		return task.Errorf(task.NotRunning, "%s has ended (%s) and reads no messages: task_revive with task_id %q goes on with its context", e.Alias, e.Phase, e.Alias)
	case e.Phase == task.Queued:
		return task.Errorf(task.NotRunning, "%s has not started yet: cancel it and launch it anew if its task has changed", e.Alias)
	case e.CancelReq:
		return task.Errorf(task.NotRunning, "%s is being cancelled", e.Alias)
	case e.Waiting >= task.MaxWaiting:
		return task.Errorf(task.Capacity, "%s has %d messages that it has not read yet: wait until it has", e.Alias, e.Waiting)
	}
	return r.leased(e)
}

func (r *Runner) leased(e *entry) error {
	doing := map[task.Lease]string{task.Cancelling: "a cancel", task.Reviving: "a revive", task.Messaging: "a message"}[e.Lease]
	return task.Errorf(task.LeaseBusy, "%s has %s under way: look at task_status and try again", e.Alias, doing)
}

// deliver gives a kept message to the backend. r.mu is held, and let go while
// that takes.
func (r *Runner) deliver(e *entry, n store.Note) (*task.Reply, error) {
	b, run := r.backends[e.Backend], r.run(e, "")
	done := func(err error) {
		kind := task.MessageDone
		n.State = store.NoteStored
		if err != nil {
			kind, n.State = task.MessageFailed, store.NoteReturned
		} else if e.Gen != n.Gen || e.Phase != task.Running {
			n.State = store.NoteReturned
		} else {
			e.notes = append(e.notes, n)
		}
		r.step(e, task.Event{Kind: kind, Gen: n.Gen}, nil)
		if err := r.store.Commit(store.Change{Task: e.Task, Notes: []store.Note{n}}); err != nil {
			r.Log.Error("keeping a message", "task", e.Alias, "err", err)
		}
		r.look(e)
	}
	r.mu.Unlock()
	err, hung := r.bounded(r.Times.Note, func(ctx context.Context) error { return b.Note(ctx, run, task.Note{ID: n.ID, Text: n.Text}) },
		func(err error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			done(err)
		})
	r.mu.Lock()
	if hung {
		r.step(e, task.Event{Kind: task.MessageHung, Gen: n.Gen}, nil)
		return &task.Reply{Task: e.Task, Text: fmt.Sprintf("status: unknown\nWhether %s (%s) got the message is not known yet; it is not sent again by itself.", e.Alias, e.ID)}, nil
	}
	done(err)
	switch {
	case err != nil:
		return nil, task.Errorf(task.BackendDown, "%s did not take the message: %v", e.Alias, err)
	case n.State == store.NoteReturned:
		return nil, task.Errorf(task.NotRunning, "%s ended before it could read the message: task_revive with task_id %q goes on with its context", e.Alias, e.Alias)
	}
	return &task.Reply{Task: e.Task, Text: fmt.Sprintf("Message queued for %s (%s), not confirmed read. If it ends first, its end says so.", e.Alias, e.ID)}, nil
}

// recent is how old a sign of life may be for a task to count as at work.
const recent = 30 * time.Second
