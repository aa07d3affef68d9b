package remote_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/whet-dev/whet/internal/scriptmodel"
	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/remote"
	"github.com/whet-dev/whet/task/remote/natstest"
	"github.com/whet-dev/whet/task/worktree"
)

// A desk is a runner's backend with a server, without workers as yet.
type desk struct {
	*testing.T
	task.Backend
	server *natstest.Server
	model  *scriptmodel.Server
	dir    string
}

func newDesk(t *testing.T, script scriptmodel.Script) *desk {
	t.Helper()
	d := &desk{T: t, server: natstest.Start(t), dir: t.TempDir()}
	var err error
	if d.model, err = scriptmodel.Start(script); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.model.Close() })
	if d.Backend, err = remote.New(d.server.Options, logger(t), func(string, uint32, task.Progress) {}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	git(t, d.dir, "init", "-q")
	return d
}

func (d *desk) task() task.Run {
	return task.Run{Prompt: "[[script:s]] go", Task: task.Task{ID: "tsk_" + strings.Repeat("0", 26), Agent: "fixer", Dir: d.dir, Writes: true, Job: task.New()}}
}

func (d *desk) start(r task.Run) {
	d.Helper()
	if _, err := d.Start(d.Context(), r); err != nil {
		d.Fatal(err)
	}
}

func (d *desk) until(r task.Run, what string, ok func(task.Look) bool) (l task.Look) {
	d.Helper()
	var err error
	for limit := time.Now().Add(30 * time.Second); time.Now().Before(limit); time.Sleep(10 * time.Millisecond) {
		if l, err = d.Look(d.Context(), r); err == nil && ok(l) {
			return l
		}
	}
	d.Fatalf("never %s: %+v, %v", what, l, err)
	return l
}

// js is what anybody can do who may talk to the server.
func (d *desk) js() (*nats.Conn, jetstream.JetStream) {
	d.Helper()
	nc, err := nats.Connect(d.server.Options.URL)
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		d.Fatal(err)
	}
	return nc, js
}

func (d *desk) publish(js jetstream.JetStream, subject, data string, header ...string) {
	d.Helper()
	m := nats.NewMsg(subject)
	m.Data = []byte(data)
	for i := 0; i < len(header); i += 2 {
		m.Header.Set(header[i], header[i+1])
	}
	if _, err := js.PublishMsg(d.Context(), m); err != nil {
		d.Fatal(err)
	}
}

func waits(l task.Look) bool {
	return l.Live == task.LiveRetry && l.Reason == "no worker has taken it yet"
}

var done = scriptmodel.Script{"s": {{Text: "Done."}}}

// A task that no worker has is cancelled at once, and no worker works on it
// later.
func TestCancelOfUntaken(t *testing.T) {
	d := newDesk(t, done)
	r := d.task()
	d.start(r)
	d.until(r, "waiting", waits)
	if err := d.Interrupt(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if l := d.until(r, "ended", task.Look.Ended); l.End != task.Aborted {
		t.Errorf("%+v", l)
	}
	worker(t, d.server.Options, d.model.URL)
	next := r
	next.Task.Gen++
	d.start(next)
	if l := d.until(next, "ended", task.Look.Ended); l.End != task.Done || l.Text != "Done." || len(d.model.Requests()) != 1 {
		t.Errorf("%+v, after %d requests", l, len(d.model.Requests()))
	}
}

// A worker that is silent can't keep a task from being cancelled, nor end it
// later.
func TestCancelOfSilent(t *testing.T) {
	d := newDesk(t, done)
	r := d.task()
	d.start(r)
	_, js := d.js()
	d.publish(js, "whet.log."+r.Task.ID, `{"worker":"dead"}`, "Whet-Kind", "claim", "Whet-Gen", "1", "Whet-Row", "x")
	if l := d.until(r, "missed", func(l task.Look) bool { return l.Live == task.LiveRetry }); !strings.Contains(l.Reason, "has not been heard of for") {
		t.Errorf("%+v", l)
	}
	if err := d.Interrupt(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if l := d.until(r, "ended", task.Look.Ended); l.End != task.Aborted {
		t.Errorf("%+v", l)
	}
}

// A task that kills its workers is not handed out for ever.
func TestPoison(t *testing.T) {
	d := newDesk(t, done)
	r := d.task()
	d.start(r)
	_, js := d.js()
	for range 5 {
		d.publish(js, "whet.log."+r.Task.ID, `{"worker":"dead"}`, "Whet-Kind", "claim", "Whet-Gen", "1", "Whet-Row", "x")
	}
	worker(t, d.server.Options, d.model.URL)
	l := d.until(r, "ended", task.Look.Ended)
	if l.End != task.Erred || l.Reason != "5 workers in turn were lost on it before it got any further" || len(d.model.Requests()) > 0 {
		t.Errorf("%+v", l)
	}
}

// What a worker has when it is ended goes to the next one at once, with all that
// was done.
func TestEndedWorker(t *testing.T) {
	d := newDesk(t, scriptmodel.Script{"s": {
		{Text: "I write.", Calls: []scriptmodel.Call{{Name: "bash", Args: json.RawMessage(`{"command": "echo x >> log"}`)}}},
		{Text: "Half.", Hang: true, Times: 1},
		{Text: "Never."},
	}})
	d.server.Options.LostAfterS = 600
	stop := worker(t, d.server.Options, d.model.URL)
	r := d.task()
	d.start(r)
	for limit := time.Now().Add(20 * time.Second); len(d.model.Requests()) < 2; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("it didn't get that far")
		}
	}
	stop()
	worker(t, d.server.Options, d.model.URL)
	if l := d.until(r, "ended", task.Look.Ended); l.End != task.Done || !strings.HasPrefix(l.Text, "Half.\n\n(Another") {
		t.Errorf("%+v", l)
	}
	if got := git(t, d.dir, "show", "refs/whet/result/"+r.Task.ID+":log"); got != "x" || len(d.model.Requests()) != 3 {
		t.Errorf("the log is %q after %d requests", got, len(d.model.Requests()))
	}
}

