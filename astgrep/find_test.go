package astgrep

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/whet-dev/whet/internal/peer"
)

// program writes a shell script that is called name, a fake for what other
// programs and versions answer.
func program(t *testing.T, dir, name, script string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the fake programs are shell scripts")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	p := filepath.Join(dir, name)
	if err := os.WriteFile(p, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestFind(t *testing.T) {
	bin, data := t.TempDir(), t.TempDir()
	t.Setenv("PATH", bin)
	t.Setenv("XDG_DATA_HOME", data)
	tools := filepath.Join(data, "whet", "tools", "node_modules", "@ast-grep", "cli-linux-x64-gnu")

	f := &Finder{}
	_, err := f.Find(t.Context())
	if none := (*NoEngineError)(nil); !errors.As(err, &none) || len(none.Rejected) != 0 || !strings.Contains(err.Error(), "whet setup") {
		t.Fatalf("no engine: %v", err)
	}
	// On Debian sg is another program, which knows no --version.
	sg := program(t, bin, "sg", "echo 'Usage: sg group [[-c] command]' >&2; exit 1")
	if _, err := f.Find(t.Context()); err == nil || !strings.Contains(err.Error(), sg+": is not ast-grep") {
		t.Errorf("another sg: %v", err)
	}
	program(t, bin, "ast-grep", "echo ast-grep 0.30.1")
	if _, err := f.Find(t.Context()); err == nil || !strings.Contains(err.Error(), "is ast-grep 0.30.1, older than 0.45") {
		t.Errorf("old: %v", err)
	}
	own := program(t, tools, "ast-grep", "echo ast-grep 0.51.1")
	if e, err := f.Find(t.Context()); err != nil || e.Path != own || e.Version != "0.51.1" {
		t.Errorf("whet's own: %v, %v", e, err)
	}
	onPath := program(t, bin, "ast-grep", "echo ast-grep 1.0.0")
	if e, _ := f.Find(t.Context()); e.Path != own {
		t.Errorf("what was found is forgotten: %v", e)
	}
	if e, err := (&Finder{}).Find(t.Context()); err != nil || e.Path != onPath {
		t.Errorf("PATH first: %v, %v", e, err)
	}
	if err := os.Remove(own); err != nil {
		t.Fatal(err)
	}
	if e, err := f.Find(t.Context()); err != nil || e.Path != onPath {
		t.Errorf("what was found is gone: %v, %v", e, err)
	}
	if _, err := (&Finder{Path: sg}).Find(t.Context()); err == nil {
		t.Error("the configured program is no ast-grep, and another was taken")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (&Finder{}).Find(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// kept is a place for versions.
type kept map[string][]byte

func (k kept) Get(key string) ([]byte, bool)      { v, ok := k[key]; return v, ok }
func (k kept) Put(key string, value []byte) error { k[key] = value; return nil }

// A program is asked what it is once, and again when its file has changed.
func TestFindRemembers(t *testing.T) {
	bin, known := t.TempDir(), kept{}
	asked := filepath.Join(bin, "asked")
	path := program(t, bin, "ast-grep", "echo asked >>"+asked+"; echo ast-grep 0.51.1")
	for i, c := range []struct {
		script, version string
		asked           int
	}{
		{"", "0.51.1", 1},
		{"", "0.51.1", 1},
		{"echo asked >>" + asked + "; echo ast-grep 0.52.10", "0.52.10", 2},
		{"", "0.52.10", 2},
		{"echo asked >>" + asked + "; echo 'Usage: sg group'", "", 3},
		{"", "", 4}, // what is no engine is asked each time
	} {
		if c.script != "" {
			program(t, bin, "ast-grep", c.script)
		}
		e, err := (&Finder{Path: path, Known: known}).Find(t.Context())
		if e.Version != c.version || (err == nil) != (c.version != "") {
			t.Errorf("%d: got %q, %v; want %q", i, e.Version, err, c.version)
		}
		b, err := os.ReadFile(asked)
		if n := strings.Count(string(b), "asked"); err != nil || n != c.asked {
			t.Errorf("%d: asked %d times, want %d", i, n, c.asked)
		}
	}
}

// A project can't make us run its own program.
func TestFindIgnoresProject(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	dir := t.TempDir()
	program(t, filepath.Join(dir, "node_modules", "@ast-grep", "cli-linux-x64-gnu"), "ast-grep", "echo ast-grep 0.51.1")
	t.Chdir(dir)
	if e, err := (&Finder{}).Find(t.Context()); err == nil {
		t.Errorf("found %v", e)
	}
}

// What the engine says while it fails is never "no matches".
func TestEngineFails(t *testing.T) {
	dir := tree(t, map[string]string{"a.js": "foo(1)"})
	for script, want := range map[string]string{
		"exit 3": "status 3",
		"echo 'thread panicked at x' >&2; exit 101": "panicked",
		"echo '{\"a\":1}'":                          "reading the engine's output",
	} {
		e := Engine{Path: program(t, t.TempDir(), "ast-grep", script)}
		if a, err := Search(t.Context(), e, Query{Dir: dir, Lang: "js", Pattern: "foo($A)"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", script, a, err)
		}
	}
}

// The peer is the version that whet setup installs.
func TestPeerVersion(t *testing.T) {
	e, err := (&Finder{Path: peer.Find(t, "ast-grep")}).Find(t.Context())
	if err != nil || e.Version != Version {
		t.Errorf("%v, %v; setup installs %s", e, err, Version)
	}
}
