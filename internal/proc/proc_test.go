//go:build unix

package proc_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/whet-dev/whet/internal/proc"
)

func sh(script string) proc.Command { return proc.Command{Path: "sh", Args: []string{"-c", script}} }

func TestRun(t *testing.T) {
	for _, tt := range []struct {
		name   string
		cmd    proc.Command
		out    string
		code   int
		cut    int64
		timed  bool
		within time.Duration
	}{
		{name: "both streams in order", cmd: sh("echo one; echo two >&2; echo three"), out: "one\ntwo\nthree\n"},
		{name: "exit code", cmd: sh("echo no; exit 3"), out: "no\n", code: 3},
		{name: "standard input is empty", cmd: sh("cat; echo end"), out: "end\n"},
		{name: "no terminal to wait at", cmd: sh("(cat </dev/tty) 2>/dev/null || echo none"), out: "none\n"},
		{name: "middle cut", cmd: proc.Command{Path: "sh", Args: []string{"-c", "printf 0123456789abcdef"}, MaxOutput: 8}, out: "0123\n[... output cut here ...]\ncdef", cut: 8},
		{name: "time limit", cmd: proc.Command{Path: "sh", Args: []string{"-c", "echo begun; sleep 60"}, Timeout: 300 * time.Millisecond}, out: "begun\n", code: -1, timed: true, within: 5 * time.Second},
		{name: "time limit, deaf child", cmd: proc.Command{Path: "sh", Args: []string{"-c", "trap '' TERM; while :; do sleep 1; done"}, Timeout: 300 * time.Millisecond}, code: -1, timed: true, within: 6 * time.Second},
		{name: "endless output", cmd: proc.Command{Path: "sh", Args: []string{"-c", "exec 2>/dev/null; head -c 3000000 /dev/zero"}, MaxOutput: 2}, out: "\x00\n[... output cut here ...]\n\x00", cut: 2999998},
	} {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Now()
			r, err := proc.Run(t.Context(), tt.cmd)
			if err != nil {
				t.Fatal(err)
			}
			if string(r.Output) != tt.out || r.Code != tt.code || r.Cut != tt.cut || r.TimedOut != tt.timed {
				t.Errorf("got output %q, code %d, cut %d, timed out %v", r.Output, r.Code, r.Cut, r.TimedOut)
			}
			if took := time.Since(start); tt.within > 0 && took > tt.within {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestRunNotFound(t *testing.T) {
	if _, err := proc.Run(t.Context(), proc.Command{Path: "no-such-program-here"}); err == nil {
		t.Error("no error")
	}
}

func TestCancel(t *testing.T) {
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(200*time.Millisecond, func() { cancel(why) })
	r, err := proc.Run(ctx, sh("echo begun; sleep 60"))
	if !errors.Is(err, why) || string(r.Output) != "begun\n" {
		t.Errorf("got %q, %v", r.Output, err)
	}
}

// Nothing of the tree may live on, however it tries to get away.
func TestNoOrphans(t *testing.T) {
	for _, tt := range []struct{ name, script string }{
		{"background child", `sleep 300 & echo $! >pid`},
		{"deaf background child", `(trap '' TERM HUP; echo $$ >/dev/null; sleep 300) & echo $! >pid`},
		{"own session", `setsid sh -c 'echo $$ >pid; exec sleep 300' & while ! [ -s pid ]; do :; done`},
		{"double fork, own session", `setsid sh -c 'setsid sh -c "echo \$\$ >pid; exec sleep 300" &' & while ! [ -s pid ]; do :; done`},
		{"time out", `sleep 300 & echo $! >pid; wait`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if strings.Contains(tt.script, "setsid") && runtime.GOOS != "linux" {
				t.Skip("only Linux shows us which processes left the group")
			}
			dir := t.TempDir()
			c := sh(tt.script)
			c.Dir, c.Timeout = dir, 2*time.Second
			r, err := proc.Run(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(filepath.Join(dir, "pid"))
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
			if err != nil {
				t.Fatal(err)
			}
			if r.Left == 0 && !r.TimedOut {
				t.Error("the process left over was not counted")
			}
			for range 100 {
				if gone(pid) {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
			t.Errorf("process %d is still there", pid)
		})
	}
}

// A child's end is seen though a process of its own holds its pipes, and ending
// the child ends that one too.
func TestChildLeavesAProcess(t *testing.T) {
	for script, want := range map[string]string{
		"sleep 300 & echo $! >&2; exit 3":      "exit status 3",
		"sleep 300 & echo $! >&2; kill -9 $$":  "signal: killed",
		"sleep 300 & echo $! >&2; exec true":   "",
		"setsid sleep 300 & echo $! >&2; true": "",
	} {
		cmd := exec.Command("sh", "-c", script)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if _, err := cmd.StdoutPipe(); err != nil {
			t.Fatal(err)
		}
		c, err := proc.Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-c.Done():
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: its end is not seen", script)
		}
		if err := c.Err(); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %q", script, err, want)
		}
		c.Stop()
		pid, err := strconv.Atoi(strings.TrimSpace(stderr.String()))
		if err != nil {
			t.Fatal(err)
		}
		for range 300 {
			if gone(pid) {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if !gone(pid) {
			t.Errorf("%s: process %d is still there", script, pid)
		}
	}
}

// gone says whether pid is no running process; the dead that nobody has
// collected yet are gone.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(stat), ") Z ")
}
