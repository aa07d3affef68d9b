//go:build unix

package e2e

import (
	"path/filepath"
	"testing"

	"github.com/whet-dev/whet/internal/peer"
	"github.com/whet-dev/whet/internal/scriptmodel"
)

const geminiSettings = `{"security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}}, "general": {"enableAutoUpdate": false}, "privacy": {"usageStatisticsEnabled": false}, "model": {"name": "gemini-2.5-pro"}}`

func geminiEnv(model string) []string {
	return []string{"GOOGLE_GEMINI_BASE_URL=" + model, "GEMINI_API_KEY=x", "GEMINI_CLI_NO_RELAUNCH=true", "GEMINI_TELEMETRY_ENABLED=false"}
}

func TestPeerGeminiCLI(t *testing.T) {
	gemini := peer.Find(t, "gemini")
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, "my project", name) }
	srv := model(t, scriptmodel.Script{"all": append(
		append([]scriptmodel.Step{
			use("write_file", args{"file_path": in("a.go"), "content": "package a\nfunc  f( ) {   }\n"}),
			use("mcp_whet_grep", args{"pattern": "alpha", "path": "src"}),
		}, repeat(3, use("glob", args{"pattern": "*.none"}))...),
		say("done"),
	)})
	h := newHome(t, dir)
	h.env = append(h.env, geminiEnv(srv.URL)...)
	h.write("src/a.txt", "alpha\n")
	h.write(filepath.Join(dir, ".gemini/settings.json"), geminiSettings)
	h.run(t, nil, whetBinary(t), "install", "gemini", "--yes")
	h.run(t, nil, gemini, "-p", "[[script:all]] go", "--yolo")

	seen := last(t, srv, "all")
	wants(t, seen, "[format] a.go: gofmt changed lines", "src/a.txt", "the same result 3 times")
	if got := h.read("a.go"); got != "package a\n\nfunc f() {}\n" {
		t.Errorf("a.go is %q", got)
	}
}
