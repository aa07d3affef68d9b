package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/store"
)

// orchestrator refuses a caller that is itself a specialist.
func (r *Runner) orchestrator(c task.Caller) error {
	if c.Person {
		return nil
	}
	if e := r.works(c); e != nil {
		return task.Errorf(task.NotOrchestrator, "only the orchestrator hands out tasks, and you work on %s as the %s: do your own part and report what is left", e.Alias, e.Agent)
	}
	if c.Agent == "" || c.Agent == "orchestrator" {
		return nil
	}
	if _, err := r.Worker(c.Agent, c.Dir); err != nil {
		return nil // not one of ours: the host's own primary agent
	}
	return task.Errorf(task.NotOrchestrator, "only the orchestrator hands out tasks, and you are the %s: do your own part and report what is left", c.Agent)
}

// works returns the task that the caller's own conversation works on, nil if
// there is none.
func (r *Runner) works(c task.Caller) *entry {
	host, session, ok := strings.Cut(c.Parent, "/")
	if !ok || host != hostBackend {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.tasks {
		if e.Backend == hostBackend && e.Session == session {
			return e
		}
	}
	return nil
}

// moved takes in where the caller's host is reached now: it may have been
// started anew since its tasks were launched.
func (r *Runner) moved(c task.Caller) {
	if c.Via == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.parents[c.Parent]
	if p == nil {
		return
	}
	for _, e := range p.tasks {
		if e.Via != "" && e.Via != c.Via {
			r.note(e, func(t *task.Task) { t.Via = c.Via })
		}
	}
}

// find returns the caller's task called name, an alias or an id. r.mu is held.
func (r *Runner) find(c task.Caller, name string) (*entry, error) {
	name = strings.TrimSpace(name)
	if e := r.tasks[name]; e != nil && (e.Parent == c.Parent || c.Person) {
		return e, nil
	}
	if e := r.parent(c.Parent).byAlias[name]; e != nil {
		return e, nil
	}
	if e := r.inherit(c, name); e != nil {
		return e, nil
	}
	var found []*entry
	for _, e := range r.tasks {
		if c.Person && e.Alias == name && (c.Dir == "" || e.Dir == c.Dir) {
			found = append(found, e)
		}
	}
	switch len(found) {
	case 0:
		return nil, task.Errorf(task.UnknownTask, "unknown task ID or alias: %.80q; %s", name, r.known(c))
	case 1:
		return found[0], nil
	}
	slices.SortFunc(found, func(a, b *entry) int { return task.Older(a.Task, b.Task) })
	ids := make([]string, len(found))
	for i, e := range found {
		ids[i] = e.ID
	}
	return nil, task.Errorf(task.UnknownTask, "several sessions have a %s; say which by its ID: %s", name, strings.Join(ids, ", "))
}

// known lists what the caller may name. r.mu is held.
func (r *Runner) known(c task.Caller) string {
	const most = 10
	var names []string
	for _, e := range r.parent(c.Parent).tasks {
		names = append(names, e.Alias)
	}
	switch n := len(names); {
	case c.Person:
		return "whet task list shows those there are"
	case n == 0:
		return "this session has no tasks" + r.legacy(c)
	case n > most:
		return fmt.Sprintf("the last of this session's are %s", strings.Join(names[n-most:], ", "))
	}
	return "this session has " + strings.Join(names, ", ")
}

// named finds the task of a request and marks it as used.
func (r *Runner) named(q task.Request) (*entry, error) {
	e, err := r.find(q.Caller, q.ID)
	if err == nil && !q.Person {
		r.note(e, func(t *task.Task) { t.Used = time.Now() })
	}
	return e, err
}

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

// again is a launch that names a task: it goes on with that one.
func (r *Runner) again(q task.Request) (*task.Reply, error) {
	r.mu.Lock()
	e, err := r.find(q.Caller, q.ID)
	switch {
	case err != nil:
	case !e.Phase.Closed():
		err = task.Errorf(task.LeaseBusy, "%s has not ended (%s): task_message reaches it, task_cancel ends it", e.Alias, e.Phase)
	case e.Agent != q.Worker:
		err = task.Errorf(task.BadRequest, "%s is the %s's; leave task_id out to start a new task of the %s", e.Alias, e.Agent, q.Worker)
	}
	r.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return r.Revive(q)
}

// Revive goes on with a task's conversation, by a new prompt.
func (r *Runner) Revive(q task.Request) (*task.Reply, error) {
	if err := r.orchestrator(q.Caller); err != nil {
		return nil, err
	}
	if strings.TrimSpace(q.Text) == "" {
		return nil, task.Errorf(task.BadRequest, "the prompt is empty: say how the task goes on")
	}
	if len(q.Text) > maxPrompt {
		return nil, task.Errorf(task.BadRequest, "the prompt is larger than %d KiB: put the material into a file and name that", maxPrompt>>10)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e, err := r.named(q)
	if err != nil {
		return nil, err
	}
	if !e.Phase.Closed() {
		if _, err := r.cancel(e, "revived"); err != nil {
			return nil, err
		}
		if !e.Phase.Closed() {
			return nil, task.Errorf(task.InDoubt, "%s could not be brought to rest, so it can't be revived yet: look at task_status", e.Alias)
		}
	}
	b := r.backends[e.Backend]
	if b == nil {
		return nil, task.Errorf(task.BackendDown, "there is no backend %q any more", e.Backend)
	}
	if why := cmp.Or(r.owner(e), r.usedSlots().limit(e, r.Options)); why != "" {
		return nil, task.Errorf(task.Capacity, "%s would have to wait for %s: wait for an end", e.Alias, why)
	}
	fx, err := r.apply(e, e.Event(task.WantRevive), nil)
	switch {
	case err != nil:
		return nil, err
	case fx.Has(task.Refuse) && e.Lease != task.NoLease:
		return nil, r.leased(e)
	case fx.Has(task.Refuse):
		return nil, task.Errorf(task.InDoubt, "it is not certain that %s rests; that is being found out, try again in %d seconds", e.Alias, int(2*r.Times.Grace/time.Second)+1)
	}
	return r.revive(e, b, q.Text)
}

// revive starts the next generation. r.mu is held, and let go while that takes.
func (r *Runner) revive(e *entry, b task.Backend, prompt string) (*task.Reply, error) {
	old := e.Gen
	look, run := r.run(e, ""), r.run(e, prompt)
	run.Task.Gen++
	r.mu.Unlock()
	l, err := r.lookNow(b, look)
	var head string
	if err == nil && !l.Ended() && l.Live != task.LiveQuiet && l.Live != task.LiveGone {
		err = &task.Refusal{Reason: "it is at work"}
	}
	var session string
	hung := false
	if err == nil {
		head, err = r.prepare(e)
		run.Prompt = head + run.Prompt
	}
	if err == nil {
		err, hung = r.bounded(r.Times.Start, func(ctx context.Context) (err error) {
			session, err = b.Start(ctx, run)
			return err
		}, func(err error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.revived(e, old, session, prompt, err)
		})
	} else if task.RefusalOf(err) == nil {
		err = &task.Refusal{Reason: "its state could not be read: " + err.Error()}
	}
	r.mu.Lock()
	if hung || err != nil && task.RefusalOf(err) == nil {
		r.step(e, task.Event{Kind: task.ReviveHung, Gen: old}, nil)
		if !hung { // the answer got lost; asking again has no second effect
			r.work.Go(func() { r.reviveAgain(e, b, run, old, prompt) })
		}
		return &task.Reply{Task: e.Task, Text: fmt.Sprintf("task_id: %s\ngeneration: %d\nstate: %s\nstatus: admission_unknown\nDo not retry: whether it goes on is found out without you.", e.ID, e.Gen, e.Phase)}, nil
	}
	r.revived(e, old, session, prompt, err)
	if err != nil {
		return nil, task.Errorf(task.NotRevivable, "%s can't go on: %v", e.Alias, err)
	}
	return &task.Reply{Task: e.Task, Text: fmt.Sprintf("task_id: %s\ngeneration: %d\nstate: %s\nstatus: started\n%s", e.ID, e.Gen, e.Phase, task.Started(e.Task, 0))}, nil
}

func (r *Runner) revived(e *entry, old uint32, session, prompt string, err error) {
	if err != nil {
		r.step(e, task.Event{Kind: task.ReviveFailed, Gen: old}, nil)
		return
	}
	r.step(e, task.Event{Kind: task.ReviveDone, Gen: old}, func(t *task.Task) {
		t.Session, t.Prompt = cmp.Or(session, t.Session), prompt
		t.Text, t.Reason, t.Tool, t.Retry = "", "", "", ""
		t.Started, t.Active, t.Ended = time.Now(), time.Now(), time.Time{}
		t.Checkout = t.Checkout.With(func(c *task.Checkout) { c.Fate = "" })
	})
	for i := range e.notes {
		e.notes[i].Gen = e.Gen
	}
	e.objective = e.Objective()
	r.beganNow(e)
}

// reviveAgain repeats a start whose answer got lost.
func (r *Runner) reviveAgain(e *entry, b task.Backend, run task.Run, old uint32, prompt string) {
	var session string
	var err error
	for range maxTries {
		if !r.sleep(r.Times.Cooldown) {
			return
		}
		session, err = r.call(b, run)
		if err == nil || task.RefusalOf(err) != nil {
			break
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.revived(e, old, session, prompt, err)
}
