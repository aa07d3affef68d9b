package applypatch_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/whet-dev/whet/applypatch"
)

// TestMain lets the test binary be the process that crashes.
func TestMain(m *testing.M) {
	if dir := os.Getenv("WHET_TEST_CRASH"); dir != "" {
		crash(dir)
	}
	os.Exit(m.Run())
}

const crashFiles = 20

// crash applies the patch, with a sign of life before and after writing.
func crash(dir string) {
	fail := func(err error) {
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	w, err := applypatch.Open(filepath.Join(dir, "w"))
	fail(err)
	p, err := applypatch.Parse(crashPatch())
	fail(err)
	plan, err := applypatch.Resolve(w, p, applypatch.Options{})
	fail(err)
	fmt.Print("planned")
	fail(plan.Commit(context.Background(), filepath.Join(dir, "txn")))
	os.Exit(0)
}

// crashPatch updates, adds, deletes and moves files.
func crashPatch() string {
	var b strings.Builder
	for i := range crashFiles {
		switch i % 5 {
		case 0:
			fmt.Fprintf(&b, "*** Delete File: f%d\n", i)
		case 1:
			fmt.Fprintf(&b, "*** Add File: new/deep/n%d\n+x\n", i)
		case 2:
			fmt.Fprintf(&b, "*** Update File: f%d\n*** Move to: moved/m%d\n@@\n-old\n+new\n", i, i)
		default:
			fmt.Fprintf(&b, "*** Update File: f%d\n@@\n-old\n+new\n", i)
		}
	}
	return body(strings.TrimSuffix(b.String(), "\n"))
}

// TestCrash kills the process at random moments of a patch of 20 files: after
// Recover all files are as before or all as after, and nothing else lies about.
func TestCrash(t *testing.T) {
	const workers = 5 // they wait for the disk most of the time
	n := 500
	if testing.Short() {
		n = 30
	}
	before := files{}
	for i := range crashFiles {
		if i%5 != 1 {
			before[fmt.Sprintf("f%d", i)] = fmt.Sprintf("%d\nold\n", i)
		}
	}
	start := time.Now()
	after, _ := crashOnce(t, before, time.Hour)
	window := time.Since(start)
	var half, whole, undone atomic.Int64
	t.Run("killed", func(t *testing.T) {
		for k := range workers {
			t.Run(fmt.Sprint(k), func(t *testing.T) {
				t.Parallel()
				rng := rand.New(rand.NewPCG(3, uint64(k)))
				for range n / workers {
					got, partial := crashOnce(t, before, time.Duration(rng.Int64N(int64(window))))
					switch {
					case equal(got, before):
						undone.Add(1)
					case equal(got, after):
						whole.Add(1)
					default:
						t.Fatalf("neither before nor after: %v", got)
					}
					if partial(after) {
						half.Add(1)
					}
				}
			})
		}
	})
	t.Logf("%d killed between two files; in the end %d whole, %d undone", half.Load(), whole.Load(), undone.Load())
	if !testing.Short() && half.Load() == 0 {
		t.Error("no run was killed between two files: the test proves nothing")
	}
}

// crashOnce kills a patch after a while and recovers. It returns the files
// then, and whether the kill had left them neither as before nor as after.
func crashOnce(t *testing.T, before files, wait time.Duration) (files, func(files) bool) {
	t.Helper()
	dir, err := os.MkdirTemp("", "whet-crash")
	must(t, err)
	defer os.RemoveAll(dir)
	w := filepath.Join(dir, "w")
	write(t, w, before)
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "WHET_TEST_CRASH="+dir)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	if _, err := out.Read(make([]byte, 7)); err != nil { // "planned"
		t.Fatal(err)
	}
	timer := time.AfterFunc(wait, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait()
	timer.Stop()
	state := read(t, w)
	if _, err := applypatch.Recover(t.Context(), filepath.Join(dir, "txn"), ""); err != nil {
		t.Fatal(err)
	}
	if es, _ := os.ReadDir(filepath.Join(dir, "txn")); len(es) > 1 {
		t.Fatalf("a journal is left: %v", es)
	}
	return read(t, w), func(after files) bool { return !equal(state, before) && !equal(state, after) }
}

func equal(a, b files) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || v != w {
			return false
		}
	}
	return true
}

// TestRecoverLeavesOthersWork interrupts a commit by hand and lets somebody
// change one of its files before it is undone.
func TestRecoverLeavesOthersWork(t *testing.T) {
	dir := t.TempDir()
	w := filepath.Join(dir, "w")
	write(t, w, files{"a": "A\n", "b": "mine\n"})
	write(t, dir, files{
		"txn/x/manifest.json": fmt.Sprintf(`{"entries":[{"root":%q,"rel":"a","existed":true,"mode":420,"new":%q},{"root":%q,"rel":"b","existed":true,"mode":420,"new":"00"}]}`,
			w, "06f961b802bc46ee168555f066d28f4f0e9afdf3f88174c1ee6f9de004fc30a0", w),
		"txn/x/0": "a\n", "txn/x/1": "b\n",
	})
	rs, err := applypatch.Recover(t.Context(), filepath.Join(dir, "txn"), "x")
	must(t, err)
	if len(rs) != 1 || len(rs[0].Restored) != 1 || len(rs[0].Left) != 1 {
		t.Errorf("got %+v", rs)
	}
	if got := read(t, w); !equal(got, files{"a": "a\n", "b": "mine\n"}) {
		t.Errorf("got %v", got)
	}
	if _, err := applypatch.Recover(t.Context(), filepath.Join(dir, "txn"), "x"); err == nil {
		t.Error("recovered twice")
	}
}
