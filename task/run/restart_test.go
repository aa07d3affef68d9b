package run_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/whet-dev/whet/internal/state"
	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/run"
	"github.com/whet-dev/whet/task/store"
	"github.com/whet-dev/whet/task/tasktest"
)

func (b *bench) mail(parent string) (m task.Mail) {
	b.Helper()
	text, err := os.ReadFile(task.MailFile(b.config.Dir, parent))
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		b.Fatal(err)
	}
	return m
}

func (b *bench) untilMail(parent string, ok func(task.Mail) bool) task.Mail {
	b.Helper()
	for limit := time.Now().Add(20 * time.Second); time.Now().Before(limit); time.Sleep(2 * time.Millisecond) {
		if m := b.mail(parent); ok(m) {
			return m
		}
	}
	b.Fatalf("the mail is %+v", b.mail(parent))
	return task.Mail{}
}

// What hooks read and what they leave.
func TestMail(t *testing.T) {
	b := newBench(t, task.Options{})
	x := b.launch("fixer", "x")
	m := b.untilMail("p", func(m task.Mail) bool { return strings.Contains(m.Board, "fix-1") })
	if m.Open != 1 || len(m.Notices) != 0 {
		t.Errorf("%+v", m)
	}
	b.fake.End(x.ID, task.Done, "done", "")
	m = b.untilMail("p", func(m task.Mail) bool { return len(m.Notices) == 1 })
	slip, err := json.Marshal(task.Slip{Parent: "p", Read: []string{m.Notices[0].ID}})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"garbage", string(slip)} {
		if err := state.Spool(task.SlipDir(b.config.Dir)).Put([]byte(s)); err != nil {
			t.Fatal(err)
		}
	}
	b.untilMail("p", func(m task.Mail) bool {
		return len(m.Notices) == 0 && strings.Contains(m.Board, "completed, reconciled")
	})
}

// After a restart each task is found as it is, without a stop in between.
func TestRestart(t *testing.T) {
	b := newBench(t, task.Options{})
	busy, done, parked, lost, told := b.launch("explorer", "busy"), b.launch("explorer", "done"), b.launch("explorer", "parked"), b.launch("explorer", "lost"), b.launch("explorer", "told")
	b.fake.End(told.ID, task.Done, "x", "")
	b.untilPhase(told.ID, task.Completed)
	b.text("queued")(b.r.Message(say("exp-1", "hello")))
	if err := b.r.Close(); err != nil {
		t.Fatal(err)
	}
	b.fake.End(done.ID, task.Done, "meanwhile", "")
	b.fake.Live(parked.ID, task.LiveParked)
	b.fake.Live(lost.ID, task.LiveQuiet)
	b.open()
	if n := b.notices(); !slices.ContainsFunc(n, func(n task.Notice) bool { return n.Task == told.ID }) {
		t.Errorf("what was told before is not told again: %+v", n)
	}
	b.until(busy.ID, "certain", func(t *task.Task) bool { return t.Phase == task.Running && !t.Uncertain && t.Waiting == 1 })
	if x := b.untilPhase(done.ID, task.Completed); x.Rev != 1 || x.Text != "meanwhile" {
		t.Errorf("%+v", x)
	}
	b.until(parked.ID, "going on", func(t *task.Task) bool { return t.Phase == task.Running && !t.Uncertain })
	b.untilPhase(lost.ID, task.Stopped)
	b.fake.Read(busy.ID)
	b.until(busy.ID, "read", func(t *task.Task) bool { return t.Waiting == 0 })
	if n := len(b.fake.Prompts()); n != 5 {
		t.Errorf("%d starts", n)
	}
}

// A closed task in doubt can be revived once it is proven to rest.
func TestDoubtIsLifted(t *testing.T) {
	b := newBench(t, task.Options{})
	b.with(func(times *run.Times) { times.Abort = 50 * time.Millisecond })
	b.fake.Set(nil, nil, func(task.Run) error { return nil })
	reply, err := b.r.Launch(task.Request{Caller: me, Worker: "explorer", Text: "slow", MaxRun: 30 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	x := b.untilPhase(reply.Task.ID, task.Failed)
	if !x.Uncertain {
		t.Fatalf("%+v", x)
	}
	b.refused(task.InDoubt, "not certain that exp-1 rests")(b.r.Revive(say("exp-1", "go on")))
	b.fake.Live(x.ID, task.LiveQuiet)
	b.until(x.ID, "certain", func(t *task.Task) bool { return !t.Uncertain })
	b.text("generation: 2")(b.r.Revive(say("exp-1", "go on")))
}

// Whatever happens, in whatever order and with restarts between: no task and no
// message is lost, each end is told until it is acknowledged and then never
// again, and the log tells the same story as the state.
func TestRandomLives(t *testing.T) {
	rounds := 20
	switch {
	case os.Getenv("WHET_SLOW") != "":
		rounds = 200
	case testing.Short():
		rounds = 8
	}
	for seed := range rounds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { randomLife(t, rand.New(rand.NewPCG(uint64(seed), 7))) })
	}
}