// A server that has lost everything gets it again.
func TestForgetfulServer(t *testing.T) {
	d := newDesk(t, done)
	r := d.task()
	r.Task.Phase = task.Running
	d.start(r)
	d.until(r, "waiting", waits)
	_, js := d.js()
	for _, name := range []string{"WHET_RUNS", "WHET_LOG", "WHET_MAIL", "OBJ_WHET_TREES"} {
		if err := js.DeleteStream(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	d.until(r, "missed", func(l task.Look) bool { return l.Live == task.LiveParked })
	worker(t, d.server.Options, d.model.URL)
	d.start(r)
	if l := d.until(r, "ended", task.Look.Ended); l.End != task.Done {
		t.Errorf("%+v", l)
	}
}

// Garbage on every subject is thrown away, and changes nothing for the rest.
func TestHostileMessages(t *testing.T) {
	d := newDesk(t, done)
	r := d.task()
	worker(t, d.server.Options, d.model.URL)
	d.start(r) // makes the streams
	d.until(r, "ended", task.Look.Ended)
	nc, js := d.js()
	other := "tsk_" + strings.Repeat("1", 26)
	next := r
	next.Task.Gen++
	elsewhere, err := json.Marshal(map[string]any{"task": map[string]any{"id": other, "gen": 1}, "tree": map[string]string{"commit": strings.Repeat("a", 40), "sub": "../../etc"}})
	if err != nil {
		t.Fatal(err)
	}
	for subject, data := range map[string]string{
		"whet.run.x.1":                        "garbage",
		"whet.run." + other + ".1":            string(elsewhere),
		"whet.run." + other + ".2":            strings.Repeat("x", 900<<10),
		"whet.run." + other + ".999999999999": "{}",
		"whet.mail." + r.Task.ID + ".2":       "garbage",
		"whet.log." + other:                   "garbage",
	} {
		d.publish(js, subject, data, "Whet-Gen", "-1", "Whet-Kind", "\x1b[31m")
	}
	for _, data := range []string{"", "{", strings.Repeat("x", 900<<10), `{"gen":2,"claim":18446744073709551615,"look":{"Live":"busy","End":9}}`} {
		for _, subject := range []string{"whet.live." + r.Task.ID, "whet.live.x"} {
			if err := nc.Publish(subject, []byte(data)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	d.start(next)
	if l := d.until(next, "ended", task.Look.Ended); l.End != task.Done || l.Text != "Done." {
		t.Errorf("%+v", l)
	}
	// The queue is empty again.
	for limit := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		s, err := js.Stream(t.Context(), "WHET_RUNS")
		if err != nil {
			t.Fatal(err)
		}
		if n := s.CachedInfo().State.Msgs; n == 0 {
			break
		} else if time.Now().After(limit) {
			t.Fatalf("%d runs are left", n)
		}
	}
}

// A result that isn't what it says is no part of the repository, and the answer
// is told all the same.
func TestHostileResult(t *testing.T) {
	commit := strings.Repeat("ab", 20)
	for name, c := range map[string]struct{ commit, bundle, want string }{
		"no bundle":     {commit, "garbage", "git bundle: "},
		"empty":         {commit, "# v2 git bundle\n", "the bundle hasn't got " + commit},
		"another":       {commit, "# v2 git bundle\n" + strings.Repeat("cd", 20) + " refs/heads/state\n\nPACK", "the bundle hasn't got " + commit},
		"without":       {commit, "# v2 git bundle\n" + commit + " refs/heads/state\n\nPACK", "git fetch: "},
		"into our refs": {commit, "# v2 git bundle\n" + commit + " refs/heads/x:refs/heads/main\n\nPACK", "git fetch: "},
		"no commit":     {"x", "", `"x" is no commit`},
		"an option":     {"--output=/tmp/x", "", `"--output=/tmp/x" is no commit`},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, done)
			r := d.task()
			d.start(r)
			_, js := d.js()
			trees, err := js.ObjectStore(t.Context(), "WHET_TREES")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := trees.PutString(t.Context(), r.Task.ID+"/"+c.commit, c.bundle); err != nil {
				t.Fatal(err)
			}
			d.ending(js, r, c.commit)
			l := d.until(r, "ended", task.Look.Ended)
			if l.End != task.Done || !strings.HasPrefix(l.Text, "Done.\n\n(Another machine did this, and its changes could not be fetched: "+c.want) {
				t.Errorf("%+v", l)
			}
			if refs := git(t, d.dir, "for-each-ref", "refs/whet/result", "refs/heads"); refs != "" {
				t.Errorf("there is %s", refs)
			}
		})
	}
}

// ending writes a run's end as a worker would, with a state of the project.
func (d *desk) ending(js jetstream.JetStream, r task.Run, commit string) {
	d.Helper()
	for i, body := range []string{`{"commit":"` + commit + `"}`, `{"how":"done","text":"Done."}`} {
		d.publish(js, "whet.log."+r.Task.ID, body, "Whet-Kind", []string{"tree", "end"}[i], "Whet-Gen", "1", "Whet-Row", body)
	}
}

// A result that isn't made on top of what was sent isn't taken either.
func TestForeignResult(t *testing.T) {
	d := newDesk(t, done)
	r := d.task()
	d.start(r)
	other := t.TempDir()
	git(t, other, "init", "-q")
	for range 2 {
		git(t, other, "commit", "-q", "--allow-empty", "-m", "not yours")
	}
	git(t, other, "bundle", "create", "-q", "b", "main")
	bundle, err := os.ReadFile(filepath.Join(other, "b"))
	if err != nil {
		t.Fatal(err)
	}
	commit := git(t, other, "rev-parse", "HEAD")
	_, js := d.js()
	trees, err := js.ObjectStore(t.Context(), "WHET_TREES")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trees.PutBytes(t.Context(), r.Task.ID+"/"+commit, bundle); err != nil {
		t.Fatal(err)
	}
	d.ending(js, r, commit)
	if l := d.until(r, "ended", task.Look.Ended); !strings.Contains(l.Text, commit+" isn't made on top of what was sent") {
		t.Errorf("%+v", l)
	}
	if refs := git(t, d.dir, "for-each-ref", "refs/whet/result"); refs != "" {
		t.Errorf("there is %s", refs)
	}
}

// What can't be sent is refused in one sentence.
func TestNoRepository(t *testing.T) {
	d := newDesk(t, done)
	r := d.task()
	r.Task.Dir = t.TempDir()
	_, err := d.Start(t.Context(), r)
	if refusal := task.RefusalOf(err); refusal == nil || !strings.Contains(refusal.Reason, "is in no git repository") || !strings.Contains(refusal.Reason, "task.agents.fixer.backend to llm") {
		t.Errorf("got %v", err)
	}
}

// Without a server nothing is started and nothing is known, until it is there.
func TestServerAway(t *testing.T) {
	d := newDesk(t, done)
	d.server.Kill()
	r := d.task()
	if _, err := d.Start(t.Context(), r); err == nil || task.RefusalOf(err) != nil {
		t.Errorf("got %v, want that it isn't known", err)
	}
	if _, err := d.Look(t.Context(), r); err == nil {
		t.Error("it looks as if something were known")
	}
	d.server.Restart(t)
	worker(t, d.server.Options, d.model.URL)
	for limit := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		_, err := d.Start(t.Context(), r)
		if err == nil {
			break
		}
		if time.Now().After(limit) {
			t.Fatal(err)
		}
	}
	d.until(r, "ended", task.Look.Ended)
}

