//go:build unix

package proc_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"github.com/whet-dev/whet/internal/proc"
)

// TestMain is also the program that has a terminal, or none.
func TestMain(m *testing.M) {
	if os.Getenv("PROC_TEST_CHILD") == "" {
		os.Exit(m.Run())
	}
	// In a group that isn't the terminal's, reading there would stop the child.
	r, err := proc.Run(context.Background(), sh(`(read x </dev/tty) 2>/dev/null && echo terminal || echo none`))
	fmt.Println(strings.Fields(string(r.Output)), err)
}

// A child must not have the terminal, whether we have one or not.
func TestTerminal(t *testing.T) {
	const want = "[none] <nil>"
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := func() *exec.Cmd {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), "PROC_TEST_CHILD=1")
		return cmd
	}
	t.Run("with one", func(t *testing.T) {
		f, err := pty.Start(command())
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		out, _ := io.ReadAll(f) // ends with an error where the other side is closed
		if got := strings.TrimSpace(string(out)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("without", func(t *testing.T) {
		cmd := command()
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		out, err := cmd.Output()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	})
}
