package run

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/mail"
	"github.com/whet-dev/whet/task/store"
)

// look finds out how a task is, soon. r.mu is held.
func (r *Runner) look(e *entry) {
	if e.looking {
		e.again = true
		return
	}
	b := r.backends[e.Backend]
	if b == nil || r.ctx.Err() != nil {
		e.seen = true // as far as it can be
		return
	}
	e.looking, e.again, e.looked = true, false, time.Now()
	run := r.run(e, "")
	r.async(func() {
		l, err := r.lookNow(b, run)
		r.mu.Lock()
		defer r.mu.Unlock()
		e.looking = false
		r.saw(e, run.Task.Gen, l, err)
		if e.again {
			r.look(e)
		}
	})
}

func (r *Runner) lookNow(b task.Backend, run task.Run) (task.Look, error) {
	var l task.Look
	err, hung := r.bounded(r.Times.Look, func(ctx context.Context) (err error) {
		l, err = b.Look(ctx, run)
		return err
	}, func(error) {})
	if hung {
		return task.Look{}, err // l is still being written
	}
	if err == nil {
		err = r.contained(func() error { r.whatIsLeft(&l, run.Task); return nil })
	}
	return l, err
}

// whatIsLeft completes the look at a run that is over.
func (r *Runner) whatIsLeft(l *task.Look, t task.Task) {
	if l.Ended() {
		t.Changed = l.Changed
		l.Also = mail.Also(r.Dir, &t)
	}
	if (l.Ended() || l.Live == task.LiveGone) && t.Checkout.Kept() {
		r.saved(l, t)
	}
}

// saw takes in what a look found. r.mu is held.
func (r *Runner) saw(e *entry, gen uint32, l task.Look, err error) {
	if r.ctx.Err() != nil || e.Gen != gen {
		return
	}
	e.seen = true
	if err != nil {
		_, _ = r.apply(e, task.Event{Kind: task.Unreadable, Gen: gen}, nil) // logged there
		return
	}
	if l.Session != "" && l.Session != e.Session {
		r.keepSession(e, l.Session)
	}
	for _, id := range l.Read {
		r.read(e, gen, id)
	}
	switch {
	case l.Ended():
		r.ended(e, gen, l)
	case l.Live == task.LiveBusy || l.Live == task.LiveRetry:
		e.lively, e.quietAt = true, time.Time{}
		r.step(e, task.Event{Kind: task.Busy, Gen: gen}, nil)
		r.progress(e, l)
	case e.Phase == task.Queued && e.Slot:
		r.start(e) // the same start again has no second effect
	case l.Live == task.LiveParked && e.Phase == task.Running:
		r.unpark(e)
	case l.Live == task.LiveGone:
		r.step(e, task.Event{Kind: task.Gone, Gen: gen}, func(t *task.Task) {
			leaves(t, l)
			t.Reason, t.Text = cmp.Or(l.Reason, "the agent's process has ended"), cmp.Or(l.Text, t.Text)
		})
		r.quiet(e, gen, l) // of a closed one it is proof of rest
	case e.lively || time.Since(e.admitted) >= r.Times.Start || e.Phase.Closed():
		r.quiet(e, gen, l)
	}
	r.enforce(r.parent(e.Parent))
}

// keepSession keeps how the backend calls the conversation: without it, nothing goes
// on after a restart. r.mu is held.
func (r *Runner) keepSession(e *entry, session string) {
	t := *e.Task
	t.Session = session
	if err := r.store.Commit(store.Change{Task: &t, Kind: "session", Body: session}); err == nil {
		r.changed(e, &t)
	}
}

