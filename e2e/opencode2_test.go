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
