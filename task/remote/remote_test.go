package remote_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/agent"
	"github.com/whet-dev/whet/internal/scriptmodel"
	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/remote"
	"github.com/whet-dev/whet/task/remote/natstest"
	"github.com/whet-dev/whet/task/tasktest"
)

// worker works on runs with the scripted model until it is stopped, or the test
// ends.
func worker(t *testing.T, o task.NATS, model string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w := &remote.Worker{
		NATS: o, Name: "w", Dir: t.TempDir(), Slots: 8, Log: logger(t),
		Open: func(t task.Task) (agent.Options, error) {
			role, err := agent.FindRole(t.Agent)
			return agent.Options{
				Model: agent.Endpoint{Provider: "p", Model: "m", API: "openai", BaseURL: model + "/v1", Idle: 20 * time.Second}.Open(),
				Kit:   &whet.Kit{}, Role: role, Retry: agent.Retry{Base: 10 * time.Millisecond},
				Session: whet.Session{ID: t.ID, Dir: t.Dir, Ask: func(context.Context, whet.Permission) error { return nil }},
			}, err
		},
	}
	done := make(chan error, 1)
	go func() { done <- w.Work(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func logger(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelInfo}))
}

type testWriter struct{ *testing.T }

func (w testWriter) Write(b []byte) (int, error) {
	if w.Context().Err() == nil { // nobody may log after the test
		w.Logf("%s", strings.TrimSpace(string(b)))
	}
	return len(b), nil
}

// git runs git in dir.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=e@localhost", "-c", "init.defaultBranch=main"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// merging is a backend whose parent keeps the project in git, and takes over
// what comes back.
type merging struct {
	*testing.T
	task.Backend
	init *sync.Mutex
}

func (m merging) Start(ctx context.Context, r task.Run) (string, error) {
	m.init.Lock()
	if _, err := os.Stat(filepath.Join(r.Task.Dir, ".git")); err != nil {
		git(m.T, r.Task.Dir, "init", "-q")
	}
	m.init.Unlock()
	return m.Backend.Start(ctx, r)
}

func (m merging) Look(ctx context.Context, r task.Run) (task.Look, error) {
	l, err := m.Backend.Look(ctx, r)
	if text, hint, ok := strings.Cut(l.Text, "\n\n(Another machine"); ok && l.Ended() {
		ref := "refs/whet/result/" + r.Task.ID
		if !strings.Contains(hint, "git diff "+ref+"^ "+ref+" | git apply --3way)") {
			m.Errorf("the hint is %q", hint)
		}
		git(m.T, r.Task.Dir, "checkout", "-q", ref, "--", ".")
		l.Text = text
	}
	return l, err
}

// The suite of all backends, but for what is different on purpose: a runner
// that ends leaves the runs to their workers.
func TestBackend(t *testing.T) {
	servers := map[*testing.T]task.NATS{}
	var only []string
	if testing.Short() { // each case starts a server
		only = []string{
			"starts at once are one run", "interrupted", "goes on with its context", "no second run while one works", "many at once",
			"two notes", "goes on during a restart", "an end is known after a restart",
		}
	}
	tasktest.Run(t, tasktest.Peer{
		Open: func(t *testing.T, model *scriptmodel.Server, hear task.Hear) task.Backend {
			if _, ok := servers[t]; !ok {
				servers[t] = natstest.Start(t).Options
				worker(t, servers[t], model.URL)
			}
			b, err := remote.New(servers[t], logger(t), hear)
			if err != nil {
				t.Fatal(err)
			}
			return merging{t, b, new(sync.Mutex)}
		},
		Write: func(path, content string) scriptmodel.Call {
			args, err := json.Marshal(map[string]string{"path": path, "content": content})
			if err != nil {
				t.Fatal(err)
			}
			return scriptmodel.Call{Name: "write", Args: args}
		},
		Agent: "fixer", Notes: true, Changes: true, Lasts: true, Only: only,
	})
}
