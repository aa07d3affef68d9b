package market_test

import (
	"archive/zip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/whet-dev/whet/market"
	"github.com/whet-dev/whet/market/store"
)

func TestNothingThere(t *testing.T) {
	w := newWorld(t)
	o, err := w.m.List()
	w.ok("no packages installed", o, err)
	o, err = w.m.Verify(t.Context(), "")
	w.ok("no packages installed", o, err)
	o, err = w.m.Status()
	w.ok("project: "+w.project, o, err)
	if !strings.HasSuffix(o.Text, "\n\nno packages installed") {
		t.Errorf("status: %s", o.Text)
	}
	o, err = w.m.Show("acme/x", false)
	w.fails(market.NotFound, "acme/x", o, err)
	if in := w.active(); in != nil {
		t.Errorf("in force: %v", in)
	}
	all, _ := filepath.Glob(w.home + "/.*")
	if len(all) > 0 {
		t.Errorf("created: %v", all)
	}
}

func TestInstallAndUpdate(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	v1 := w.pack("acme/reviewer", "1.0.0", skill("review", "v1"))
	v2 := w.pack("acme/reviewer", "2.0.0", skill("review", "v2"))
	o, err := w.m.Update(ctx, v1)
	w.fails(market.Conflict, "not installed", o, err)
	o, err = w.m.Install(ctx, v1)
	w.ok("Installed acme/reviewer@1.0.0 (3 files, sha256:", o, err)
	if !o.Changed || o.Package.State != "disabled" || o.Package.Source.Path != canonical(v1) {
		t.Errorf("got %+v, %+v", o, o.Package)
	}
	g := w.generation()
	o, err = w.m.Install(ctx, v1)
	w.ok("Already installed acme/reviewer@1.0.0, nothing changed", o, err)
	if o.Changed || w.generation() != g {
		t.Errorf("changed %v, generation %d and then %d", o.Changed, g, w.generation())
	}
	o, err = w.m.Install(ctx, v2)
	w.fails(market.Conflict, "use update", o, err)
	o, err = w.m.Update(ctx, v2)
	w.ok("Updated acme/reviewer 1.0.0 -> 2.0.0", o, err)
	o, err = w.m.Update(ctx, v2)
	w.fails(market.Conflict, "the same", o, err)
	o, err = w.m.Update(ctx, v1)
	w.fails(market.Conflict, "newer", o, err)
	other := w.pack("acme/reviewer", "2.0.0", skill("review", "else"))
	o, err = w.m.Install(ctx, other)
	w.fails(market.Conflict, "sha256:", o, err)
	o, err = w.m.Update(ctx, other)
	w.fails(market.Conflict, "give it a new version", o, err)
	if e := new(market.Error); errors.As(err, &e) && strings.Count(e.Text, "sha256:") != 2 {
		t.Errorf("both digests should be named: %s", e.Text)
	}
	o, err = w.m.Rollback(ctx, "acme/reviewer")
	w.ok("Rolled back acme/reviewer 2.0.0 -> 1.0.0", o, err)
	o, err = w.m.Rollback(ctx, "acme/reviewer")
	w.ok("Rolled back acme/reviewer 1.0.0 -> 2.0.0", o, err)
	if o, err = w.m.Verify(ctx, ""); err != nil || o.Text != "OK acme/reviewer@2.0.0 3 files" {
		t.Errorf("verify: %s, %v", o.Text, err)
	}
}

func canonical(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	return path
}

func TestUnversioned(t *testing.T) {
	w := newWorld(t)
	o, err := w.m.Install(t.Context(), w.pack("acme/x", "", skill("a", "1")))
	first := w.ok("Installed acme/x@0.0.0+", o, err).Package.Version
	changed := w.pack("acme/x", "", skill("a", "2"))
	o, err = w.m.Install(t.Context(), changed)
	w.fails(market.Conflict, "use update", o, err)
	o, err = w.m.Update(t.Context(), changed)
	second := w.ok("Updated acme/x "+first+" -> 0.0.0+", o, err).Package.Version
	if first == second {
		t.Errorf("both are %s", first)
	}
	o, err = w.m.Update(t.Context(), changed)
	w.fails(market.Conflict, "the same", o, err)
}

