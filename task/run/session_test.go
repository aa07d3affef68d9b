package run_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/whet-dev/whet/task"
)

func TestWaitForUser(t *testing.T) {
	b := newBench(t, task.Options{})
	x := b.launch("fixer", "x")
	b.text("state: waiting_for_user_skipped")(b.r.WaitForUser(say("", "which one?")))
	b.fake.End(x.ID, task.Done, "x", "")
	b.untilPhase(x.ID, task.Completed)
	b.text("state: waiting_for_user\n", "reason: which one?")(b.r.WaitForUser(say("", " which\none? ")))
	b.refused(task.BadRequest, "0 characters")(b.r.WaitForUser(say("", "")))
	b.refused(task.BadRequest, "501 characters")(b.r.WaitForUser(say("", strings.Repeat("é", 501))))
	b.restart()
	if m := b.mail("p"); !m.Waiting {
		t.Error("a restart forgot that the session waits")
	}
	if _, err := b.r.UserWrote(ask("")); err != nil {
		t.Fatal(err)
	}
	b.untilMail("p", func(m task.Mail) bool { return !m.Waiting })
}

func TestAdopt(t *testing.T) {
	b := newBench(t, task.Options{})
	x := b.launch("fixer", "x")
	b.fake.End(x.ID, task.Done, "x", "")
	b.untilPhase(x.ID, task.Completed)
	other := me
	other.Parent = "q"
	reply, err := b.r.Adopt(task.Request{Caller: other, ID: x.ID})
	if err != nil || reply.Task.Parent != "q" || reply.Task.Alias != "fix-1" {
		t.Fatalf("%+v, %v", reply, err)
	}
	b.wantNotices()
	b.refused(task.UnknownTask, "no tasks")(b.r.Status(ask("fix-1")))
	b.restart()
	r, err := b.r.Notices(task.Request{Caller: other}, nil)
	if err != nil || len(r.Notices) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	b.text("x")(b.r.Result(task.Request{Caller: other, ID: "fix-1"}))
	if c, err := b.r.Collect(task.Request{}); err != nil || c.Open != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	b.refused(task.UnknownTask, "fix-1")(b.r.Status(task.Request{Caller: other, ID: "fix-1"}))
}

// Every seat gets the question, the council all their answers; the parent is
// told of one end.
func TestCouncil(t *testing.T) {
	b := newBench(t, task.Options{})
	ask := task.Request{Caller: me, Worker: "council", Text: "which one?"}
	b.refused(task.BadRequest, "task.agents.councillor-NAME.model")(b.r.Launch(ask))
	if err := b.r.Close(); err != nil {
		t.Fatal(err)
	}
	b.config.Seats = func(string) []string { return []string{"councillor-a", "councillor-b"} }
	b.open()
	reply, err := b.r.Launch(ask)
	if err != nil || reply.Task.Phase != task.Queued || reply.Task.Alias != "cou-1" {
		t.Fatalf("%+v, %v", reply, err)
	}
	seats, err := b.r.List(task.Request{All: true})
	if err != nil || len(seats.Tasks) != 3 {
		t.Fatalf("%+v, %v", seats, err)
	}
	for _, seat := range reply.Task.Gather {
		b.untilPhase(seat, task.Running)
	}
	b.fake.End(reply.Task.Gather[0], task.Done, "this one", "")
	b.untilPhase(reply.Task.Gather[0], task.Completed)
	b.wantNotices()
	b.restart()
	b.wantNotices()
	b.fake.End(reply.Task.Gather[1], task.Erred, "", "overloaded")
	b.untilPhase(reply.Task.ID, task.Running)
	prompts := b.fake.Prompts()
	last := prompts[len(prompts)-1]
	for _, want := range []string{reply.Task.ID + " which one?", `<seat name="councillor-a" model="vendor/councillor-a" state="completed">`, "this one", `state="error">`, "(no answer: overloaded)"} {
		if !strings.Contains(last, want) {
			t.Errorf("no %q in %s", want, last)
		}
	}
	b.fake.End(reply.Task.ID, task.Done, "that one", "")
	b.untilPhase(reply.Task.ID, task.Completed)
	b.wantNotices("completed")
}

// Who was first owns the files; another waits, and says for whom.
func TestClaims(t *testing.T) {
	b := newBench(t, task.Options{})
	launch := func(agent, prompt string, files ...string) *task.Task {
		reply, err := b.r.Launch(task.Request{Caller: me, Worker: agent, Text: prompt, Files: files})
		if err != nil {
			t.Fatal(err)
		}
		return reply.Task
	}
	first := launch("fixer", "one", "internal/auth/**")
	second := launch("fixer", "two", "internal/auth/login.go", "docs/x.md")
	if launch("fixer", "three", "docs/**").Phase != task.Running || launch("explorer", "four", "internal/**").Phase != task.Running {
		t.Error("what doesn't meet must not wait, nor what doesn't write")
	}
	b.text("waits_for: fix-1, which owns internal/auth/**")(b.r.Status(ask(second.ID)))
	for limit := time.Now().Add(5 * time.Second); time.Now().Before(limit); time.Sleep(5 * time.Millisecond) {
		if text, _ := os.ReadFile(task.ClaimFile(b.config.Dir)); strings.Contains(string(text), first.ID) && strings.Contains(string(text), "docs/**") {
			break
		}
	}
	b.fake.End(first.ID, task.Done, "x", "")
	b.untilPhase(first.ID, task.Completed)
	b.text("waits_for: fix-3, which owns docs/**")(b.r.Status(ask(second.ID)))
	b.refused(task.Conflict, "give a reason")(b.r.Cancel(ask("fix-3")))
	b.text("cancelled")(b.r.Cancel(say("fix-3", "enough")))
	b.untilPhase(second.ID, task.Running)
	b.refused(task.Capacity, "wait for fix-2, which owns internal/auth/login.go")(b.r.Revive(say("fix-1", "more")))
}
