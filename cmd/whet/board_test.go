//go:build unix

package main

import (
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/whet-dev/whet/internal/scriptmodel"
	"github.com/whet-dev/whet/task"
)

// A person at a terminal watches, looks, steers and leaves, and the terminal is
// as it was.
func TestBoardKeys(t *testing.T) {
	s := newStage(t, scriptmodel.Script{
		"slow":  {{Text: "I wait.", DelayMS: 60_000}},
		"quick": {{Text: "The answer is 80.\x1b]0;owned\a"}},
	})
	s.serve()
	launch := func(title, prompt string) {
		t.Helper()
		if _, err := s.ask("/launch", task.Request{Worker: "explorer", Title: title, Text: prompt}); err != nil {
			t.Fatal(err)
		}
	}
	launch("Find the port", "[[script:quick]] go")
	launch("Wait a while", "[[script:slow]] go")

	cmd := exec.Command(whetBinary(t), "board", "--bell")
	cmd.Dir, cmd.Env = s.dir, append(s.env, "TERM=xterm")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	defer tty.Close()
	var mu sync.Mutex
	var out strings.Builder
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			mu.Lock()
			out.Write(buf[:n])
			mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	// wait waits for a picture, drawn after the key, that shows all of this.
	wait := func(key string, parts ...string) {
		t.Helper()
		mu.Lock()
		from := out.Len()
		mu.Unlock()
		if _, err := tty.WriteString(key); err != nil {
			t.Fatal(err)
		}
		var now string
		for range 400 {
			mu.Lock()
			now = out.String()[from:]
			mu.Unlock()
			for picture := range strings.SplitSeq(now, "\x1b[H\x1b[J") {
				missing := false
				for _, p := range parts {
					missing = missing || !strings.Contains(picture, p)
				}
				if !missing {
					return
				}
			}
			time.Sleep(25 * time.Millisecond)
		}
		t.Fatalf("after %q the screen never showed %q:\n%q", key, parts, now)
	}
	wait("", "2 tasks, 1 open", "> ▶ exp-2", "  ✓ exp-1", "q end")
	wait("j", "> ✓ exp-1", "  ▶ exp-2")
	wait("\r", "✓ exp-1: Find the port", "── Answer\r\nThe answer is 80.␛]0;owned␇")
	wait("\x1b", "  ▶ exp-2", "> ✓ exp-1")
	wait("m", "message for exp-1 (Ctrl-D: not after all): ")
	wait("hello\r", "reads no messages")
	wait("k", "> ▶ exp-2")
	wait("c", "reason for exp-2")
	wait("\x04", "nothing done")
	wait("c", "reason for exp-2")
	wait("enough\r", "2 tasks, 0 open", "✗ exp-2", "cancelled")
	wait("q", "\x1b[?1049l")
	<-ended
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(out.String(), "\a") {
		t.Error("the bell never rang")
	}
	if strings.Contains(out.String(), "\x1b]0;owned") {
		t.Error("a model's words reached the terminal as a command")
	}
}
