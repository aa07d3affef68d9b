package run

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/whet-dev/whet/task"
)

// Cancel ends a task. Its session is kept, and so are its changes.
func (r *Runner) Cancel(q task.Request) (*task.Reply, error) {
	if err := r.orchestrator(q.Caller); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e, err := r.named(q)
	if err != nil {
		return nil, err
	}
	if e.Phase == task.Running && strings.TrimSpace(q.Text) == "" && !q.Person && time.Since(e.Active) < recent && !e.CancelReq {
		return nil, task.Errorf(task.Conflict, "%s was at work %d seconds ago; to cancel it all the same, give a reason", e.Alias, int(time.Since(e.Active).Seconds()))
	}
	if e.Phase.Closed() {
		if e.Phase != task.Cancelled {
			return &task.Reply{Task: e.Task, Text: cancelText(e, "already "+e.Phase.String())}, nil
		}
		return &task.Reply{Task: e.Task, Text: cancelText(e, "cancelled")}, nil
	}
	return r.cancel(e, q.Text)
}

// cancel ends an open task. r.mu is held, and let go while that takes.
func (r *Runner) cancel(e *entry, reason string) (*task.Reply, error) {
	why := "cancelled"
	if s := strings.TrimSpace(reason); s != "" {
		why += ": " + s
	}
	gen := e.Gen
	fx, err := r.apply(e, e.Event(task.WantCancel), func(t *task.Task) { t.Reason = why })
	switch {
	case err != nil:
		return nil, err
	case fx.Has(task.Refuse):
		return nil, r.leased(e)
	case !fx.Has(task.Abort): // nobody had taken it up
		r.dispatch()
		return &task.Reply{Task: e.Task, Text: cancelText(e, "cancelled")}, nil
	}
	b, run := r.backends[e.Backend], r.run(e, "")
	if b == nil {
		r.step(e, task.Event{Kind: task.AbortFailed, Gen: gen}, nil)
		return nil, task.Errorf(task.BackendDown, "there is no backend %q any more that could end %s", e.Backend, e.Alias)
	}
	r.mu.Unlock()
	err, hung := r.bounded(r.Times.Abort, func(ctx context.Context) error { return b.Interrupt(ctx, run) }, func(error) {
		rests := r.rests(b, run)
		left := r.leftovers(e)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.abortDone(e, gen, rests, why, left)
		r.step(e, task.Event{Kind: task.Settled, Gen: gen}, nil)
	})
	var rests bool
	var left task.Look
	if !hung {
		rests, left = r.rests(b, run), r.leftovers(e)
	}
	r.mu.Lock()
	if hung {
		r.step(e, task.Event{Kind: task.AbortHung, Gen: gen}, nil)
		return &task.Reply{Task: e.Task, Failed: true, Text: cancelText(e, "running (abort unconfirmed)")}, nil
	}
	r.abortDone(e, gen, rests, why, left)
	if !e.Phase.Closed() {
		return &task.Reply{Task: e.Task, Failed: true, Text: cancelText(e, "running (abort unconfirmed)") + note(err)}, nil
	}
	return &task.Reply{Task: e.Task, Text: cancelText(e, e.Phase.String())}, nil
}

func note(err error) string {
	if err == nil {
		return ""
	}
	return "\n" + err.Error()
}

func (r *Runner) abortDone(e *entry, gen uint32, rests bool, why string, left task.Look) {
	kind := task.AbortFailed
	if rests {
		kind = task.AbortDone
	}
	r.step(e, task.Event{Kind: kind, Gen: gen}, func(t *task.Task) {
		if t.Phase == task.Cancelled {
			t.Reason = why
		}
		leaves(t, left)
	})
}

func cancelText(e *entry, state string) string {
	if n := len(e.Changed); n > 0 && state == "cancelled" {
		state += fmt.Sprintf(" (partial changes: %d files, not rolled back)", n)
	}
	s := fmt.Sprintf("task_id: %s\nstate: %s", e.ID, state)
	if e.Reason != "" {
		s += fmt.Sprintf("\n\n<task_error>\n%s\n</task_error>", e.Reason)
	}
	return s
}

// rests proves that a run has come to rest: quiet for long enough, without a
// sign of life. What it left is taken in on the way.
func (r *Runner) rests(b task.Backend, run task.Run) bool {
	var since time.Time
	for limit := time.Now().Add(r.Times.Rest); time.Now().Before(limit); {
		l, err := r.lookNow(b, run)
		switch {
		case err == nil && l.Ended():
			r.mu.Lock()
			if e := r.tasks[run.Task.ID]; e != nil {
				r.saw(e, run.Task.Gen, l, nil)
			}
			r.mu.Unlock()
			return true
		case err == nil && l.Live == task.LiveGone:
			return true
		case err != nil || l.Live != task.LiveQuiet:
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) >= r.Times.Stable:
			return true
		}
		if !r.sleep(r.Times.Stable / 4) {
			return false
		}
	}
	return false
}
