package astgrep

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/whet-dev/whet/internal/peer"
)

// engine returns the real ast-grep.
func engine(t testing.TB) Engine {
	t.Helper()
	f := Finder{Path: peer.Find(t, "ast-grep")}
	e, err := f.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// tree writes files, by path, and returns their directory.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
