//go:build unix

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet/internal/peer"
)

// OpenCode 2 can't be had, so a stand-in calls the plugin, under Node and under
// the very Bun that OpenCode brings.
func TestOpenCode2(t *testing.T) {
	h := newHome(t, t.TempDir())
	h.write("s.txt", moved)
	h.run(t, nil, whetBinary(t), "install", "opencode", "--yes")
	plugin := filepath.Join(h.dir, ".config/opencode/plugin/whet.js")
	h.write(filepath.Join(h.dir, ".config/opencode/package.json"), `{"type": "module"}`)
	driver, err := filepath.Abs("testdata/opencode2.mjs")
	if err != nil {
		t.Fatal(err)
	}
	const notice = `\n\n[LOOP GUARD] This read call has now given the same result 3 times. Repeating it will not help: use the result you have, change the arguments or the tool, or say what blocks you.`
	want := `with version 1's context: null
hooks: ["execute.before","execute.after","prompt"]
tools are schemas: true
names that it has itself: 0
missing path: "refused: Search path does not exist: DIR/no/such"
words for an absent path: {"content":"none"}
rescued: true
read: {"content":[{"type":"text","text":"same"}]}
read: {"content":[{"type":"text","text":"same"}]}
read: {"content":[{"type":"text","text":"same"},{"type":"text","text":"` + notice[4:] + `"}]}
read after a prompt: {"content":"same"}
failed: {"message":"no such file"}
disposed: 4
`
	for name, run := range map[string]func(t *testing.T) string{
		"node": func(t *testing.T) string { return h.run(t, nil, peer.Find(t, "node"), driver, plugin, h.ws) },
		"bun": func(t *testing.T) string {
			return h.run(t, []string{"BUN_BE_BUN=1"}, openCode(t), "run", driver, plugin, h.ws)
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want, run(t)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	// The plugin stays one that a person can read in a sitting.
	b, err := os.ReadFile("../npm/opencode/whet.js")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(b), "\n"); n > 250 {
		t.Errorf("whet.js has %d lines, more than 250", n)
	}
}

// A program that is missing, isn't whet, or speaks another protocol costs the
// host nothing, and the person hears what to do.
func TestOpenCodeFailsOpen(t *testing.T) {
	node := peer.Find(t, "node")
	h := newHome(t, t.TempDir())
	h.run(t, nil, whetBinary(t), "install", "opencode", "--yes")
	h.write(filepath.Join(h.dir, ".config/opencode/package.json"), `{"type": "module"}`)
	programs := map[string]string{
		"talker": "#!/bin/sh\necho hello\nexec cat >/dev/null\n",
		"future": "#!/bin/sh\necho '{\"jsonrpc\":\"2.0\",\"method\":\"hello\",\"params\":{\"whet\":\"9.0.0\",\"protocol\":99}}'\nexec cat >/dev/null\n",
		"dying":  "#!/bin/sh\nexit 3\n",
	}
	for name, text := range programs {
		h.write(name, text)
		if err := os.Chmod(filepath.Join(h.ws, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	driver, err := filepath.Abs("testdata/failopen.mjs")
	if err != nil {
		t.Fatal(err)
	}
	got := h.run(t, nil, node, driver, filepath.Join(h.dir, ".config/opencode/plugin/whet.js"), "./nosuch", "./talker", "./future", "./dying")
	want := `{"hooks":[],"log":["whet did not start (./nosuch): spawn ./nosuch ENOENT"]}
{"hooks":[],"log":["./talker is not whet: it printed \"hello\""]}
{"hooks":[],"log":["whet 9.0.0 and this plugin don't fit; run: whet install opencode"]}
{"hooks":[],"log":["whet ended: exit status 3"]}
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
