package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/llm"
)

// New returns the backend that gives tasks to workers. It needs no server to be
// there yet. Closing it leaves the runs to their workers.
func New(o task.NATS, log *slog.Logger, hear task.Hear) (task.Backend, error) {
	c, err := dial(o, log)
	if err != nil {
		return nil, err
	}
	b := &backend{conn: c, hear: hear, lives: map[string]live{}, rows: map[string]seen{}, sending: map[string]*sending{}}
	b.ctx, b.stop = context.WithCancel(context.Background())
	if _, err := c.nc.Subscribe(liveSubjects+"*", b.heard); err != nil {
		c.nc.Close()
		return nil, err
	}
	return b, nil
}

type backend struct {
	*conn
	hear task.Hear
	ctx  context.Context
	stop context.CancelFunc
	work sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	lives   map[string]live     // the last of each task
	rows    map[string]seen     // of each task at work
	sending map[string]*sending // by task
}

// seen is a last row, and since when it is the last as far as we know.
type seen struct {
	row uint64
	at  time.Time
}

// A sending is a run on its way to the queue: packing a project may take longer
// than a start may.
type sending struct {
	gen  uint32
	done chan struct{}
	stop context.CancelFunc
	err  error // once it is done
}

// maxSending bounds how long a project may be on its way.
const maxSending = 15 * time.Minute

func (b *backend) Name() string { return Name }

// heard takes in what a worker says.
func (b *backend) heard(m *nats.Msg) {
	id, l, err := parseLive(m.Subject, m.Data)
	if err != nil {
		b.log.Warn("a message that is none was left out", "subject", brief(m.Subject), "err", err)
		return
	}
	l.heard = time.Now()
	b.mu.Lock()
	old, known := b.lives[id]
	stale := known && (l.Gen < old.Gen || l.Gen == old.Gen && l.Claim < old.Claim)
	if !stale && (known || len(b.lives) < maxLives) {
		b.lives[id] = l
	}
	b.mu.Unlock()
	if !stale {
		b.hear(id, l.Gen, task.Progress{Kind: brief(l.Said.Kind), Text: l.Said.Text})
	}
}

// maxLives bounds what is remembered of tasks, which may be anybody's.
const maxLives = 10000

func brief(s string) string { return fmt.Sprintf("%.100s", s) }

