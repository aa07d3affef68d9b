package convert_test

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
	"github.com/whet-dev/whet/market/convert"
	"github.com/whet-dev/whet/market/plugin"
	"github.com/whet-dev/whet/market/source"
	"github.com/whet-dev/whet/market/tree"
)

// read reads a real source.
func read(t *testing.T, path string) (tree.Tree, source.Info) {
	t.Helper()
	tr, info, err := source.Read(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return tr, info
}

// counts are what a package brings along.
type counts struct {
	ID                                              string
	Agents, Skills, Commands, Texts, Servers, Hooks int
}

func count(p *plugin.Plugin) counts {
	return counts{p.ID + "@" + p.Version, len(p.Agents), len(p.Skills), len(p.Commands), len(p.Instructions), len(p.Servers), len(p.Hooks)}
}

// Plugins as their authors publish them.
func TestPeerPublished(t *testing.T) {
	for _, tt := range []struct {
		pack, format string
		want         counts
	}{
		{"ecc-universal-2.0.0.tgz", "claude-plugin", counts{"local/ecc@2.0.0", 64, 197, 84, 0, 6, 25}},
		{"context-mode-1.0.169.tgz", "claude-plugin", counts{"local/context-mode@1.0.169", 0, 8, 0, 0, 1, 13}},
	} {
		t.Run(tt.pack, func(t *testing.T) {
			in, info := read(t, peer.Pack(t, tt.pack))
			p, r := imported(t, in, info.Name, "")
			if d := cmp.Diff(tt.want, count(p)); d != "" || r.Format != tt.format {
				t.Errorf("%s %s", r.Format, d)
			}
			for _, n := range r.Notes {
				if n.Code != "second-manifest" && n.Code != "skill-rewritten" && n.Code != "unsupported-component" && n.Code != "shell-in-command" && n.Code != "not-applied" {
					t.Errorf("%+v", n)
				}
			}
		})
	}

	// One of them is a plugin for three hosts. The others' parts of it:
	in, _ := read(t, peer.Pack(t, "ecc-universal-2.0.0.tgz"))
	without := func(prefixes ...string) tree.Tree {
		var files []tree.File
		for _, f := range in {
			if !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(f.Name, p) }) {
				files = append(files, f)
			}
		}
		return tree.New(files)
	}
	p, r := imported(t, without(".claude-plugin/", ".agents/plugins/"), "x", "")
	if d := cmp.Diff(counts{"local/ecc@2.0.0", 0, 197, 0, 0, 6, 25}, count(p)); d != "" || r.Format != "codex-plugin" || p.Title != "ECC" {
		t.Errorf("%s %s", r.Format, d)
	}
	p, r = imported(t, without(".claude-plugin/", ".agents/plugins/", ".codex-plugin/"), "x", "")
	if r.Format != "opencode" || len(p.Skills) < 190 || len(p.Commands) < 25 || len(p.Modules) == 0 || len(p.Agents) == 0 {
		t.Errorf("%s %+v", r.Format, count(p))
	}
}

// The examples that Gemini CLI and Qwen Code bring along.
func TestPeerExamples(t *testing.T) {
	gemini := filepath.Join(peer.Module(t, "@google/gemini-cli"), "bundle", "examples")
	qwen := filepath.Join(peer.Module(t, "@qwen-code/qwen-code"), "examples")
	for path, want := range map[string]counts{
		filepath.Join(gemini, "custom-commands"): {"local/custom-commands@1.0.0", 0, 0, 1, 0, 0, 0},
		filepath.Join(gemini, "exclude-tools"):   {"local/excludetools@1.0.0", 0, 0, 0, 0, 0, 0},
		filepath.Join(gemini, "hooks"):           {"local/hooks-example@1.0.0", 0, 0, 0, 0, 0, 1},
		filepath.Join(gemini, "mcp-server"):      {"local/mcp-server-example@1.0.0", 0, 0, 0, 0, 1, 0},
		filepath.Join(gemini, "policies"):        {"local/policy-example@1.0.0", 0, 0, 0, 0, 0, 0},
		filepath.Join(gemini, "skills"):          {"local/skills-example@1.0.0", 0, 1, 0, 0, 0, 0},
		filepath.Join(gemini, "themes-example"):  {"local/themes-example@1.0.0", 0, 0, 0, 0, 0, 0},
		filepath.Join(qwen, "agent"):             {"local/agent-example@1.0.0", 1, 0, 0, 0, 0, 0},
		filepath.Join(qwen, "commands"):          {"local/commands-example@1.0.0", 0, 0, 1, 0, 0, 0},
		filepath.Join(qwen, "context"):           {"local/context-example@1.0.0", 0, 0, 0, 1, 0, 0},
		filepath.Join(qwen, "mcp-server"):        {"local/mcp-server-example@1.0.0", 0, 0, 0, 0, 1, 0},
		filepath.Join(qwen, "starter"):           {"local/starter-example@1.0.0", 1, 1, 1, 1, 1, 0},
	} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			in, info := read(t, path)
			p, r := imported(t, in, info.Name, "")
			if d := cmp.Diff(want, count(p)); d != "" || r.Format != "gemini-extension" {
				t.Errorf("%s %s", r.Format, d)
			}
		})
	}
}

