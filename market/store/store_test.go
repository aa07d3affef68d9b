package store_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet/market/store"
	"github.com/whet-dev/whet/market/tree"
)

const id = "acme/reviewer"

func sample(text string) tree.Tree {
	return tree.New([]tree.File{
		{Name: "plugin.json", Data: []byte(`{"name":"reviewer"}`)},
		{Name: "skills/review/SKILL.md", Data: []byte(text)},
		{Name: "bin/run", Exec: true, Data: []byte("#!/bin/sh\n")},
	})
}

func packageOf(t tree.Tree, version string) store.Package {
	return store.Package{Version: version, Tree: t.Digest(), Files: len(t), Bytes: t.Size()}
}

func put(t *testing.T, s *store.Store, id string, files tree.Tree) {
	t.Helper()
	err := s.Change(t.Context(), func(tx *store.Tx) error {
		p := packageOf(files, "1.0.0")
		if old, ok := tx.Packages[id]; ok && old.Tree != p.Tree {
			p.Previous = []store.Package{old}
		}
		tx.Packages[id] = p
		return tx.Put(id, files)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func newStore(t *testing.T) *store.Store {
	return &store.Store{Dir: filepath.Join(t.TempDir(), "market"), NoSync: true}
}

func TestReadCreatesNothing(t *testing.T) {
	s := newStore(t)
	l, err := s.Read()
	if err != nil || len(l.Packages) != 0 {
		t.Errorf("got %v, %v", l, err)
	}
	if trust, err := s.Trusted(); err != nil || len(trust) != 0 {
		t.Errorf("got %v, %v", trust, err)
	}
	if _, err := os.Lstat(s.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the store's directory: %v", err)
	}
}

func TestPut(t *testing.T) {
	s := newStore(t)
	files := sample("v1")
	put(t, s, id, files)
	l, err := s.Read()
	if err != nil || l.Generation != 1 {
		t.Fatalf("generation %d, %v", l.Generation, err)
	}
	got, found := s.Load(id, l.Packages[id])
	if diff := cmp.Diff(files, got); diff != "" || found != nil {
		t.Errorf("%s%v", diff, found)
	}
	put(t, s, id, files)
	if l, _ := s.Read(); l.Generation != 1 {
		t.Errorf("the same again made generation %d", l.Generation)
	}
	if left, _ := os.ReadDir(filepath.Join(s.Dir, "staging")); len(left) > 0 {
		t.Errorf("left in staging: %v", left)
	}
}

func TestVerify(t *testing.T) {
	files := sample("v1")
	for _, c := range []struct {
		name   string
		damage func(root string) error
		want   []string
	}{
		{"nothing", func(string) error { return nil }, nil},
		{"edited", func(r string) error { return rewrite(r+"/skills/review/SKILL.md", "v2") }, []string{"skills/review/SKILL.md modified"}},
		{"longer", func(r string) error { return rewrite(r+"/skills/review/SKILL.md", "v1 and more") }, []string{"skills/review/SKILL.md modified"}},
		{"added", func(r string) error { return rewrite(r+"/skills/review/x.md", "x") }, []string{"skills/review/x.md extra"}},
		{"added directory", func(r string) error { return os.MkdirAll(r+"/more/x", 0o755) }, []string{"more/ extra"}},
		{"mode", func(r string) error { return os.Chmod(r+"/plugin.json", 0o755) }, []string{"plugin.json mode"}},
		{"deleted", func(r string) error { return os.Remove(r + "/bin/run") }, []string{"bin/run missing"}},
		{"link in its place", func(r string) error {
			return errors.Join(os.Remove(r+"/plugin.json"), os.Symlink("skills/review/SKILL.md", r+"/plugin.json"))
		}, []string{"plugin.json modified"}},
		{"all gone", os.RemoveAll, []string{"bin/run missing", "plugin.json missing", "skills/review/SKILL.md missing"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "mode" && runtime.GOOS == "windows" {
				t.Skip("there are no exec bits")
			}
			s := newStore(t)
			put(t, s, id, files)
			l, _ := s.Read()
			p := l.Packages[id]
			if err := c.damage(s.Root(id, p.Tree)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, texts(s.Verify(id, p))); diff != "" {
				t.Errorf("Verify: %s", diff)
			}
			if diff := cmp.Diff(c.want, texts(s.Look(id, p))); diff != "" {
				t.Errorf("Look: %s", diff)
			}
			put(t, s, id, files)
			if found := s.Verify(id, p); found != nil {
				t.Errorf("after the same was put again: %v", found)
			}
		})
	}
}

func TestVerifyObjects(t *testing.T) {
	s := newStore(t)
	put(t, s, id, sample("v1"))
	l, _ := s.Read()
	blobs, _ := filepath.Glob(s.Dir + "/objects/sha256/*/*")
	if err := rewrite(blobs[0], "else"); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(blobs[1]); err != nil {
		t.Fatal(err)
	}
	found := strings.Join(texts(s.Verify(id, l.Packages[id])), "\n")
	if !strings.Contains(found, "modified in the store's objects") || !strings.Contains(found, "missing from the store's objects") {
		t.Errorf("found %s", found)
	}
	put(t, s, id, sample("v1"))
	if found := s.Verify(id, l.Packages[id]); found != nil {
		t.Errorf("after the same was put again: %v", found)
	}
}

func texts(found []store.Finding) (out []string) {
	for _, f := range found {
		out = append(out, f.String())
	}
	return out
}

func rewrite(name, text string) error {
	_ = os.Chmod(name, 0o644)
	err := os.WriteFile(name, []byte(text), 0o644)
	if !strings.HasSuffix(name, "x.md") {
		err = errors.Join(err, os.Chmod(name, 0o444))
	}
	return err
}

// A link planted in the store leads nowhere.
func TestPlantedLinks(t *testing.T) {
	for _, name := range []string{"objects", "trees", "roots", "staging", "pins", "store.lock", "lock.json.prev", "roots/acme", "roots/acme/reviewer"} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			outside := t.TempDir()
			put(t, s, id, sample("v1"))
			at := filepath.Join(s.Dir, filepath.FromSlash(name))
			if err := errors.Join(os.RemoveAll(at), os.Symlink(outside, at)); err != nil {
				t.Fatal(err)
			}
			err := s.Change(t.Context(), func(tx *store.Tx) error {
				tx.Packages[id] = packageOf(sample("v2"), "2.0.0")
				return tx.Put(id, sample("v2"))
			})
			if err == nil && name != "lock.json.prev" { // a rename replaces the link itself
				t.Error("the change went through a link")
			}
			if left, _ := os.ReadDir(outside); len(left) > 0 {
				t.Errorf("written outside: %v", left)
			}
		})
	}
}

