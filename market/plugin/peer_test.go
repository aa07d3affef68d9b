package plugin_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet/internal/peer"
	"github.com/whet-dev/whet/market/plugin"
)

// The real Codex is a client of the Agent Plugin format too: it must take the
// servers that whet takes, and no others.
func TestPeerCodexServers(t *testing.T) {
	codex := peer.Find(t, "codex")
	var members []string
	for _, row := range serverRows {
		name, err := json.Marshal(row.name)
		if err != nil {
			t.Fatal(err)
		}
		members = append(members, string(name)+":"+row.server)
	}
	servers := `{` + mcpSchema + `,"mcpServers":{` + strings.Join(members, ",") + `}}`
	p, err := plugin.Parse(archive("plugin.json", `{`+schema+`,"name":"x","version":"1.0.0"}`, "mcp.json", servers, "bin/server*", "x"))
	if err != nil {
		t.Fatal(err)
	}
	var ours []string
	for _, s := range p.Servers {
		ours = append(ours, s.Name)
	}

	dir, home := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		".agents/plugins/marketplace.json": `{"name":"mk","interface":{"displayName":"MK"},"plugins":[{"name":"x","source":{"source":"local","path":"./x"},"policy":{"installation":"AVAILABLE","authentication":"ON_INSTALL"},"category":"Coding"}]}`,
		"x/plugin.json":                    `{` + schema + `,"name":"x","version":"1.0.0"}`,
		"x/mcp.json":                       servers,
		"x/bin/server":                     "x",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) []byte {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), codex, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+home, "CODEX_HOME="+home)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("codex %v: %v\n%s", args, err, out)
		}
		return out
	}
	run("plugin", "marketplace", "add", dir)
	run("plugin", "add", "x@mk")
	var list []struct{ Name string }
	if err := json.Unmarshal(run("mcp", "list", "--json"), &list); err != nil {
		t.Fatal(err)
	}
	var theirs []string
	for _, s := range list {
		theirs = append(theirs, s.Name)
	}
	// Codex doesn't speak the older transport, leaves to the start of a server what
	// can't be started, and takes for part of the address what nobody expands.
	ours = slices.DeleteFunc(ours, func(name string) bool { return name == "sse" })
	ours = append(ours, "line for a shell", "missing file", "option", "placeholder in the address", "variable with =", "zero byte")
	slices.Sort(ours)
	slices.Sort(theirs)
	if d := cmp.Diff(ours, theirs); d != "" {
		t.Error("-whet +codex\n" + d)
	}
}
