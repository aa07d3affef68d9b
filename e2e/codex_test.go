//go:build unix

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/whet-dev/whet/internal/peer"
	"github.com/whet-dev/whet/internal/scriptmodel"
)

// codexHome is a home in which Codex talks to the scripted model and whet is
// installed.
func codexHome(t *testing.T, script scriptmodel.Script) (*home, *scriptmodel.Server) {
	t.Helper()
	srv := model(t, script)
	h := newHome(t, t.TempDir())
	h.env = append(h.env, "SCRIPTED_KEY=x")
	h.write(filepath.Join(h.dir, ".codex/config.toml"), fmt.Sprintf(`# mine
model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.scripted]
name = "scripted"
base_url = %q
wire_api = "responses"
env_key = "SCRIPTED_KEY"
`, srv.URL+"/v1"))
	h.run(t, nil, whetBinary(t), "install", "codex", "--yes")
	return h, srv
}

func (h *home) codex(t *testing.T, scenario string) {
	t.Helper()
	h.run(t, nil, peer.Find(t, "codex"), "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
		"--dangerously-bypass-hook-trust", "[[script:"+scenario+"]] go")
}

func freeform(patch string) scriptmodel.Step {
	return scriptmodel.Step{Calls: []scriptmodel.Call{{Name: "apply_patch", Custom: true, Raw: patch}}}
}

func served(tool string, a args) scriptmodel.Step {
	s := use(tool, a)
	s.Calls[0].Namespace = "mcp__whet"
	return s
}

func TestPeerCodex(t *testing.T) {
	peer.Find(t, "codex")
	dir := t.TempDir()
	h, srv := codexHome(t, scriptmodel.Script{
		"patches": {
			freeform(stale),
			freeform(outside(dir)),
			freeform("*** Begin Patch\n*** Add File: a.go\n+package a\n+func  f( ) {   }\n*** End Patch"),
			served("grep", args{"pattern": "middle", "path": "."}),
			served("grep", args{"pattern": "x", "path": "no/such"}),
			say("done"),
		},
		"loop": append(repeat(4, use("exec_command", args{"cmd": "echo again"})), say("done")),
	})
	h.write("s.txt", moved)
	h.codex(t, "patches")
	seen := last(t, srv, "patches")
	if got := h.read("s.txt"); got != "start of block\n  middle v3 line\nend of block\n" {
		t.Errorf("the stale patch: s.txt is %q", got)
	}
	wants(t, seen, "[whet] the patch did not fit the files exactly", "Command blocked by PreToolUse hook: ", "outside")
	if _, err := os.Stat(filepath.Join(dir, "outside.txt")); err == nil {
		t.Error("the patch that leaves the project wrote outside.txt")
	}
	wants(t, seen, "[format] a.go: gofmt changed lines")
	if got := h.read("a.go"); got != "package a\n\nfunc f() {}\n" {
		t.Errorf("a.go is %q", got)
	}
	wants(t, seen, "s.txt", "Search path does not exist: ")

	h.codex(t, "loop")
	seen = last(t, srv, "loop")
	wants(t, seen, "the same result 3 times", "the same result 4 times")
}

// The doctor asks the real Codex, which skips hooks that nobody has trusted.
func TestPeerCodexDoctor(t *testing.T) {
	codex := peer.Find(t, "codex")
	h, _ := codexHome(t, nil)
	h.env = append(h.env, "PATH="+filepath.Dir(codex)+":"+os.Getenv("PATH"))
	out := h.fails(t, whetBinary(t), "doctor", "codex")
	wants(t, out, "codex 0.171.0", "hook codex answers", "mcp answers", "Codex skips 5 of whet's 5 hooks: nobody has trusted them")
}

// A rewritten patch must come with "allow". That is Codex's word for "run it as
// you would have": its own sandbox still holds.
func TestPeerCodexRescueKeepsTheSandbox(t *testing.T) {
	codex := peer.Find(t, "codex")
	h, srv := codexHome(t, scriptmodel.Script{"patch": {freeform(stale), say("done")}})
	h.write("s.txt", moved)
	h.run(t, nil, codex, "exec", "--skip-git-repo-check", "--sandbox", "read-only", "--dangerously-bypass-hook-trust", "[[script:patch]] go")
	if got := h.read("s.txt"); got != moved {
		t.Errorf("s.txt was written in a read-only sandbox: %q", got)
	}
	wants(t, last(t, srv, "patch"), "rejected")
}
