package opencode_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/whet-dev/whet/internal/peer"
	"github.com/whet-dev/whet/internal/scriptmodel"
	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/opencode"
	"github.com/whet-dev/whet/task/tasktest"
)

// The real OpenCode is killed in the middle of a run: that is no end, and what
// goes on goes on in the same session, on a new server. Nothing is left when the
// backend is closed.
func TestPeerKilled(t *testing.T) {
	t.Parallel()
	command := peer.Find(t, "opencode")
	model, err := scriptmodel.Start(scriptmodel.Script{"hang": {{Text: "So far.", Hang: true}}, "hi": {{Text: "Hello."}}})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	home := tasktest.OpenCodeHome(t, model.URL)
	var env []string
	for k, v := range tasktest.OpenCodeEnv(home) {
		env = append(env, k+"="+v)
	}
	b := opencode.New(task.OpenCode{Command: command}, env, nil, func(string, uint32, task.Progress) {})
	closed := false
	defer func() {
		if !closed {
			_ = b.Close()
		}
	}()
	r := task.Run{Prompt: "[[script:hang]] go", Task: task.Task{ID: "tsk_1", Alias: "fix-1", Agent: "fixer", Dir: t.TempDir(), Title: "t", Job: task.New()}}
	if r.Task.Session, err = b.Start(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	until := func(what string, ok func(task.Look) bool) {
		t.Helper()
		var l task.Look
		for limit := time.Now().Add(2 * time.Minute); time.Now().Before(limit); time.Sleep(100 * time.Millisecond) {
			if l, err = b.Look(t.Context(), r); err == nil && ok(l) {
				return
			}
		}
		t.Fatalf("never %s: %+v, %v", what, l, err)
	}
	until("at work", func(l task.Look) bool { return l.Live == task.LiveBusy })
	if len(living(home)) == 0 {
		t.Fatal("there is no server to kill")
	}
	for _, pid := range living(home) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	until("at rest", func(l task.Look) bool {
		if l.Ended() {
			t.Fatalf("being killed was taken for an end: %+v", l)
		}
		return l.Live == task.LiveQuiet
	})
	r.Task.Gen, r.Prompt = 2, "[[script:hi]] go on"
	session, err := b.Start(t.Context(), r)
	if err != nil || session != r.Task.Session {
		t.Fatalf("session %q, was %q: %v", session, r.Task.Session, err)
	}
	until("done", func(l task.Look) bool { return l.End == task.Done && l.Text == "Hello." })
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	closed = true
	for range 100 {
		if len(living(home)) == 0 {
			return
		}
		time.Sleep(30 * time.Millisecond)
	}
	t.Errorf("processes are left: %v", living(home))
}

// living lists the processes that have the home.
func living(home string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		if env, err := os.ReadFile(f); err == nil && bytes.Contains(env, []byte("HOME="+home+"\x00")) {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
