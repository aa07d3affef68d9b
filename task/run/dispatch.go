package run

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mrand "math/rand/v2"
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
	b, used := r.Options.Budget, task.Spent(p.pictures())
	if b.USD > 0 && used.Cost >= b.USD {
		return task.Errorf(task.OverBudget, "the tasks of this session have cost $%.2f, and task.budget.usd is %.2f: no new one is started", used.Cost, b.USD)
	}
	if n := used.Input + used.Output; b.Tokens > 0 && n >= int64(b.Tokens) {
		return task.Errorf(task.OverBudget, "the tasks of this session have used %d tokens, and task.budget.tokens is %d: no new one is started", n, b.Tokens)
	}
	return nil
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

// dispatch gives free slots to those who wait, the first come first. One that
// has to wait for its own provider doesn't hold up the others. r.mu is held.
func (r *Runner) dispatch() {
	at := r.usedSlots()
	for _, e := range r.queued() {
		why := r.obstacle(e, at)
		switch {
		case why == "":
			at.add(e)
			isolated := r.isolated(e)
			if _, err := r.apply(e, e.Event(task.Granted), func(t *task.Task) {
				if t.Waits = ""; isolated {
					t.Checkout = r.checkoutOf(t)
				}
			}); err == nil {
				r.start(e)
			}
		case why != e.Waits:
			r.note(e, func(t *task.Task) { t.Waits = why })
		}
	}
}

// queued lists the tasks that wait for a slot, oldest first. r.mu is held.
func (r *Runner) queued() (out []*entry) {
	for _, e := range r.open {
		if e.Phase == task.Queued && !e.Slot {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b *entry) int { return task.Older(a.Task, b.Task) })
	return out
}

// place is a waiting task's place in the queue, from 1; else 0. r.mu is held.
func (r *Runner) place(e *entry) int { return slices.Index(r.queued(), e) + 1 }

// obstacle says what a waiting task waits for, "" if it can start. r.mu is held.
func (r *Runner) obstacle(e *entry, at slots) string {
	for _, id := range e.After {
		switch dep := r.tasks[id]; {
		case dep == nil || dep.Phase == task.Completed:
		case dep.Phase.Closed():
			_, _ = r.apply(e, e.Event(task.Refused), func(t *task.Task) { // logged there
				t.Reason = fmt.Sprintf("dependency: %s ended as %s", dep.Alias, dep.Phase)
			})
			return "nothing: it has ended"
		default:
			return dep.Alias
		}
	}
	for _, id := range e.Gather {
		if dep := r.tasks[id]; dep != nil && !dep.Phase.Closed() {
			return dep.Alias
		}
	}
	if why := r.owner(e); why != "" && e.Repo == "" {
		if e.NoRepo != "" {
			why += " (no worktree: " + e.NoRepo + ")"
		}
		return why
	}
	return at.limit(e, r.Options)
}

// owner says which task at work owns files that a waiting one wants too, the
// oldest if there are several. r.mu is held.
func (r *Runner) owner(e *entry) string {
	mine, ok := task.ClaimOf(e.Task)
	if !ok || r.Options.Ownership.OnConflict == onConflictAllow {
		return ""
	}
	var first *task.Task
	var files string
	for _, o := range r.open {
		theirs, ok := task.ClaimOf(o.Task)
		if !ok || !holds(o) || o == e || first != nil && task.Older(first, o.Task) < 0 {
			continue
		}
		if g := theirs.Meets(mine); g != "" {
			first, files = o.Task, g
		}
	}
	if first == nil {
		return ""
	}
	return fmt.Sprintf("%s, which owns %s", first.Alias, files)
}

// holds reports whether a task has what it claims: it is at work, or about to be.
func holds(e *entry) bool { return e.Slot || e.Lease == task.Reviving }

// claims lists what the tasks at work own. r.mu is held.
func (r *Runner) claims() (out []task.Claim) {
	for _, e := range r.open {
		if c, ok := task.ClaimOf(e.Task); ok && holds(e) {
			if c.Main == "" && r.Options.Ownership.OnConflict == onConflictAllow {
				c.Files = nil
			}
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b task.Claim) int { return strings.Compare(a.Task, b.Task) })
	return out
}

// slots counts the tasks that hold one.
type slots struct {
	total, writers             *int
	backend, model, byProvider map[string]int
}

// usedSlots counts. r.mu is held.
func (r *Runner) usedSlots() slots {
	at := slots{new(int), new(int), map[string]int{}, map[string]int{}, map[string]int{}}
	for _, e := range r.open {
		if e.Slot {
			at.add(e)
		}
	}
	return at
}

func (at slots) add(e *entry) {
	*at.total++
	if e.Writes {
		*at.writers++
	}
	at.backend[e.Backend]++
	at.model[e.Model]++
	at.byProvider[provider(e.Task)]++
}

