//go:build unix

package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/whet-dev/whet/internal/peer"
	"github.com/whet-dev/whet/internal/scriptmodel"
)

func TestPeerClaudeCode(t *testing.T) {
	claude := peer.Find(t, "claude")
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, "my project", name) }
	srv := model(t, scriptmodel.Script{"all": append(
		append([]scriptmodel.Step{
			use("Write", args{"file_path": in("a.go"), "content": "package a\nfunc  f( ) {   }\n"}),
			use("mcp__whet__grep", args{"pattern": "alpha", "path": "src"}),
			use("mcp__whet__grep", args{"pattern": "alpha", "path": "no/such"}),
			use("mcp__whet__apply_patch", args{"patch": stale}),
		}, repeat(6, use("Read", args{"file_path": in("missing.txt")}))...),
		say("done"),
	)})
	h := newHome(t, dir)
	h.env = append(h.env, "ANTHROPIC_BASE_URL="+srv.URL, "ANTHROPIC_API_KEY=x", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "IS_SANDBOX=1")
	h.write("src/a.txt", "alpha\n")
	h.write("s.txt", moved)
	h.run(t, nil, whetBinary(t), "install", "claude-code", "--yes")
	h.run(t, nil, claude, "-p", "[[script:all]] go", "--model", "claude-sonnet-4-5", "--output-format", "stream-json", "--verbose", "--permission-mode", "bypassPermissions")

	seen := last(t, srv, "all")
	wants(t, seen, "[format] a.go: gofmt changed lines")
	if got := h.read("a.go"); got != "package a\n\nfunc f() {}\n" {
		t.Errorf("a.go is %q", got)
	}
	wants(t, seen, "src/a.txt", "Search path does not exist: ")
	if got := h.read("s.txt"); !strings.Contains(got, "middle v3") {
		t.Errorf("whet's own apply_patch: s.txt is %q", got)
	}
	wants(t, seen, "the same result 3 times", "refused: read gave the same result 5 times")
}
