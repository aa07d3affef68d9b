package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/whet-dev/whet/internal/scriptmodel"
	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/remote/natstest"
)

// A cluster is a runner, a real NATS server and workers, each a process of its
// own with a home of its own.
type cluster struct {
	*stage
	server  *natstest.Server
	workers []*testWorker
}

type testWorker struct {
	cmd   *exec.Cmd
	state string
	said  *output
}

// newCluster starts the server at an address of the host, and the runner.
func newCluster(t *testing.T, host string, lostAfterS int, script scriptmodel.Script) *cluster {
	t.Helper()
	c := &cluster{stage: newStage(t, script), server: natstest.StartAt(t, host, "--auth", "secret")}
	c.env = append(c.env, "WHET_TASK__NATS__URL="+c.server.Options.URL, fmt.Sprint("WHET_TASK__NATS__LOSTAFTERS=", lostAfterS), "WHET_NATS_TOKEN=secret")
	t.Cleanup(func() {
		for _, w := range c.workers {
			w.kill()
		}
	})
	c.project()
	c.serve()
	return c
}

// project makes a repository in which something is committed, something
// changed, something new and something ignored.
func (c *cluster) project() {
	c.Helper()
	c.git("init", "-q")
	c.put("committed", "old\n")
	c.put(".gitignore", "secret\n")
	c.git("add", "-A")
	c.git("commit", "-qm", "first")
	c.put("committed", "changed\n")
	c.put("untracked", "new\n")
	c.put("secret", "key\n")
}

func (c *cluster) put(name, text string) {
	c.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
		c.Fatal(err)
	}
}

