package run_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/tasktest"
)

// A garden is a bench with a real repository.
type garden struct {
	*bench
	root string
	me   task.Caller
}

func newGarden(t *testing.T, o task.Options) *garden {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	g := &garden{bench: newBench(t, o), root: t.TempDir()}
	g.me = task.Caller{Parent: "p", Agent: "orchestrator", Dir: g.root}
	g.write(g.root, "f.txt", "1\n2\n3\n4\n5\n")
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "--all"}, {"-c", "user.name=p", "-c", "user.email=p", "commit", "--quiet", "--message=first"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = g.root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return g
}

func (g *garden) write(dir, name, text string) {
	g.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		g.Fatal(err)
	}
}

func (g *garden) holds(dir, name, text string) {
	g.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, os.ErrNotExist) && text == "" {
		return
	}
	if err != nil || string(b) != text {
		g.Errorf("%s in %s holds %q (%v), want %q", name, dir, b, err, text)
	}
}

func (g *garden) gone(dir string) {
	g.Helper()
	for limit := time.Now().Add(10 * time.Second); time.Now().Before(limit); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Lstat(dir); errors.Is(err, os.ErrNotExist) {
			return
		}
	}
	g.Errorf("%s is left", dir)
}

func (g *garden) fixer(prompt string, q task.Request) *task.Task {
	g.Helper()
	q.Caller, q.Worker, q.Text = g.me, "fixer", prompt
	reply, err := g.r.Launch(q)
	if err != nil {
		g.Fatal(err)
	}
	return g.untilStarted(reply.Task.ID)
}

// untilStarted waits for what may take git a while on a busy machine.
func (g *garden) untilStarted(id string) *task.Task {
	g.Helper()
	for limit := time.Now().Add(30 * time.Second); time.Now().Before(limit); time.Sleep(5 * time.Millisecond) {
		if x := g.task(id); x.Phase != task.Queued || !x.Slot {
			return x
		}
	}
	g.Fatalf("%s does not start: %+v", id, g.task(id))
	return nil
}

func (g *garden) ended(id string, p task.Phase) *task.Task {
	g.Helper()
	for limit := time.Now().Add(30 * time.Second); time.Now().Before(limit); time.Sleep(5 * time.Millisecond) {
		if x := g.task(id); x.Phase == p {
			return x
		}
	}
	g.Fatalf("never %s: %+v", p, g.task(id))
	return nil
}

func (g *garden) say(id, text string) task.Request {
	return task.Request{Caller: g.me, ID: id, Text: text}
}

