package run_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/whet-dev/whet/task"
)

// connection is the parent that an MCP server of the process is.
func connection(pid int, dir string) task.Caller {
	return task.Caller{Parent: fmt.Sprintf("%s%d-X", task.MCPParent, pid), Dir: dir}
}

// A client that is started again has a new connection and an old conversation:
// its tasks are found there by their names, which no other task ever gets.
func TestConnectionStartedAgain(t *testing.T) {
	b := newBench(t, task.Options{})
	gone := exec.Command(os.Args[0], "-test.run=^$")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	old, now := connection(gone.Process.Pid, "/project"), connection(os.Getppid(), "/project")
	launch := func(c task.Caller, prompt string) *task.Task {
		t.Helper()
		reply, err := b.r.Launch(task.Request{Caller: c, Worker: "explorer", Text: prompt})
		if err != nil {
			t.Fatal(err)
		}
		return reply.Task
	}
	first, second := launch(old, "one"), launch(old, "two")
	b.fake.End(second.ID, task.Done, "Two.", "")
	b.untilPhase(second.ID, task.Completed)

	b.refused(task.UnknownTask, "earlier ones in this project left exp-1, exp-2")(b.r.Status(task.Request{Caller: now, ID: "exp-7"}))
	third := launch(now, "three")
	if third.Alias != "exp-3" {
		t.Errorf("a new task is called %s", third.Alias)
	}
	b.text("Two.")(b.r.Result(task.Request{Caller: now, ID: "exp-2"}))
	b.text("exp-1 (" + first.ID)(b.r.Status(task.Request{Caller: now, ID: first.ID}))
	b.refused(task.UnknownTask, "no tasks")(b.r.Status(task.Request{Caller: old, ID: "exp-1"}))
	b.fake.End(first.ID, task.Done, "One.", "")
	b.untilPhase(first.ID, task.Completed)
	b.restart()
	reply, err := b.r.Notices(task.Request{Caller: now}, nil)
	if err != nil || len(reply.Notices) != 1 || !strings.Contains(reply.Notices[0].Text, "One.") {
		t.Errorf("%+v, %v", reply, err)
	}
}

// Nobody's tasks are taken from a connection that may live, from another
// project, or by a session of another kind.
func TestConnectionKeepsItsTasks(t *testing.T) {
	b := newBench(t, task.Options{})
	gone := exec.Command(os.Args[0], "-test.run=^$")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	lives, elsewhere := connection(os.Getppid(), "/project"), connection(gone.Process.Pid, "/other")
	for _, c := range []task.Caller{lives, elsewhere} {
		if _, err := b.r.Launch(task.Request{Caller: c, Worker: "explorer", Text: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []task.Caller{connection(os.Getppid()+1, "/project"), {Parent: "codex/s", Dir: "/other"}, me} {
		b.refused(task.UnknownTask, "this session has no tasks")(b.r.Status(task.Request{Caller: c, ID: "exp-1"}))
	}
}