func (c *cluster) git(args ...string) string {
	c.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=e@localhost"}, args...)...)
	cmd.Dir = c.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// worker starts a worker, by a command before it if one is given.
func (c *cluster) worker(env []string, before ...string) *testWorker {
	c.Helper()
	home := c.TempDir()
	argv := append(before, whetBinary(c.T), "serve", "--worker")
	w := &testWorker{cmd: exec.Command(argv[0], argv[1:]...), state: filepath.Join(home, "state"), said: new(output)}
	w.cmd.Env = append(append(c.env, "HOME="+home, "WHET_STATE="+w.state, `WHET_TASK__ALLOW=["*"]`), env...)
	w.cmd.Stderr = w.said
	if err := w.cmd.Start(); err != nil {
		c.Fatal(err)
	}
	c.workers = append(c.workers, w)
	return w
}

func (w *testWorker) kill() {
	if w.cmd.ProcessState == nil {
		_ = w.cmd.Process.Kill()
		_ = w.cmd.Wait()
	}
}

// output is what a process has said so far.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// until waits until ok, and fails with what every worker said if it never is.
func (c *cluster) until(what string, ok func() bool) {
	c.Helper()
	for limit := time.Now().Add(45 * time.Second); time.Now().Before(limit); time.Sleep(20 * time.Millisecond) {
		if ok() {
			return
		}
	}
	for i, w := range c.workers {
		c.Logf("worker %d:\n%s", i+1, w.said)
	}
	c.Fatalf("never %s", what)
}

// holder returns the worker in whose copy of the project the log has the line.
func (c *cluster) holder(line string) (found *testWorker) {
	c.Helper()
	c.until("with a worker that wrote "+line, func() bool {
		for _, w := range c.workers {
			logs, _ := filepath.Glob(filepath.Join(w.state, "tasks/work/*/tsk_*/project/log"))
			for _, l := range logs {
				if b, err := os.ReadFile(l); err == nil && w.cmd.ProcessState == nil && strings.Contains(string(b), line+"\n") {
					found = w
					return true
				}
			}
		}
		return false
	})
	return found
}

// launch starts the task that the tests are about. It must be called when its
// worker is to be chosen.
func (c *cluster) launch() string {
	c.Helper()
	reply, err := c.ask("/launch", task.Request{Worker: "fixer", Title: "work", Text: "[[script:work]] go"})
	if err != nil || reply.Failed {
		c.Fatalf("%+v, %v", reply, err)
	}
	return reply.Task.ID
}

// steps is the work: a step that is done, one that is under way when something
// happens, and the rest.
func steps(pause string) scriptmodel.Script {
	bash := func(command string) []scriptmodel.Call {
		args, _ := json.Marshal(map[string]string{"command": command}) // strings always can be
		return []scriptmodel.Call{{Name: "bash", Args: args}}
	}
	return scriptmodel.Script{"work": {
		{Text: "I begin.", Calls: bash("echo one >> log")},
		{Text: "I go on.", Calls: bash("echo two >> log; sleep " + pause)},
		{Text: "Nearly.", Calls: bash("echo three >> log; { cat committed untracked; ls secret || git status --short; } > seen 2>&1")},
		{Text: "Finished."},
	}}
}

// finishedOnce checks all that must hold of a task, whatever happened to its
// workers: it is done, its end was told once, no step was asked for twice, and
// what it did is there.
func (c *cluster) finishedOnce(id, log string) {
	c.Helper()
	c.until("finished", func() bool {
		reply, err := c.ask("/list", task.Request{})
		return err == nil && reply.Open == 0
	})
	reply, err := c.ask("/status", task.Request{ID: id})
	if err != nil {
		c.Fatal(err)
	}
	if x := reply.Task; x.Phase != task.Completed || x.Gen != 1 || x.Rev != 1 || !strings.HasPrefix(x.Text, "Finished.\n\n(Another machine did this") {
		c.Fatalf("%s, generation %d, revision %d: %q (%s)", x.Phase, x.Gen, x.Rev, x.Text, x.Reason)
	}
	c.toldOnce(id)
	asked := map[int]int{}
	for _, q := range c.model.Requests() {
		asked[q.Step]++
	}
	if len(asked) != 4 || asked[0] != 1 || asked[1] != 1 || asked[2] != 1 || asked[3] != 1 {
		c.Errorf("the model was asked for the steps %v times", asked)
	}
	if got := c.git("show", "refs/whet/result/"+id+":log"); got != log {
		c.Errorf("the log is %q, want %q", got, log)
	}
	seen := c.git("show", "refs/whet/result/"+id+":seen")
	for _, want := range []string{"changed\nnew\n", "secret", " M committed\n", "?? untracked\n"} {
		if !strings.Contains(seen, want) {
			c.Errorf("the worker saw %q, without %q", seen, want)
		}
	}
	if strings.Contains(seen, "key") {
		c.Errorf("what is ignored was sent: %q", seen)
	}
	if got := c.git("status", "--short"); got != " M committed\n?? untracked\n" {
		c.Errorf("the person's own files are now %q", got)
	}
}

func (c *cluster) toldOnce(id string) {
	c.Helper()
	reply, err := c.ask("/notices", task.Request{})
	if err != nil {
		c.Fatal(err)
	}
	if n := reply.Notices; len(n) != 1 || n[0].ID != id+"/1/1" {
		c.Fatalf("told: %+v", n)
	}
	if _, err := c.ask("/acknowledge", task.Request{Notices: []string{id + "/1/1"}}); err != nil {
		c.Fatal(err)
	}
	c.toldNoMore()
}

func (c *cluster) toldNoMore() {
	c.Helper()
	if reply, err := c.ask("/notices", task.Request{}); err != nil || len(reply.Notices) > 0 {
		c.Errorf("told again: %+v, %v", reply, err)
	}
}

// One of three workers is killed in the middle of a step. Another goes on, from
// what was done, and doesn't do the step again: nobody knows what it has done.
func TestKilledWorker(t *testing.T) {
	c := newCluster(t, "127.0.0.1", 4, steps("60"))
	for range 3 {
		c.worker(nil)
	}
	id := c.launch()
	c.holder("two").kill()
	c.finishedOnce(id, "one\nthree\n")
	c.noOrphans()
}

// The server and then the runner are killed in the middle of a step, and come
// back. The worker waits, and goes on.
func TestKilledServer(t *testing.T) {
	c := newCluster(t, "127.0.0.1", 30, steps("1"))
	c.worker(nil)
	id := c.launch()
	w := c.holder("two")
	c.server.Kill()
	c.kill()
	c.serve()
	time.Sleep(1500 * time.Millisecond) // the step ends meanwhile, and can't be written down
	c.server.Restart(t)
	c.finishedOnce(id, "one\ntwo\nthree\n")
	if said := w.said.String(); strings.Count(said, "msg=taken") != 1 {
		t.Errorf("the worker said %s", said)
	}
}

// A worker is cut off from the others, and another goes on. What the first one
// has to say when it is back counts for nothing.
func TestPartition(t *testing.T) {
	ns := newNamespace(t)
	c := newCluster(t, ns.host, 4, steps("3"))
	away := c.worker([]string{"ANTHROPIC_BASE_URL=http://" + forward(t, ns.host, strings.TrimPrefix(c.model.URL, "http://"))}, "ip", "netns", "exec", ns.name)
	id := c.launch()
	c.holder("two")
	ns.link("down")
	for range 2 {
		c.worker(nil)
	}
	c.finishedOnce(id, "one\nthree\n")
	ns.link("up")
	c.until("heard by the one that was away that it has lost its run", func() bool {
		return strings.Contains(away.said.String(), "the run was taken over by another worker")
	})
	c.toldNoMore()
	c.kill()
	c.serve() // what a new runner finds is the same
	reply, err := c.ask("/status", task.Request{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	if x := reply.Task; x.Phase != task.Completed || !x.Acked || x.Rev != 1 {
		t.Errorf("%s, acknowledged %v, revision %d", x.Phase, x.Acked, x.Rev)
	}
	c.toldNoMore()
}

// A namespace is a network of its own, joined to ours by one link.
type namespace struct {
	*testing.T
	name, host string
}

func newNamespace(t *testing.T) *namespace {
	t.Helper()
	n := byte(os.Getpid())
	ns := &namespace{t, fmt.Sprintf("whet%d", os.Getpid()), fmt.Sprintf("10.213.%d.1", n)}
	remove := func() {
		_ = exec.Command("ip", "link", "del", "whet0-"+fmt.Sprint(n)).Run()
		_ = exec.Command("ip", "netns", "del", ns.name).Run()
	}
	remove() // what a killed test has left
	t.Cleanup(remove)
	for _, args := range []string{
		"netns add " + ns.name,
		fmt.Sprintf("link add whet0-%d type veth peer name whet1-%d netns %s", n, n, ns.name),
		fmt.Sprintf("addr add %s/30 dev whet0-%d", ns.host, n),
		fmt.Sprintf("link set whet0-%d up", n),
		fmt.Sprintf("-n %s addr add 10.213.%d.2/30 dev whet1-%d", ns.name, n, n),
		fmt.Sprintf("-n %s link set whet1-%d up", ns.name, n),
		fmt.Sprintf("-n %s link set lo up", ns.name),
	} {
		out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput()
		if err == nil {
			continue
		}
		if os.Getenv("WHET_PEERS") == "require" {
			t.Fatalf("no network namespace can be made, and WHET_PEERS=require: ip %s: %v %s", args, err, out)
		}
		t.Skipf("no network namespace can be made, which root can: ip %s: %v %s", args, err, out)
	}
	return ns
}

// link sets our end of the link up or down.
func (ns *namespace) link(state string) {
	ns.Helper()
	if out, err := exec.Command("ip", "link", "set", fmt.Sprintf("whet0-%d", byte(os.Getpid())), state).CombinedOutput(); err != nil {
		ns.Fatalf("%v %s", err, out)
	}
}

// forward lets whoever reaches the host reach the address too.
func forward(t *testing.T, host, address string) string {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer in.Close()
				out, err := net.Dial("tcp", address)
				if err != nil {
					return
				}
				defer out.Close()
				go func() { _, _ = io.Copy(out, in); out.Close() }()
				_, _ = io.Copy(in, out)
			}()
		}
	}()
	return l.Addr().String()
}