// Two fixers want one file: the second works in a worktree of its own, and its
// changes wait until somebody merges them.
func TestSecondWriterGetsAWorktree(t *testing.T) {
	g := newGarden(t, task.Options{})
	one := g.fixer("one", task.Request{Files: []string{"f.txt"}})
	g.write(g.root, "untracked.txt", "mine\n")
	two := g.fixer("two", task.Request{Files: []string{"*.txt"}})
	c := two.Checkout
	if one.Checkout != nil || two.Phase != task.Running || c == nil || c.Root != g.root || c.Base == "" || !strings.Contains(c.Dir, two.ID) {
		t.Fatalf("%+v, %+v", two, c)
	}
	g.holds(c.Dir, "untracked.txt", "mine\n")
	prompts := g.fake.Prompts()
	if last := prompts[len(prompts)-1]; !strings.HasPrefix(last, two.ID+" (You work in a git worktree of your own, "+c.Dir) || !strings.HasSuffix(last, "\n\ntwo") {
		t.Errorf("it was told %q", last)
	}
	var claims []task.Claim
	for limit := time.Now().Add(5 * time.Second); len(claims) < 2 && time.Now().Before(limit); time.Sleep(5 * time.Millisecond) {
		if b, err := os.ReadFile(task.ClaimFile(g.config.Dir)); err == nil {
			_ = json.Unmarshal(b, &claims)
		}
	}
	for _, cl := range claims {
		if want := map[string]string{one.ID: "", two.ID: g.root}[cl.Task]; cl.Main != want {
			t.Errorf("%+v", cl)
		}
	}
	board := func(says string) {
		t.Helper()
		reply, err := g.r.Notices(task.Request{Caller: g.me}, nil)
		if err != nil || !strings.Contains(reply.Text, says) {
			t.Errorf("no %q on the board (%v):\n%s", says, err, reply.Text)
		}
	}
	board("fix-2 / " + two.ID + " / fixer / running, worktree\n")
	g.refused(task.NotRunning, "fix-2 has not ended")(g.r.Merge(g.say("fix-2", "apply")))
	g.refused(task.BadRequest, "fix-1 works in the project itself")(g.r.Merge(g.say("fix-1", "apply")))
	g.refused(task.BadRequest, `mode is "maybe"`)(g.r.Merge(g.say("fix-2", "maybe")))
	specialist := g.me
	specialist.Agent = "fixer"
	g.refused(task.NotOrchestrator, "you are the fixer")(g.r.Merge(task.Request{Caller: specialist, ID: "fix-2", Text: "apply"}))

	g.write(c.Dir, "f.txt", "1\n2\n3\n4\nfive\n")
	g.write(c.Dir, "new.go", "x\n")
	g.fake.End(two.ID, task.Done, "done", "")
	two = g.ended(two.ID, task.Completed)
	if strings.Join(two.Changed, " ") != "f.txt new.go" || two.Checkout.Fate != task.Unmerged {
		t.Errorf("%v, %+v", two.Changed, two.Checkout)
	}
	for _, says := range []string{"f.txt\nnew.go\noutside what it owns: new.go\n", "in its own worktree, " + c.Dir, `task_merge with task_id "fix-2"`} {
		if text := g.notices()[0].Text; !strings.Contains(text, says) {
			t.Errorf("no %q in\n%s", says, text)
		}
	}
	g.text("done", "task_merge")(g.r.Result(g.say("fix-2", "")))
	board("completed, reconciled, waits for task_merge\n")
	if reply, err := g.r.Collect(task.Request{}); err != nil || reply.Open != 0 {
		t.Errorf("what waits to be merged was forgotten: %+v, %v", reply, err)
	}
	g.refused(task.Conflict, "f.txt belongs to fix-1 until that ends")(g.r.Merge(g.say("fix-2", "apply")))
	g.holds(g.root, "new.go", "")
	g.write(g.root, "f.txt", "one\n2\n3\n4\n5\n")
	g.fake.End(one.ID, task.Done, "done", "")
	g.ended(one.ID, task.Completed)
	g.restart()
	g.text("merge: fits", "2 files", "f.txt\nnew.go")(g.r.Merge(g.say("fix-2", "check")))
	g.holds(g.root, "new.go", "")
	g.text("merge: done", "not committed", "f.txt\nnew.go")(g.r.Merge(g.say("fix-2", "apply")))
	g.holds(g.root, "f.txt", "one\n2\n3\n4\nfive\n")
	g.holds(g.root, "new.go", "x\n")
	g.gone(c.Dir)
	g.refused(task.BadRequest, "its changes are merged")(g.r.Merge(g.say("fix-2", "apply")))

	// Revived, it works at the same place, made anew.
	g.text("generation: 2", "git worktree of its own")(g.r.Revive(g.say("fix-2", "more")))
	g.holds(c.Dir, "f.txt", "one\n2\n3\n4\nfive\n")
	g.fake.End(two.ID, task.Done, "nothing to do", "")
	if x := g.ended(two.ID, task.Completed); x.Checkout.Fate != task.Unchanged {
		t.Errorf("%+v", x.Checkout)
	}
	g.gone(c.Dir)
}

// A conflict leaves the project as it is; revived, the task has both to resolve.
func TestMergeConflict(t *testing.T) {
	g := newGarden(t, task.Options{})
	x := g.fixer("one", task.Request{Where: task.Isolated})
	c := x.Checkout
	g.write(c.Dir, "f.txt", "theirs\n2\n3\n4\n5\n")
	g.write(g.root, "f.txt", "mine\n2\n3\n4\n5\n")
	g.fake.Change(x.ID, func(r *tasktest.FakeRun) { r.Look.Live, r.Look.Reason = task.LiveGone, "signal 9" })
	g.ended(x.ID, task.Stopped)
	reply, err := g.r.Merge(g.say("fix-1", "apply"))
	g.text("merge: conflict\nNothing was changed.", "\nf.txt\n", `task_revive with task_id "fix-1"`)(reply, err)
	if err == nil && !reply.Failed {
		t.Error("a conflict is no success")
	}
	g.holds(g.root, "f.txt", "mine\n2\n3\n4\n5\n")
	g.text("worktree: " + c.Dir + ", conflict with the project (1 files)")(g.r.Status(g.say("fix-1", "")))
	g.text("generation: 2")(g.r.Revive(g.say("fix-1", "take both")))
	prompts := g.fake.Prompts()
	if last := prompts[len(prompts)-1]; !strings.Contains(last, "Resolve the conflicts in: f.txt.") {
		t.Errorf("it was told %q", last)
	}
	if b, err := os.ReadFile(filepath.Join(c.Dir, "f.txt")); err != nil || !strings.Contains(string(b), "<<<<<<<") {
		t.Errorf("%s, %v", b, err)
	}
	g.write(c.Dir, "f.txt", "both\n2\n3\n4\n5\n")
	g.fake.End(x.ID, task.Done, "done", "")
	g.ended(x.ID, task.Completed)
	g.text("merge: done")(g.r.Merge(g.say("fix-1", "")))
	g.holds(g.root, "f.txt", "both\n2\n3\n4\n5\n")
}

