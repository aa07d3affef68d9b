package run

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/whet-dev/whet/internal/state"
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

// until calls look, at first and after each change, until it reports true; at
// most for wait, and not longer than the caller and the runner are there. A tick
// of poll, which may be nil, counts as a change.
func (r *Runner) until(wait time.Duration, gone <-chan struct{}, poll <-chan time.Time, look func() bool) {
	limit := time.NewTimer(wait)
	defer limit.Stop()
	for {
		r.mu.Lock()
		change := r.change // before the look, so that none is missed
		r.mu.Unlock()
		if look() || wait == 0 {
			return
		}
		select {
		case <-change:
		case <-poll:
		case <-limit.C:
			return
		case <-gone:
			return
		case <-r.ctx.Done():
			return
		}
	}
}

// Notices returns the caller's notices that wait. With q.Wait it waits until
// there is one, or no task is open.
func (r *Runner) Notices(q task.Request, gone <-chan struct{}) (*task.Reply, error) {
	var reply *task.Reply
	told := false
	r.until(q.Wait, gone, nil, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		p := r.parent(q.Parent)
		notices, open := r.noticesOf(p)
		reply = &task.Reply{Notices: notices, Open: open, Text: task.Board(p.pictures(), time.Now(), r.Options.Budget)}
		told = len(notices) > 0 || open == 0
		return told
	})
	if !told && q.Wait > 0 && r.ctx.Err() != nil {
		return nil, task.Errorf(task.Internal, "the runner is ending")
	}
	return reply, nil
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

// Await waits until one of the named tasks has ended, or any of the caller's if
// none is named, at most for q.Wait. It returns what has ended.
func (r *Runner) Await(q task.Request, gone <-chan struct{}) (reply *task.Reply, err error) {
	r.until(q.Wait, gone, nil, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		reply, err = r.closedOf(q)
		return err != nil || len(reply.Tasks) > 0 || reply.Open == 0
	})
	return reply, err
}

// closedOf lists the tasks of a request that have ended and are not
// acknowledged, and counts the open ones. r.mu is held.
func (r *Runner) closedOf(q task.Request) (*task.Reply, error) {
	which := r.parent(q.Parent).tasks
	if len(q.IDs) > 0 {
		which = nil
		for _, id := range q.IDs {
			e, err := r.find(q.Caller, id)
			if err != nil {
				return nil, err
			}
			which = append(which, e)
		}
	}
	reply := &task.Reply{}
	for _, e := range which {
		switch {
		case !e.Phase.Closed():
			reply.Open++
		case !e.Acked:
			reply.Tasks = append(reply.Tasks, e.Task)
		}
	}
	return reply, nil
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

// Watch is [Runner.List] at the next change after the one numbered q.Seq, or
// after q.Wait.
func (r *Runner) Watch(q task.Request, gone <-chan struct{}) (*task.Reply, error) {
	var seq int64
	r.until(q.Wait, gone, nil, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		seq = r.changes
		return seq != q.Seq
	})
	reply, err := r.List(q) // may hold more than seq says: then the next one comes at once
	if err == nil {
		reply.Seq = seq
	}
	return reply, err
}

// Lines returns those of a task's log after the one numbered q.Seq. With
// q.Wait it waits for one while the task is open.
func (r *Runner) Lines(q task.Request, gone <-chan struct{}) (reply *task.Reply, err error) {
	tick := time.NewTicker(time.Second) // some lines change no state
	defer tick.Stop()
	r.until(q.Wait, gone, tick.C, func() bool {
		reply, err = r.lines(q)
		return err != nil || len(reply.Log) > 0 || reply.Task.Phase.Closed()
	})
	return reply, err
}

func (r *Runner) lines(q task.Request) (*task.Reply, error) {
	const most = 500
	r.mu.Lock()
	e, err := r.find(q.Caller, q.ID)
	if err != nil {
		r.mu.Unlock()
		return nil, err
	}
	reply := &task.Reply{Task: e.Task}
	r.mu.Unlock()
	lines, err := r.store.Log(reply.Task.ID, q.Seq, most)
	if err != nil {
		return nil, err
	}
	for _, l := range lines {
		reply.Log = append(reply.Log, task.Entry{Seq: l.Seq, At: l.At, Gen: l.Gen, Kind: l.Kind, Body: l.Body})
	}
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

// flush writes the mail files that are stale, and takes in what hooks left.
func (r *Runner) flush() {
	type letter struct {
		key  string
		mail task.Mail
		gone bool
	}
	r.takeSlips() // first: one may say whom the mail is for
	var letters []letter
	now := time.Now()
	r.mu.Lock()
	for key, p := range r.parents {
		if !p.dirty {
			continue
		}
		p.dirty = false
		p = r.heard(key)
		l := letter{key: key, gone: len(p.tasks) == 0 && p.wait == nil}
		l.mail.Notices, l.mail.Open = r.noticesOf(p)
		if r.links[key] != "" {
			l.mail.Notices = nil // the session that is linked is told of them
		}
		l.mail.Board = task.Board(p.pictures(), now, r.Options.Budget)
		l.mail.Waiting = p.wait != nil
		letters = append(letters, l)
	}
	r.mu.Unlock()
	r.writeClaims()
	for _, l := range letters {
		path := task.MailFile(r.Dir, l.key)
		var err error
		if l.gone {
			err = os.Remove(path)
		} else {
			err = writeMail(path, l.mail)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			r.Log.Warn("writing a session's mail", "err", err)
		}
	}
}

// writeClaims keeps the file of claims as it should be.
func (r *Runner) writeClaims() {
	r.claiming.Lock()
	defer r.claiming.Unlock()
	r.mu.Lock()
	claims := r.claims()
	r.mu.Unlock()
	b, err := json.Marshal(claims)
	if err == nil && string(b) == r.claimed {
		return
	}
	switch {
	case err != nil:
	case len(claims) == 0:
		if err = os.Remove(task.ClaimFile(r.Dir)); errors.Is(err, os.ErrNotExist) {
			err = nil
		}
	default:
		err = replace(task.ClaimFile(r.Dir), b)
	}
	if err != nil {
		r.Log.Warn("writing what tasks own", "err", err)
		return
	}
	r.claimed = string(b)
}

func writeMail(path string, m task.Mail) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return replace(path, b)
}

func replace(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	// It can be made again at any time, so it needn't survive a power cut.
	if err := os.WriteFile(path+".new", b, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func (r *Runner) takeSlips() {
	err := state.Spool(task.SlipDir(r.Dir)).Take(func(b []byte) error {
		var s task.Slip
		if json.Unmarshal(b, &s) != nil {
			return nil // not one of ours: drop it
		}
		q := task.Request{Caller: task.Caller{Parent: s.Parent}, Notices: s.Read}
		if s.UserWrote {
			if _, err := r.UserWrote(q); err != nil {
				return err
			}
		}
		if _, err := r.Acknowledge(q); err != nil {
			return err
		}
		return r.link(s.Parent, s.Launched)
	})
	if err != nil {
		r.Log.Warn("taking in what hooks left", "err", err)
	}
}