func randomLife(t *testing.T, rnd *rand.Rand) {
	b := newBench(t, task.Options{Total: 3})
	acked := map[string]bool{}
	sent := 0
	var ids []string
	for i := range 60 {
		if len(ids) == 0 || rnd.IntN(12) == 0 {
			ids = append(ids, b.launch("explorer", fmt.Sprint("job ", i)).ID)
		}
		id := ids[rnd.IntN(len(ids))]
		switch rnd.IntN(12) {
		case 0:
			b.restart()
		case 1, 2:
			b.fake.End(id, []task.Kind{task.Done, task.Erred, task.Aborted, task.Deleted}[rnd.IntN(4)], "text", "why")
		case 3:
			b.fake.Live(id, []task.Liveness{task.LiveBusy, task.LiveRetry, task.LiveQuiet, task.LiveGone, task.LiveParked}[rnd.IntN(5)])
		case 4, 5:
			if _, err := b.r.Message(say(id, fmt.Sprint("note ", i))); err == nil {
				sent++
			}
		case 6:
			b.fake.Read(id)
		case 7:
			_, _ = b.r.Cancel(say(id, "because"))
		case 8:
			_, _ = b.r.Revive(say(id, fmt.Sprint("again ", i)))
		case 9, 10:
			for _, n := range b.notices() {
				if acked[n.ID] {
					t.Fatalf("%s is told again after its acknowledgement", n.ID)
				}
				acked[n.ID] = true
				if _, err := b.r.Acknowledge(task.Request{Caller: me, Notices: []string{n.ID}}); err != nil {
					t.Fatal(err)
				}
			}
		}
		b.invariants(ids)
	}
	for _, id := range ids {
		b.fake.End(id, task.Erred, "", "the test is over")
	}
	time.Sleep(3 * quick.Poll)
	if err := b.r.Close(); err != nil {
		t.Fatal(err)
	}
	replay(t, b.config.Dir, ids, sent)
	b.open()
}

// invariants holds at every moment: each task is there, and every end or stop
// that was not acknowledged has its notice.
func (b *bench) invariants(ids []string) {
	b.Helper()
	reply, err := b.r.List(ask(""))
	if err != nil {
		b.Fatal(err)
	}
	if len(reply.Tasks) != len(ids) {
		b.Fatalf("%d tasks, want %d", len(reply.Tasks), len(ids))
	}
	notices, err := b.r.Notices(ask(""), nil)
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range notices.Notices {
		if !strings.Contains(n.Text, n.ID) {
			b.Fatalf("notice %s says %s", n.ID, n.Text)
		}
	}
}

// replay compares the log with the state, and counts the messages.
func replay(t *testing.T, dir string, ids []string, sent int) {
	t.Helper()
	s, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	tasks, err := s.Tasks()
	if err != nil || len(tasks) != len(ids) {
		t.Fatalf("%d tasks on disk, %v", len(tasks), err)
	}
	notices, err := s.Notices()
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	for _, x := range tasks {
		log, err := s.Log(x.ID, 0, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		j := task.New()
		for _, e := range log {
			var ev task.Event
			if e.Kind == "state" && json.Unmarshal([]byte(e.Body), &ev) == nil {
				j, _ = task.Apply(j, ev)
			}
		}
		if j != x.Job {
			t.Errorf("%s: the log leads to\n%+v, the state is\n%+v", x.Alias, j, x.Job)
		}
		if _, waits := notices[x.ID]; waits != x.Owed {
			t.Errorf("%s: owed %v, a notice waits: %v", x.Alias, x.Owed, waits)
		}
		notes, err := s.Notes(x.ID)
		if err != nil {
			t.Fatal(err)
		}
		open := 0
		for _, n := range notes {
			if n.State == store.NoteStored {
				open++
			}
		}
		if open != int(x.Waiting) {
			t.Errorf("%s: %d messages wait, and it says %d", x.Alias, open, x.Waiting)
		}
		kept += len(notes)
	}
	if kept < sent {
		t.Errorf("%d messages were taken, and %d are kept", sent, kept)
	}
}

var _ task.Backend = (*tasktest.Fake)(nil)
