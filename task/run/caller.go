package run

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/whet-dev/whet/task"
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
