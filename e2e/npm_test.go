//go:build unix

package e2e

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/whet-dev/whet/internal/peer"
)

// The npm packages as a person installs them, from the files that would be
// published, without a network: the command, what it writes into an agent's
// settings, and the plugin that finds its program by itself.
func TestPeerNpm(t *testing.T) {
	npm, node := peer.Find(t, "npm"), peer.Find(t, "node")
	platform := runtime.GOOS + "-" + strings.Replace(runtime.GOARCH, "amd64", "x64", 1)
	h := newHome(t, t.TempDir())
	dist := filepath.Join(h.dir, "dist", "whet_"+runtime.GOOS+"_"+runtime.GOARCH)
	if err := os.MkdirAll(dist, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"whet", "whet-hook"} {
		if err := os.Link(filepath.Join(filepath.Dir(whetBinary(t)), name), filepath.Join(dist, name)); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(h.dir, "packages")
	h.run(t, []string{"WHET_DIST=" + filepath.Dir(dist)}, script(t, "npm-packages"), "9.9.9", out, platform)
	var archives []string
	for _, name := range []string{"whet", "opencode", platform} {
		printed := strings.Fields(h.run(t, nil, npm, "pack", "--silent", "--pack-destination", h.dir, filepath.Join(out, name)))
		archives = append(archives, filepath.Join(h.dir, printed[len(printed)-1]))
	}
	h.write("package.json", "{}")
	h.run(t, nil, npm, append([]string{"install", "--offline", "--no-audit", "--no-fund", "--loglevel=error"}, archives...)...)

	command := filepath.Join(h.ws, "node_modules/.bin/whet")
	wants(t, h.run(t, nil, command, "version"), "whet ")
	h.run(t, nil, command, "install", "codex", "--yes")
	hooks, err := os.ReadFile(filepath.Join(h.dir, ".codex/hooks.json"))
	if err != nil {
		t.Fatal(err)
	}
	wants(t, string(hooks), filepath.Join("node_modules/@whet-dev", platform, "bin/whet-hook")) // not Node's launcher

	h.write("s.txt", moved)
	driver, err := filepath.Abs("testdata/opencode2.mjs")
	if err != nil {
		t.Fatal(err)
	}
	wants(t, h.run(t, nil, node, driver, filepath.Join(h.ws, "node_modules/@whet-dev/opencode/whet.js"), h.ws), "rescued: true", "disposed: 4")
}

func script(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "scripts", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}