// unpark lets a run go on that our restart interrupted, unless somebody wanted
// its end. r.mu is held.
func (r *Runner) unpark(e *entry) {
	gen := e.Gen
	if e.CancelReq {
		r.step(e, task.Event{Kind: task.Aborted, Gen: gen}, nil)
		return
	}
	if e.starting {
		return
	}
	e.starting = true
	run, b := r.run(e, ""), r.backends[e.Backend]
	r.async(func() {
		_, err := r.call(b, run)
		r.mu.Lock()
		defer r.mu.Unlock()
		e.starting = false
		switch refusal := task.RefusalOf(err); {
		case refusal != nil:
			r.step(e, task.Event{Kind: task.Erred, Gen: gen}, func(t *task.Task) { t.Reason = "it could not go on after a restart: " + refusal.Reason })
		case err == nil:
			r.look(e)
		}
	})
}

// step applies an event and hands on a slot that became free. r.mu is held.
func (r *Runner) step(e *entry, ev task.Event, set func(*task.Task)) task.Effect {
	fx, err := r.apply(e, ev, set)
	if err == nil && fx.Has(task.Release) {
		r.dispatch()
	}
	return fx
}

func (r *Runner) quiet(e *entry, gen uint32, l task.Look) {
	now := time.Now()
	if e.Quiet == task.Lively || e.quietAt.IsZero() {
		e.quietAt = now
	}
	if e.Quiet == task.Candidate && now.Sub(e.quietAt) >= r.Times.Grace {
		r.step(e, task.Event{Kind: task.GraceOver, Gen: gen}, nil)
	}
	r.step(e, task.Event{Kind: task.Silent, Gen: gen}, func(t *task.Task) {
		if t.Phase == task.Stopped {
			t.Reason, t.Text = cmp.Or(l.Reason, "it is quiet, and nothing says how it ended"), cmp.Or(l.Text, t.Text)
		}
	})
}

// ended takes in evidence of an end.
func (r *Runner) ended(e *entry, gen uint32, l task.Look) {
	kind, reason := l.End, l.Reason
	if kind == task.Done && strings.TrimSpace(l.Text) == "" {
		kind, reason = task.Erred, "it ended without any text"
	}
	if kind == task.Aborted && !e.CancelReq {
		reason = cmp.Or(reason, "aborted by the host or a person")
	}
	r.step(e, task.Event{Kind: kind, Gen: gen}, func(t *task.Task) {
		t.Text, t.Usage, t.Changed, t.Also = l.Text, l.Usage, l.Changed, l.Also
		leaves(t, l)
		switch {
		case t.Deadline:
			t.Reason = "timed out"
		case t.Phase == task.Cancelled:
			t.Reason = cmp.Or(t.Reason, "cancelled")
		case t.Phase == task.Completed:
			t.Reason = ""
		default:
			t.Reason = cmp.Or(reason, "it failed without saying why")
		}
	})
}

// leaves takes in what a run has left in its worktree.
func leaves(t *task.Task, l task.Look) {
	if l.Checkout != nil {
		t.Changed, t.Checkout = l.Changed, l.Checkout
	}
}

// progress keeps what a running task does in memory; it is on disk with the
// next change of its state.
func (r *Runner) progress(e *entry, l task.Look) {
	retry := ""
	if l.Live == task.LiveRetry {
		retry = cmp.Or(l.Reason, "waiting for its provider")
	}
	r.note(e, func(t *task.Task) {
		t.Active = latest(t.Active, l.Active)
		t.Tool, t.Retry, t.Text = l.Tool, retry, cmp.Or(l.Text, t.Text)
		t.Usage, t.Changed = l.Usage, l.Changed
	})
}

// read takes in that an answer began after a message.
func (r *Runner) read(e *entry, gen uint32, id string) {
	i := slices.IndexFunc(e.notes, func(n store.Note) bool { return n.ID == id })
	if i < 0 {
		return
	}
	n := e.notes[i]
	counted := n.State == store.NoteStored // else its delivery was cut off by a restart
	n.State = store.NoteConsumed
	if err := r.store.Commit(store.Change{Task: e.Task, Notes: []store.Note{n}}); err != nil {
		return
	}
	e.notes = slices.Delete(slices.Clone(e.notes), i, i+1)
	if counted {
		r.step(e, task.Event{Kind: task.MessageRead, Gen: gen}, nil)
	}
}

