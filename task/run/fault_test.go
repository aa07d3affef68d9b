package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/run"
	"github.com/whet-dev/whet/task/store"
	"github.com/whet-dev/whet/task/tasktest"
)

func TestJumped(t *testing.T) {
	now := time.Now()
	for by, want := range map[time.Duration]bool{
		0: false, 500 * time.Millisecond: false, -500 * time.Millisecond: false, 59 * time.Second: false,
		2 * time.Minute: true, -2 * time.Minute: true, 48 * time.Hour: true, -48 * time.Hour: true,
	} {
		if got := run.Jumped(now.Round(0), now.Round(0).Add(by)); got != want {
			t.Errorf("by %v: %v", by, got)
		}
	}
}

// A task that ended while nobody looked, in time or not as far as the clock
// tells, has ended as its evidence says. Only then limits count.
func TestClockWhileNobodyLooked(t *testing.T) {
	b := newBench(t, task.Options{})
	launch := func(prompt string) *task.Task {
		t.Helper()
		reply, err := b.r.Launch(task.Request{Caller: me, Worker: "explorer", Text: prompt, MaxRun: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		return b.untilPhase(reply.Task.ID, task.Running)
	}
	done, late, early := launch("done"), launch("late"), launch("early")
	if err := b.r.Close(); err != nil {
		t.Fatal(err)
	}
	// The clock is set while no runner is there.
	s, err := store.Open(b.config.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for x, by := range map[*task.Task]time.Duration{done: -3 * time.Hour, late: -3 * time.Hour, early: 3 * time.Hour} {
		y := *x
		y.Started, y.Active = y.Started.Add(by), y.Active.Add(by)
		if err := s.Commit(store.Change{Task: &y}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b.fake.End(done.ID, task.Done, "in time", "")
	b.open()
	if x := b.untilPhase(done.ID, task.Completed); x.Deadline {
		t.Errorf("%+v", x)
	}
	if x := b.untilPhase(late.ID, task.Failed); !x.Deadline || x.Reason != "timed out" {
		t.Errorf("%+v", x)
	}
	b.until(early.ID, "certain", func(t *task.Task) bool { return !t.Uncertain })
	if x := b.task(early.ID); x.Phase != task.Running || x.Deadline || x.Started.After(time.Now()) {
		t.Errorf("%+v", x)
	}
}

// Ids sort in the order in which they were given, and so messages keep theirs,
// however many come in a millisecond.
func TestOrderOfMessages(t *testing.T) {
	b := newBench(t, task.Options{})
	for i := range 20 {
		x := b.launch("explorer", fmt.Sprint("job ", i))
		b.text("queued")(b.r.Message(say(x.ID, "first")))
		b.text("queued")(b.r.Message(say(x.ID, "second")))
		b.fake.End(x.ID, task.Done, "x", "")
		b.restart()
		b.untilPhase(x.ID, task.Completed)
		if text := b.notices()[i].Text; !strings.Contains(text, "- first\n- second\n") {
			t.Fatalf("in another order:\n%s", text)
		}
	}
	reply, err := b.r.List(ask(""))
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(reply.Tasks); i++ {
		if reply.Tasks[i-1].ID >= reply.Tasks[i].ID {
			t.Errorf("%s is not before %s", reply.Tasks[i-1].ID, reply.Tasks[i].ID)
		}
	}
}

// A panic costs what was being done for one task, with a reason, and nothing
// else: its stack is in the log, and the runner goes on.
func TestPanic(t *testing.T) {
	b := newBench(t, task.Options{})
	var log strings.Builder // written before the runner is closed, read after
	b.config.Log = slog.New(slog.NewTextHandler(&log, nil))
	b.config.Times.Rest = 50 * time.Millisecond // the cancel comes to nothing
	backend := &brittle{Fake: b.fake}
	backends := b.config.Backends
	b.config.Backends = func(hear task.Hear, s *store.Store) []task.Backend {
		backends(hear, s)
		return []task.Backend{backend}
	}
	b.restart()
	beside := b.untilPhase(b.launch("explorer", "beside").ID, task.Running)

	b.fake.Set(func(task.Run) error { panic("at its start") }, nil, nil)
	if x := b.untilPhase(b.launch("explorer", "starts").ID, task.Failed); x.Reason != "internal error: at its start" {
		t.Errorf("%+v", x)
	}
	b.fake.Set(nil, func(task.Run, task.Note) error { panic("at a message") }, func(task.Run) error { panic("at a cancel") })
	x := b.untilPhase(b.launch("explorer", "goes on").ID, task.Running)
	backend.broken.Store(true)
	b.fake.Hear(x.ID, x.Gen, task.Progress{})
	b.until(x.ID, "uncertain", func(t *task.Task) bool { return t.Uncertain })
	backend.broken.Store(false)
	b.fake.Hear(x.ID, x.Gen, task.Progress{})
	b.until(x.ID, "certain", func(t *task.Task) bool { return !t.Uncertain })
	if _, err := b.r.Message(say(x.ID, "hello")); err == nil || !strings.Contains(err.Error(), "internal error: at a message") {
		t.Errorf("message: %v", err)
	}
	if reply, err := b.r.Cancel(say(x.ID, "not wanted")); err != nil || !reply.Failed || !strings.Contains(reply.Text, "internal error: at a cancel") {
		t.Errorf("cancel: %+v, %v", reply, err)
	}
	b.fake.End(x.ID, task.Done, "done all the same", "")
	b.untilPhase(x.ID, task.Completed)
	b.fake.End(beside.ID, task.Done, "done", "")
	b.untilPhase(beside.ID, task.Completed)

	b.config.Log = nil
	b.restart()
	for _, want := range []string{"at its start", "at a message", "at a cancel", "at a look", "brittle"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log doesn't tell of %q", want)
		}
	}
}

// A brittle backend can be made to panic when it is looked at.
type brittle struct {
	*tasktest.Fake
	broken atomic.Bool
}

func (b *brittle) Look(ctx context.Context, r task.Run) (task.Look, error) {
	if b.broken.Load() {
		panic("at a look")
	}
	return b.Fake.Look(ctx, r)
}

// Events that come several times, in any order, of any generation, from many
// sides at once: one transition, one notice.
func TestRepeatedAndReordered(t *testing.T) {
	b := newBench(t, task.Options{})
	// The end before the answer to the start.
	hear := b.fake.Hear
	b.fake.Set(func(r task.Run) error {
		for range 3 {
			hear(r.Task.ID, r.Task.Gen, task.Progress{})
			hear(r.Task.ID, r.Task.Gen+1, task.Progress{})
		}
		return nil
	}, nil, nil)
	for gen := uint32(1); gen <= 3; gen++ {
		var x *task.Task
		if gen == 1 {
			x = b.launch("explorer", "storm")
		} else {
			b.text(fmt.Sprint("generation: ", gen))(b.r.Revive(say("exp-1", fmt.Sprint("again ", gen))))
			x = b.task(b.notedID())
		}
		var storm sync.WaitGroup
		for i := range 8 {
			storm.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(i), uint64(gen)))
				for range 30 {
					hear(x.ID, uint32(rnd.IntN(5)), task.Progress{})
					switch rnd.IntN(4) {
					case 0:
						b.fake.End(x.ID, task.Done, fmt.Sprint("answer ", gen), "")
					case 1:
						_, _ = b.r.Status(ask(x.ID))
					}
				}
			})
		}
		storm.Wait()
		b.fake.End(x.ID, task.Done, fmt.Sprint("answer ", gen), "")
		x = b.untilPhase(x.ID, task.Completed)
		for range 3 { // and after the end
			b.fake.Live(x.ID, task.LiveBusy)
			b.fake.Live(x.ID, task.LiveQuiet)
		}
		if x.Gen != gen || x.Rev != 1 || x.Text != fmt.Sprint("answer ", gen) {
			t.Errorf("%+v", x)
		}
		b.wantNotices("completed")
	}
	log, err := b.r.Lines(task.Request{Caller: me, ID: "exp-1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ends := map[uint32]int{}
	for _, l := range log.Log {
		var ev task.Event
		if l.Kind == "state" && json.Unmarshal([]byte(l.Body), &ev) == nil && ev.Kind == task.Done {
			ends[ev.Gen]++
		}
	}
	if len(ends) != 3 || ends[1] != 1 || ends[2] != 1 || ends[3] != 1 {
		t.Errorf("ends by generation: %v", ends)
	}
}

// notedID is the id of the only task.
func (b *bench) notedID() string {
	b.Helper()
	reply, err := b.r.List(ask(""))
	if err != nil || len(reply.Tasks) != 1 {
		b.Fatalf("%+v, %v", reply, err)
	}
	return reply.Tasks[0].ID
}

// A backend that fails, hangs or lies about a cancel never costs the record.
func TestAbortFails(t *testing.T) {
	b := newBench(t, task.Options{})
	b.with(func(times *run.Times) { times.Rest = 100 * time.Millisecond })
	x := b.launch("fixer", "stubborn")
	b.fake.Set(nil, nil, func(task.Run) error { return errors.New("no such session") })
	b.text("running (abort unconfirmed)", "no such session")(b.r.Cancel(say("fix-1", "stop")))
	if y := b.task(x.ID); y.Phase != task.Running || !y.Uncertain {
		t.Errorf("%+v", y)
	}
	b.restart()
	b.fake.End(x.ID, task.Done, "all the same", "")
	b.untilPhase(x.ID, task.Completed)
	b.wantNotices("completed")
}

func TestOverload(t *testing.T) {
	b := newBench(t, task.Options{})
	n := 0
	cooler := make(chan struct{})
	b.fake.Set(func(task.Run) error {
		if n++; n == 2 {
			<-cooler
		}
		if n < 3 {
			return &task.Refusal{Reason: "too many requests", Overload: true}
		}
		return nil
	}, nil, nil)
	x := b.launch("explorer", "hot")
	if x.Phase != task.Queued || !strings.Contains(x.Retry, "too many requests") {
		t.Errorf("%+v", x)
	}
	close(cooler)
	b.untilPhase(x.ID, task.Running)
}
