// Package peer finds the real programs that tests compare whet with, or drive:
// ripgrep, ast-grep, Codex, OpenCode and others. scripts/peers installs them
// into .peers at the root of the repository.
package peer

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Find returns the path of the program called name, from .peers or $PATH. A
// test without its peer is skipped, or fails if WHET_PEERS=require, as in CI.
func Find(t testing.TB, name string) string {
	t.Helper()
	path := Lookup(name)
	if path == "" {
		missing(t, name)
	}
	return path
}

// Lookup is Find for what is no test: it returns "" for a peer that is missing.
func Lookup(name string) string {
	if root := repository(); root != "" {
		for _, dir := range []string{"bin", filepath.Join("node_modules", ".bin")} {
			if path, err := exec.LookPath(filepath.Join(root, ".peers", dir, name)); err == nil {
				return path
			}
		}
	}
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	return ""
}

// Module returns the directory of the npm package called name in .peers.
func Module(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join(repository(), ".peers", "node_modules", filepath.FromSlash(name))
	if _, err := os.Stat(filepath.Join(dir, "package.json")); err != nil {
		missing(t, name)
	}
	return dir
}

// Pack returns the path of an archive that scripts/peers has put into
// .peers/packs as its authors publish it.
func Pack(t testing.TB, file string) string {
	t.Helper()
	path := filepath.Join(repository(), ".peers", "packs", file)
	if _, err := os.Stat(path); err != nil {
		missing(t, file)
	}
	return path
}

// GoModule returns the directory of a Go module, "path@version", that
// scripts/peers has put into the module cache for its data.
func GoModule(t testing.TB, module string) string {
	t.Helper()
	cache, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(strings.TrimSpace(string(cache)), filepath.FromSlash(module))
	if _, err := os.Stat(dir); err != nil {
		missing(t, module)
	}
	return dir
}

func missing(t testing.TB, name string) {
	t.Helper()
	if os.Getenv("WHET_PEERS") == "require" {
		t.Fatalf("%s is not installed, and WHET_PEERS=require; run scripts/peers", name)
	}
	t.Skipf("%s is not installed; scripts/peers installs what the tests compare with", name)
}

// repository returns the directory of go.mod above the test's own.
func repository() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}