// limit says which limit of concurrency a task would exceed, the most general
// first; "" if none.
func (at slots) limit(e *entry, o task.Options) string {
	over := func(n, limit int) bool { return limit > 0 && n >= limit }
	p := provider(e.Task)
	switch {
	case *at.total >= cmp.Or(o.Total, 8):
		return "a slot"
	case e.Writes && *at.writers >= cmp.Or(o.Writers, 3):
		return "a slot for one more that writes"
	case over(at.backend[e.Backend], o.Backends[e.Backend]):
		return "a slot at " + e.Backend
	case over(at.model[e.Model], o.Models[e.Model]):
		return "a slot at " + e.Model
	case over(at.byProvider[p], o.Models[p]):
		return "a slot at " + p
	}
	return ""
}

// provider is whose limits a task shares.
func provider(t *task.Task) string {
	p, _, _ := strings.Cut(t.Model, "/")
	if p == "" {
		return t.Backend
	}
	return p
}

// start hands a task that holds a slot to its backend. r.mu is held.
func (r *Runner) start(e *entry) {
	if e.starting {
		return
	}
	e.starting = true
	gen := e.Gen
	if wait := time.Until(latest(e.notBefore, r.cool[provider(e.Task)])); wait > 0 {
		r.work.Go(func() {
			if r.sleep(wait) {
				r.mu.Lock()
				defer r.mu.Unlock()
				e.starting = false
				if e.Gen == gen && e.Phase == task.Queued && e.Slot {
					r.start(e)
				}
			}
		})
		return
	}
	run := r.run(e, r.gathered(e))
	b := r.backends[e.Backend]
	r.work.Go(func() {
		var session string
		head, err := r.prepare(e)
		switch {
		case err != nil:
		case b == nil:
			err = &task.Refusal{Reason: fmt.Sprintf("there is no backend %q any more", run.Task.Backend)}
		default:
			run.Prompt = head + run.Prompt
			session, err = r.call(b, run)
		}
		var left task.Look
		if task.RefusalOf(err) != nil {
			left = r.leftovers(e)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		e.starting = false
		r.startDone(e, gen, session, err, left)
	})
}

func (r *Runner) startDone(e *entry, gen uint32, session string, err error, left task.Look) {
	ev := task.Event{Gen: gen}
	switch refusal := task.RefusalOf(err); {
	case err == nil:
		ev.Kind = task.Admitted
		_, _ = r.apply(e, ev, func(t *task.Task) { // logged there
			t.Session, t.Started, t.Active, t.Retry = session, time.Now(), time.Now(), ""
		})
		r.beganNow(e)
	case refusal != nil && refusal.Overload && e.tries < maxTries:
		r.putOff(e, refusal)
		r.start(e)
	case refusal != nil || e.tries >= maxTries:
		ev.Kind = task.Refused
		_, _ = r.apply(e, ev, func(t *task.Task) {
			t.Reason = err.Error()
			leaves(t, left)
		})
		r.dispatch()
	default: // unknown: the next look asks again
		e.tries++
		ev.Kind = task.Unreadable
		_, _ = r.apply(e, ev, func(t *task.Task) { t.Reason = err.Error() })
	}
}

func (r *Runner) beganNow(e *entry) {
	e.admitted, e.lively, e.quietAt, e.tries = time.Now(), false, time.Time{}, 0
	r.look(e)
}

// maxTries bounds how often a start is put off.
const maxTries = 6

// maxCooldown bounds a pause after an overload.
const maxCooldown = 2 * time.Minute

// putOff makes everyone at the same provider pause, so that siblings don't run
// into the same limit one after another. Half of it is random.
func (r *Runner) putOff(e *entry, why *task.Refusal) {
	wait := min(r.Times.Cooldown<<e.tries, maxCooldown)
	wait = max(why.After, wait/2) + mrand.N(wait/2+1)
	e.tries++
	e.notBefore = time.Now().Add(wait)
	p := provider(e.Task)
	r.cool[p] = latest(r.cool[p], e.notBefore)
	r.note(e, func(t *task.Task) { t.Retry = fmt.Sprintf("attempt %d: %s", e.tries, why.Reason) })
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// call starts a run, within the limit for a start.
func (r *Runner) call(b task.Backend, run task.Run) (session string, err error) {
	type outcome struct {
		session string
		err     error
	}
	done := make(chan outcome, 1)
	err, hung := r.bounded(r.Times.Start, func(ctx context.Context) error {
		s, err := b.Start(ctx, run)
		done <- outcome{s, err}
		return err
	}, func(error) { r.hear(run.Task.ID, run.Task.Gen, task.Progress{}) })
	if hung {
		return "", err
	}
	o := <-done
	return o.session, o.err
}

// run is the entry's run as a backend sees it. r.mu is held.
func (r *Runner) run(e *entry, prompt string) task.Run {
	run := task.Run{Task: *e.Task, Prompt: prompt}
	if c := e.Checkout; c != nil {
		run.Task.Dir, run.Task.Tree = c.Place(), c.Dir
	}
	for _, n := range e.notes {
		run.Notes = append(run.Notes, task.Note{ID: n.ID, Text: n.Text})
	}
	return run
}

// sleep reports whether d has passed before Close.
func (r *Runner) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.ctx.Done():
		return false
	}
}
