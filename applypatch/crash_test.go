package applypatch_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
	self, err := os.Executable()
	must(t, err)
	rng := rand.New(rand.NewPCG(3, 4))
	var after files
	whole, undone, partial := 0, 0, 0
	window := 40 * time.Millisecond
	for i := range n {
		dir := t.TempDir()
		w := filepath.Join(dir, "w")
		write(t, w, before)
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), "WHET_TEST_CRASH="+dir)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		if _, err := out.Read(make([]byte, 7)); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if i > 0 { // the first one shows what a whole patch gives, and how long it takes
			timer := time.AfterFunc(time.Duration(rng.Int64N(int64(window))), func() { _ = cmd.Process.Kill() })
			_ = cmd.Wait()
			timer.Stop()
		} else {
			must(t, cmd.Wait())
			after = read(t, w)
			window = time.Since(start) + time.Millisecond
		}
		if state := read(t, w); i > 0 && !equal(state, before) && !equal(state, after) {
			partial++
		}
		if _, err := applypatch.Recover(t.Context(), filepath.Join(dir, "txn"), ""); err != nil {
			t.Fatal(err)
		}
		switch got := read(t, w); {
		case equal(got, before):
			undone++
		case equal(got, after):
			whole++
		default:
			t.Fatalf("run %d: neither before nor after: %v", i, got)
		}
		if es, _ := os.ReadDir(filepath.Join(dir, "txn")); len(es) > 1 {
			t.Fatalf("run %d: a journal is left: %v", i, es)
		}
		must(t, os.RemoveAll(dir))
	}
	t.Logf("of %d: %d killed half way, %d whole, %d undone", n, partial, whole, undone)
	if !testing.Short() && partial == 0 {
		t.Error("no run was killed between two files: the test proves nothing")
	}
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