func (b *backend) Start(ctx context.Context, r task.Run) (string, error) {
	id := r.Task.ID
	if !taskID.MatchString(id) || r.Task.Gen == 0 {
		return "", &task.Refusal{Reason: fmt.Sprintf("%q, generation %d, can't be sent to a worker", id, r.Task.Gen)}
	}
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return "", errors.New("whet is ending")
	}
	s := b.sending[id]
	if s == nil || s.gen != r.Task.Gen || s.over() {
		if s != nil {
			s.stop()
		}
		s = &sending{gen: r.Task.Gen, done: make(chan struct{})}
		sendCtx, stop := context.WithTimeout(b.ctx, maxSending)
		s.stop = stop
		b.sending[id] = s
		b.work.Go(func() {
			s.err = b.send(sendCtx, r)
			stop()
			close(s.done)
			b.hear(id, r.Task.Gen, task.Progress{})
		})
	}
	b.mu.Unlock()
	select {
	case <-s.done:
		return id, s.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (s *sending) over() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// send puts a run into the queue, unless it is there or has been worked on.
func (b *backend) send(ctx context.Context, r task.Run) error {
	s, err := b.stores(ctx)
	if err != nil {
		return err
	}
	if err := b.patience(ctx, s); err != nil {
		return b.missed(err)
	}
	at, err := b.where(ctx, &r.Task)
	switch {
	case err != nil:
		return err
	case at.gen == r.Task.Gen && (at.ended || at.queued), at.gen > r.Task.Gen:
		return nil
	case at.gen != 0 && at.gen < r.Task.Gen && !at.ended:
		return &task.Refusal{Reason: "it is still at work"}
	}
	tree, err := b.sendProject(ctx, &r.Task)
	if err != nil {
		return err
	}
	o, err := orderOf(r, tree)
	if err != nil {
		return err
	}
	if most := b.nc.MaxPayload(); int64(len(o)) > most-1024 {
		return &task.Refusal{Reason: fmt.Sprintf("its prompt has %d KiB, more than the NATS server's max_payload lets through (%d KiB): put the material into a file and name that", len(o)>>10, most>>10)}
	}
	_, err = b.js.Publish(ctx, runSubject(&r.Task), o, jetstream.WithExpectLastSequencePerSubject(0))
	if wrongLast(err) { // it is there already
		return nil
	}
	return b.missed(err)
}

// patience tells the server how long a worker may be silent.
func (b *backend) patience(ctx context.Context, s *stores) error {
	info, err := s.work.Info(ctx)
	if err != nil || info.Config.AckWait == b.lost {
		return err
	}
	config := info.Config
	config.AckWait = b.lost
	_, err = s.runs.UpdateConsumer(ctx, config)
	return err
}

// A place is how far a task has come, as the server knows.
type place struct {
	queued bool   // its generation is in the queue, or with a worker
	seq    uint64 // of the last row
	gen    uint32 // of the last row; 0 if there is none
	ended  bool   // the last row is an end
}

// where looks the queue up first: who takes a run out of it has written its end
// before.
func (b *backend) where(ctx context.Context, t *task.Task) (p place, err error) {
	s, err := b.stores(ctx)
	if err != nil {
		return p, err
	}
	m, err := last(ctx, s.runs, runSubject(t))
	if err != nil {
		return p, b.missed(err)
	}
	p.queued = m != nil
	if m, err = last(ctx, s.log, logSubjects+t.ID); m == nil || err != nil {
		return p, b.missed(err)
	}
	row := rowOf(m.Header, nil)
	p.seq, p.gen, p.ended = m.Sequence, row.Gen, row.Kind == llm.EndRow
	return p, nil
}

func (b *backend) Look(ctx context.Context, r task.Run) (task.Look, error) {
	t := &r.Task
	b.mu.Lock()
	s := b.sending[t.ID]
	b.mu.Unlock()
	if s != nil && s.gen == t.Gen {
		if !s.over() {
			return task.Look{Live: task.LiveRetry, Reason: "the project is being sent to the workers"}, nil
		}
		if refusal := task.RefusalOf(s.err); refusal != nil && t.Phase == task.Running {
			return task.Look{Live: task.LiveQuiet, End: task.Erred, Reason: refusal.Reason}, nil
		}
	}
	at, err := b.where(ctx, t)
	switch mine := at.gen == t.Gen; {
	case err != nil:
		return task.Look{}, err
	case mine && at.ended, at.gen > t.Gen:
		return b.ended(ctx, t)
	case mine && !at.queued, !at.queued && t.Phase == task.Running:
		return task.Look{Live: task.LiveParked}, nil
	case !at.queued:
		return task.Look{Live: task.LiveQuiet}, nil
	case !mine:
		return task.Look{Live: task.LiveRetry, Reason: "no worker has taken it yet"}, nil
	}
	l, quiet := b.silence(t, at)
	if quiet >= b.lost {
		l.Look.Live, l.Look.Reason, l.Look.Tool = task.LiveRetry, fmt.Sprintf("its worker %s has not been heard of for %d s; the next one that is free goes on", brief(l.Worker), int(quiet.Seconds())), ""
	} else if l.Look.Live != task.LiveRetry {
		l.Look.Live = task.LiveBusy
	}
	return l.Look, nil
}

// silence is the last that was heard of a run from its worker, and for how long
// nothing was, nor has it added a row.
func (b *backend) silence(t *task.Task, at place) (live, time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.lives[t.ID]
	if l.Gen != t.Gen {
		l = live{}
	}
	if b.rows[t.ID].row != at.seq {
		b.rows[t.ID] = seen{at.seq, time.Now()}
	}
	return l, min(time.Since(l.heard), time.Since(b.rows[t.ID].at))
}

// ended reads from its journal how a run ended, and brings what became of the
// project.
func (b *backend) ended(ctx context.Context, t *task.Task) (task.Look, error) {
	rows, _, err := b.read(ctx, t.ID)
	if err != nil {
		return task.Look{}, err
	}
	b.mu.Lock()
	delete(b.rows, t.ID)
	b.mu.Unlock()
	l := llm.LookOf(rows, t.Gen)
	if !l.Ended() {
		return l, nil
	}
	state, ok := bodyOf[tree](rows, treeRow)
	if !ok {
		return l, nil
	}
	changed, hint, err := b.bring(ctx, t, state.Commit)
	if err != nil && ctx.Err() == nil && b.nc.IsConnected() { // trying again would not help
		hint = fmt.Sprintf("(Another machine did this, and its changes could not be fetched: %v)", err)
	} else if err != nil {
		return task.Look{}, err
	}
	if len(changed) > 0 {
		l.Changed = changed
	}
	l.Text = strings.TrimSpace(l.Text + "\n\n" + hint)
	return l, nil
}

// post sends mail to a run.
func (b *backend) post(ctx context.Context, t *task.Task, l letter) error {
	body, err := json.Marshal(l)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, call)
	defer cancel()
	_, err = b.js.Publish(ctx, mailSubject(t), body)
	return err
}

func (b *backend) Note(ctx context.Context, r task.Run, n task.Note) error {
	at, err := b.where(ctx, &r.Task)
	switch {
	case err != nil:
		return err
	case at.ended && at.gen == r.Task.Gen, at.gen > r.Task.Gen:
		return &task.Refusal{Reason: "it has just ended"}
	case !at.queued:
		return &task.Refusal{Reason: "it is not at work"}
	}
	return b.post(ctx, &r.Task, letter{Note: &n})
}

// Interrupt asks the worker that has the run to end it. Where no worker has it,
// or the one that has is silent, the end is written here: whatever that worker
// adds later is refused.
func (b *backend) Interrupt(ctx context.Context, r task.Run) error {
	b.mu.Lock()
	s := b.sending[r.Task.ID]
	b.mu.Unlock()
	if s != nil && s.gen == r.Task.Gen {
		s.stop()
		select {
		case <-s.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for {
		at, err := b.where(ctx, &r.Task)
		taken := at.gen == r.Task.Gen
		_, quiet := b.silence(&r.Task, at)
		switch {
		case err != nil:
			return err
		case at.gen > r.Task.Gen, taken && at.ended, !at.queued && !taken:
			return nil
		case taken && at.queued && quiet < b.lost:
			return b.post(ctx, &r.Task, letter{Interrupt: true})
		}
		j := &journal{c: b.conn, ctx: ctx, task: r.Task.ID, last: at.seq}
		if err := j.AddRows(r.Task.ID, llm.Aborted(r.Task.Gen)); !errors.Is(err, errFenced) {
			return err
		}
	}
}

// Close leaves the runs to their workers; the next runner hears of their ends.
func (b *backend) Close() error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.stop()
	b.work.Wait()
	b.nc.Close()
	return nil
}
