//go:build unix

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/whet-dev/whet/internal/peer"
	"github.com/whet-dev/whet/internal/scriptmodel"
)

// stale is a patch whose context has moved on: middle v1 has become middle v2.
const stale = "*** Begin Patch\n*** Update File: s.txt\n@@\n start of block\n-  middle v1 line\n+  middle v3 line\n end of block\n*** End Patch"

const moved = "start of block\n  middle v2 line\nend of block\n"

// The plugin that whet's patch rescue was modelled on assigns a new object to
// the hook's arguments, which this host never looks at: its rescue says that it
// happened and changes nothing. The day that this test fails, the host looks.
func TestPeerReferencePluginIsInert(t *testing.T) {
	bin := openCode(t)
	plugin := peer.Module(t, "oh-my-opencode-slim")
	srv := model(t, scriptmodel.Script{"stale": {use("apply_patch", args{"patchText": stale}), say("done")}})
	h := openCodeHome(t, t.TempDir(), srv.URL)
	h.write("s.txt", moved)
	var config map[string]any
	if err := json.Unmarshal([]byte(h.read("opencode.json")), &config); err != nil {
		t.Fatal(err)
	}
	config["plugin"] = []string{plugin}
	b, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	h.write("opencode.json", string(b))
	h.run(t, nil, bin, "run", "--title", "t", "--agent", "build", "-m", "scripted/gpt-5-scripted", "[[script:stale]] go")

	logs, err := filepath.Glob(filepath.Join(h.dir, ".local/share/opencode/log/*slim*"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("the plugin wrote no log: %v", err)
	}
	log, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	wants(t, string(log), "apply-patch hook rewrite")
	wants(t, last(t, srv, "stale"), "Failed to find expected lines")
	if got := h.read("s.txt"); got != moved {
		t.Errorf("s.txt is %q: the rescue has worked", got)
	}
}
