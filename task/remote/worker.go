package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/llm"
	"github.com/whet-dev/whet/task/store"
)

// A Worker works on the runs in the queue with whet's own agent.
type Worker struct {
	NATS  task.NATS
	Name  string   // what people see
	Dir   string   // where projects are put, while they are worked on
	Slots int      // runs at once
	Open  llm.Open // how the agent works on a task, by this machine's configuration
	Log   *slog.Logger

	*conn
}

// maxLost is how many workers in turn may be lost on a run before it has got
// any further. It is then taken for what killed them.
const maxLost = 5

// Work takes runs until ctx ends. Those that are under way then go back into
// the queue, and another worker goes on with them.
func (w *Worker) Work(ctx context.Context) error {
	var err error
	if w.conn, err = dial(w.NATS, w.Log); err != nil {
		return err
	}
	defer w.nc.Close()
	if err := os.MkdirAll(w.Dir, 0o700); err != nil {
		return err
	}
	var runs sync.WaitGroup
	defer runs.Wait()
	slots := make(chan struct{}, max(1, w.Slots))
	for reported := false; ctx.Err() == nil; {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		m, err := w.next(ctx)
		if err != nil && ctx.Err() == nil && !reported {
			w.log.Warn("no runs can be taken at the moment", "err", err)
		}
		if err == nil && reported {
			w.log.Info("runs can be taken again")
		}
		reported = err != nil
		if m == nil {
			<-slots
			if err != nil {
				sleep(ctx, min(time.Second, w.lost/8))
			}
			continue
		}
		runs.Go(func() {
			defer func() { <-slots }()
			w.take(ctx, m)
		})
	}
	return nil
}

// next waits for a run, for a while.
func (w *Worker) next(ctx context.Context) (jetstream.Msg, error) {
	s, err := w.stores(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	m, err := s.work.Next(jetstream.FetchContext(ctx))
	if errors.Is(err, nats.ErrTimeout) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		err = nil
	}
	return m, w.missed(err)
}

// take works on a run that was handed out.
func (w *Worker) take(ctx context.Context, m jetstream.Msg) {
	o, err := parseOrder(m.Subject(), m.Data())
	if err != nil {
		w.log.Warn("a run that is none was thrown away", "subject", brief(m.Subject()), "err", err)
		_ = m.Term() // it comes back otherwise, and is thrown away again
		return
	}
	log := w.log.With("task", o.Task.ID, "generation", o.Task.Gen)
	x := &work{Worker: w, order: o, log: log, msg: m, every: w.patience(ctx) / 4}
	x.ctx, x.cancel = context.WithCancelCause(ctx)
	defer x.cancel(nil)
	beats := make(chan struct{})
	go func() { defer close(beats); x.beat() }()
	defer func() { x.cancel(nil); <-beats }()
	switch err := x.run(); {
	case err == nil:
		log.Info("ended")
		if err := x.ack(); err != nil {
			log.Warn("the queue was not told of an end, and will find it in the journal", "err", err)
		}
	case errors.Is(err, errFenced):
		log.Warn("the run was taken over by another worker; what was done here since is dropped")
	default:
		log.Warn("the run goes back into the queue", "err", err)
		_ = m.NakWithDelay(w.again(ctx)) // it comes back by itself otherwise
	}
}

// patience is how long a worker may be silent: what the server was told last.
func (w *Worker) patience(ctx context.Context) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, call)
	defer cancel()
	if s, err := w.stores(ctx); err == nil {
		if info, err := s.work.Info(ctx); err == nil && info.Config.AckWait > 0 {
			return info.Config.AckWait
		}
	}
	return w.lost
}

// again is after how long another worker gets a run: at once from a worker that
// ends, else later, since there is something wrong.
func (w *Worker) again(ctx context.Context) time.Duration {
	if ctx.Err() != nil {
		return 0
	}
	return w.lost / 4
}