func TestVerifyAndRepair(t *testing.T) {
	w := newWorld(t)
	path := w.pack("acme/x", "1.0.0", skill("a", "1"))
	w.install(path)
	w.enable("acme/x", "")
	w.begin()
	root := w.active()[0].Root
	file := filepath.Join(root, "skills", "a", "SKILL.md")
	if err := errors.Join(os.Chmod(file, 0o644), os.WriteFile(file, []byte("else"), 0o644)); err != nil {
		t.Fatal(err)
	}
	o, err := w.m.Verify(t.Context(), "acme/x")
	if err != nil || o.OK || o.Text != "FAIL acme/x@1.0.0 skills/a/SKILL.md modified" {
		t.Errorf("verify: %s, %v", o.Text, err)
	}
	if in := w.active(); len(in) > 0 {
		t.Error("a damaged package is in force")
	}
	o, err = w.m.Status()
	w.ok("", o, err)
	if o.ReloadRequired != "true" || !strings.Contains(o.Text, "\n  acme/x@1.0.0 corrupt\n") || !strings.Contains(o.Text, "\n  disk acme/x corrupt: skills/a/SKILL.md modified") {
		t.Errorf("status: %s", o.Text)
	}
	o, err = w.m.Install(t.Context(), path)
	w.ok("Already installed", o, err)
	if o, err = w.m.Verify(t.Context(), ""); err != nil || !o.OK {
		t.Errorf("verify after the repair: %s, %v", o.Text, err)
	}
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	o, err = w.m.Repair(t.Context())
	w.ok("acme/x@1.0.0 rebuilt", o, err)
}

func TestLockfile(t *testing.T) {
	w := newWorld(t)
	path := w.pack("acme/x", "1.0.0", skill("a", "1"))
	w.install(path)
	w.install(w.pack("acme/y", "1.0.0", skill("a", "1")))
	w.begin()
	lock := filepath.Join(w.store().Dir, "lock.json")
	b, _ := os.ReadFile(lock)
	if err := os.WriteFile(lock, b[:len(b)-20], 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := w.m.Status()
	w.ok("", o, err)
	if o.ReloadRequired != "unknown" || len(o.Diagnostics) != 1 || o.Diagnostics[0].Code != "lockfile" {
		t.Errorf("status: %s", o.Text)
	}
	o, err = w.m.Install(t.Context(), path)
	w.fails(market.Lockfile, "whet market repair", o, err)
	o, err = w.m.List()
	w.fails(market.Lockfile, "whet market repair", o, err)
	o, err = w.m.Repair(t.Context())
	w.ok("lock.json restored", o, err)
	if o, err = w.m.List(); err != nil || !strings.HasPrefix(o.Text, "acme/x@1.0.0\tdisabled\tskill\t") || len(o.Packages) != 1 {
		t.Errorf("list: %s, %v", o.Text, err)
	}
}

func TestNotALocalPath(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"https://example.com/x.zip", "git@example.com:a/b.git", "acme/reviewer", "npm:reviewer"} {
		o, err := w.m.Install(t.Context(), path)
		w.fails(market.NotALocalPath, "", o, err)
	}
	o, err := w.m.Install(t.Context(), "./none")
	w.fails(market.NotFound, "", o, err)
	w.pack("acme/x", "1.0.0", nil)
	o, err = w.m.Install(t.Context(), "../packages/acme-x-1.0.00")
	w.ok("Installed acme/x@1.0.0", o, err)
}

