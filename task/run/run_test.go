package run_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/run"
	"github.com/whet-dev/whet/task/store"
	"github.com/whet-dev/whet/task/tasktest"
)

// quick makes everything that tests wait for take little, and leaves what must
// not run out, on a machine however busy, its time.
var quick = run.Times{
	Start: time.Second, Note: 10 * time.Second, Abort: 10 * time.Second, Rest: 10 * time.Second, Look: 10 * time.Second,
	Stable: 20 * time.Millisecond, Poll: 20 * time.Millisecond, Grace: 60 * time.Millisecond, Cooldown: 20 * time.Millisecond,
}

// A bench is a runner over a fake backend. The fake's runs outlive the runner,
// as a host's do.
type bench struct {
	*testing.T
	r      *run.Runner
	fake   *tasktest.Fake
	config run.Config
}

func newBench(t *testing.T, o task.Options) *bench {
	b := &bench{T: t, fake: &tasktest.Fake{}}
	b.config = run.Config{Dir: t.TempDir(), Options: o, Times: quick, Worker: worker}
	b.config.Backends = func(hear task.Hear, _ *store.Store) []task.Backend {
		b.fake.Hear = hear
		return []task.Backend{b.fake}
	}
	b.open()
	t.Cleanup(func() {
		if err := b.r.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// with opens the runner again, with other times.
func (b *bench) with(change func(*run.Times)) {
	b.Helper()
	change(&b.config.Times)
	b.restart()
}

func (b *bench) open() {
	b.Helper()
	r, err := run.Open(b.config)
	if err != nil {
		b.Fatal(err)
	}
	b.r = r
}

// restart ends the runner and starts it again.
func (b *bench) restart() {
	b.Helper()
	if err := b.r.Close(); err != nil {
		b.Fatal(err)
	}
	b.open()
}

func worker(agent, _ string) (run.Worker, error) {
	if !slices.Contains([]string{"explorer", "fixer", "librarian", "council", "councillor-a", "councillor-b"}, agent) {
		return run.Worker{}, fmt.Errorf("no agent is called %q; there are explorer, fixer, librarian", agent)
	}
	return run.Worker{Backend: "fake", Model: "vendor/" + agent, Writes: agent == "fixer"}, nil
}

var me = task.Caller{Parent: "p", Agent: "orchestrator", Dir: "/project"}

func ask(id string) task.Request { return task.Request{Caller: me, ID: id} }

func say(id, text string) task.Request { return task.Request{Caller: me, ID: id, Text: text} }

func (b *bench) launch(agent, prompt string) *task.Task {
	b.Helper()
	reply, err := b.r.Launch(task.Request{Caller: me, Worker: agent, Title: prompt, Text: prompt})
	if err != nil {
		b.Fatal(err)
	}
	return reply.Task
}

// task returns the task as it is now.
func (b *bench) task(id string) *task.Task {
	b.Helper()
	reply, err := b.r.List(task.Request{All: true})
	if err != nil {
		b.Fatal(err)
	}
	for _, t := range reply.Tasks {
		if t.ID == id {
			return t
		}
	}
	b.Fatalf("there is no %s", id)
	return nil
}

// until waits for the task to be as ok says.
func (b *bench) until(id, what string, ok func(*task.Task) bool) *task.Task {
	b.Helper()
	var t *task.Task
	for limit := time.Now().Add(20 * time.Second); time.Now().Before(limit); time.Sleep(2 * time.Millisecond) {
		if t = b.task(id); ok(t) {
			return t
		}
	}
	b.Fatalf("never %s: %+v", what, t)
	return nil
}

func (b *bench) untilPhase(id string, p task.Phase) *task.Task {
	b.Helper()
	return b.until(id, p.String(), func(t *task.Task) bool { return t.Phase == p })
}

func (b *bench) notices() []task.Notice {
	b.Helper()
	reply, err := b.r.Notices(ask(""), nil)
	if err != nil {
		b.Fatal(err)
	}
	return reply.Notices
}

func (b *bench) wantNotices(states ...string) {
	b.Helper()
	var got []string
	for _, n := range b.notices() {
		_, rest, _ := strings.Cut(n.Text, `state="`)
		state, _, _ := strings.Cut(rest, `"`)
		got = append(got, state)
	}
	if !slices.Equal(got, states) {
		b.Errorf("notices of %v, want %v", got, states)
	}
}

// refused checks that an answer is an error of that code, which says so in one
// line.
func (b *bench) refused(code task.Code, says string) func(*task.Reply, error) {
	return func(_ *task.Reply, err error) {
		b.Helper()
		var e *task.Error
		if !errors.As(err, &e) || e.Code != code || !strings.Contains(e.Text, says) || strings.Contains(e.Text, "\n") {
			b.Errorf("got %v, want a %s that says %q", err, code, says)
		}
	}
}

func (b *bench) text(parts ...string) func(*task.Reply, error) {
	return func(r *task.Reply, err error) {
		b.Helper()
		if err != nil {
			b.Error(err)
			return
		}
		for _, p := range parts {
			if !strings.Contains(r.Text, p) {
				b.Errorf("no %q in:\n%s", p, r.Text)
			}
		}
	}
}

func TestLife(t *testing.T) {
	b := newBench(t, task.Options{})
	x := b.launch("explorer", "find it")
	if x.Alias != "exp-1" || x.Phase != task.Running || x.Session != "session of "+x.ID {
		t.Fatalf("launched: %+v", x)
	}
	b.text("state: running", "next: ")(b.r.Result(ask("exp-1")))
	b.wantNotices()
	b.fake.End(x.ID, task.Done, "found", "")
	b.untilPhase(x.ID, task.Completed)
	b.wantNotices("completed")
	// Told until it is acknowledged, by exactly its revision.
	id := b.notices()[0].ID
	for _, ids := range [][]string{{x.ID + "/1/2"}, {x.ID + "/2/1"}, {"nonsense"}, nil} {
		if _, err := b.r.Acknowledge(task.Request{Caller: me, Notices: ids}); err != nil {
			t.Fatal(err)
		}
		b.wantNotices("completed")
	}
	if _, err := b.r.Acknowledge(task.Request{Caller: task.Caller{Parent: "other"}, Notices: []string{id}}); err != nil {
		t.Fatal(err)
	}
	b.wantNotices("completed")
	if _, err := b.r.Acknowledge(task.Request{Caller: me, Notices: []string{id}}); err != nil {
		t.Fatal(err)
	}
	b.wantNotices()
	b.text("found")(b.r.Result(ask(x.ID)))
}

func TestAliasesAreTheParents(t *testing.T) {
	b := newBench(t, task.Options{})
	b.launch("explorer", "one")
	b.launch("fixer", "two")
	if x := b.launch("explorer", "three"); x.Alias != "exp-2" {
		t.Errorf("alias %s", x.Alias)
	}
	other := me
	other.Parent = "q"
	reply, err := b.r.Launch(task.Request{Caller: other, Worker: "explorer", Text: "one"})
	if err != nil || reply.Task.Alias != "exp-1" {
		t.Errorf("%+v, %v", reply, err)
	}
	b.refused(task.UnknownTask, "unknown task ID or alias")(b.r.Status(task.Request{Caller: other, ID: "fix-1"}))
	b.restart()
	if x := b.launch("explorer", "four"); x.Alias != "exp-3" {
		t.Errorf("alias after a restart: %s", x.Alias)
	}
}

func TestReadingAcknowledges(t *testing.T) {
	b := newBench(t, task.Options{})
	x := b.launch("fixer", "Do  it")
	b.refused(task.Conflict, "fix-1 already works on exactly this")(b.r.Launch(task.Request{Caller: me, Worker: "fixer", Text: "do it"}))
	b.fake.End(x.ID, task.Done, "did it", "")
	b.untilPhase(x.ID, task.Completed)
	b.refused(task.Conflict, `task_result with task_id "fix-1"`)(b.r.Launch(task.Request{Caller: me, Worker: "fixer", Text: "do it"}))
	b.text("did it")(b.r.Result(ask("fix-1")))
	b.wantNotices()
	b.launch("fixer", "do it")
}

// The end is found even if nobody tells of it, and even if it comes before the
// answer to the launch.
func TestEndWithoutEvents(t *testing.T) {
	b := newBench(t, task.Options{})
	hear := b.fake.Hear
	b.fake.Hear = nil
	x := b.launch("explorer", "silent")
	b.fake.End(x.ID, task.Done, "found", "")
	b.untilPhase(x.ID, task.Completed)
	b.fake.Hear = hear
	y := b.launch("explorer", "blind")
	b.fake.Blind(errors.New("no"))
	b.until(y.ID, "uncertain", func(t *task.Task) bool { return t.Uncertain })
	b.fake.End(y.ID, task.Done, "found too", "")
	b.fake.Blind(nil)
	b.untilPhase(y.ID, task.Completed)
	z := b.launch("explorer", "empty")
	b.fake.End(z.ID, task.Done, " \n", "")
	if z = b.untilPhase(z.ID, task.Failed); z.Reason != "it ended without any text" {
		t.Error(z.Reason)
	}
}

// The answer to the start gets lost: the task is started once, and found.
func TestStartAnswerLost(t *testing.T) {
	b := newBench(t, task.Options{})
	b.fake.Set(func(task.Run) error { return errors.New("broken pipe") }, nil, nil)
	x := b.launch("explorer", "lost")
	b.untilPhase(x.ID, task.Running)
	if n := len(b.fake.Prompts()); n != 1 {
		t.Errorf("%d starts", n)
	}
	b.fake.Set(func(task.Run) error { return &task.Refusal{Reason: "no key for vendor; set KEY"} }, nil, nil)
	reply, err := b.r.Launch(task.Request{Caller: me, Worker: "explorer", Text: "refused"})
	if err != nil || !reply.Failed || !strings.Contains(reply.Text, "could not be started: no key for vendor; set KEY") {
		t.Errorf("%+v, %v", reply, err)
	}
}

func TestStartHangs(t *testing.T) {
	b := newBench(t, task.Options{})
	b.with(func(times *run.Times) { times.Start = 100 * time.Millisecond })
	free := make(chan struct{})
	b.fake.Set(func(task.Run) error { <-free; return nil }, nil, nil)
	reply, err := b.r.Launch(task.Request{Caller: me, Worker: "explorer", Text: "hang"}) // comes back before the start does
	b.text("admission_unknown", "Do not launch it again")(reply, err)
	close(free)
	b.untilPhase(reply.Task.ID, task.Running)
	if n := len(b.fake.Prompts()); n != 1 {
		t.Errorf("%d starts", n)
	}
}

func TestQuiet(t *testing.T) {
	b := newBench(t, task.Options{})
	b.with(func(times *run.Times) { times.Grace = time.Hour })
	x := b.launch("explorer", "quiet")
	b.fake.Live(x.ID, task.LiveQuiet)
	b.until(x.ID, "a candidate", func(t *task.Task) bool { return t.Quiet == task.Candidate })
	b.fake.Live(x.ID, task.LiveBusy)
	b.until(x.ID, "certain", func(t *task.Task) bool { return !t.Uncertain })
	b.wantNotices()
	b.with(func(times *run.Times) { times.Grace = quick.Grace })
	begin := time.Now()
	b.fake.Live(x.ID, task.LiveQuiet)
	b.untilPhase(x.ID, task.Stopped)
	if took := time.Since(begin); took < quick.Grace {
		t.Errorf("stopped after %v", took)
	}
	b.wantNotices("stopped")
	// A stop that nobody has acknowledged is taken back by life, and overtaken
	// by a late end.
	if _, err := b.r.Status(ask(x.ID)); err != nil {
		t.Fatal(err)
	}
	b.fake.Live(x.ID, task.LiveBusy)
	b.untilPhase(x.ID, task.Running)
	b.wantNotices()
	b.fake.Live(x.ID, task.LiveQuiet)
	b.untilPhase(x.ID, task.Stopped)
	b.fake.End(x.ID, task.Done, "late", "")
	if y := b.untilPhase(x.ID, task.Completed); y.Rev != 3 {
		t.Errorf("revision %d", y.Rev)
	}
	b.wantNotices("completed")
}

func TestGone(t *testing.T) {
	b := newBench(t, task.Options{})
	x := b.launch("fixer", "gone")
	b.fake.Change(x.ID, func(r *tasktest.FakeRun) {
		r.Look.Live, r.Look.Reason, r.Look.Text = task.LiveGone, "agent exited (signal 9)", "so far"
	})
	x = b.untilPhase(x.ID, task.Stopped)
	reply, err := b.r.Result(ask(x.ID))
	b.text("agent exited (signal 9)", "so far", x.ID, "fix-1")(reply, err)
	if !reply.Failed {
		t.Error("a stop is no success")
	}
}

func TestMessages(t *testing.T) {
	b := newBench(t, task.Options{})
	x := b.launch("fixer", "listen")
	b.text("queued", "fix-1", x.ID)(b.r.Message(say("fix-1", "also the docs")))
	b.text("messages_waiting: 1")(b.r.Status(ask("fix-1")))
	b.fake.Read(x.ID)
	b.until(x.ID, "read", func(t *task.Task) bool { return t.Waiting == 0 })
	b.refused(task.BadRequest, "empty")(b.r.Message(say("fix-1", "  ")))
	b.refused(task.BadRequest, "100000 characters, and 2000")(b.r.Message(say("fix-1", strings.Repeat("x", 100000))))
	b.text("queued")(b.r.Message(say("fix-1", "one")))
	b.text("queued")(b.r.Message(say("fix-1", "two")))
	b.refused(task.Capacity, "2 messages that it has not read")(b.r.Message(say("fix-1", "three")))
	b.fake.End(x.ID, task.Done, "ok", "")
	x = b.untilPhase(x.ID, task.Completed)
	if x.Returned != 2 {
		t.Errorf("%d returned", x.Returned)
	}
	if text := b.notices()[0].Text; !strings.Contains(text, "did not read:\n- one\n- two") {
		t.Errorf("the notice hides what was not read:\n%s", text)
	}
	b.refused(task.NotRunning, `task_revive with task_id "fix-1"`)(b.r.Message(say("fix-1", "late")))
}

func TestMessageTransports(t *testing.T) {
	b := newBench(t, task.Options{})
	x := b.launch("fixer", "listen")
	b.fake.Set(nil, func(task.Run, task.Note) error { return &task.Refusal{Reason: "it has just ended"} }, nil)
	b.refused(task.BackendDown, "just ended")(b.r.Message(say("fix-1", "a")))
	b.with(func(times *run.Times) { times.Note = 100 * time.Millisecond })
	free := make(chan struct{})
	b.fake.Set(nil, func(task.Run, task.Note) error { <-free; return nil }, nil)
	b.text("status: unknown")(b.r.Message(say("fix-1", "b")))
	b.refused(task.LeaseBusy, "a message under way")(b.r.Message(say("fix-1", "c")))
	b.refused(task.LeaseBusy, "a message under way")(b.r.Cancel(say("fix-1", "because")))
	close(free)
	b.until(x.ID, "taken", func(t *task.Task) bool { return t.Waiting == 1 && t.Lease == task.NoLease })
}

func TestCancel(t *testing.T) {
	b := newBench(t, task.Options{Total: 1})
	x := b.launch("fixer", "one")
	y := b.launch("fixer", "two")
	if y.Phase != task.Queued {
		t.Fatalf("%+v", y)
	}
	b.refused(task.Conflict, "give a reason")(b.r.Cancel(ask("fix-1")))
	b.text("state: cancelled", "cancelled: changed my mind")(b.r.Cancel(say("fix-1", "changed my mind")))
	b.text("state: cancelled")(b.r.Cancel(say("fix-1", "again")))
	b.untilPhase(y.ID, task.Running) // has the slot now
	z := b.launch("fixer", "three")
	b.text("state: cancelled")(b.r.Cancel(ask("fix-3")))
	if b.task(z.ID).Phase != task.Cancelled || len(b.fake.Prompts()) != 2 {
		t.Error("what was never started needs no abort")
	}
	b.fake.End(y.ID, task.Done, "ok", "")
	b.untilPhase(y.ID, task.Completed)
	b.text("state: already completed")(b.r.Cancel(say("fix-2", "late")))
	if x = b.task(x.ID); x.Phase != task.Cancelled {
		t.Errorf("%+v", x)
	}
}

func TestAbortUnconfirmed(t *testing.T) {
	b := newBench(t, task.Options{})
	b.with(func(times *run.Times) { times.Abort, times.Rest = 100*time.Millisecond, 100*time.Millisecond })
	x := b.launch("fixer", "busy")
	b.fake.Set(nil, nil, func(task.Run) error { return nil }) // says yes and goes on
	b.text("running (abort unconfirmed)")(b.r.Cancel(say("fix-1", "stop")))
	if y := b.task(x.ID); y.Phase != task.Running {
		t.Errorf("%+v", y)
	}
	free := make(chan struct{})
	b.fake.Set(nil, nil, func(task.Run) error { <-free; return nil })       // hangs
	b.text("running (abort unconfirmed)")(b.r.Cancel(say("fix-1", "stop"))) // comes back before the abort does
	b.refused(task.NotRunning, "being cancelled")(b.r.Message(say("fix-1", "hello")))
	b.refused(task.LeaseBusy, "a cancel under way")(b.r.Revive(say("fix-1", "go on")))
	b.fake.Live(x.ID, task.LiveQuiet)
	close(free)
	b.untilPhase(x.ID, task.Cancelled)
}

func TestRevive(t *testing.T) {
	b := newBench(t, task.Options{})
	x := b.launch("fixer", "first")
	b.text("queued")(b.r.Message(say("fix-1", "unread")))
	b.fake.Change(x.ID, func(r *tasktest.FakeRun) { r.Look.Live = task.LiveGone })
	b.untilPhase(x.ID, task.Stopped)
	b.text("generation: 2", "status: started")(b.r.Revive(say("fix-1", "second")))
	y := b.task(x.ID)
	if y.Gen != 2 || y.Phase != task.Running || y.Waiting != 1 || y.Session != x.Session {
		t.Errorf("%+v", y)
	}
	b.wantNotices() // the first generation's is void
	b.fake.Read(x.ID)
	b.until(x.ID, "read", func(t *task.Task) bool { return t.Waiting == 0 })
	// Old news change nothing.
	b.fake.Hear(x.ID, 1, task.Progress{Kind: "text", Text: "old"})
	b.fake.End(x.ID, task.Done, "second answer", "")
	b.untilPhase(x.ID, task.Completed)
	b.wantNotices("completed")
	b.fake.Set(func(task.Run) error { return &task.Refusal{Reason: "the session is gone"} }, nil, nil)
	b.refused(task.NotRevivable, "the session is gone")(b.r.Revive(say("fix-1", "third")))
	if y = b.task(x.ID); y.Phase != task.Completed || y.Gen != 2 {
		t.Errorf("%+v", y)
	}
	b.fake.Set(nil, nil, nil)
	// A launch that names a task goes on with it.
	reply, err := b.r.Launch(task.Request{Caller: me, ID: "fix-1", Worker: "fixer", Text: "third"})
	b.text("generation: 3")(reply, err)
	b.refused(task.LeaseBusy, "task_message reaches it")(b.r.Launch(task.Request{Caller: me, ID: "fix-1", Worker: "fixer", Text: "fourth"}))
	b.refused(task.UnknownTask, "fix-9")(b.r.Launch(task.Request{Caller: me, ID: "fix-9", Worker: "fixer", Text: "fourth"}))
	// A running one is cancelled first.
	b.text("generation: 4")(b.r.Revive(say("fix-1", "fourth")))
}

func TestReviveAnswerLost(t *testing.T) {
	b := newBench(t, task.Options{})
	x := b.launch("fixer", "first")
	b.fake.End(x.ID, task.Done, "one", "")
	b.untilPhase(x.ID, task.Completed)
	lose := true
	b.fake.Set(func(task.Run) error {
		if lose {
			lose = false
			return errors.New("broken pipe")
		}
		return nil
	}, nil, nil)
	b.text("admission_unknown", "Do not retry")(b.r.Revive(say("fix-1", "second")))
	b.until(x.ID, "going on", func(t *task.Task) bool { return t.Gen == 2 && t.Phase == task.Running })
	if n := len(b.fake.Prompts()); n != 2 {
		t.Errorf("%d starts: %q", n, b.fake.Prompts())
	}
}

func TestSlots(t *testing.T) {
	b := newBench(t, task.Options{Total: 3, Writers: 1, Models: map[string]int{"vendor/librarian": 1}})
	f1, f2 := b.launch("fixer", "1"), b.launch("fixer", "2")
	l1, l2 := b.launch("librarian", "3"), b.launch("librarian", "4")
	e1 := b.launch("explorer", "5") // not held up by those who wait for their own
	e2 := b.launch("explorer", "6")
	want := func(phases string) {
		t.Helper()
		var got string
		for _, x := range []*task.Task{f1, f2, l1, l2, e1, e2} {
			got += b.task(x.ID).Phase.String()[:1]
		}
		if got != phases {
			t.Errorf("phases %s, want %s", got, phases)
		}
	}
	want("rqrqrq")
	b.text("queued_position: 1", "waits_for: a slot")(b.r.Status(ask("fix-2")))
	b.fake.End(f1.ID, task.Done, "x", "")
	b.untilPhase(f2.ID, task.Running)
	want("crrqrq")
	for _, x := range []*task.Task{f2, l1, e1} {
		b.fake.End(x.ID, task.Done, "x", "")
	}
	b.untilPhase(l2.ID, task.Running)
	b.untilPhase(e2.ID, task.Running)
	for i := range 40 {
		x := b.launch("explorer", fmt.Sprint("more ", i))
		b.untilPhase(x.ID, task.Running)
		b.fake.End(x.ID, task.Done, "x", "")
	}
}

func TestAfter(t *testing.T) {
	b := newBench(t, task.Options{})
	e := b.launch("explorer", "look")
	after := func(agent, name string) *task.Task {
		reply, err := b.r.Launch(task.Request{Caller: me, Worker: agent, Text: "then " + agent, After: []string{name}})
		if err != nil {
			t.Fatal(err)
		}
		return reply.Task
	}
	f, l := after("fixer", "exp-1"), after("librarian", "fix-1")
	b.text("waits_for: exp-1")(b.r.Status(ask("fix-1")))
	b.fake.End(e.ID, task.Done, "x", "")
	b.untilPhase(f.ID, task.Running)
	b.fake.End(f.ID, task.Erred, "", "broke")
	if l = b.untilPhase(l.ID, task.Failed); l.Reason != "dependency: fix-1 ended as error" {
		t.Error(l.Reason)
	}
	b.wantNotices("completed", "error", "error")
	b.refused(task.UnknownTask, "exp-7")(b.r.Launch(task.Request{Caller: me, Worker: "fixer", Text: "x", After: []string{"exp-7"}}))
}

func TestDeadline(t *testing.T) {
	b := newBench(t, task.Options{})
	for _, heeds := range []bool{true, false} {
		if !heeds {
			b.with(func(times *run.Times) { times.Abort = 50 * time.Millisecond })
			b.fake.Set(nil, nil, func(task.Run) error { return nil })
		}
		reply, err := b.r.Launch(task.Request{Caller: me, Worker: "explorer", Text: fmt.Sprint("slow ", heeds), MaxRun: 50 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		x := b.untilPhase(reply.Task.ID, task.Failed)
		if !x.Deadline || x.Uncertain == heeds || !strings.HasPrefix(x.Reason, "timed out") {
			t.Errorf("%+v", x)
		}
	}
}

func TestBudget(t *testing.T) {
	b := newBench(t, task.Options{Budget: task.Budget{USD: 1}})
	x := b.launch("explorer", "dear")
	b.fake.Change(x.ID, func(r *tasktest.FakeRun) {
		r.Look = task.Look{Live: task.LiveQuiet, End: task.Done, Text: "x", Usage: task.Usage{Cost: 1.5}}
	})
	b.untilPhase(x.ID, task.Completed)
	b.refused(task.OverBudget, "$1.50")(b.r.Launch(task.Request{Caller: me, Worker: "explorer", Text: "more"}))
}

// A hard budget ends what is at work and what waits, once.
func TestHardBudget(t *testing.T) {
	b := newBench(t, task.Options{Budget: task.Budget{Tokens: 1000, Hard: true}, Total: 1})
	x := b.untilPhase(b.launch("explorer", "dear").ID, task.Running)
	waits := b.launch("explorer", "waits")
	b.fake.Change(x.ID, func(r *tasktest.FakeRun) { r.Look.Usage = task.Usage{Input: 900, Output: 99} })
	b.fake.Hear(x.ID, x.Gen, task.Progress{})
	b.until(x.ID, "999 tokens", func(t *task.Task) bool { return t.Usage.Input == 900 })
	if got := b.task(x.ID); got.Phase != task.Running {
		t.Fatalf("ended before its time: %+v", got)
	}
	b.fake.Change(x.ID, func(r *tasktest.FakeRun) { r.Look.Usage.Output = 100 })
	b.fake.Hear(x.ID, x.Gen, task.Progress{})
	const why = "cancelled: the tasks of this session have used 1000 tokens, and task.budget.tokens is 1000"
	for _, id := range []string{x.ID, waits.ID} {
		if got := b.untilPhase(id, task.Cancelled); got.Reason != why {
			t.Errorf("%s: %q", got.Alias, got.Reason)
		}
	}
	b.refused(task.OverBudget, "task.budget.tokens is 1000: no new one is started")(b.r.Launch(task.Request{Caller: me, Worker: "explorer", Text: "more"}))
}

func TestBadRequests(t *testing.T) {
	b := newBench(t, task.Options{})
	b.launch("fixer", "x")
	bad := func(code task.Code, says string, q task.Request) {
		t.Helper()
		b.refused(code, says)(b.r.Launch(q))
	}
	bad(task.BadRequest, "there are explorer, fixer, librarian", task.Request{Caller: me, Worker: "boss", Text: "x"})
	bad(task.BadRequest, "prompt is empty", task.Request{Caller: me, Worker: "fixer", Text: " "})
	bad(task.BadRequest, "larger than 256 KiB", task.Request{Caller: me, Worker: "fixer", Text: strings.Repeat("x", 300<<10)})
	specialist := me
	specialist.Agent = "fixer"
	bad(task.NotOrchestrator, "you are the fixer", task.Request{Caller: specialist, Worker: "fixer", Text: "x"})
	for _, f := range []func(task.Request) (*task.Reply, error){b.r.Cancel, b.r.Message, b.r.Revive, b.r.WaitForUser} {
		b.refused(task.NotOrchestrator, "you are the fixer")(f(task.Request{Caller: specialist, ID: "fix-1", Text: "x"}))
	}
	foreign := me
	foreign.Parent = "q"
	for _, f := range []func(task.Request) (*task.Reply, error){b.r.Cancel, b.r.Message, b.r.Revive, b.r.Status, b.r.Result} {
		b.refused(task.UnknownTask, "this session has no tasks")(f(task.Request{Caller: foreign, ID: b.task(b.launch("fixer", "y"+fmt.Sprint(time.Now().UnixNano())).ID).ID, Text: "x"}))
		b.refused(task.UnknownTask, "fix-99")(f(task.Request{Caller: me, ID: "fix-99", Text: "x"}))
	}
	b.refused(task.BadRequest, "prompt is empty")(b.r.Revive(ask("fix-1")))
}

// A model that sends a huge name doesn't get it back.
func TestErrorsAreShort(t *testing.T) {
	b := newBench(t, task.Options{})
	_, err := b.r.Status(task.Request{Caller: me, ID: strings.Repeat("x", 1<<20)})
	if err == nil || len(err.Error()) > 5000 {
		t.Errorf("%.200v", err)
	}
	if got := task.Errorf(task.BadRequest, "no %s", strings.Repeat("é", 1<<20)).Error(); len(got) > 5000 || !strings.HasPrefix(got, "no é") {
		t.Errorf("%d bytes: %.100q", len(got), got)
	}
}
