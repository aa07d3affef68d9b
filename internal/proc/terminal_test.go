//go:build unix

package proc_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"github.com/whet-dev/whet/internal/proc"
)

// TestMain is also the program that has a terminal, or none.
func TestMain(m *testing.M) {
	how := os.Getenv("PROC_TEST_CHILD")
	if how == "" {
		os.Exit(m.Run())
	}
	if how == "leaves" {
		proc.LeaveTerminal()
	}
	// Not our session's terminal, even where that would only stop the reader.
	r, err := proc.Run(context.Background(), sh(`(read x </dev/tty) 2>/dev/null && echo terminal || echo none; read a b c d e sid rest </proc/$$/stat && [ $sid = $$ ] && echo session`))
	fmt.Println(strings.Fields(string(r.Output)), err)
}

// A child must not have the terminal, whether we have one or not; it leads a
// session only where there is no other way.
func TestTerminal(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("sessions are read from /proc")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, how string
		terminal  bool
		leads     bool // we are the leader of the terminal's session
		want      string
	}{
		{"with one", "keeps", true, false, "[none session] <nil>"},
		{"as its leader", "keeps", true, true, "[none session] <nil>"},
		{"left", "leaves", true, false, "[none] <nil>"},
		{"not to be left by the leader", "leaves", true, true, "[none session] <nil>"},
		{"without", "keeps", false, true, "[none] <nil>"},
		{"nothing to leave", "leaves", false, false, "[none] <nil>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.Command("sh", "-c", `"$0"; true`, self)
			if c.leads {
				cmd = exec.Command(self)
			}
			cmd.Env = append(os.Environ(), "PROC_TEST_CHILD="+c.how)
			var out []byte
			var err error
			if c.terminal {
				f, startErr := pty.Start(cmd)
				if startErr != nil {
					t.Fatal(startErr)
				}
				defer f.Close()
				out, _ = io.ReadAll(f) // ends with an error where the other side is closed
			} else {
				cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
				out, err = cmd.Output()
			}
			if got := strings.TrimSpace(string(out)); err != nil || got != c.want {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
}