// A work is a run in the hands of this worker.
type work struct {
	*Worker
	order  order
	log    *slog.Logger
	msg    jetstream.Msg
	ctx    context.Context
	cancel context.CancelCauseFunc

	every   time.Duration // between signs of life
	rows    *journal
	copy    *checkout
	claimed uint64 // the row that says so
	agent   task.Backend
	mail    uint64 // the last letter
	said    chan task.Progress
}

func (x *work) ack() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.ctx), call)
	defer cancel()
	return x.msg.DoubleAck(ctx)
}

// beat tells the queue that the run is worked on.
func (x *work) beat() {
	for sleep(x.ctx, x.every) {
		_ = x.msg.InProgress() // the next one may get through
	}
}

// run works on the run until its end is written. An error says that it is not.
func (x *work) run() error {
	var err error
	if x.rows, err = x.openJournal(x.ctx, x.order.Task.ID); err != nil {
		return err
	}
	t := &x.order.Task
	lost := 0
	for _, row := range x.rows.rows {
		switch {
		case row.Gen > t.Gen, row.Gen == t.Gen && row.Kind == llm.EndRow:
			return nil // a copy of what has been done
		case row.Kind == claimRow:
			lost++
		default:
			lost = 0
		}
	}
	if err := x.write(claimRow, claim{x.Name}); err != nil {
		return err
	}
	x.claimed = x.rows.at()
	x.log.Info("taken", "agent", t.Agent, "title", t.Title)
	if lost >= maxLost {
		return x.fail(fmt.Sprintf("%d workers in turn were lost on it before it got any further", lost))
	}
	if err := x.unpack(); err != nil {
		return err
	}
	defer os.RemoveAll(x.copy.dir)
	return x.work()
}

func (x *work) write(kind string, body any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return x.rows.AddRows(x.order.Task.ID, store.Row{Gen: x.order.Task.Gen, Kind: kind, Body: b})
}

func (x *work) fail(reason string) error {
	return x.rows.AddRows(x.order.Task.ID, llm.Failed(x.order.Task.Gen, reason))
}

// unpack makes the project as it was when the last row was written.
func (x *work) unpack() error {
	s, err := x.stores(x.ctx)
	if err != nil {
		return err
	}
	at := x.order.Tree.Commit
	if state, ok := bodyOf[tree](x.rows.rows, treeRow); ok {
		if !commit.MatchString(state.Commit) {
			return fmt.Errorf("%.80q is no commit", state.Commit)
		}
		at = state.Commit
	}
	dir := filepath.Join(x.Dir, fmt.Sprintf("%s-%d", x.order.Task.ID, x.claimed))
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	x.copy = &checkout{dir: dir, base: x.order.Tree}
	err = x.copy.open(x.ctx, at, func(object string) (string, error) {
		if object != historyObject(x.order.Tree.Head) {
			object = x.order.Task.ID + "/" + object
		}
		return get(x.ctx, s, object)
	})
	if err != nil {
		err = errors.Join(fmt.Errorf("unpacking the project: %w", err), os.RemoveAll(dir))
	}
	return err
}

// AddRows keeps the state of the project before a result is: whoever goes on
// from that result finds the files that belong to it.
func (x *work) AddRows(id string, rows ...store.Row) error {
	if x.order.Task.Writes && slices.ContainsFunc(rows, func(r store.Row) bool { return r.Kind == llm.ResultRow }) {
		if err := x.keepFiles(); err != nil {
			return err
		}
	}
	return x.rows.AddRows(id, rows...)
}

// Rows is the journal's.
func (x *work) Rows(id string) ([]store.Row, error) { return x.rows.Rows(id) }

func (x *work) keepFiles() error {
	was := x.copy.at
	state, file, err := x.copy.keep(x.ctx)
	if state == "" || err != nil {
		return err
	}
	defer os.RemoveAll(filepath.Dir(file))
	s, err := x.stores(x.ctx) // known since the project was unpacked
	if err != nil {
		return err
	}
	name := x.order.Task.ID + "/"
	if err := patiently(x.ctx, func() error { return put(x.ctx, s, file, jetstream.ObjectMeta{Name: name + state}) }); err != nil {
		return err
	}
	if err := x.write(treeRow, tree{state}); err != nil {
		return err
	}
	if was != x.order.Tree.Commit {
		_ = s.trees.Delete(x.ctx, name+was) // it is only in the way
	}
	return nil
}

