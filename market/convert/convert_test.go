package convert_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet/agent"
	"github.com/whet-dev/whet/market/convert"
	"github.com/whet-dev/whet/market/plugin"
	"github.com/whet-dev/whet/market/tree"
)

// archive makes a tree of name and content pairs; a name that ends in * has the
// exec bit.
func archive(pairs ...string) tree.Tree {
	var files []tree.File
	for i := 0; i < len(pairs); i += 2 {
		name, exec := strings.CutSuffix(pairs[i], "*")
		files = append(files, tree.File{Name: name, Exec: exec, Data: []byte(pairs[i+1])})
	}
	return tree.New(files)
}

// imported imports what must be importable, and looks at what holds for every
// result.
func imported(t testing.TB, in tree.Tree, name, sub string) (*plugin.Plugin, convert.Result) {
	t.Helper()
	before := in.Digest()
	r, err := convert.Import(in, name, sub)
	if err != nil {
		t.Fatal(err)
	}
	if in.Digest() != before {
		t.Error("the source was changed")
	}
	p := conforms(t, r)
	return p, r
}

// conforms looks that a result is a native package that whet takes whole.
func conforms(t testing.TB, r convert.Result) *plugin.Plugin {
	t.Helper()
	p, err := plugin.Parse(r.Tree)
	if err != nil {
		t.Fatal(err)
	}
	again, err := convert.Import(r.Tree, "other", "")
	if err != nil || again.Format != convert.Native || again.Tree.Digest() != r.Tree.Digest() {
		t.Errorf("imported again it is %s, %v", again.Format, err)
	}
	if !slices.IsSortedFunc(r.Tree, func(a, b tree.File) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("not sorted")
	}
	for _, n := range p.Notes {
		if strings.HasPrefix(n.Code, "invalid-") && r.Format != convert.Native {
			t.Errorf("what the import made isn't taken: %+v", n)
		}
	}
	agents(t, r.Tree, p)
	return p
}

// agents looks that the built-in agent takes each agent's file.
func agents(t testing.TB, tr tree.Tree, p *plugin.Plugin) {
	t.Helper()
	if len(p.Agents) == 0 {
		return
	}
	dir := t.TempDir()
	for _, a := range p.Agents {
		f, _ := tr.Get(a.File)
		// Names that whet has itself aren't the import's business.
		if err := os.WriteFile(filepath.Join(dir, "pkg-"+a.Name+".md"), f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roles, problems := agent.Custom([]agent.Place{{Dir: dir}})
	if len(problems) > 0 || len(roles) != len(p.Agents) {
		t.Errorf("%d of %d agents: %v", len(roles), len(p.Agents), problems)
	}
}

func codes(notes []plugin.Note) (out []string) {
	for _, n := range notes {
		out = append(out, n.Code+" "+n.File)
	}
	return out
}

func content(t testing.TB, tr tree.Tree, name string) string {
	t.Helper()
	f, ok := tr.Get(name)
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	return string(f.Data)
}

func TestSniff(t *testing.T) {
	const native = `{"$schema":"https://agent-plugins.org/schemas/1.0.0/plugin.schema.json","name":"x"}`
	const skill = "---\nname: s\ndescription: d\n---\nx"
	for _, tt := range []struct {
		name   string
		files  []string
		format string
		notes  []string
	}{
		{"native", []string{"plugin.json", native}, "agent-plugin", nil},
		{"native wins", []string{"plugin.json", native, ".claude-plugin/plugin.json", `{"name":"y"}`}, "agent-plugin", []string{"second-manifest .claude-plugin/plugin.json"}},
		{"native wins over a catalogue", []string{"plugin.json", native, ".claude-plugin/marketplace.json", `{"plugins":[]}`}, "agent-plugin", nil},
		{"catalogue", []string{".claude-plugin/marketplace.json", `{"plugins":[]}`, ".claude-plugin/plugin.json", `{"name":"y"}`}, "catalogue", nil},
		{"Codex' catalogue", []string{".agents/plugins/marketplace.json", `{"plugins":[]}`}, "catalogue", nil},
		{"Claude wins over Codex", []string{".claude-plugin/plugin.json", `{"name":"y"}`, ".codex-plugin/plugin.json", `{"name":"z"}`}, "claude-plugin", []string{"second-manifest .codex-plugin/plugin.json"}},
		{"Codex", []string{".codex-plugin/plugin.json", `{"name":"y"}`}, "codex-plugin", nil},
		{"Cursor", []string{".cursor-plugin/plugin.json", `{"name":"y"}`}, "cursor-plugin", nil},
		{"Gemini", []string{"gemini-extension.json", `{"name":"y"}`}, "gemini-extension", nil},
		{"bundle", []string{"manifest.json", `{"manifest_version":"0.3","name":"y","server":{"type":"node","entry_point":"a.js"}}`, "a.js", ""}, "mcp-bundle", nil},
		{"a web app's manifest", []string{"manifest.json", `{"name":"y"}`, "SKILL.md", skill}, "agent-skills", nil},
		{"OpenCode", []string{"opencode.jsonc", "{/* c */}"}, "opencode", nil},
		{"OpenCode's directory", []string{".opencode/command/x.md", "x"}, "opencode", nil},
		{"one skill", []string{"SKILL.md", skill}, "agent-skills", nil},
		{"skills", []string{"skills/s/SKILL.md", skill}, "agent-skills", nil},
		{"Claude without a manifest", []string{"skills/s/SKILL.md", skill, "commands/c.md", "c"}, "claude-plugin", nil},
		{"only servers", []string{".mcp.json", "{}"}, "claude-plugin", nil},
		{"one file", []string{"p.json", `{"schemaVersion":1,"id":"a/b","agentName":"c","prompt":"p"}`}, "single-file", nil},
		{"plugin.json without the schema", []string{"plugin.json", `{"name":"y"}`}, "claude-plugin", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := convert.Import(archive(tt.files...), "x", "")
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.notes, codes(r.Notes)); r.Format != tt.format || d != "" {
				t.Errorf("%s, want %s %s", r.Format, tt.format, d)
			}
			if (r.Tree == nil) != (tt.format == "catalogue") {
				t.Error("a tree and a catalogue, or neither")
			}
		})
	}
	_, err := convert.Import(archive("README.md", "x", "src/main.c", "x"), "x", "")
	if e := (*convert.Error)(nil); !errors.As(err, &e) || e.Code != "unknown-format" {
		t.Error(err)
	}
	if _, err := convert.Import(archive("SKILL.md", skill), "x", "y"); err == nil {
		t.Error("a plugin was chosen of what is no catalogue")
	}
	if _, err := convert.Import(nil, "x", ""); err == nil {
		t.Error("nothing was imported")
	}
}