// A repository without a commit, and a task in a directory of it.
func TestSubdirectory(t *testing.T) {
	write, err := json.Marshal(map[string]string{"path": "made.txt", "content": "made\n"})
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(t, scriptmodel.Script{"s": {{Text: "I write.", Calls: []scriptmodel.Call{{Name: "write", Args: write}}}, {Text: "Written."}}})
	worker(t, d.server.Options, d.model.URL)
	r := d.task()
	r.Task.Dir = filepath.Join(d.dir, "sub dir")
	if err := errors.Join(os.Mkdir(r.Task.Dir, 0o700), os.WriteFile(filepath.Join(d.dir, "top"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	d.start(r)
	l := d.until(r, "ended", task.Look.Ended)
	if len(l.Changed) != 1 || l.Changed[0] != "made.txt" {
		t.Errorf("%+v", l)
	}
	if got := git(t, d.dir, "show", "refs/whet/result/"+r.Task.ID+":sub dir/made.txt"); got != "made" {
		t.Errorf("it is %q", got)
	}
}

// A repository whose history isn't all there is sent without any.
func TestShallowRepository(t *testing.T) {
	d := newDesk(t, scriptmodel.Script{"s": {
		{Text: "I look.", Calls: []scriptmodel.Call{{Name: "bash", Args: json.RawMessage(`{"command": "{ cat a; git log --oneline | wc -l; git status --short; } > seen"}`)}}},
		{Text: "Done."},
	}})
	full := t.TempDir()
	git(t, full, "init", "-q")
	for _, text := range []string{"1", "2"} {
		if err := os.WriteFile(filepath.Join(full, "a"), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		git(t, full, "add", "a")
		git(t, full, "commit", "-qm", text)
	}
	d.dir = filepath.Join(t.TempDir(), "shallow")
	git(t, full, "clone", "-q", "--depth", "1", "file://"+full, d.dir)
	worker(t, d.server.Options, d.model.URL)
	r := d.task()
	d.start(r)
	if l := d.until(r, "ended", task.Look.Ended); l.End != task.Done {
		t.Errorf("%+v", l)
	}
	if got := strings.Fields(git(t, d.dir, "show", "refs/whet/result/"+r.Task.ID+":seen")); len(got) != 4 || got[0] != "2" || got[1] != "1" || got[2] != "??" {
		t.Errorf("the worker saw %q", got)
	}
}

// What is done in a task's own worktree comes back into that, to be merged from
// there like any other's.
func TestWorktree(t *testing.T) {
	d := newDesk(t, scriptmodel.Script{"s": {
		{Text: "I work.", Calls: []scriptmodel.Call{{Name: "bash", Args: json.RawMessage(`{"command": "echo made > made; rm gone"}`)}}},
		{Text: "Done."},
	}})
	if err := os.WriteFile(filepath.Join(d.dir, "gone"), []byte("here\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	git(t, d.dir, "add", "-A")
	git(t, d.dir, "commit", "-qm", "first")
	worker(t, d.server.Options, d.model.URL)
	g, err := worktree.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := &task.Checkout{Home: d.dir, Root: d.dir, Dir: filepath.Join(t.TempDir(), "wt")}
	if c.Base, err = g.Add(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	r := d.task()
	r.Task.Checkout, r.Task.Dir = c, c.Place()
	d.start(r)
	if l := d.until(r, "ended", task.Look.Ended); l.Text != "Done." {
		t.Errorf("%+v", l)
	}
	changed, err := g.Save(t.Context(), c)
	if err != nil || !slices.Equal(changed, []string{"gone", "made"}) {
		t.Errorf("changed: %q, %v", changed, err)
	}
	if got := git(t, d.dir, "status", "--short"); got != "" {
		t.Errorf("the person's own files: %s", got)
	}
}