// work lets the agent work, and hands it its mail.
func (x *work) work() error {
	t := x.order.Task
	t.Dir = filepath.Join(x.copy.files(), filepath.FromSlash(x.order.Tree.Sub))
	x.said = make(chan task.Progress, 64)
	x.agent = llm.New(x.Open, x, func(_ string, _ uint32, p task.Progress) {
		select {
		case x.said <- p:
		default: // a hint
		}
	})
	defer x.agent.Close()
	r := task.Run{Task: t, Prompt: x.order.Prompt, Notes: x.order.Notes}
	if _, err := x.agent.Start(x.ctx, r); task.RefusalOf(err) != nil {
		return x.fail(fmt.Sprintf("the worker %s can't work on it: %v", x.Name, err))
	} else if err != nil {
		return err
	}
	s, err := x.stores(x.ctx)
	if err != nil {
		return err
	}
	letters := make(chan *nats.Msg, 16)
	sub, err := x.nc.ChanSubscribe(mailSubject(&t), letters)
	if err != nil {
		return err
	}
	defer sub.Unsubscribe() //nolint:errcheck // the connection may be away
	tick := time.NewTicker(x.every)
	defer tick.Stop()
	for p := (task.Progress{}); ; {
		look, err := x.agent.Look(x.ctx, r)
		if err != nil {
			return err
		}
		x.tell(look, p)
		if look.Ended() || look.Live == task.LiveParked {
			return x.outcome()
		}
		x.read(s, r)
		p = task.Progress{}
		select {
		case p = <-x.said:
		case <-letters:
		case <-tick.C:
		case <-x.ctx.Done():
			return context.Cause(x.ctx)
		}
	}
}

// outcome says whether the end was written.
func (x *work) outcome() error {
	x.rows.mu.Lock()
	defer x.rows.mu.Unlock()
	if n := len(x.rows.rows); n > 0 && x.rows.rows[n-1].Kind == llm.EndRow {
		return nil
	}
	return cmp.Or(x.rows.lost, errors.New("it was interrupted"))
}

// read hands new mail to the agent. What was read before by another worker the
// agent knows from its journal.
func (x *work) read(s *stores, r task.Run) {
	for range maxMail {
		ctx, cancel := context.WithTimeout(x.ctx, call)
		m, err := s.mail.GetMsg(ctx, x.mail+1, jetstream.WithGetMsgSubject(mailSubject(&r.Task)))
		cancel()
		if err != nil {
			return // there is none, or the next tick asks again
		}
		x.mail = m.Sequence
		var l letter
		switch err := json.Unmarshal(m.Data, &l); {
		case err != nil:
			x.log.Warn("mail that is none was left out", "err", err)
		case l.Interrupt:
			_ = x.agent.Interrupt(x.ctx, r) // never fails
		case l.Note != nil:
			if err := x.agent.Note(x.ctx, r, *l.Note); err != nil {
				x.log.Info("a message came too late; its sender is told", "err", err)
			}
		}
	}
}

// tell says how the run is, to whoever listens.
func (x *work) tell(look task.Look, p task.Progress) {
	look.Text, look.Reason, p.Text = cut(look.Text), cut(look.Reason), cut(p.Text)
	look.Changed = look.Changed[:min(len(look.Changed), 100)]
	b, err := json.Marshal(live{Gen: x.order.Task.Gen, Claim: x.claimed, Worker: x.Name, Look: look, Said: p})
	if err == nil && len(b) <= maxLive {
		_ = x.nc.Publish(liveSubjects+x.order.Task.ID, b) // a hint
	}
}

// cut bounds a text that is only shown on the way.
func cut(s string) string {
	const most = 4000
	if len(s) <= most {
		return s
	}
	s = s[:most]
	for !utf8.ValidString(s) && len(s) > most-utf8.UTFMax {
		s = s[:len(s)-1]
	}
	return s + "…"
}
