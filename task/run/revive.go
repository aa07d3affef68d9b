package run

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/whet-dev/whet/task"
)

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
		if l.Live == task.LiveParked { // most likely its start was refused
			err = &task.Refusal{Reason: "it never got to an end that it could go on from; launch a new task"}
		}
	}
	var session string
	hung := false
	if err == nil {
		err = r.contained(func() (err error) { head, err = r.prepare(e); return err })
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
			r.async(func() { r.reviveAgain(e, b, run, old, prompt) })
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
