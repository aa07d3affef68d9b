//go:build linux

package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// children lists the processes that run `whet rpc`.
func children(t *testing.T, whet string) map[int]bool {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	pids := map[int]bool{}
	for _, file := range dirs {
		b, err := os.ReadFile(file)
		if err == nil && bytes.Equal(b, []byte(whet+"\x00rpc\x00")) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err != nil {
				t.Fatal(err)
			}
			pids[pid] = true
		}
	}
	return pids
}

// Whatever happens to whet, OpenCode goes on: a killed child is started again,
// and one that always dies is left alone.
func TestPeerOpenCodeSurvivesWhet(t *testing.T) {
	s := theServe(t).in(t, "second project")
	s.write("src/a.txt", "alpha\nbeta\n")
	others := children(t, whetBinary(t))
	kill := func() {
		t.Helper()
		killed := false
		for pid := range children(t, whetBinary(t)) {
			if !others[pid] {
				killed = true
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
		}
		if !killed {
			t.Fatal("there is no child of this project to kill")
		}
		if !until(t.Context(), 5*time.Second, func() bool { return len(children(t, whetBinary(t))) == len(others) }) {
			t.Fatal("the child outlives SIGKILL")
		}
	}
	refused := func(parts []part) bool {
		return strings.HasPrefix(parts[0].State.Error, "Search path does not exist: ")
	}
	session, parts := s.prompt(t, "", "plain", "missing")
	if !refused(parts) {
		t.Fatalf("without trouble: %+v", parts[0].State)
	}
	for range 3 {
		kill()
		_, parts = s.prompt(t, session, "plain", "missing")
		if got := parts[len(parts)-1:]; !refused(got) {
			t.Fatalf("after the child was killed: %+v, want it to be started again", got[0].State)
		}
	}
	kill()
	_, parts = s.prompt(t, session, "plain", "missing")
	if got := parts[len(parts)-1:]; refused(got) {
		t.Errorf("the child is started a fifth time")
	}
	_, parts = s.prompt(t, session, "plain", "read")
	if got := parts[len(parts)-1].State; got.Status != "completed" {
		t.Errorf("OpenCode's own read without whet: %+v", got)
	}
	log, err := os.ReadFile(filepath.Join(s.dir, "opencode.log"))
	if err != nil {
		t.Fatal(err)
	}
	wants(t, string(log), "whet ended: SIGKILL")
}

// The server wants a password here, which Go never sees; and it takes whet with
// it when it is killed.
func TestPeerOpenCodeServe(t *testing.T) {
	s, err := startServe(t, openCode(t), t.TempDir(), reverseScript, func(h *home) {
		plugSelf(h)
		h.env = append(h.env, "OPENCODE_SERVER_PASSWORD="+password)
	})
	if err != nil {
		t.Fatal(err)
	}
	s.prompt(t, "", "plain", "reverse")
	checkReverse(t, s.model)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(children(t, self)); n != 1 {
		t.Errorf("%d children for one project, want 1", n)
	}
	s.cancel() // SIGKILL
	if !until(t.Context(), 5*time.Second, func() bool { return len(children(t, self)) == 0 }) {
		t.Error("whet outlives its host")
	}
}
