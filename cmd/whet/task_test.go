//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/whet-dev/whet/internal/scriptmodel"
	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/client"
	taskrun "github.com/whet-dev/whet/task/run"
)

// A stage is a task runner, a real process that the test may kill, with the
// scripted model.
type stage struct {
	*testing.T
	client client.Client
	env    []string
	dir    string // project
	model  *scriptmodel.Server
	runner *exec.Cmd
}

func newStage(t *testing.T, script scriptmodel.Script) *stage {
	t.Helper()
	model, err := scriptmodel.Start(script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	home := t.TempDir()
	s := &stage{T: t, dir: t.TempDir(), model: model}
	s.client.Dir = filepath.Join(home, "state", "tasks")
	s.env = append(os.Environ(), "HOME="+home, "WHET_STATE="+filepath.Join(home, "state"), "ANTHROPIC_BASE_URL="+model.URL, "ANTHROPIC_API_KEY=k", "WHET_AGENT__MODEL=anthropic/m")
	t.Cleanup(func() {
		s.kill()
		// One that a host has started ends too, before its directory goes.
		_, err := s.client.Do(context.Background(), "/stop", task.Request{})
		for limit := time.Now().Add(10 * time.Second); err == nil && time.Now().Before(limit); time.Sleep(10 * time.Millisecond) {
			if unlock, busy := taskrun.Lock(s.client.Dir); busy == nil {
				unlock()
				return
			}
		}
	})
	return s
}

// serve starts a runner, and returns when it answers.
func (s *stage) serve() {
	s.Helper()
	s.runner = exec.Command(whetBinary(s.T), "serve")
	s.runner.Env = s.env
	var log bytes.Buffer
	s.runner.Stderr = &log
	if err := s.runner.Start(); err != nil {
		s.Fatal(err)
	}
	for range 500 {
		if _, err := s.client.Do(s.Context(), "/hello", task.Request{}); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.kill()
	s.Fatalf("the runner doesn't answer; it says:\n%s", log.Bytes())
}

func (s *stage) kill() {
	if s.runner != nil {
		_ = s.runner.Process.Kill()
		_ = s.runner.Wait()
		s.runner = nil
	}
}

func (s *stage) ask(path string, q task.Request) (*task.Reply, error) {
	q.Parent, q.Dir, q.Allow = "p", s.dir, []string{"*"}
	return s.client.Do(s.Context(), path, q)
}

// A killed runner leaves nothing behind, however its tasks' commands hide.
func TestKilledRunnerLeavesNothing(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows us which processes are ours")
	}
	s := newStage(t, scriptmodel.Script{"hide": {{Calls: []scriptmodel.Call{{Name: "bash", Args: json.RawMessage(
		`{"command": "setsid sh -c 'setsid sleep 300 & exec sleep 300' & (trap '' TERM HUP; sleep 300) & touch begun; wait"}`)}}}}})
	s.serve()
	if _, err := s.ask("/launch", task.Request{Worker: "fixer", Text: "[[script:hide]] go"}); err != nil {
		t.Fatal(err)
	}
	for limit := time.Now().Add(10 * time.Second); time.Now().Before(limit) && len(s.inProject()) < 4; {
		time.Sleep(10 * time.Millisecond)
	}
	if n := len(s.inProject()); n < 4 {
		t.Fatalf("only %d processes were started", n)
	}
	s.noOrphans()
}

// noOrphans checks that nothing that the tasks started is still there.
func (s *stage) noOrphans() {
	s.Helper()
	s.kill()
	for range 100 {
		if len(s.inProject()) == 0 {
			return
		}
		time.Sleep(30 * time.Millisecond)
	}
	s.Errorf("processes of tasks are left: %v", s.inProject())
}

// inProject lists the processes that work in the project.
func (s *stage) inProject() (pids []int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, d := range dirs {
		if to, err := os.Readlink(d); err == nil && to == s.dir {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(d))); err == nil && syscall.Kill(pid, 0) == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// At a terminal the board goes on, and leaves the screen as it was.
func TestBoardAtTerminal(t *testing.T) {
	s := newStage(t, scriptmodel.Script{"hang": {{Text: "So far \x1b[31mred.", Hang: true}}})
	s.serve()
	if _, err := s.ask("/launch", task.Request{Worker: "explorer", Title: "Find \x1b]0;it\x07", Text: "[[script:hang]] go"}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(whetBinary(t), "board")
	cmd.Dir, cmd.Env = s.dir, append(s.env, "TERM=xterm")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 50})
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	defer tty.Close()
	out := make(chan string)
	go func() {
		b, _ := io.ReadAll(tty) // ends with an error when the terminal closes
		out <- string(b)
	}()
	time.Sleep(2500 * time.Millisecond)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	got := <-out
	if n := strings.Count(got, "1 task, 1 open"); n < 2 {
		t.Errorf("drawn %d times: %q", n, got)
	}
	for _, want := range []string{"\x1b[?1049h", "▶ exp-1    explorer", "running", "\x1b[?25h\x1b[?1049l"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	if strings.Contains(got, "\x1b]0;") || strings.Contains(got, "\x1b[31m") {
		t.Errorf("a terminal would obey: %q", got)
	}
	for line := range strings.Lines(got) {
		if line = strings.TrimRight(line, "\r\n"); len([]rune(line)) > 50 && !strings.Contains(line, "\x1b") {
			t.Errorf("wider than the terminal: %q", line)
		}
	}
}
