package state_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/internal/state"
)

// The test binary is also the process that the tests start and kill.
func TestMain(m *testing.M) {
	if job := os.Getenv("STATE_TEST_JOB"); job != "" {
		if err := work(job, os.Args[1], os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

type counter struct {
	N   int
	Pad string // of a length that changes, to vary the file's
}

// work does job on dir n times, or for ever if n is 0.
func work(job, dir, n string) error {
	times, err := strconv.Atoi(n)
	if err != nil {
		return err
	}
	size, _ := strconv.Atoi(os.Getenv("STATE_TEST_SIZE"))
	for i := 0; times == 0 || i < times; i++ {
		switch job {
		case "count":
			s := whet.Session{Store: state.Session(dir, "s")}
			err = whet.Update(s, "count", func(c *counter) error {
				c.N++
				c.Pad = strings.Repeat("x", size+rand.IntN(100))
				return nil
			})
		case "put":
			err = state.Spool(dir).Put(fmt.Appendf(nil, "%d:%d", os.Getpid(), i))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func command(t *testing.T, job, dir string, n int) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], dir, strconv.Itoa(n))
	cmd.Env = append(os.Environ(), "STATE_TEST_JOB="+job)
	cmd.Stderr = os.Stderr
	return cmd
}

func TestProcessesNeverLoseAnUpdate(t *testing.T) {
	dir := t.TempDir()
	const procs, each = 8, 50
	var wg sync.WaitGroup
	for range procs {
		cmd := command(t, "count", dir, each)
		wg.Go(func() {
			if err := cmd.Run(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	s := whet.Session{Store: state.Session(dir, "s")}
	if err := whet.Update(s, "count", func(c *counter) error {
		if c.N != procs*each {
			t.Errorf("count is %d, want %d", c.N, procs*each)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func TestKilledWriterLeavesAValidValue(t *testing.T) {
	for _, size := range []int{0, 10_000} { // in one page, and in several
		t.Run(strconv.Itoa(size), func(t *testing.T) { killed(t, size) })
	}
}

func killed(t *testing.T, size int) {
	dir := t.TempDir()
	rounds := 60
	if testing.Short() {
		rounds = 10
	}
	last := 0
	for range rounds {
		cmd := command(t, "count", dir, 0)
		cmd.Env = append(cmd.Env, "STATE_TEST_SIZE="+strconv.Itoa(size))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(5+rand.IntN(20))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		timer.Stop()
		files, err := filepath.Glob(filepath.Join(dir, "sessions", "*", "count.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if len(b) == 0 && last == 0 {
				continue // killed before it first wrote: an empty file is no value yet
			}
			var c counter
			if err := json.Unmarshal(b, &c); err != nil {
				t.Fatalf("after a kill the value is %q: %v", b, err)
			}
			if c.N < last {
				t.Fatalf("count went back from %d to %d", last, c.N)
			}
			last = c.N
		}
	}
	if last == 0 {
		t.Fatal("no process lived long enough to count: the test shows nothing")
	}
}

func TestUpdateErrorKeepsTheOldValue(t *testing.T) {
	for name, store := range map[string]whet.Store{"files": state.Session(t.TempDir(), "s"), "memory": state.Memory()} {
		t.Run(name, func(t *testing.T) {
			s := whet.Session{Store: store}
			if err := whet.Update(s, "v", func(c *counter) error { c.N = 1; return nil }); err != nil {
				t.Fatal(err)
			}
			boom := errors.New("boom")
			if err := whet.Update(s, "v", func(c *counter) error { c.N = 2; return boom }); !errors.Is(err, boom) {
				t.Fatalf("got %v, want %v", err, boom)
			}
			if err := whet.Update(s, "v", func(c *counter) error {
				if c.N != 1 {
					t.Errorf("value is %d, want 1", c.N)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestDamagedValueCountsAsAbsent(t *testing.T) {
	d := state.Dir(t.TempDir())
	if err := os.WriteFile(filepath.Join(string(d), "v.json"), []byte(`{"N":`), 0o600); err != nil {
		t.Fatal(err)
	}
	err := whet.Update(whet.Session{Store: d}, "v", func(c *counter) error {
		if c.N != 0 {
			t.Errorf("value is %d, want 0", c.N)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestOldSessionsAreForgotten(t *testing.T) {
	root := t.TempDir()
	for i := range 600 {
		if err := state.Session(root, strconv.Itoa(i)).Update("v", func([]byte) ([]byte, error) { return []byte("1"), nil }); err != nil {
			t.Fatal(err)
		}
	}
	es, err := os.ReadDir(filepath.Join(root, "sessions"))
	if err != nil {
		t.Fatal(err)
	}
	if len(es) != 512 {
		t.Errorf("%d sessions are kept, want 512", len(es))
	}
}

func TestMemories(t *testing.T) {
	store := state.Memories()
	first := store("a")
	if store("a") != first || store("b") == first {
		t.Error("a session must have one store of its own")
	}
	for i := range 512 {
		store(strconv.Itoa(i))
	}
	if store("a") == first {
		t.Error("the session used least recently should have been forgotten")
	}
}

func TestSpoolManyWritersOneReader(t *testing.T) {
	dir := t.TempDir()
	const procs, each = 4, 100
	var wg sync.WaitGroup
	for range procs {
		cmd := command(t, "put", dir, each)
		wg.Go(func() {
			if err := cmd.Run(); err != nil {
				t.Error(err)
			}
		})
	}
	got := map[string]int{} // notes taken, by writer; each writer's in order
	take := func() {
		err := state.Spool(dir).Take(func(b []byte) error {
			pid, i, _ := strings.Cut(string(b), ":")
			if i != strconv.Itoa(got[pid]) {
				t.Errorf("writer %s: note %s came when %d was due", pid, i, got[pid])
			}
			got[pid]++
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		take()
	}
	total := 0
	for _, n := range got {
		total += n
	}
	if total != procs*each {
		t.Errorf("took %d notes, want %d", total, procs*each)
	}
}

func TestSpoolKeepsANoteThatWasNotHandled(t *testing.T) {
	s := state.Spool(filepath.Join(t.TempDir(), "notes"))
	if err := s.Take(func([]byte) error { return errors.New("there is none") }); err != nil {
		t.Fatalf("empty spool: %v", err)
	}
	for _, n := range []string{"a", "b"} {
		if err := s.Put([]byte(n)); err != nil {
			t.Fatal(err)
		}
	}
	boom := errors.New("boom")
	if err := s.Take(func([]byte) error { return boom }); !errors.Is(err, boom) {
		t.Fatalf("got %v, want %v", err, boom)
	}
	var got bytes.Buffer
	if err := s.Take(func(b []byte) error { got.Write(b); return nil }); err != nil {
		t.Fatal(err)
	}
	if got.String() != "ab" {
		t.Errorf("took %q, want %q", got.String(), "ab")
	}
}

func TestBlobs(t *testing.T) {
	b := state.Blobs(filepath.Join(t.TempDir(), "cache"))
	if err := b.Prune(time.Hour, 0); err != nil {
		t.Fatalf("pruning nothing: %v", err)
	}
	if _, ok := b.Get("k1"); ok {
		t.Error("found a blob that was never put")
	}
	for _, k := range []string{"k1", "k2", "k3"} {
		if err := b.Put(k, []byte("data of "+k)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Put("k1", []byte("other")); err != nil {
		t.Fatal(err)
	}
	if data, ok := b.Get("k1"); !ok || string(data) != "data of k1" {
		t.Errorf("k1 is %q, %v", data, ok)
	}
	if err := b.Prune(time.Hour, 2*int64(len("data of k1"))); err != nil {
		t.Fatal(err)
	}
	left := 0
	for _, k := range []string{"k1", "k2", "k3"} {
		if _, ok := b.Get(k); ok {
			left++
		}
	}
	if left != 2 {
		t.Errorf("%d blobs are left, want 2", left)
	}
	if err := b.Prune(0, 1<<20); err != nil {
		t.Fatal(err)
	}
	if _, ok := b.Get("k3"); ok {
		t.Error("a blob older than the limit is still there")
	}
}

func TestRoot(t *testing.T) {
	home := t.TempDir()
	for _, c := range []struct{ whet, xdg, home, want string }{
		{"/a/b", "/x", home, "/a/b"},
		{"", "/x", home, "/x/whet"},
		{"", "relative", home, home + "/.local/state/whet"},
		{"", "", "", ""},
	} {
		t.Setenv("WHET_STATE", c.whet)
		t.Setenv("XDG_STATE_HOME", c.xdg)
		t.Setenv("HOME", c.home)
		got, err := state.Root()
		if filepath.ToSlash(got) != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%+v: got %q, %v", c, got, err)
		}
	}
}
