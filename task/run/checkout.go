package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/store"
	"github.com/whet-dev/whet/task/worktree"
)

// What to do about two tasks that want the same files.
const (
	onConflictQueue  = "queue"
	onConflictRefuse = "refuse"
	onConflictAllow  = "allow"
)

// plan finds out whether a new task could work in a worktree of its own.
func (r *Runner) plan(t *task.Task) error {
	policy := r.Options.Ownership.OnConflict
	wanted := t.Isolation == task.Isolated
	if !t.Writes || !wanted && (len(t.Files) == 0 || t.Isolation == task.Shared || cmp.Or(policy, "auto") != "auto") {
		return nil
	}
	g, err := r.git()
	if err == nil {
		t.Repo, err = g.Repository(r.ctx, t.Dir, t.Files)
	}
	if err != nil && wanted {
		return task.Errorf(task.BadRequest, "it can't have a worktree: %v; leave isolation out and it works in the project itself", err)
	}
	if err != nil {
		t.NoRepo = err.Error()
	}
	return nil
}

// isolated says whether a task that is about to start gets a worktree. r.mu is
// held.
func (r *Runner) isolated(e *entry) bool {
	return e.Repo != "" && (e.Isolation == task.Isolated || r.owner(e) != "")
}

// checkoutOf is where a task's worktree is to be.
func (r *Runner) checkoutOf(t *task.Task) *task.Checkout {
	return &task.Checkout{Home: t.Dir, Root: t.Repo, Dir: filepath.Join(r.Dir, "worktrees", t.ID)}
}

// prepare makes or updates a task's worktree, if it has one, before a run
// begins, and lets the guards know what the task claims. It returns what the
// task has to be told.
func (r *Runner) prepare(e *entry) (head string, err error) {
	defer r.writeClaims()
	r.mu.Lock()
	isolated := e.Checkout != nil
	r.mu.Unlock()
	if !isolated {
		return "", nil
	}
	g, err := r.git()
	if err != nil {
		return "", &task.Refusal{Reason: "it works in a worktree, and " + err.Error()}
	}
	r.trees.Lock()
	defer r.trees.Unlock()
	r.mu.Lock()
	c := e.Checkout
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(r.ctx, r.Times.Tree)
	defer cancel()
	var base string
	var conflicts []string
	switch {
	case !c.Kept():
		base, err = g.Add(ctx, c)
	case c.Fate == task.Clashing:
		base, conflicts, err = g.Update(ctx, c)
	default:
		return inWorktree(c, nil), nil
	}
	if err != nil && r.ctx.Err() != nil {
		return "", r.ctx.Err() // the next runner begins anew
	}
	if err != nil {
		return "", &task.Refusal{Reason: "its worktree could not be made: " + err.Error()}
	}
	// Nothing works in it before this is on disk: what is there without it may
	// be thrown away.
	r.mu.Lock()
	defer r.mu.Unlock()
	c = c.With(func(c *task.Checkout) {
		c.Base, c.Conflicts, c.Trouble = base, nil, ""
		if c.Fate != "" {
			c.Fate = task.Unmerged
		}
	})
	return inWorktree(c, conflicts), r.keepCheckout(e, c, "worktree")
}

// inWorktree tells a task where it works: prompts may name files by their
// place in the person's checkout.
func inWorktree(c *task.Checkout, conflicts []string) string {
	s := fmt.Sprintf("(You work in a git worktree of your own, %s, made from %s with all that was there. Where %s is named, take the same path in your worktree, and change nothing outside it. It is merged for you: you need not commit.)\n\n", c.Dir, c.Root, c.Root)
	if len(conflicts) > 0 {
		s += fmt.Sprintf("(The project has changed since, and your worktree now holds both. Resolve the conflicts in: %s.)\n\n", strings.Join(conflicts, ", "))
	}
	return s
}

// keepCheckout keeps what is known of a task's worktree. r.mu is held.
func (r *Runner) keepCheckout(e *entry, c *task.Checkout, kind string) error {
	t := *e.Task
	t.Checkout = c
	if err := r.store.Commit(store.Change{Task: &t, Kind: kind, Body: strings.Join(append([]string{c.Dir}, c.Conflicts...), " ")}); err != nil {
		return err
	}
	r.changed(e, &t)
	return nil
}

