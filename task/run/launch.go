package run

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/store"
)

// Limits of a launch, in bytes.
const (
	maxPrompt = 256 << 10
	maxTitle  = 200
)

// hostBackend works on the tasks of a host that lends itself.
const hostBackend = "opencode"

// Launch makes a task and waits until it has been taken up, refused or queued.
func (r *Runner) Launch(q task.Request) (*task.Reply, error) {
	if err := r.orchestrator(q.Caller); err != nil {
		return nil, err
	}
	switch {
	case strings.TrimSpace(q.Text) == "":
		return nil, task.Errorf(task.BadRequest, "the prompt is empty: say what the specialist is to do, and all that it needs to know")
	case len(q.Text) > maxPrompt:
		return nil, task.Errorf(task.BadRequest, "the prompt is larger than %d KiB: put the material into a file and name that", maxPrompt>>10)
	}
	w, err := r.Worker(q.Worker, q.Dir)
	unknown := err
	if q.Via != "" && (err != nil || w.Own) {
		// The host that the caller is in does it. An agent that we don't know may be
		// one of the host's own.
		w, err = Worker{Backend: hostBackend, Writes: err != nil || w.Writes}, nil
	}
	if err != nil {
		return nil, task.Errorf(task.BadRequest, "%v", err)
	}
	if _, err := r.backend(w.Backend); err != nil {
		return nil, task.Errorf(task.BackendDown, "%v", err)
	}
	if q.ID != "" {
		return r.again(q)
	}
	t := r.newTask(q, w)
	if q.Worker == councilName {
		return r.council(q, t)
	}
	if err := r.plan(t); err != nil {
		return nil, err
	}
	e, err := r.create(t, q.After)
	if err != nil {
		return nil, err
	}
	r.settle(e, t.Gen)
	reply := r.started(e)
	if reply.Failed && unknown != nil {
		reply.Text += "; " + unknown.Error()
	}
	return reply, nil
}

func (r *Runner) newTask(q task.Request, w Worker) *task.Task {
	r.mu.Lock()
	id := r.newID()
	r.mu.Unlock()
	t := &task.Task{
		ID: id, Parent: q.Parent, Agent: q.Worker, Backend: w.Backend, Model: w.Model, Writes: w.Writes,
		Dir: q.Dir, Tree: q.Tree, Title: title(q), Prompt: q.Text, Files: q.Files, MaxRun: q.MaxRun, Isolation: q.Where,
		Allow: slices.Concat(r.Options.Allow, q.Allow), Job: task.New(), Created: time.Now(), Used: time.Now(),
	}
	if t.Backend == hostBackend {
		t.Via = q.Via
	}
	if t.Model == "" && t.Via == "" {
		t.Model, t.BaseURL = q.Model, q.BaseURL
	}
	if t.MaxRun == 0 {
		t.MaxRun = time.Duration(r.Options.MaxRunS) * time.Second
	}
	return t
}

// newID returns an id that sorts after every earlier one, whatever the clock
// does. r.mu is held.
func (r *Runner) newID() string {
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	ms := max(time.Now().UnixMilli(), r.lastID+1)
	r.lastID = ms
	id := make([]byte, 10)
	for i := range id {
		id[9-i] = digits[ms&31]
		ms >>= 5
	}
	return "tsk_" + string(id) + rand.Text()[:16]
}

func title(q task.Request) string {
	s := strings.Join(strings.Fields(q.Title), " ")
	if s == "" {
		s, _, _ = strings.Cut(strings.TrimSpace(q.Text), "\n")
	}
	if rs := []rune(s); len(rs) > maxTitle {
		s = string(rs[:maxTitle])
	}
	return s
}

// create checks what the other tasks have to say about a new one, and keeps it.
func (r *Runner) create(t *task.Task, after []string) (*entry, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.parent(t.Parent)
	for _, name := range after {
		dep, err := r.find(task.Caller{Parent: t.Parent}, name)
		if err != nil {
			return nil, err
		}
		t.After = append(t.After, dep.ID)
	}
	objective := t.Objective()
	if why := r.owner(&entry{Task: t}); why != "" && r.Options.Ownership.OnConflict == onConflictRefuse && t.Repo == "" {
		return nil, task.Errorf(task.Conflict, "it is not launched: it wants files of %s (task.ownership.onConflict is refuse); launch it when that has ended, or give it other files", why)
	}
	if err := r.budget(p); err != nil {
		return nil, err
	}
	for _, e := range p.tasks {
		if e.objective != objective || e.Acked {
			continue
		}
		if e.Phase.Closed() {
			return nil, task.Errorf(task.Conflict, "%s had the same objective and has ended (%s), and you have not read it: task_result with task_id %q", e.Alias, e.Phase, e.Alias)
		}
		return nil, task.Errorf(task.Conflict, "%s already works on exactly this: wait for its end, or send it a task_message", e.Alias)
	}
	if err := r.store.Create(t, task.Prefix(t.Agent)); err != nil {
		if errors.Is(err, store.ErrFull) {
			return nil, task.Errorf(task.StoreFull, "%v; make room in %s", err, r.Dir)
		}
		return nil, err
	}
	e := &entry{Task: t, objective: objective}
	r.tasks[t.ID] = e
	p.add(e)
	r.changed(e, t)
	r.dispatch()
	return e, nil
}

func (r *Runner) budget(p *parent) error {
	if why := r.Options.Budget.Over(task.Spent(p.pictures())); why != "" {
		return task.Errorf(task.OverBudget, "%s: no new one is started", why)
	}
	return nil
}

// enforce ends the tasks of a session whose budget is used up, where that is
// hard. r.mu is held.
func (r *Runner) enforce(p *parent) {
	if !r.Options.Budget.Hard {
		return
	}
	why := r.Options.Budget.Over(task.Spent(p.pictures()))
	if why == "" {
		return
	}
	for _, e := range p.tasks {
		if e.Phase.Closed() || e.CancelReq {
			continue
		}
		r.async(func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			if !e.Phase.Closed() && !e.CancelReq {
				_, _ = r.cancel(e, why) // what came of it is in the task
			}
		})
	}
}

// settle waits until the generation has been taken up or refused, has to wait
// for a slot, or the limit for a start has passed.
func (r *Runner) settle(e *entry, gen uint32) {
	limit := time.NewTimer(r.Times.Start)
	defer limit.Stop()
	for {
		r.mu.Lock()
		undecided := e.Gen == gen && e.Phase == task.Queued && e.Slot && e.Retry == ""
		change := r.change
		r.mu.Unlock()
		if !undecided {
			return
		}
		select {
		case <-change:
		case <-limit.C:
			r.mu.Lock()
			_, _ = r.apply(e, task.Event{Kind: task.Unreadable, Gen: gen}, nil) // logged there
			r.mu.Unlock()
			return
		case <-r.ctx.Done():
			return
		}
	}
}

// started is the answer to a launch or a revive.
func (r *Runner) started(e *entry) *task.Reply {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := e.Task
	if t.Phase == task.Failed && t.Started.IsZero() {
		return &task.Reply{Task: t, Failed: true, Text: fmt.Sprintf("%s (%s) could not be started: %s", t.Alias, t.ID, t.Reason)}
	}
	place := r.place(e)
	return &task.Reply{Task: t, Place: place, Text: task.Started(t, place)}
}
