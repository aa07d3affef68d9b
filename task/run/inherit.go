package run

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/whet-dev/whet/internal/proc"
	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/store"
)

// left lists the tasks that connections to our MCP server, which have ended
// since, left in the caller's project. A client that is started again resumes
// its conversation over a new connection. r.mu is held.
func (r *Runner) left(c task.Caller) (out []*entry) {
	if !strings.HasPrefix(c.Parent, task.MCPParent) || c.Dir == "" {
		return nil
	}
	for _, e := range r.tasks {
		if e.Dir == c.Dir && e.Parent != c.Parent && ended(e.Parent) {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b *entry) int { return task.Older(a.Task, b.Task) })
	return out
}

// ended reports whether the connection that a parent is has surely ended.
func ended(parent string) bool {
	id, ok := strings.CutPrefix(parent, task.MCPParent)
	if !ok {
		return false
	}
	digits, _, ok := strings.Cut(id, "-")
	pid, err := strconv.Atoi(digits)
	return ok && err == nil && pid != os.Getpid() && !proc.Alive(pid)
}

// inherit makes a task that an ended connection left the caller's who names it,
// under the name that it has. r.mu is held.
func (r *Runner) inherit(c task.Caller, name string) *entry {
	for _, e := range r.left(c) {
		if e.ID != name && e.Alias != name {
			continue
		}
		t := *e.Task
		t.Parent = c.Parent
		if err := r.store.Commit(store.Change{Task: &t, Kind: "adopted", Body: t.Parent}); err != nil {
			r.Log.Warn("taking over a task", "task", e.Alias, "err", err)
			return nil
		}
		old := e.Parent
		r.parent(old).remove(e.ID)
		r.dirty(old)
		r.changed(e, &t)
		r.parent(c.Parent).add(e)
		return e
	}
	return nil
}

// legacy says which tasks the caller could name though they aren't its own.
func (r *Runner) legacy(c task.Caller) string {
	var names []string
	for _, e := range r.left(c) {
		names = append(names, e.Alias)
	}
	if len(names) == 0 {
		return ""
	}
	return "; earlier ones in this project left " + strings.Join(names[max(0, len(names)-10):], ", ")
}