// ticks looks after everything that nobody speaks of.
func (r *Runner) ticks() {
	every := min(r.Times.Poll, r.Times.Grace, time.Second) / 2
	tick := time.NewTicker(max(every, 5*time.Millisecond))
	defer tick.Stop()
	last, swept := time.Now(), time.Now()
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-tick.C:
		}
		now := time.Now()
		slept := jumped(last, now)
		last = now
		r.mu.Lock()
		for _, e := range r.open {
			_ = r.contained(func() error { r.tick(e, now, slept); return nil })
		}
		if now.Sub(swept) > time.Hour {
			r.forget(now)
			swept = now
		}
		r.mu.Unlock()
		r.flush()
	}
}

// jumped reports whether the machine slept between two ticks, or its clock was
// set: then every task is looked at before any limit counts.
func jumped(last, now time.Time) bool {
	return now.Sub(last) > time.Minute || now.Round(0).Sub(last.Round(0)).Abs() > time.Minute
}

func (r *Runner) tick(e *entry, now time.Time, slept bool) {
	open := e.Phase == task.Running || e.Phase == task.Queued && e.Slot
	doubt := e.Phase.Closed() && e.Uncertain && e.Lease == task.NoLease
	if !open && !doubt {
		return
	}
	due := now.Sub(e.looked) >= r.Times.Poll || e.Quiet == task.Candidate && now.Sub(e.quietAt) >= r.Times.Grace
	if e.seen = e.seen && !slept; slept || due {
		r.look(e)
	}
	if !e.seen || e.Phase != task.Running {
		return
	}
	if e.MaxRun > 0 && !e.Deadline && now.Sub(e.Started) >= e.MaxRun {
		if r.step(e, e.Event(task.TimeOver), nil).Has(task.Abort) {
			e.abortBy = now.Add(r.Times.Abort)
			r.interrupt(e)
		}
	}
	if e.Deadline && now.After(e.abortBy) {
		r.step(e, e.Event(task.AbortOver), func(t *task.Task) { t.Reason = "timed out, and its end is not confirmed" })
	}
}

// interrupt asks a run to end, and looks what came of it. r.mu is held.
func (r *Runner) interrupt(e *entry) {
	b, run := r.backends[e.Backend], r.run(e, "")
	if b == nil {
		return
	}
	r.async(func() {
		_, _ = r.bounded(r.Times.Abort, func(ctx context.Context) error { return b.Interrupt(ctx, run) }, func(error) {})
		r.hear(run.Task.ID, run.Task.Gen, task.Progress{})
	})
}

// keepDays is how long ended tasks are kept unless told otherwise.
const keepDays = 30

// forget removes ended and acknowledged tasks that are old. r.mu is held.
func (r *Runner) forget(now time.Time) int {
	keep := time.Duration(cmp.Or(r.Options.KeepDays, keepDays)) * 24 * time.Hour
	return r.drop(func(e *entry) bool { return e.Acked && now.Sub(latest(e.Ended, e.Used)) > keep })
}

// drop forgets the tasks that old picks, except where another waits for one.
func (r *Runner) drop(old func(*entry) bool) int {
	needed := map[string]bool{}
	for _, e := range r.open {
		if !e.Phase.Closed() {
			for _, id := range e.After {
				needed[id] = true
			}
		}
	}
	var ids []string
	for id, e := range r.tasks {
		if e.Phase.Closed() && e.Lease == task.NoLease && !e.Checkout.Waits() && !needed[id] && old(e) {
			ids = append(ids, id)
		}
	}
	if err := r.store.Forget(ids...); err != nil {
		r.Log.Warn("forgetting old tasks", "err", err)
		return 0
	}
	for _, id := range ids {
		r.parent(r.tasks[id].Parent).remove(id)
		delete(r.tasks, id)
		delete(r.open, id)
	}
	r.tell()
	return len(ids)
}
