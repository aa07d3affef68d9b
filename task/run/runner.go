// Package run is the one process that acts on tasks: it starts them, looks how
// they are, cancels and revives them, and tells their parents. Everything that
// happens goes through [task.Apply] and is on disk before it has an effect, so
// that a runner that was killed goes on where it was.
//
// What backends say is looked up again, never only believed once: an event that
// got lost is found by the next look.
package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/store"
	"github.com/whet-dev/whet/task/worktree"
)

// A Worker is who a task is given to.
type Worker struct {
	Backend string
	Model   string
	Writes  bool // may change files
	Own     bool // it is whet's own agent, and nobody has chosen that
}

// Config says what a Runner works with. Dir, Backends and Worker are required.
type Config struct {
	Dir     string // where the state is kept
	Options task.Options
	// Backends makes those that there are. They tell hear what happens, and may
	// keep conversations in the journal.
	Backends func(hear task.Hear, journal *store.Store) []task.Backend
	// Worker finds who works as the agent in the project dir. Its error lists
	// who there is.
	Worker func(agent, dir string) (Worker, error)
	// Seats lists the agents that make up the council in the project dir.
	Seats   func(dir string) []string
	Version string
	Log     *slog.Logger
	Times   Times
}

// Times are the limits of everything that may hang. Zero values are defaults.
type Times struct {
	Start    time.Duration // for a backend to take a prompt: 15 s
	Note     time.Duration // to take a message: 10 s
	Abort    time.Duration // to answer an interrupt: 10 s
	Rest     time.Duration // to come to rest after it: 3 s
	Stable   time.Duration // and this long it must stay at rest: 300 ms
	Look     time.Duration // to say how a run is: 5 s
	Poll     time.Duration // between looks at an open task that says nothing: 5 s
	Grace    time.Duration // from quiet to stopped: Options.StopGraceMS, or 5 s
	Cooldown time.Duration // first pause after an overload: 2 s
	Tree     time.Duration // to make, save or merge a worktree: 2 min
}

func (t Times) withDefaults(o task.Options) Times {
	or := func(d *time.Duration, v time.Duration) { *d = cmp.Or(*d, v) }
	or(&t.Start, 15*time.Second)
	or(&t.Note, 10*time.Second)
	or(&t.Abort, 10*time.Second)
	or(&t.Rest, 3*time.Second)
	or(&t.Stable, 300*time.Millisecond)
	or(&t.Look, 5*time.Second)
	or(&t.Poll, 5*time.Second)
	or(&t.Grace, cmp.Or(time.Duration(o.StopGraceMS)*time.Millisecond, 5*time.Second))
	or(&t.Cooldown, 2*time.Second)
	or(&t.Tree, 2*time.Minute)
	return t
}

// A Runner is the one writer of a store.
type Runner struct {
	Config
	store    *store.Store
	backends map[string]task.Backend
	ctx      context.Context // ends with Close
	stop     context.CancelFunc
	work     sync.WaitGroup
	git      func() (*worktree.Git, error)
	trees    sync.Mutex // held while something is done with worktrees; taken before mu
	claiming sync.Mutex // held while the file of claims is written; taken before mu
	claimed  string     // what that file says

	mu      sync.Mutex
	lastID  int64 // milliseconds in the last id
	tasks   map[string]*entry
	open    map[string]*entry // of these, those that have not come to rest
	parents map[string]*parent
	links   map[string]string    // sessions that hear of another parent's tasks too
	cool    map[string]time.Time // by provider: not before then
	touched time.Time            // last request or change
	change  chan struct{}        // closed and replaced at every change
	changes int64                // how many there were
}

// An entry is a task in memory. Its Task is never changed in place: whoever
// holds the pointer holds a picture.
type entry struct {
	*task.Task
	notes     []store.Note // that no run has read, and that were not handed back
	notice    *task.Notice // that waits
	admitted  time.Time    // when this generation was taken up, in this process
	lively    bool         // has been seen busy since
	quietAt   time.Time    // first quiet look
	looked    time.Time
	looking   bool
	seen      bool // a look has come back since this process began or the machine slept
	again     bool // look once more when this look is done
	objective string
	starting  bool
	tries     int       // starts that were put off
	notBefore time.Time // next start
	abortBy   time.Time // after the time was over
}

