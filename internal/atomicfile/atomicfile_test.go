package atomicfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/whet-dev/whet/internal/atomicfile"
)

func TestWrite(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	write(t, outside, "untouched", 0o600)
	for _, c := range []struct {
		name  string
		setup func(dir string)
		file  string
		want  map[string]string // name → content afterwards; nil if the write must fail
		mode  os.FileMode
	}{
		{"new", nil, "a", map[string]string{"a": "new"}, 0},
		{"keeps the mode", func(d string) { write(t, d+"/a", "old", 0o755) }, "a", map[string]string{"a": "new"}, 0o755},
		{"through a link", func(d string) { write(t, d+"/b", "old", 0o600); link(t, "b", d+"/a") }, "a", map[string]string{"a": "new", "b": "new"}, 0o600},
		{"through an absolute link", func(d string) { write(t, d+"/b", "old", 0o600); link(t, d+"/b", d+"/a") }, "a", map[string]string{"b": "new"}, 0o600},
		{"read-only file", func(d string) { write(t, d+"/a", "old", 0o400) }, "a", nil, 0},
		{"link out", func(d string) { link(t, outside, d+"/a") }, "a", nil, 0},
		{"directory link out", func(d string) { link(t, filepath.Dir(outside), d+"/d") }, "d/outside", nil, 0},
		{"parent", nil, "../a", nil, 0},
		{"link loop", func(d string) { link(t, "b", d+"/a"); link(t, "a", d+"/b") }, "a", nil, 0},
		{"no directory", nil, "d/a", nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if c.setup != nil {
				c.setup(dir)
			}
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			err = atomicfile.Write(root, c.file, []byte("new"))
			if (err == nil) != (c.want != nil) {
				t.Fatalf("got %v", err)
			}
			for name, want := range c.want {
				if b, err := os.ReadFile(filepath.Join(dir, name)); string(b) != want {
					t.Errorf("%s is %q, %v; want %q", name, b, err, want)
				}
			}
			if info, err := os.Stat(filepath.Join(dir, c.file)); c.mode != 0 && (err != nil || info.Mode() != c.mode) {
				t.Errorf("mode %v, %v; want %v", info.Mode(), err, c.mode)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, ".*.whet-*")); left != nil {
				t.Errorf("left behind: %q", left)
			}
		})
	}
	if b, _ := os.ReadFile(outside); string(b) != "untouched" {
		t.Errorf("the file outside is %q", b)
	}
}

func write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, name string) {
	t.Helper()
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
}