// saved looks what a run that has ended has left in its worktree.
func (r *Runner) saved(l *task.Look, t task.Task) {
	c := t.Checkout
	g, err := r.git()
	var files []string
	if err == nil {
		r.trees.Lock()
		defer r.trees.Unlock()
		ctx, cancel := context.WithTimeout(r.ctx, r.Times.Tree)
		defer cancel()
		files, err = g.Save(ctx, c)
	}
	l.Checkout = c.With(func(c *task.Checkout) {
		switch {
		case err != nil:
			c.Fate, c.Trouble = task.Unmerged, err.Error()
		case len(files) == 0:
			c.Fate = task.Unchanged
		default:
			c.Fate = task.Unmerged
		}
	})
	if err == nil {
		l.Changed = fromHome(c, files)
	}
}

// leftovers looks what a task that doesn't run any more has left.
func (r *Runner) leftovers(e *entry) (l task.Look) {
	r.mu.Lock()
	t := *e.Task
	r.mu.Unlock()
	if t.Checkout.Kept() {
		_ = r.contained(func() error { r.saved(&l, t); return nil })
	}
	return l
}

// fromHome names files of a repository as seen from the task's directory.
func fromHome(c *task.Checkout, files []string) (out []string) {
	for _, f := range files {
		if rel, err := filepath.Rel(c.Home, filepath.Join(c.Root, filepath.FromSlash(f))); err == nil {
			f = filepath.ToSlash(rel)
		}
		out = append(out, f)
	}
	return out
}

// tidy removes a worktree in which nothing waits any more. r.mu is held.
func (r *Runner) tidy(e *entry) {
	if c := e.Checkout; c == nil || c.Kept() || !e.Phase.Closed() || r.ctx.Err() != nil {
		return
	}
	if _, err := os.Lstat(e.Checkout.Dir); err != nil {
		return
	}
	r.async(func() {
		g, err := r.git()
		if err != nil {
			return
		}
		r.trees.Lock()
		defer r.trees.Unlock()
		r.mu.Lock()
		c := e.Checkout
		free := !c.Kept() && e.Phase.Closed() && e.Lease != task.Reviving
		r.mu.Unlock()
		if !free {
			return
		}
		if err := g.Remove(r.ctx, c); err != nil {
			r.Log.Warn("removing a worktree", "dir", c.Dir, "err", err)
		}
	})
}

// Merge brings the changes that a task made in its worktree into the project,
// looks whether they fit, or discards them, as q.Text says: apply, check or
// discard.
func (r *Runner) Merge(q task.Request) (*task.Reply, error) {
	if err := r.orchestrator(q.Caller); err != nil {
		return nil, err
	}
	mode := cmp.Or(strings.TrimSpace(q.Text), "apply")
	if !slices.Contains([]string{"apply", "check", "discard"}, mode) {
		return nil, task.Errorf(task.BadRequest, "mode is %.40q; it may be apply, check or discard", mode)
	}
	r.trees.Lock()
	defer r.trees.Unlock()
	r.mu.Lock()
	e, err := r.named(q)
	if err == nil {
		err = r.mergeable(e)
	}
	if err != nil {
		r.mu.Unlock()
		return nil, err
	}
	c := e.Checkout
	r.mu.Unlock()
	g, err := r.git()
	if err != nil {
		return nil, task.Errorf(task.BadRequest, "%v", err)
	}
	if mode == "discard" {
		return r.discard(e, g, c)
	}
	ctx, cancel := context.WithTimeout(r.ctx, r.Times.Tree)
	defer cancel()
	check := errors.New("only a check")
	m, err := g.Merge(ctx, c, func(files []string) error {
		if mode == "check" {
			return check
		}
		return r.unclaimed(e, c, files)
	})
	if err != nil && !errors.Is(err, check) {
		var refused *task.Error
		if errors.As(err, &refused) {
			return nil, err
		}
		return nil, task.Errorf(task.Conflict, "the changes of %s could not be merged: %v; they are still in %s", e.Alias, err, c.Dir)
	}
	reply, err := r.merged(e, c, m, mode == "check")
	if err == nil && reply.Task.Checkout.Fate == task.Merged {
		if err := g.Remove(r.ctx, c); err != nil { // tried again when the runner starts
			r.Log.Warn("removing a worktree", "dir", c.Dir, "err", err)
		}
	}
	return reply, err
}