// Open opens the store and takes up what the last runner left.
func Open(c Config) (*Runner, error) {
	s, err := store.Open(c.Dir)
	if err != nil {
		return nil, err
	}
	c.Times = c.Times.withDefaults(c.Options)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	r := &Runner{
		Config: c, store: s, backends: map[string]task.Backend{},
		tasks: map[string]*entry{}, open: map[string]*entry{}, parents: map[string]*parent{}, cool: map[string]time.Time{},
		touched: time.Now(), change: make(chan struct{}),
	}
	r.ctx, r.stop = context.WithCancel(context.Background())
	r.git = sync.OnceValues(func() (*worktree.Git, error) { return worktree.Find(r.ctx) })
	for _, b := range c.Backends(r.hear, s) {
		r.backends[b.Name()] = b
	}
	if err := r.load(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if d := s.Damaged(); d != "" {
		c.Log.Error("the record of tasks was damaged and has been set aside; a new one was begun", "file", d)
	}
	r.work.Go(r.ticks)
	return r, nil
}

func (r *Runner) load() error {
	tasks, err := r.store.Tasks()
	if err != nil {
		return err
	}
	notices, err := r.store.Notices()
	if err != nil {
		return err
	}
	waits, err := r.store.Waits()
	if err != nil {
		return err
	}
	if r.links, err = r.store.Links(); err != nil {
		return err
	}
	for key, w := range waits {
		r.parent(key).wait = &w
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range tasks {
		r.lastID = max(r.lastID, t.Created.UnixMilli())
		t.Started, t.Active = steady(t.Started), steady(t.Active)
		e := &entry{Task: t}
		if n, ok := notices[t.ID]; ok {
			e.notice = &n
		}
		if err := r.loadNotes(e); err != nil {
			return err
		}
		r.tasks[t.ID], e.objective = e, t.Objective()
		r.parent(t.Parent).add(e)
		r.changed(e, t)
		if _, err := r.apply(e, task.Event{Kind: task.Restarted}, nil); err != nil {
			return err
		}
		r.tidy(e)
	}
	for key := range r.parents {
		r.dirty(key)
	}
	r.forget(time.Now())
	return nil
}

// steady returns a time of the wall clock as one from which time can be measured
// even if that clock is set. What seems to lie in the future is now.
func steady(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	now := time.Now()
	return now.Add(-max(now.Sub(t), 0))
}

func (r *Runner) loadNotes(e *entry) error {
	if e.Phase.Ended() {
		return nil
	}
	notes, err := r.store.Notes(e.ID)
	for _, n := range notes {
		if n.State == store.NoteQueued || n.State == store.NoteStored {
			e.notes = append(e.notes, n)
		}
	}
	return err
}

// Close ends every run, in a way that they go on later, and closes the store.
func (r *Runner) Close() error {
	r.stop()
	var errs []error
	for _, b := range r.backends {
		errs = append(errs, b.Close())
	}
	r.work.Wait()
	r.flush()
	return errors.Join(append(errs, r.store.Close())...)
}

// apply takes an event to a task: what follows is on disk when it returns, or
// nothing has changed. set changes the rest of the task. r.mu is held.
func (r *Runner) apply(e *entry, ev task.Event, set func(*task.Task)) (task.Effect, error) {
	t := *e.Task
	var fx task.Effect
	t.Job, fx = task.Apply(e.Job, ev)
	if t.Job == e.Job {
		return fx, nil
	}
	now := time.Now()
	if fx.Has(task.Publish) {
		t.Ended, t.Tool, t.Retry, t.Waits = now, "", "", ""
	}
	if set != nil {
		set(&t)
	}
	if c := t.Checkout; fx.Has(task.Publish) && c != nil && c.Fate == "" {
		t.Checkout = c.With(func(c *task.Checkout) {
			if c.Fate = task.Unmerged; c.Base == "" {
				c.Fate = task.Unchanged // nothing has ever worked in it
			}
		})
	}
	c := store.Change{Task: &t, Kind: "state", Body: ev}
	notes := e.notes
	if fx.Has(task.Publish) {
		var unread []string
		if t.Phase.Ended() {
			for _, n := range notes {
				n.State = store.NoteReturned
				c.Notes, unread = append(c.Notes, n), append(unread, n.Text)
			}
			notes = nil
		}
		n := task.NoticeOf(&t, unread)
		c.Notice = &n
	}
	c.Settled = !t.Owed && e.Owed
	if err := r.store.Commit(c); err != nil {
		r.Log.Error("keeping a change", "task", e.Alias, "event", ev.Kind, "err", err)
		return 0, err
	}
	if c.Notice != nil || c.Settled {
		e.notice = c.Notice
	}
	e.notes = notes
	r.changed(e, &t)
	if fx.Has(task.Publish) {
		r.tidy(e)
	}
	return fx, nil
}

// note changes what lies beside a task's state, on disk with its next event.
// r.mu is held.
func (r *Runner) note(e *entry, set func(*task.Task)) {
	t := *e.Task
	set(&t)
	r.changed(e, &t)
}

// changed puts the new picture in place and tells whoever waits. r.mu is held.
func (r *Runner) changed(e *entry, t *task.Task) {
	e.Task = t
	if t.Phase.Closed() && !t.Uncertain && t.Lease != task.Reviving {
		delete(r.open, t.ID)
	} else {
		r.open[t.ID] = e
	}
	r.touched = time.Now()
	r.dirty(t.Parent)
	r.tell()
}

// tell lets go whoever waits for a change. r.mu is held.
func (r *Runner) tell() {
	r.changes++
	close(r.change)
	r.change = make(chan struct{})
}

// hear is how backends tell that something happened.
func (r *Runner) hear(id string, gen uint32, p task.Progress) {
	r.mu.Lock()
	e := r.tasks[id]
	if e == nil || e.Gen != gen {
		r.mu.Unlock()
		return
	}
	r.look(e)
	r.mu.Unlock()
	if p.Kind != "" {
		if err := r.store.Append(id, gen, p.Kind, p.Text); err != nil {
			r.Log.Warn("writing a task's log", "task", id, "err", err)
		}
	}
}

func (r *Runner) backend(name string) (task.Backend, error) {
	b, ok := r.backends[name]
	if !ok {
		return nil, fmt.Errorf("there is no backend %q; set task.agents in the configuration", name)
	}
	return b, nil
}

// contained runs f. If it panics, the stack is logged and f has refused: trouble
// with one task must not end the process that runs all of them.
func (r *Runner) contained(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			r.Log.Error("panicked", "panic", p, "stack", string(debug.Stack()))
			err = &task.Refusal{Reason: fmt.Sprintf("internal error: %v", p)}
		}
	}()
	return f()
}

// async runs f beside everything else, until Close at the latest.
func (r *Runner) async(f func()) {
	r.work.Go(func() { _ = r.contained(func() error { f(); return nil }) })
}

// bounded runs f with a limit that holds even if f ignores its context. late
// hears what f returned after the limit. hung says that it has not returned.
func (r *Runner) bounded(limit time.Duration, f func(context.Context) error, late func(error)) (err error, hung bool) {
	ctx, cancel := context.WithTimeout(r.ctx, limit)
	done := make(chan error, 1)
	go func() { // ends when f does, which Close can't promise
		defer cancel()
		done <- r.contained(func() error { return f(ctx) })
	}()
	timer := time.NewTimer(limit + limit/10)
	defer timer.Stop()
	select {
	case err := <-done:
		return err, false
	case <-timer.C:
	}
	select {
	case err := <-done: // both at once, after the machine was busy elsewhere
		return err, false
	default:
	}
	r.async(func() {
		select {
		case err := <-done:
			late(err)
		case <-r.ctx.Done():
		}
	})
	return context.DeadlineExceeded, true
}
