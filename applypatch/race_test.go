package applypatch_test

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/whet-dev/whet/applypatch"
)

// TestSwappedDirectory applies patches while somebody swaps a directory for a
// link that leads out of the workspace: nothing may ever be written there.
func TestSwappedDirectory(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a right there")
	}
	base := t.TempDir()
	out := filepath.Join(base, "out")
	write(t, base, files{"w/d/f": "a\n", "out/f": "a\n"})
	d, aside := filepath.Join(base, "w", "d"), filepath.Join(base, "w", "aside")
	done := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			_ = os.Rename(d, aside)
			_ = os.Symlink(out, d)
			_ = os.Remove(d)
			_ = os.Rename(aside, d)
		}
	})
	span := 2 * time.Second
	if testing.Short() {
		span = 300 * time.Millisecond
	}
	applied, refused := 0, 0
	no := false
	for end := time.Now().Add(span); time.Now().Before(end); {
		w, err := applypatch.Open(filepath.Join(base, "w"))
		must(t, err)
		for _, patch := range []string{"*** Update File: d/f\n@@\n-a\n+A", "*** Update File: d/f\n@@\n-A\n+a", "*** Add File: d/new\n+x", "*** Delete File: d/new"} {
			p, err := applypatch.Parse(body(patch))
			must(t, err)
			plan, err := applypatch.Resolve(w, p, applypatch.Options{Durable: &no})
			if err == nil {
				err = plan.Commit(t.Context(), "")
			}
			if err != nil {
				refused++
			} else {
				applied++
			}
		}
		w.Close()
	}
	close(done)
	swapping.Wait()
	if got := read(t, out); !equal(got, files{"f": "a\n"}) {
		t.Errorf("written outside: %v", got)
	}
	t.Logf("%d applied, %d refused", applied, refused)
	if applied == 0 {
		t.Error("nothing was applied: the test proves nothing")
	}
}
