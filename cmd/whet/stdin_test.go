//go:build unix

package main

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// A command that waits for a person's input says so, and ends at the first Ctrl-C.
func TestCtrlCWhileReading(t *testing.T) {
	for _, args := range []string{"patch apply", "patch rescue", "loop replay -", "call grep -", "run --model a/b -", "ast tree -l go -"} {
		t.Run(args, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), whetBinary(t), strings.Fields(args)...)
			cmd.Dir = t.TempDir()
			cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "WHET_STATE="+t.TempDir())
			tty, err := pty.Start(cmd)
			if err != nil {
				t.Skip("no terminals here:", err)
			}
			defer tty.Close()
			defer func() { _ = cmd.Process.Kill() }() // only if it hasn't ended
			line, err := bufio.NewReader(tty).ReadString('\n')
			if err != nil || !strings.HasPrefix(line, "whet: reading the ") || !strings.HasSuffix(line, " from the terminal; end it with Ctrl-D\r\n") {
				t.Fatalf("it says %q, %v", line, err)
			}
			if _, err := tty.WriteString("x\x03"); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // the status tells
			if got := cmd.ProcessState.ExitCode(); got != 130 {
				t.Errorf("exit status %d, want 130", got)
			}
		})
	}
}

// whet demo | head leaves nothing behind.
func TestDemoWithoutReader(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r.Close()
	tmp := t.TempDir()
	cmd := exec.CommandContext(t.Context(), whetBinary(t), "demo")
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "TMPDIR="+tmp)
	cmd.Stdout = w
	if err := cmd.Run(); err != nil {
		t.Errorf("demo: %v", err)
	}
	left, err := os.ReadDir(tmp)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		t.Errorf("%s is left", e.Name())
	}
}