// Only discarding drops changes.
func TestDiscard(t *testing.T) {
	g := newGarden(t, task.Options{})
	x := g.fixer("one", task.Request{Where: task.Isolated})
	g.write(x.Checkout.Dir, "new.go", "x\n")
	g.text("cancelled")(g.r.Cancel(g.say("fix-1", "enough")))
	g.restart()
	g.holds(x.Checkout.Dir, "new.go", "x\n")
	if x = g.task(x.ID); x.Checkout.Fate != task.Unmerged || strings.Join(x.Changed, "") != "new.go" {
		t.Errorf("%v, %+v", x.Changed, x.Checkout)
	}
	g.text("merge: discarded")(g.r.Merge(g.say("fix-1", "discard")))
	g.gone(x.Checkout.Dir)
	g.holds(g.root, "new.go", "")
	y := g.fixer("two", task.Request{Where: task.Isolated})
	g.text("cancelled")(g.r.Cancel(g.say("fix-2", "enough"))) // has done nothing
	g.gone(y.Checkout.Dir)
}

// A runner that was ended while it made a worktree makes it anew; one whose
// making fails fails the task before anything was done.
func TestWorktreeCutOff(t *testing.T) {
	g := newGarden(t, task.Options{})
	block := filepath.Join(g.config.Dir, "worktrees")
	g.write(g.config.Dir, "worktrees", "in the way")
	reply, err := g.r.Launch(task.Request{Caller: g.me, Worker: "fixer", Text: "one", Where: task.Isolated})
	if err != nil {
		t.Fatal(err)
	}
	x := g.ended(reply.Task.ID, task.Failed)
	if !strings.Contains(x.Reason, "its worktree could not be made: ") || x.Checkout.Fate != task.Unchanged || len(g.fake.Prompts()) > 0 {
		t.Errorf("%s, %+v", x.Reason, x.Checkout)
	}
	if err := os.Remove(block); err != nil {
		t.Fatal(err)
	}
	g.fake.Set(func(task.Run) error { return errors.New("never answered") }, nil, nil)
	y := g.fixer("two", task.Request{Where: task.Isolated})
	g.write(y.Checkout.Dir, "done.go", "x\n")
	g.restart()
	g.fake.End(y.ID, task.Done, "done", "")
	if y = g.ended(y.ID, task.Completed); strings.Join(y.Changed, "") != "done.go" {
		t.Errorf("%v, %+v", y.Changed, y.Checkout)
	}
}

// What the configuration says about two that want the same files, and what is
// done where no worktree can be had.
func TestOnConflict(t *testing.T) {
	for _, tt := range []struct {
		policy   string
		where    task.Isolation
		outside  bool // of any repository
		waits    string
		refused  string
		checkout bool
	}{
		{policy: "", checkout: true},
		{policy: "auto", checkout: true},
		{policy: "auto", where: task.Shared, waits: "fix-1, which owns f.txt"},
		{policy: "auto", outside: true, waits: "is not in a git repository)"},
		{policy: "queue", waits: "fix-1, which owns f.txt"},
		{policy: "queue", where: task.Isolated, checkout: true},
		{policy: "refuse", refused: "it wants files of fix-1, which owns f.txt (task.ownership.onConflict is refuse)"},
		{policy: "allow"},
		{policy: "auto", where: task.Isolated, outside: true, refused: "is not in a git repository; leave isolation out"},
	} {
		g := newGarden(t, task.Options{Ownership: task.Ownership{OnConflict: tt.policy}})
		if tt.outside {
			g.root = t.TempDir()
			g.me.Dir = g.root
		}
		g.fixer("one", task.Request{Files: []string{"f.txt"}})
		q := task.Request{Caller: g.me, Worker: "fixer", Text: "two", Files: []string{"*.txt"}, Where: tt.where}
		reply, err := g.r.Launch(q)
		if tt.refused != "" {
			if err == nil || !strings.Contains(err.Error(), tt.refused) {
				t.Errorf("%+v: %v", tt, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%+v: %v", tt, err)
		}
		x := g.untilStarted(reply.Task.ID)
		if (x.Checkout != nil) != tt.checkout || (x.Waits == "") != (tt.waits == "") || !strings.Contains(x.Waits, tt.waits) {
			t.Errorf("%+v: waits for %q, checkout %+v", tt, x.Waits, x.Checkout)
		}
	}
}

// Without git the second writer waits, and says why.
func TestNoGit(t *testing.T) {
	g := newGarden(t, task.Options{})
	t.Setenv("PATH", t.TempDir())
	g.fixer("one", task.Request{Files: []string{"f.txt"}})
	x := g.fixer("two", task.Request{Files: []string{"*.txt"}})
	if want := "fix-1, which owns f.txt (no worktree: git is not installed)"; x.Waits != want || x.Phase != task.Queued {
		t.Errorf("%s, waits for %q, want %q", x.Phase, x.Waits, want)
	}
}
