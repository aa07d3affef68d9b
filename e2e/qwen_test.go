//go:build unix

package e2e

import (
	"path/filepath"
	"testing"

	"github.com/whet-dev/whet/internal/peer"
	"github.com/whet-dev/whet/internal/scriptmodel"
)

const qwenSettings = `{"security": {"auth": {"selectedType": "openai"}}, "general": {"disableAutoUpdate": true}, "privacy": {"usageStatisticsEnabled": false}}`

func qwenEnv(model string) []string {
	return []string{"OPENAI_BASE_URL=" + model + "/v1", "OPENAI_API_KEY=x", "OPENAI_MODEL=scripted", "QWEN_TELEMETRY_ENABLED=false", "QWEN_CODE_NO_UPDATE=1"}
}

func TestPeerQwenCode(t *testing.T) {
	qwen := peer.Find(t, "qwen")
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, "my project", name) }
	srv := model(t, scriptmodel.Script{"all": append(
		append([]scriptmodel.Step{
			use("write_file", args{"file_path": in("a.go"), "content": "package a\nfunc  f( ) {   }\n"}),
			use("mcp__whet__grep", args{"pattern": "alpha", "path": "src"}),
		}, repeat(3, use("glob", args{"pattern": "*.none"}))...),
		say("done"),
	)})
	h := newHome(t, dir)
	h.env = append(h.env, qwenEnv(srv.URL)...)
	h.write("src/a.txt", "alpha\n")
	h.write(filepath.Join(dir, ".qwen/settings.json"), qwenSettings)
	h.run(t, nil, whetBinary(t), "install", "qwen", "--yes")
	h.run(t, nil, qwen, "-p", "[[script:all]] go", "--yolo")

	seen := last(t, srv, "all")
	wants(t, seen, "[format] a.go: gofmt changed lines", "src/a.txt")
	if got := h.read("a.go"); got != "package a\n\nfunc f() {}\n" {
		t.Errorf("a.go is %q", got)
	}
	wants(t, seen, "the same result 3 times") // at five it ends the session itself
}
