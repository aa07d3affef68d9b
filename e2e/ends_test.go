//go:build unix

package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whet-dev/whet/internal/peer"
	"github.com/whet-dev/whet/internal/scriptmodel"
)

// The real agents hand out two tasks over MCP, wait for both by a tool of
// whet's, which their hooks add nothing to, and want to end their turn: the end
// that they were never told of keeps them at work, once.
func TestPeerEndsKeepFromStopping(t *testing.T) {
	for _, a := range []struct {
		name, prefix, settings string
		env                    func(model string) []string
	}{
		{"gemini", "mcp_whet_", geminiSettings, geminiEnv},
		{"qwen", "mcp__whet__", qwenSettings, qwenEnv},
	} {
		t.Run(a.name, func(t *testing.T) {
			program, dir := peer.Find(t, a.name), t.TempDir()
			whets := func(s scriptmodel.Step) scriptmodel.Step {
				s.Calls[0].Name = a.prefix + s.Calls[0].Name
				return s
			}
			wait := func(alias string) scriptmodel.Step {
				return whets(use("wait_for_background_tasks", args{"task_ids": []string{alias}, "timeout_s": 60}))
			}
			// They end when both have been launched and the hooks have said whose they
			// are, the second one long after the end of the first has been written down.
			const begin = "while [ ! -e go ]; do sleep 0.1; done"
			srv := model(t, scriptmodel.Script{
				"all": {
					whets(launch("fixer", "Find it", "found")), whets(launch("fixer", "Find more", "more")),
					whets(use("apply_patch", args{"patch": "*** Begin Patch\n*** Add File: go\n+go\n*** End Patch"})),
					wait("fix-1"), wait("fix-2"), say("I am done."), say("Thanks."), say("Thanks again."),
				},
				"found": {use("bash", args{"command": begin}), say("Found it in a.go.")},
				"more":  {use("bash", args{"command": begin + "; sleep 4"}), say("And more.")},
			})
			h := newHome(t, dir)
			h.env = append(h.env, a.env(srv.URL)...)
			h.write(filepath.Join(dir, "."+a.name, "settings.json"), a.settings)
			h.write(filepath.Join(dir, ".config/whet/whet.jsonc"), fmt.Sprintf(`{"task": {"allow": ["bash"]}, "agent": {"model": "p/m", "providers": {"p": {"baseURL": "%s/v1"}}}}`, srv.URL))
			h.run(t, nil, whetBinary(t), "install", a.name, "--yes")
			defer h.run(t, nil, whetBinary(t), "serve", "--stop")
			h.run(t, nil, program, "-p", "[[script:all]] go", "--yolo")

			seen := last(t, srv, "all")
			wants(t, seen, "I am done.", "Found it in a.go.")
			if n := strings.Count(seen, `alias=\"fix-1\" generation=\"1\" state=\"completed\"`); n != 1 {
				t.Errorf("the first end was told %d times:\n%s", n, tail(seen, 3000))
			}
			_, after, _ := strings.Cut(seen, "I am done.")
			wants(t, after, "Background task completed: Find it")
		})
	}
}
