package run_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/whet-dev/whet/task"
)

// What people reported of other programs' background tasks, in a few words, and
// what proves that it can't happen here: a scenario, or the test that has it.
var reports = []struct {
	gist string // what happened there
	test string // the test of this repository that shows the right outcome
	play func(*bench)
}{
	{"a child ended its turn while a job of its own ran, and the job's result reached nobody", "TestBadRequests", nil}, // none hands out tasks
	{"the end of a resumed turn was not announced", "", func(b *bench) {
		x := b.launch("explorer", "one")
		for gen, id := range []string{x.ID + "/1/1", x.ID + "/2/1", x.ID + "/3/1"} {
			if gen > 0 {
				b.text("status: started")(b.r.Revive(say("exp-1", "more")))
			}
			b.fake.End(x.ID, task.Done, "x", "")
			b.untilPhase(x.ID, task.Completed)
			if n := b.notices(); len(n) != 1 || n[0].ID != id {
				b.Errorf("told %+v, want %s", n, id)
			}
		}
	}},
	{"after a restart tasks were shown as running for ever", "TestRestart", nil},
	{"the status said cancelled, and the work was complete", "", func(b *bench) {
		x := b.launch("fixer", "fast")
		b.fake.Set(nil, nil, func(task.Run) error { b.fake.End(x.ID, task.Done, "finished first", ""); return nil })
		b.text("state: completed")(b.r.Cancel(say("fix-1", "too slow")))
		b.text("finished first")(b.r.Result(ask("fix-1")))
	}},
	{"a failed child could not be resumed, and its work was lost", "", func(b *bench) {
		x := b.launch("fixer", "fails")
		b.fake.End(x.ID, task.Erred, "half of it", "out of credit")
		b.untilPhase(x.ID, task.Failed)
		b.text("out of credit", "half of it")(b.r.Result(ask("fix-1")))
		b.text("generation: 2")(b.r.Revive(say("fix-1", "there is credit now")))
		if y := b.task(x.ID); y.Session != x.Session {
			b.Errorf("another session: %s", y.Session)
		}
	}},
	{"a failure came without the task's id", "TestGone", nil},
	{"an update of the program lost finished reports", "TestRestart", nil},
	{"a moment of quiet was shown as stopped", "TestQuiet", nil},
	{"completed, but shown as running since the host had no status to ask for", "", func(b *bench) {
		x := b.launch("explorer", "blind")
		b.fake.Live(x.ID, "")
		b.fake.End(x.ID, task.Done, "found", "")
		b.fake.Live(x.ID, "")
		b.untilPhase(x.ID, task.Completed)
	}},
	{"acknowledging an end by a new call made new tasks, endlessly", "TestReadingAcknowledges", nil},
	{"a session that waited for its person was woken for an old end again and again", "TestGuardTellsOnce", nil},
	{"wait_for_user called in a loop after launching tasks", "TestWaitForUser", nil},
	{"a nudge answered the model's own question", "TestGuardTellsOnce", nil},
	{"a writer at work was cancelled for being silent", "TestCancel", nil},
	{"the id of an active task was dropped, and a second worker did the same", "TestRevive", nil},
	{"parallel tasks ran into the limits of a free tier", "TestSlots", nil},
	{"idle was taken for completed", "TestQuiet", nil},
	{"stops that were acknowledged stayed for ever", "TestBoardIsBounded", nil},
	{"completions were not delivered after an upgrade", "TestEverythingComesBack", nil},
	{"a notice was lost when it met a busy parent, which then waited for ever", "TestLife", nil},
	{"the child exited, and the caller waited for ever", "", func(b *bench) {
		x := b.launch("explorer", "dies")
		b.fake.Live(x.ID, task.LiveGone)
		reply, err := b.r.Await(task.Request{Caller: me, IDs: []string{x.ID}, Wait: time.Minute}, nil)
		if err != nil || len(reply.Tasks) != 1 || reply.Tasks[0].Phase != task.Stopped {
			b.Errorf("%+v, %v", reply, err)
		}
	}},
	{"running for hours without a first token", "TestDeadline", nil},
	{"tasks that took less than five seconds never completed", "", func(b *bench) {
		b.fake.Set(func(r task.Run) error {
			go b.fake.End(r.Task.ID, task.Done, "at once", "") // while the start is answered
			return nil
		}, nil, nil)
		for _, prompt := range []string{"one", "two", "three"} {
			x := b.launch("explorer", prompt)
			b.fake.End(x.ID, task.Done, "at once", "")
			b.untilPhase(x.ID, task.Completed)
		}
		b.wantNotices("completed", "completed", "completed")
	}},
	{"the result was there, and the state said running", "", func(b *bench) {
		x := b.launch("explorer", "silent")
		hear := b.fake.Hear
		b.fake.Hear = nil
		b.fake.End(x.ID, task.Done, "there all along", "")
		b.text("there all along")(b.r.Result(ask(x.ID)))
		b.fake.Hear = hear
	}},
	{"completed at once, and empty", "TestEndWithoutEvents", nil},
	{"an error of an abort made the registry forget the task", "TestAbortFails", nil},
	{"after a crash new copies were launched, and the old ones waited for", "", func(b *bench) {
		x := b.launch("fixer", "the job")
		b.fake.Live(x.ID, task.LiveQuiet)
		b.restart()
		b.untilPhase(x.ID, task.Stopped)
		b.refused(task.Conflict, "fix-1 had the same objective and has ended (stopped)")(b.r.Launch(task.Request{Caller: me, Worker: "fixer", Text: "The job"}))
		b.text("generation: 2")(b.r.Revive(say("fix-1", "go on")))
	}},
	{"the answer to a start got lost, and a second child edited the same files", "TestStartAnswerLost", nil},
	{"stopping the parent left its children running unseen", "", func(b *bench) {
		for _, prompt := range []string{"one", "two"} {
			b.launch("explorer", prompt)
		}
		person := task.Caller{Person: true, Dir: me.Dir}
		reply, err := b.r.List(task.Request{Caller: person})
		if err != nil || reply.Open != 2 {
			b.Fatalf("%+v, %v", reply, err)
		}
		for _, x := range reply.Tasks {
			b.text("state: cancelled")(b.r.Cancel(task.Request{Caller: person, ID: x.ID}))
		}
		if reply, err := b.r.List(task.Request{Caller: person}); err != nil || reply.Open != 0 {
			b.Errorf("%+v, %v", reply, err)
		}
	}},
	{"an end was never delivered once the owner had ended its turn", "TestAdopt", nil},
	{"orphans: tens of processes, gigabytes of memory", "TestKilledRunnerLeavesNothing", nil},
	{"three of four agents were dead after a pause, in silence", "", func(b *bench) {
		var ids []string
		for _, prompt := range []string{"1", "2", "3", "4"} {
			ids = append(ids, b.launch("explorer", prompt).ID)
		}
		if err := b.r.Close(); err != nil {
			b.Fatal(err)
		}
		for _, id := range ids[1:] {
			b.fake.Live(id, task.LiveQuiet)
		}
		b.open()
		for _, id := range ids[1:] {
			b.untilPhase(id, task.Stopped)
		}
		b.wantNotices("stopped", "stopped", "stopped")
		b.until(ids[0], "going on", func(t *task.Task) bool { return t.Phase == task.Running && !t.Uncertain })
	}},
	{"a message was reported as queued, and lost", "TestMessages", nil},
	{"a message raced the stop, and its answer reached nobody", "TestRandomLives", nil},
	{"a message never reached the child", "TestMessages", nil},
	{"a message to an idle agent started a new one", "TestMessages", nil},
	{"the end of a resumed child went to another parent", "", func(b *bench) {
		x := b.launch("fixer", "moved")
		b.fake.End(x.ID, task.Done, "one", "")
		b.untilPhase(x.ID, task.Completed)
		other := me
		other.Parent = "q"
		if _, err := b.r.Adopt(task.Request{Caller: other, ID: x.ID}); err != nil {
			b.Fatal(err)
		}
		b.text("generation: 2")(b.r.Revive(task.Request{Caller: other, ID: "fix-1", Text: "more"}))
		b.fake.End(x.ID, task.Done, "two", "")
		b.untilPhase(x.ID, task.Completed)
		b.wantNotices()
		reply, err := b.r.Notices(task.Request{Caller: other}, nil)
		if err != nil || len(reply.Notices) != 1 || reply.Notices[0].ID != x.ID+"/2/1" {
			b.Errorf("%+v, %v", reply, err)
		}
	}},
	{"edits of an isolated task landed in its parent's tree", "TestGuardKeepsTheProject", nil},
	{"a worktree was made of the wrong repository", "TestRepository", nil},
	{"running after its exit, since a command held an open standard input", "TestRun", nil},
	{"a stop hook forced turns while a task merely ran, and burnt a quota", "TestGuardTellsOnce", nil},
	{"sending a task to the background forked its session", "", func(b *bench) {
		x := b.launch("explorer", "long")
		reply, err := b.r.Await(task.Request{Caller: me, IDs: []string{x.ID}, Wait: 30 * time.Millisecond}, nil)
		if err != nil || len(reply.Tasks) != 0 || reply.Open != 1 {
			b.Errorf("%+v, %v", reply, err)
		}
		if y := b.task(x.ID); y.Session != x.Session || y.Gen != 1 || len(b.fake.Prompts()) != 1 {
			b.Errorf("%+v", y)
		}
		b.fake.End(x.ID, task.Done, "x", "")
		b.untilPhase(x.ID, task.Completed)
		b.wantNotices("completed")
	}},
	{"finished agents counted against the limit", "TestSlots", nil},
	{"a launch hung for hours", "TestStartHangs", nil},
	{"closing hung after it had marked the agent as closed", "TestAbortUnconfirmed", nil},
	{"a wait ignored its limit", "", func(b *bench) {
		x := b.launch("explorer", "frozen")
		b.fake.Blind(errors.New("frozen"))
		begin := time.Now()
		reply, err := b.r.Await(task.Request{Caller: me, IDs: []string{x.ID}, Wait: 50 * time.Millisecond}, nil)
		if took := time.Since(begin); err != nil || reply.Open != 1 || took < 50*time.Millisecond || took > 5*time.Second {
			b.Errorf("%+v, %v after %v", reply, err, took)
		}
	}},
	{"five children ran into the same limit again, in step", "TestOverload", nil},
}

func TestReports(t *testing.T) {
	there := tests(t)
	for _, r := range reports {
		t.Run(strings.NewReplacer(" ", "_", ",", "").Replace(r.gist), func(t *testing.T) {
			switch {
			case r.play != nil:
				r.play(newBench(t, task.Options{}))
			case !there[r.test]:
				t.Errorf("there is no %s any more", r.test)
			}
		})
	}
}

// tests lists the tests of the repository.
func tests(t *testing.T) map[string]bool {
	t.Helper()
	there := map[string]bool{}
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != "..", d.Name() == "node_modules":
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil {
				there[fn.Name.Name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return there
}
