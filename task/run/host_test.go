package run_test

import (
	"testing"

	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/run"
	"github.com/whet-dev/whet/task/store"
	"github.com/whet-dev/whet/task/tasktest"
)

// A fake under the name of the backend that hosts lend themselves to.
type named struct{ *tasktest.Fake }

func (named) Name() string { return "opencode" }

// A host that lends itself works on its sessions' tasks, unless the
// configuration names somebody else.
func TestTasksOfAHostThatLendsItself(t *testing.T) {
	b := newBench(t, task.Options{})
	if err := b.r.Close(); err != nil {
		t.Fatal(err)
	}
	b.config.Backends = func(hear task.Hear, _ *store.Store) []task.Backend {
		b.fake.Hear = hear
		return []task.Backend{b.fake, named{b.fake}}
	}
	b.config.Worker = func(agent, dir string) (run.Worker, error) {
		w, err := worker(agent, dir)
		w.Own = agent != "fixer" // somebody has chosen who that is
		return w, err
	}
	b.open()
	here := task.Caller{Parent: "opencode/ses_1", Agent: "build", Dir: "/project", Via: "/a", Model: "vendor/parent"}
	for agent, want := range map[string]string{"explorer": "opencode", "fixer": "fake", "general": "opencode"} {
		reply, err := b.r.Launch(task.Request{Caller: here, Worker: agent, Text: "x " + agent})
		if err != nil {
			t.Fatal(agent, err)
		}
		via := map[string]string{"opencode": "/a"}[want]
		if x := reply.Task; x.Backend != want || x.Via != via || want == "opencode" && x.Model != "" {
			t.Errorf("%s: %s via %q, model %q", agent, x.Backend, x.Via, x.Model)
		}
	}
	if _, err := b.r.Launch(task.Request{Caller: me, Worker: "general", Text: "x"}); err == nil {
		t.Error("an agent that nobody knows was given a task")
	}

	// Started anew, it is reached elsewhere.
	here.Via = "/b"
	if _, err := b.r.Do(t.Context(), "/status", task.Request{Caller: here, ID: "exp-1"}); err != nil {
		t.Fatal(err)
	}
	reply, err := b.r.List(task.Request{Caller: here})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range reply.Tasks {
		if x.Backend == "opencode" && x.Via != "/b" {
			t.Errorf("%s is still looked for at %s", x.Alias, x.Via)
		}
	}

	// The session that works on a task hands out none.
	x := reply.Tasks[0]
	for _, y := range reply.Tasks {
		if y.Alias == "exp-1" {
			x = y
		}
	}
	inside := here
	inside.Parent = "opencode/" + x.Session
	b.refused(task.NotOrchestrator, "you work on exp-1 as the explorer")(b.r.Launch(task.Request{Caller: inside, Worker: "explorer", Text: "more"}))
}
