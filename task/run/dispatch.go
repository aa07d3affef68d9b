package run

import (
	"cmp"
	"context"
	"fmt"
	mrand "math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/whet-dev/whet/task"
)

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
			c.Strict = r.Options.Ownership.Strict
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
		r.async(func() {
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
	r.async(func() {
		var session string
		var left task.Look
		err := r.contained(func() error {
			head, err := r.prepare(e)
			if err != nil {
				return err
			}
			if b == nil {
				return &task.Refusal{Reason: fmt.Sprintf("there is no backend %q any more", run.Task.Backend)}
			}
			run.Prompt = head + run.Prompt
			session, err = r.call(b, run)
			return err
		})
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
	var started string
	err, hung := r.bounded(r.Times.Start, func(ctx context.Context) (err error) {
		started, err = b.Start(ctx, run)
		return err
	}, func(error) { r.hear(run.Task.ID, run.Task.Gen, task.Progress{}) })
	if hung {
		return "", err // started is still being written
	}
	return started, err
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