// While another process changes the store, a change gives up and a look doesn't
// even wait.
func TestBusy(t *testing.T) {
	w := newWorld(t)
	path := w.pack("acme/x", "1.0.0", skill("a", "1"))
	w.install(path)
	w.begin()
	err := w.store().Change(t.Context(), func(*store.Tx) error {
		o, err := w.m.Update(t.Context(), w.pack("acme/x", "2.0.0", nil))
		w.fails(market.Busy, fmt.Sprintf("process %d is changing the store", os.Getpid()), o, err)
		if o, err = w.m.Status(); err != nil || o.ReloadRequired != "false" {
			t.Errorf("status: %s, %v", o.Text, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestHostileArchive(t *testing.T) {
	w := newWorld(t)
	path := filepath.Join(w.home, "x.zip")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for _, name := range []string{"plugin.json", "../../escaped"} {
		if _, err := z.Create(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	o, err := w.m.Import(t.Context(), path)
	w.fails(market.UnsafeArchive, "traversal", o, err)
	if _, err := os.Lstat(w.store().Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the store was made: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(w.home, "..", "escaped")); err == nil {
		t.Error("a file escaped")
	}
}

func TestCatalogue(t *testing.T) {
	w := newWorld(t)
	w.write("cat/.claude-plugin/marketplace.json", `{"name": "tools", "owner": {"name": "Acme"}, "plugins": [
		{"name": "one", "source": "./plugins/one"},
		{"name": "two", "source": "./plugins/two", "version": "1.2.0"},
		{"name": "far", "source": {"source": "url", "url": "https://example.com/far.git"}},
		{"name": "farther", "source": {"source": "git-subdir", "url": "https://example.com/x.git", "path": "y"}}]}`)
	w.write("cat/plugins/one/commands/hi.md", "---\ndescription: Says hi\n---\nhi\n")
	w.write("cat/plugins/two/skills/a/SKILL.md", "---\nname: a\ndescription: A\n---\ntext\n")
	path := filepath.Join(w.home, "cat")
	o, err := w.m.Import(t.Context(), path)
	w.ok(path+" offers 4 plugins; choose one with ", o, err)
	if o.Changed || strings.Count(o.Text, "remote-source-not-fetched") != 2 {
		t.Errorf("got %s", o.Text)
	}
	o, err = w.m.Install(t.Context(), path)
	w.fails(market.InvalidArguments, "is a catalogue", o, err)
	o, err = w.m.Import(t.Context(), path+"#far")
	w.fails(market.InvalidPackage, "remote-source-not-fetched", o, err)
	o, err = w.m.Import(t.Context(), path+"#none")
	w.fails(market.InvalidPackage, "no-such-plugin", o, err)
	o, err = w.m.Import(t.Context(), path+"#two")
	w.ok("Installed ", o, err)
	if !strings.Contains(o.Text, "/two@1.2.0 from claude-plugin (") {
		t.Errorf("got %s", o.Text)
	}
	o, err = w.m.Install(t.Context(), path+"#two")
	w.fails(market.InvalidPackage, "use import", o, err)
	o, err = w.m.ImportSome(t.Context(), path, nil)
	w.ok("Installed ", o, err)
	if strings.Count(o.Text, "remote-source-not-fetched") != 2 || strings.Count(o.Text, "Already installed") != 1 {
		t.Errorf("got %s", o.Text)
	}
	o, err = w.m.ImportSome(t.Context(), path, []string{"one", "none"})
	w.fails(market.NotFound, "none", o, err)
	if o, err = w.m.ImportSome(t.Context(), path, []string{"far"}); err != nil || o.OK {
		t.Errorf("a remote plugin by name: %s, %v", o.Text, err)
	}
	o, err = w.m.Verify(t.Context(), "")
	w.ok("OK ", o, err)
}

// Many at once lose nothing of each other's, in the store and in one
// configuration file.
func TestManyAtOnce(t *testing.T) {
	const writers, rounds = 8, 4
	w := newWorld(t)
	w.write("my project/.whet/whet.jsonc", "{\n  // kept\n  \"loopGuard\": {\"warnAt\": 3}\n}\n")
	paths := make([]string, writers)
	for i := range paths {
		paths[i] = w.pack(fmt.Sprintf("acme/p%d", i), "1.0.0", skill("a", fmt.Sprint(i)))
	}
	var wg sync.WaitGroup
	for i, path := range paths {
		wg.Go(func() {
			m, ctx, id := *w.m, t.Context(), fmt.Sprintf("acme/p%d", i)
			m.Wait = time.Minute
			for round := range rounds {
				for _, do := range []func() (market.Outcome, error){
					func() (market.Outcome, error) { return m.Install(ctx, path) },
					func() (market.Outcome, error) { return m.Enable(ctx, id, "") },
					func() (market.Outcome, error) { return m.Disable(ctx, id, "") },
					func() (market.Outcome, error) { return m.Enable(ctx, id, "") },
					func() (market.Outcome, error) { return m.Remove(ctx, id, true, true) },
				} {
					if o, err := do(); err != nil || !o.Changed {
						t.Errorf("%s, round %d: %v %q", id, round, err, o.Text)
					}
				}
			}
			if _, err := m.Install(ctx, path); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	o, err := w.m.Verify(t.Context(), "")
	if err != nil || !o.OK || len(o.Packages) != writers {
		t.Errorf("verify: %s, %v", o.Text, err)
	}
	if got := w.read("my project/.whet/whet.jsonc"); !strings.Contains(got, "// kept") || strings.Contains(got, "acme") {
		t.Errorf("the configuration: %s", got)
	}
	if want := writers * (2*rounds + 1); w.generation() != want {
		t.Errorf("generation %d, want %d", w.generation(), want)
	}
	o, err = w.m.GC(t.Context(), false)
	w.ok("Removed 0 unused files", o, err)
	if left, _ := os.ReadDir(filepath.Join(w.store().Dir, "staging")); len(left) > 0 {
		t.Errorf("left in staging: %v", left)
	}
}
