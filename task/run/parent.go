package run

import (
	"slices"
	"strings"
	"time"

	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/store"
)

// A parent is a session that has tasks.
type parent struct {
	tasks   []*entry // oldest first
	byAlias map[string]*entry
	wait    *store.Wait
	dirty   bool
}

// parent returns the session's, made if need be.
func (r *Runner) parent(key string) *parent {
	p := r.parents[key]
	if p == nil {
		p = &parent{byAlias: map[string]*entry{}}
		r.parents[key] = p
	}
	return p
}

func (p *parent) add(e *entry) {
	p.tasks = append(p.tasks, e)
	p.byAlias[e.Alias] = e
}

func (p *parent) remove(id string) {
	i := slices.IndexFunc(p.tasks, func(e *entry) bool { return e.ID == id })
	delete(p.byAlias, p.tasks[i].Alias)
	p.tasks = slices.Delete(p.tasks, i, i+1)
}

func (p *parent) pictures() []*task.Task {
	out := make([]*task.Task, len(p.tasks))
	for i, e := range p.tasks {
		out[i] = e.Task
	}
	return out
}

// noticesOf returns the notices that wait for a session, and how many of its
// tasks are open. r.mu is held.
func (r *Runner) noticesOf(p *parent) (out []task.Notice, open int) {
	for _, e := range p.tasks {
		if e.notice != nil && r.tasks[e.For] == nil {
			out = append(out, *e.notice)
		}
		if !e.Phase.Closed() {
			open++
		}
	}
	return out, open
}

// Acknowledge takes in that the caller has consumed notices, by their ids.
func (r *Runner) Acknowledge(q task.Request) (*task.Reply, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range q.Notices {
		name, _, _ := strings.Cut(id, "/")
		e := r.tasks[name]
		if e == nil || e.notice == nil || e.notice.ID != id || e.Parent != q.Parent && r.links[e.Parent] != q.Parent {
			continue // of an earlier revision, or somebody else's
		}
		if _, err := r.apply(e, task.Event{Kind: task.Acknowledged, Gen: e.notice.Gen, Rev: e.notice.Rev}, nil); err != nil {
			return nil, err
		}
	}
	return &task.Reply{}, nil
}

// maxReason bounds a reason to wait, in characters.
const maxReason = 500

// WaitForUser keeps that the caller waits for a person to write.
func (r *Runner) WaitForUser(q task.Request) (*task.Reply, error) {
	if err := r.orchestrator(q.Caller); err != nil {
		return nil, err
	}
	reason := strings.Join(strings.Fields(q.Text), " ")
	if n := len([]rune(reason)); n == 0 || n > maxReason {
		return nil, task.Errorf(task.BadRequest, "the reason has %d characters: say in 1 to %d what you wait for", n, maxReason)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.parent(q.Parent)
	if _, open := r.noticesOf(p); open > 0 {
		return &task.Reply{Text: "state: waiting_for_user_skipped\nprotocol: whet.wait_for_user.v1\n\nTasks are still running, and you are told when they end: end your turn now, without another call."}, nil
	}
	w := &store.Wait{Since: time.Now(), Reason: reason}
	if err := r.store.SetWait(q.Parent, w); err != nil {
		return nil, err
	}
	p.wait = w
	r.dirty(q.Parent)
	return &task.Reply{Text: "state: waiting_for_user\nprotocol: whet.wait_for_user.v1\nreason: " + reason + "\n\nStop here: end your turn and call nothing more until the person writes."}, nil
}

// UserWrote takes in that a person has really written in the caller's session.
func (r *Runner) UserWrote(q task.Request) (*task.Reply, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, p := range r.parents {
		if p.wait == nil || key != q.Parent && r.links[key] != q.Parent {
			continue
		}
		if err := r.store.SetWait(key, nil); err != nil {
			return nil, err
		}
		p.wait = nil
		r.dirty(key)
	}
	return &task.Reply{}, nil
}

// List returns tasks: the caller's, or with All everyone's.
func (r *Runner) List(q task.Request) (*task.Reply, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	reply := &task.Reply{}
	for _, e := range r.tasks {
		if q.All || !q.Person && e.Parent == q.Parent || q.Person && (e.Dir == q.Dir || e.Tree == q.Tree && q.Tree != "") {
			reply.Tasks = append(reply.Tasks, e.Task)
		}
		if !e.Phase.Closed() {
			reply.Open++
		}
	}
	slices.SortFunc(reply.Tasks, task.Older)
	return reply, nil
}

// Adopt makes a task the caller's, under a new alias of the caller's own.
func (r *Runner) Adopt(q task.Request) (*task.Reply, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, err := r.find(task.Caller{Parent: q.Parent, Person: true}, q.ID)
	if err != nil {
		return nil, err
	}
	if e.Parent == q.Parent {
		return &task.Reply{Task: e.Task}, nil
	}
	t := *e.Task
	t.Parent = q.Parent
	if err := r.store.Adopt(&t, task.Prefix(t.Agent)); err != nil {
		return nil, err
	}
	old := e.Parent
	r.parent(old).remove(e.ID)
	r.dirty(old)
	r.changed(e, &t)
	r.parent(q.Parent).add(e)
	return &task.Reply{Task: &t}, nil
}

// Collect forgets ended tasks: those that are acknowledged, or with All every
// ended one.
func (r *Runner) Collect(q task.Request) (*task.Reply, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.drop(func(e *entry) bool { return q.All || e.Acked })
	return &task.Reply{Open: n}, nil
}

// dirty marks a session's mail file as stale. r.mu is held.
func (r *Runner) dirty(key string) {
	r.parent(key).dirty = true
	if session, ok := r.links[key]; ok {
		r.parent(session).dirty = true
	}
}

// link lets a session hear of the tasks of the parent that the named task has:
// the same conversation, reached in two ways.
func (r *Runner) link(session, id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.tasks[id]
	if e == nil || e.Parent == session || r.links[e.Parent] == session {
		return nil
	}
	if err := r.store.Link(e.Parent, session); err != nil {
		return err
	}
	r.links[e.Parent] = session
	r.dirty(e.Parent)
	return nil
}

// heard lists everything that a session hears of. r.mu is held.
func (r *Runner) heard(key string) *parent {
	p := r.parent(key)
	all := &parent{tasks: p.tasks, wait: p.wait}
	for other, session := range r.links {
		if o := r.parents[other]; session == key && o != nil {
			all.tasks = slices.Concat(all.tasks, o.tasks)
			if all.wait == nil {
				all.wait = o.wait
			}
		}
	}
	return all
}