// mergeable refuses a merge of what isn't there, or of a task at work. r.mu is
// held.
func (r *Runner) mergeable(e *entry) error {
	switch c := e.Checkout; {
	case c == nil:
		return task.Errorf(task.BadRequest, "%s works in the project itself: there is nothing to merge", e.Alias)
	case !e.Phase.Closed():
		return task.Errorf(task.NotRunning, "%s has not ended (%s): merge it when it has, or end it with task_cancel", e.Alias, e.Phase)
	case e.Lease != task.NoLease:
		return r.leased(e)
	case e.Uncertain:
		return task.Errorf(task.InDoubt, "it is not certain that %s rests; that is being found out, try again in %d seconds", e.Alias, int(2*r.Times.Grace/time.Second)+1)
	case !c.Kept():
		return task.Errorf(task.BadRequest, "nothing of %s waits to be merged: its changes are %s", e.Alias, c.Fate)
	}
	return nil
}

// unclaimed refuses to write files that another task at work owns.
func (r *Runner) unclaimed(e *entry, c *task.Checkout, files []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, claim := range r.claims() {
		for _, f := range files {
			if claim.Task != e.ID && claim.Owns(filepath.Join(c.Root, filepath.FromSlash(f))) {
				return task.Errorf(task.Conflict, "%s belongs to %s until that ends: merge %s then", f, claim.Alias, e.Alias)
			}
		}
	}
	return nil
}

// merged takes in and tells what came of a merge.
func (r *Runner) merged(e *entry, c *task.Checkout, m worktree.Merge, check bool) (*task.Reply, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	files, conflicts := fromHome(c, m.Files), fromHome(c, m.Conflicts)
	head := fmt.Sprintf("task_id: %s\nmerge: ", e.ID)
	switch {
	case len(conflicts) > 0:
		err := r.keepCheckout(e, c.With(func(c *task.Checkout) { c.Fate, c.Conflicts = task.Clashing, conflicts }), "merge conflict")
		return &task.Reply{Task: e.Task, Failed: true, Text: head + fmt.Sprintf(
			"conflict\nNothing was changed. The project and %s have changed the same places in:\n%s\nnext: task_revive with task_id %q gives it both, with the conflicts marked, to resolve; then merge again. Or drop its changes with mode discard.",
			e.Alias, strings.Join(conflicts, "\n"), e.Alias)}, err
	case check:
		return &task.Reply{Task: e.Task, Text: head + fmt.Sprintf("fits\n%d files would change:\n%s", len(files), strings.Join(files, "\n"))}, nil
	}
	err := r.keepCheckout(e, c.With(func(c *task.Checkout) { c.Fate, c.Conflicts = task.Merged, nil }), "merged")
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return &task.Reply{Task: e.Task, Text: head + "done\nThe project has all of it already."}, nil
	}
	return &task.Reply{Task: e.Task, Text: head + fmt.Sprintf("done\nThe changes of %s are in %s now, not committed:\n%s", e.Alias, c.Root, strings.Join(files, "\n"))}, nil
}

func (r *Runner) discard(e *entry, g *worktree.Git, c *task.Checkout) (*task.Reply, error) {
	r.mu.Lock()
	err := r.keepCheckout(e, c.With(func(c *task.Checkout) { c.Fate, c.Conflicts = task.Discarded, nil }), "discarded")
	t := e.Task
	r.mu.Unlock()
	if err == nil {
		err = g.Remove(r.ctx, c)
	}
	if err != nil {
		return nil, err
	}
	return &task.Reply{Task: t, Text: fmt.Sprintf("task_id: %s\nmerge: discarded\nThe changes of %s are gone; the project was not touched.", e.ID, e.Alias)}, nil
}
