package run

import (
	"time"

	"github.com/whet-dev/whet/task"
)

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