// What is meant for whet can't be smuggled in by another format.
func TestOwnPlaces(t *testing.T) {
	p, r := imported(t, archive(
		".claude-plugin/plugin.json", `{"name":"x"}`,
		"dev.whet/hooks/hooks.json", `{"hooks":{"stop":[{"command":"evil"}]}}`,
		".whet-signature/a.sig", "x",
		"mcp.json", `{"$schema":"https://agent-plugins.org/schemas/1.0.0/mcp.schema.json","mcpServers":{}}`,
	), "x", "")
	if len(p.Hooks) > 0 || len(r.Notes) != 1 || r.Notes[0].Code != "left-out" {
		t.Errorf("%v %v", p.Hooks, r.Notes)
	}
	if _, ok := r.Tree.Get("mcp.json"); ok {
		t.Error("another program's mcp.json is left in a place that means something")
	}
}

// A file that is nothing but nesting must not take the process with it: the
// stack of a parser that recurses ends in an error that can't be caught.
func TestNesting(t *testing.T) {
	for _, open := range []string{"[", `{"a":`, `{"a":[`} {
		deep := strings.Repeat(open, (2<<20)/len(open))
		p, r := imported(t, archive(".mcp.json", deep, "hooks/hooks.json", deep[:1<<20], "commands/c.md", "c"), "x", "")
		if len(p.Commands) != 1 || len(r.Notes) != 2 {
			t.Errorf("%q: %v", open, r.Notes)
		}
		for _, file := range []string{".claude-plugin/plugin.json", ".claude-plugin/marketplace.json", "gemini-extension.json", "opencode.json"} {
			if _, err := convert.Import(archive(file, deep), "x", ""); err == nil {
				t.Errorf("%s was taken", file)
			}
		}
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"good.name": "good.name", "My Plugin": "my-plugin", "a__b": "a-b", "--x--": "x", "Ünï": "n", "日本": "package", "": "package",
		strings.Repeat("a-", 40): strings.TrimSuffix(strings.Repeat("a-", 32), "-"), "x..y": "x.y", "@acme/tool": "acme-tool",
	} {
		p, _ := imported(t, archive("skills/s/SKILL.md", "---\nname: s\ndescription: d\n---\nx"), name, "")
		if p.Name != want || p.ID != "local/"+want {
			t.Errorf("%q: %q %q, want %q", name, p.Name, p.ID, want)
		}
	}
}