// A bundle that the bundles' own program packed.
func TestPeerBundle(t *testing.T) {
	mcpb := peer.Find(t, "mcpb")
	dir := t.TempDir()
	write(t, dir, archive(
		"src/manifest.json", `{"manifest_version":"0.3","name":"echo","version":"1.0.0","description":"d","author":{"name":"A"},
			"server":{"type":"node","entry_point":"server/index.js","mcp_config":{"command":"node","args":["${__dirname}/server/index.js"],"env":{"KEY":"${user_config.key}"}}},
			"user_config":{"key":{"type":"string","title":"Key","description":"d","sensitive":true,"required":true}}}`,
		"src/server/index.js", "console.log(1)\n",
		"src/node_modules/dep/index.js", "module.exports = 1\n",
	))
	file := filepath.Join(dir, "echo.mcpb")
	if out, err := exec.CommandContext(t.Context(), mcpb, "pack", filepath.Join(dir, "src"), file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	in, info := read(t, file)
	p, r := imported(t, in, info.Name, "")
	if r.Format != "mcp-bundle" || len(p.Servers) != 1 || len(p.Settings) != 1 || p.Servers[0].Env["KEY"] != "${user_config.key}" {
		t.Errorf("%s %+v", r.Format, p)
	}
	content(t, r.Tree, "node_modules/dep/index.js")
}

func write(t *testing.T, dir string, tr tree.Tree) {
	t.Helper()
	for _, f := range tr {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		mode := os.FileMode(0o644)
		if f.Exec {
			mode = 0o755
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, mode); err != nil {
			t.Fatal(err)
		}
	}
}

// What an import makes is a package that another client of the Agent Plugin
// format loads too: the real Codex takes it, with its servers.
func TestPeerCodexLoads(t *testing.T) {
	codex := peer.Find(t, "codex")
	in, _ := read(t, peer.Pack(t, "ecc-universal-2.0.0.tgz"))
	claude, _ := imported(t, in, "ecc", "")
	gemini, _ := read(t, filepath.Join(peer.Module(t, "@google/gemini-cli"), "bundle", "examples", "mcp-server"))

	dir, home := t.TempDir(), t.TempDir()
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
	var entries []string
	for name, in := range map[string]tree.Tree{"ecc": in, "mcp-server-example": gemini} {
		r, err := convert.Import(in, name, "")
		if err != nil {
			t.Fatal(err)
		}
		// What belongs to the hosts that it came from would say the same again.
		write(t, filepath.Join(dir, "plugins", name), tree.New(slices.DeleteFunc(r.Tree, func(f tree.File) bool { return strings.HasPrefix(f.Name, ".") })))
		entries = append(entries, `{"name":"`+name+`","source":{"source":"local","path":"./plugins/`+name+`"},"policy":{"installation":"AVAILABLE","authentication":"ON_INSTALL"},"category":"Coding"}`)
	}
	write(t, dir, archive(".agents/plugins/marketplace.json", `{"name":"mk","interface":{"displayName":"MK"},"plugins":[`+strings.Join(entries, ",")+`]}`))
	run("plugin", "marketplace", "add", dir)
	for _, name := range []string{"ecc", "mcp-server-example"} {
		run("plugin", "add", name+"@mk")
	}
	var list []struct{ Name string }
	if err := json.Unmarshal(run("mcp", "list", "--json"), &list); err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, s := range list {
		got = append(got, s.Name)
	}
	for _, s := range claude.Servers {
		want = append(want, s.Name)
	}
	want = append(want, "nodeServer")
	slices.Sort(got)
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
