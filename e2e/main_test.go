//go:build unix

// Package e2e drives the real coding agents, offline, with a scripted model,
// and looks at what whet did to them. scripts/peers installs the agents.
package e2e

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/whet-dev/whet/internal/peer"
	"github.com/whet-dev/whet/internal/proc"
	"github.com/whet-dev/whet/internal/scriptmodel"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "rpc" { // the plugin's child, see reverse_test.go
		os.Exit(serveReverse())
	}
	if len(os.Args) > 1 && os.Args[1] == "lint" { // a package's server, see market_test.go
		os.Exit(serveLint())
	}
	flag.Parse()
	if testing.Short() {
		return // each test starts at least one agent
	}
	code := m.Run()
	stopServe()
	if dir, err := built(); err == nil {
		_ = os.RemoveAll(filepath.Dir(dir))
	}
	os.Exit(code)
}

// built is the real program, with whet-hook beside it, built once.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "whet-e2e")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "whet")
	out, err := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "../cmd/...").CombinedOutput()
	if err != nil {
		return path, fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

func whetBinary(t *testing.T) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A home is one person's machine: a home directory and a project in it.
type home struct {
	t   testing.TB
	dir string // the home directory
	ws  string // the project, a git worktree
	env []string
}

func newHome(t testing.TB, dir string) *home {
	t.Helper()
	h := &home{t: t, dir: dir, ws: filepath.Join(dir, "my project")}
	h.env = []string{
		// OpenCode would download a ripgrep of its own if there were none.
		"HOME=" + dir, "PATH=" + filepath.Dir(peer.Find(t, "rg")) + string(os.PathListSeparator) + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "LANG=C.UTF-8",
		"XDG_CONFIG_HOME=" + filepath.Join(dir, ".config"), "XDG_DATA_HOME=" + filepath.Join(dir, ".local/share"),
		"XDG_CACHE_HOME=" + filepath.Join(dir, ".cache"), "XDG_STATE_HOME=" + filepath.Join(dir, ".local/state"),
		"WHET_LOG=" + filepath.Join(dir, "whet.log"),
	}
	h.write(".git/HEAD", "ref: refs/heads/main\n")
	h.write(".git/config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n")
	for _, d := range []string{"objects", "refs"} {
		if err := os.MkdirAll(filepath.Join(h.ws, ".git", d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// write makes a file of the project; an absolute name is taken as it is.
func (h *home) write(name, text string) {
	h.t.Helper()
	if !filepath.IsAbs(name) {
		name = filepath.Join(h.ws, name)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h *home) read(name string) string {
	h.t.Helper()
	b, err := os.ReadFile(filepath.Join(h.ws, name))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(b)
}

// run runs a program in the project to its end and returns what it printed.
func (h *home) run(t *testing.T, env []string, path string, args ...string) string {
	t.Helper()
	res, err := proc.Run(t.Context(), proc.Command{
		Path: path, Args: args, Dir: h.ws, Env: append(h.env[:len(h.env):len(h.env)], env...),
		Timeout: 2 * time.Minute, MaxOutput: 4 << 20,
	})
	if err != nil || res.Code != 0 {
		t.Fatalf("%s %s: exit status %d, timed out %v, %v\n%s", path, strings.Join(args, " "), res.Code, res.TimedOut, err, res.Output)
	}
	return string(res.Output)
}

// model starts the scripted model.
func model(t testing.TB, s scriptmodel.Script) *scriptmodel.Server {
	t.Helper()
	srv, err := scriptmodel.Start(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	return srv
}

// asked returns the bodies of the requests that a scenario made of the model.
func asked(srv *scriptmodel.Server, scenario string) (bodies []string) {
	for _, r := range srv.Requests() {
		if r.Scenario == scenario {
			bodies = append(bodies, string(r.Body))
		}
	}
	return bodies
}

// last returns the conversation that the model was sent last in a scenario,
// without the list of tools.
func last(t *testing.T, srv *scriptmodel.Server, scenario string) string {
	t.Helper()
	bodies := asked(srv, scenario)
	if len(bodies) == 0 {
		t.Fatalf("the model was asked nothing in scenario %s", scenario)
	}
	var v map[string]any
	if err := json.Unmarshal([]byte(bodies[len(bodies)-1]), &v); err != nil {
		t.Fatal(err)
	}
	delete(v, "tools")
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func wants(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is missing in:\n%s", p, tail(text, 4000))
		}
	}
}

func lacks(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if strings.Contains(text, p) {
			t.Errorf("%q should not be in:\n%s", p, tail(text, 4000))
		}
	}
}

func tail(s string, n int) string {
	if len(s) > n {
		return "… " + s[len(s)-n:]
	}
	return s
}

// until polls for something that another process does.
func until(ctx context.Context, limit time.Duration, done func() bool) bool {
	for end := time.Now().Add(limit); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		if done() {
			return true
		}
	}
	return false
}

// fails is run for a program that must end with exit status 1.
func (h *home) fails(t *testing.T, path string, args ...string) string {
	t.Helper()
	res, err := proc.Run(t.Context(), proc.Command{Path: path, Args: args, Dir: h.ws, Env: h.env, Timeout: 2 * time.Minute, MaxOutput: 4 << 20})
	if err != nil || res.Code != 1 {
		t.Fatalf("%s %s: exit status %d, %v, want 1\n%s", path, strings.Join(args, " "), res.Code, err, res.Output)
	}
	return string(res.Output)
}