func TestBusy(t *testing.T) {
	s := newStore(t)
	err := s.Change(t.Context(), func(*store.Tx) error {
		var busy *store.BusyError
		if err := s.Change(t.Context(), func(*store.Tx) error { return nil }); !errors.As(err, &busy) || busy.PID != os.Getpid() {
			t.Errorf("got %v, want busy with %d", err, os.Getpid())
		}
		if _, err := s.Read(); err != nil {
			t.Errorf("reading meanwhile: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestCollect(t *testing.T) {
	s := newStore(t)
	put(t, s, id, sample("v1"))
	put(t, s, id, sample("v2"))
	put(t, s, "acme/other", sample("other"))
	collect := func(grace time.Duration, dry bool) (g store.Garbage) {
		err := s.Change(t.Context(), func(tx *store.Tx) (err error) { g, err = tx.Collect(grace, dry); return err })
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	if err := os.MkdirAll(filepath.Join(s.Dir, "staging", "1-DEAD", "root"), 0o700); err != nil {
		t.Fatal(err)
	}
	if g := collect(-time.Hour, false); g.Files != 0 {
		t.Errorf("%d files of what is kept were removed", g.Files)
	}
	if left, _ := os.ReadDir(filepath.Join(s.Dir, "staging")); len(left) > 0 {
		t.Errorf("left in staging: %v", left)
	}
	if err := s.Pin([]store.Pin{{ID: "acme/other", Tree: sample("other").Digest()}}); err != nil {
		t.Fatal(err)
	}
	remove := func(id string) {
		if err := s.Change(t.Context(), func(tx *store.Tx) error { delete(tx.Packages, id); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	remove("acme/other")
	if g := collect(-time.Hour, false); g.Files != 0 {
		t.Errorf("%d files of what a session uses were removed", g.Files)
	}
	if err := os.Rename(filepath.Join(s.Dir, "pins", strconv.Itoa(os.Getpid())+".json"), filepath.Join(s.Dir, "pins", dead(t)+".json")); err != nil {
		t.Fatal(err)
	}
	if g := collect(store.Grace, false); g.Files != 0 {
		t.Errorf("%d files younger than the grace were removed", g.Files)
	}
	// The list of its files, three in its directory, and the one that no other has.
	dry := collect(-time.Hour, true)
	if g := collect(-time.Hour, false); g.Files != 5 || dry != g {
		t.Errorf("removed %+v, and %+v when only tried; want 5 files", g, dry)
	}
	l, _ := s.Read()
	p := l.Packages[id]
	for _, v := range append(p.Previous, p) {
		if found := s.Verify(id, v); found != nil {
			t.Errorf("what is kept was damaged: %v", found)
		}
	}
	remove(id)
	collect(-time.Hour, false)
	collect(-time.Hour, false) // directories that became empty
	for _, d := range []string{"objects/sha256", "trees", "roots"} {
		if left, _ := os.ReadDir(filepath.Join(s.Dir, d)); len(left) > 0 {
			t.Errorf("left in %s: %v", d, left)
		}
	}
}

func TestRepair(t *testing.T) {
	s := newStore(t)
	put(t, s, id, sample("v1"))
	put(t, s, id, sample("v2"))
	lock := filepath.Join(s.Dir, "lock.json")
	b, _ := os.ReadFile(lock)
	if err := os.WriteFile(lock, b[:len(b)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(); !errors.Is(err, store.ErrLockfile) {
		t.Errorf("reading half a lock file: %v", err)
	}
	if err := s.Change(t.Context(), func(*store.Tx) error { return nil }); !errors.Is(err, store.ErrLockfile) {
		t.Errorf("changing with half a lock file: %v", err)
	}
	done, left, err := s.Repair(t.Context())
	if err != nil || len(done) != 1 || left != nil {
		t.Errorf("repaired %q, %q, %v", done, left, err)
	}
	l, err := s.Read()
	if err != nil || l.Packages[id].Tree != sample("v1").Digest() {
		t.Errorf("restored %+v, %v", l, err)
	}
	if err := os.RemoveAll(s.Root(id, l.Packages[id].Tree)); err != nil {
		t.Fatal(err)
	}
	if done, left, err = s.Repair(t.Context()); err != nil || !slices.Equal(done, []string{"acme/reviewer@1.0.0 rebuilt"}) || left != nil {
		t.Errorf("rebuilt %q, %q, %v", done, left, err)
	}
	blobs, _ := filepath.Glob(s.Dir + "/objects/sha256/*/*")
	for _, b := range blobs {
		_ = os.Remove(b)
	}
	if _, left, err = s.Repair(t.Context()); err != nil || len(left) != 1 {
		t.Errorf("left %q, %v", left, err)
	}
}

func TestNewerFormat(t *testing.T) {
	s := newStore(t)
	put(t, s, id, sample("v1"))
	if err := os.WriteFile(filepath.Join(s.Dir, "FORMAT"), []byte("2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(); !errors.Is(err, store.ErrLockfile) {
		t.Errorf("got %v", err)
	}
}

// dead returns the number of a process that has ended.
func dead(t *testing.T) string {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(cmd.Process.Pid)
}
