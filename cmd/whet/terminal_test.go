//go:build unix

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/whet-dev/whet/internal/scriptmodel"
)

// A screen is whet run at a terminal of its own.
type screen struct {
	t    *testing.T
	cmd  *exec.Cmd
	tty  *os.File
	dir  string
	done chan struct{} // closed when all output is read

	mu  sync.Mutex
	out bytes.Buffer
}

func atTerminal(t *testing.T, script string, args ...string) *screen {
	t.Helper()
	parsed, err := scriptmodel.Parse([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	model, err := scriptmodel.Start(parsed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	s := &screen{t: t, dir: t.TempDir(), done: make(chan struct{})}
	args = append([]string{"run", "--model", "m", "--base-url", model.URL + "/v1", "--dir", s.dir}, args...)
	s.cmd = exec.Command(whetBinary(t), append(args, "[[script:s]] go")...)
	s.cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "TERM=xterm")
	if s.tty, err = pty.Start(s.cmd); err != nil {
		t.Skip("no terminals here:", err)
	}
	go func() {
		defer close(s.done)
		buf := make([]byte, 4096)
		for {
			n, err := s.tty.Read(buf)
			s.mu.Lock()
			s.out.Write(buf[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { _ = s.cmd.Process.Kill(); s.tty.Close() })
	return s
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String()
}

// wait waits until the screen shows what.
func (s *screen) wait(what string) {
	s.t.Helper()
	for range 200 {
		if strings.Contains(s.text(), what) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.t.Fatalf("the screen never showed %q:\n%s", what, s.text())
}

func (s *screen) key(keys string) {
	s.t.Helper()
	if _, err := s.tty.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// code waits for the end and returns the exit status.
func (s *screen) code() int {
	s.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- s.cmd.Wait() }()
	select {
	case err := <-ended:
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			s.t.Fatal(err)
		}
	case <-time.After(10 * time.Second):
		s.t.Fatalf("it didn't end:\n%s", s.text())
	}
	<-s.done
	return s.cmd.ProcessState.ExitCode()
}

func (s *screen) exists(name string) bool {
	_, err := os.Stat(filepath.Join(s.dir, name))
	return err == nil
}

func TestTerminalPermission(t *testing.T) {
	script := `{"s": [
		{"text": "\u001b[2JHello", "calls": [{"name": "bash", "args": {"command": "touch one"}}]},
		{"calls": [{"name": "bash", "args": {"command": "touch \u001b]0;two"}}]},
		{"calls": [{"name": "bash", "args": {"command": "touch three"}}, {"name": "bash", "args": {"command": "touch four"}}]},
		{"calls": [{"name": "write", "args": {"path": "../out.txt", "content": "x"}}]},
		{"text": "Done."}]}`
	s := atTerminal(t, script)
	const question = "Allow it? [y]es, [n]o, [a]lways bash in this run: "
	s.wait("The agent wants to use bash:\r\n  touch one\r\n" + question)
	if s.exists("one") {
		t.Error("it ran before it was allowed")
	}
	s.key("y\n")
	s.wait("touch ␛]0;two\r\n" + question)
	if !s.exists("one") {
		t.Error("it did not run though it was allowed")
	}
	s.key("what\n") // asked again
	s.wait("what\r\n" + question)
	s.key("n\n")
	s.wait("the person said no")
	s.wait("touch three\r\n" + question)
	s.key("a\n")
	s.wait("The agent wants to use edit (outside the project " + s.dir + "):\r\n  ")
	if !s.exists("three") || !s.exists("four") {
		t.Error("always is not always")
	}
	s.key("\n")
	if code := s.code(); code != 0 {
		t.Errorf("exit status %d", code)
	}
	if s.exists("../out.txt") {
		t.Error("wrote outside without permission")
	}
	text := regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(s.text(), "") // our own colours
	if strings.ContainsRune(text, 0x1b) || !strings.Contains(text, "␛[2JHello") {
		t.Errorf("control characters came through: %q", text)
	}
}

// Ctrl-C ends everything that a command has started, wherever the run is.
func TestTerminalInterrupt(t *testing.T) {
	running := `{"s": [{"calls": [{"name": "bash", "args": {"command": "trap '' INT TERM; sleep 300 & echo $! >pid; echo ready; wait; sleep 300"}}]}]}`
	asking := `{"s": [{"calls": [{"name": "bash", "args": {"command": "true"}}]}]}`
	hanging := `{"s": [{"text": "Well", "hang": true}]}`
	for name, tt := range map[string]struct {
		script, seen string
		args         []string
	}{
		"in a command":     {running, "› bash", []string{"--yes"}},
		"at a question":    {asking, "Allow it?", nil},
		"in an answer":     {hanging, "Well", nil},
		"impatient, twice": {running, "› bash", []string{"--yes"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := atTerminal(t, tt.script, tt.args...)
			s.wait(tt.seen)
			var child int
			if tt.script == running {
				for range 100 {
					if b, err := os.ReadFile(filepath.Join(s.dir, "pid")); err == nil && len(b) > 0 {
						child = pid(t, strings.TrimSpace(string(b)))
						break
					}
					time.Sleep(50 * time.Millisecond)
				}
				if child == 0 {
					t.Fatal("the command did not start")
				}
			}
			s.key("\x03")
			if name == "impatient, twice" {
				time.Sleep(300 * time.Millisecond)
				s.key("\x03")
			}
			if code := s.code(); code != 130 {
				t.Errorf("exit status %d, want 130\n%s", code, s.text())
			}
			if child != 0 {
				waitGone(t, child)
			}
		})
	}
}

func waitGone(t *testing.T, pid int) {
	t.Helper()
	for range 50 {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if syscall.Kill(pid, 0) != nil || err == nil && strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("process %d is still there", pid)
}

// said runs a program at a terminal of its own to its end, and returns what it
// wrote there.
func said(t *testing.T, cmd *exec.Cmd) (string, error) {
	t.Helper()
	tty, err := pty.Start(cmd)
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	defer tty.Close()
	out, _ := io.ReadAll(tty) // ends with an error of the terminal's
	return string(out), cmd.Wait()
}

// What a file or a patch holds is marked on a terminal where it would hide or
// reorder what stands beside it, and is as it is in a pipe.
func TestTerminalHiddenCharacters(t *testing.T) {
	dir := t.TempDir()
	const misfit = "*** Begin Patch\n*** Update File: a.txt\n@@\n-thr\u202eee\n+x\n*** End Patch"
	for name, text := range map[string]string{
		"a.txt": "one \u202eowt\n", "p.patch": misfit, "good.patch": strings.ReplaceAll(misfit, "thr\u202eee", "one \u202eowt"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"call", "grep", `{"pattern": "one"}`},
		{"call", "apply_patch", `{"patch": "` + strings.ReplaceAll(misfit, "\n", `\n`) + `"}`},
		{"patch", "check", "p.patch"},
		{"patch", "rescue", "p.patch"},
		{"patch", "check", "good.patch"},
	} {
		cmd := exec.CommandContext(t.Context(), whetBinary(t), args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+t.TempDir(), "TERM=xterm")
		text, _ := said(t, cmd) // some are refused
		if strings.Contains(text, "\u202e") || !strings.Contains(text, "\ufffd") && !strings.Contains(text, `\u202e`) {
			t.Errorf("%v at a terminal: %q", args, text)
		}
	}
}

// On a terminal the list of packages is a table.
func TestTerminalMarketList(t *testing.T) {
	dir := t.TempDir()
	manifest := `{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "x", "version": "1.0.0"}`
	if err := os.WriteFile(filepath.Join(dir, "plugin.json"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "HOME="+t.TempDir(), "TERM=xterm")
	install := exec.CommandContext(t.Context(), whetBinary(t), "market", "install", dir)
	install.Env = env
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	list := exec.CommandContext(t.Context(), whetBinary(t), "market", "list")
	list.Env = env
	out, err := said(t, list)
	if err != nil {
		t.Fatal(err)
	}
	want := "PACKAGE        STATE     BRINGS  TITLE\r\nlocal/x@1.0.0  disabled  -       x\r\n"
	if out != want {
		t.Errorf("got %q, want %q", out, want)
	}
}
