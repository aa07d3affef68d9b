package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/whet-dev/whet/internal/jsonc"
)

func testEnv(t *testing.T) Env {
	return Env{
		GOOS: "linux", Home: t.TempDir(), Exe: "/opt/whet",
		Getenv:   func(string) string { return "" },
		LookPath: func(string) (string, error) { return "", errors.New("none") },
	}
}

func carryOut(t *testing.T, e Env, w Wish) []Change {
	t.Helper()
	m := Load(filepath.Join(e.Home, "state"))
	changes, err := Plan(e, w, m)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Apply(changes, w); err != nil {
		t.Fatal(err)
	}
	return changes
}

// tree reads all files below a home, and names its directories.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if name == "state" {
			return filepath.SkipDir
		}
		if d.IsDir() {
			all[name+"/"] = ""
			return nil
		}
		b, err := os.ReadFile(path)
		all[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Files as people have them: comments, trailing commas, tabs, one line, Windows
// line endings, a byte order mark, empty containers, a link, nothing at all.
var homes = map[string]map[string]string{
	"nothing": {},
	"empty files": {
		".claude/settings.json": "", ".codex/config.toml": "", ".codex/hooks.json": "{}", ".gemini/settings.json": "\n",
	},
	"comments": {
		".claude/settings.json": "// mine\n{\n  // the model\n  \"model\": \"x\", // it is good\n  /* hooks */ \"hooks\": {\n    \"PreToolUse\": [\n      { \"matcher\": \"Bash\", \"hooks\": [{ \"type\": \"command\", \"command\": \"audit\" }] } // audits\n      // end of list\n    ],\n  },\n  // the end\n}\n// after\n",
		".codex/config.toml":    "# mine\nmodel = \"x\" # good\n\n[mcp_servers.other] # keep\ncommand = \"o\"\n\n[tui]\n# a comment\ntheme = 'dark'",
		".codex/hooks.json":     "{\"hooks\":{\"PreToolUse\":[{\"matcher\":\"^Bash$\",\"hooks\":[{\"type\":\"command\",\"command\":\"a\"}]}]}}",
	},
	"tabs and CRLF": {
		".gemini/settings.json": "\xef\xbb\xbf{\r\n\t\"tools\": {\r\n\t\t\"exclude\": []\r\n\t}\r\n}\r\n",
		".codex/config.toml":    "model = \"x\"\r\n[a]\r\nb = 1\r\n",
	},
	"one line": {
		".cursor/hooks.json": `{"version": 1, "hooks": {"stop": [{"command": "x"}]}}`,
		".cursor/mcp.json":   `{ "mcpServers": { "a": { "command": "b" } } }`,
		".claude.json":       `{"mcpServers":{},"numStartups":7}`,
	},
	"empty containers": {
		".claude/settings.json":             "{\n  \"hooks\": {},\n  \"permissions\": { \"deny\": [] }\n}\n",
		".config/crush/crush.json":          "{\n  \"mcp\": {\n    // none yet\n  }\n}\n",
		".copilot/mcp-config.json":          "{\n    \"mcpServers\": {\n    }\n}",
		".codeium/windsurf/mcp_config.json": "{}",
	},
}

func makeHome(t *testing.T, e Env, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(e.Home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
}

// Whet comes and goes without a trace; a second install changes nothing; what
// was there is all there meanwhile.
func TestInstallLeavesFilesAsTheyWere(t *testing.T) {
	for name, files := range homes {
		for _, replace := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				e := testEnv(t)
				e.Guests = []Guest{{"reviewer__lint", "acme/reviewer/lint"}, {"b__x", "acme/b/x y"}}
				makeHome(t, e, files)
				before := tree(t, e.Home)
				w := Wish{Hosts: Hosts(), Replace: replace}
				carryOut(t, e, w)
				installed := tree(t, e.Home)
				for name, text := range files {
					keepsComments(t, name, text, installed[name])
				}
				if again := carryOut(t, e, w); len(again) > 0 {
					t.Errorf("a second install changes %s:\n%s", again[0].Path, again[0].After)
				}
				if diff := cmp.Diff(installed, tree(t, e.Home)); diff != "" {
					t.Errorf("a second install (-first +second)\n%s", diff)
				}
				carryOut(t, e, Wish{Hosts: Hosts(), Remove: true})
				if diff := cmp.Diff(before, tree(t, e.Home)); diff != "" {
					t.Errorf("after uninstall (-before +after)\n%s", diff)
				}
				if _, err := os.Stat(filepath.Join(e.Home, "state", "install.json")); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("the manifest is still there: %v", err)
				}
			})
		}
	}
}

// keepsComments: every line that had one is still there, and so is every value.
func keepsComments(t *testing.T, name, before, after string) {
	t.Helper()
	for line := range strings.Lines(before) {
		if i := strings.IndexAny(line, "#/"); i >= 0 && !strings.Contains(after, strings.TrimSpace(line[i:])) {
			t.Errorf("%s: %q is lost:\n%s", name, line, after)
		}
	}
}

// Without the manifest, or when a person has edited the file since, whet's
// entries are taken out one by one and nothing else.
func TestUninstallKeepsWhatCameLater(t *testing.T) {
	e := testEnv(t)
	makeHome(t, e, homes["comments"])
	w := Wish{Hosts: Hosts()}
	carryOut(t, e, w)
	edited := map[string]string{}
	for _, name := range []string{".claude/settings.json", ".codex/hooks.json", ".codex/config.toml"} {
		path := filepath.Join(e.Home, name)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(string(b), "audit\"", "audit --more\"", 1)
		text = strings.Replace(text, "model = \"x\"", "model = \"y\"", 1)
		text = strings.Replace(text, "^Bash$", "^Sh$", 1)
		edited[name] = text
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	carryOut(t, e, Wish{Hosts: Hosts(), Remove: true})
	after := tree(t, e.Home)
	for name, text := range homes["comments"] {
		want := strings.Replace(text, "audit\"", "audit --more\"", 1)
		want = strings.Replace(want, "model = \"x\"", "model = \"y\"", 1)
		want = strings.Replace(want, "^Bash$", "^Sh$", 1)
		// A last line without an end has got one.
		if diff := cmp.Diff(strings.TrimRight(want, "\n"), strings.TrimRight(after[name], "\n")); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// Packages' servers come with an install, go with the next one if they are
// wanted no more, and are all gone after an uninstall, also of files that a
// person has edited since.
func TestGuests(t *testing.T) {
	e := testEnv(t)
	makeHome(t, e, homes["comments"])
	first := e
	first.Guests = []Guest{{"reviewer__lint", "acme/reviewer/lint"}, {"old__x", "acme/old/x"}}
	carryOut(t, first, Wish{Hosts: Hosts()})
	second := e
	second.Guests = []Guest{{"reviewer__lint", "acme/reviewer/lint"}, {"new__y", "acme/new/y"}}
	carryOut(t, second, Wish{Hosts: Hosts()})
	files := tree(t, e.Home)
	for _, name := range []string{".claude.json", ".codex/config.toml", ".gemini/settings.json", ".qwen/settings.json", ".cursor/mcp.json", ".copilot/mcp-config.json", ".config/Code/User/mcp.json", ".config/crush/crush.json", ".codeium/windsurf/mcp_config.json"} {
		text := files[name]
		for part, want := range map[string]bool{"reviewer__lint": true, "acme/reviewer/lint": true, "new__y": true, "old__x": false, "acme/old/x": false} {
			if strings.Contains(text, part) != want {
				t.Errorf("%s: %s is there: %v, want %v\n%s", name, part, !want, want, text)
			}
		}
	}
	var claude struct {
		Servers map[string]entry `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(files[".claude.json"]), &claude); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(entry{Type: "stdio", Command: "/opt/whet", Args: []string{"mcp", "--server", "acme/reviewer/lint"}}, claude.Servers["reviewer__lint"]); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for _, name := range []string{".claude/settings.json", ".codex/config.toml"} { // edited since
		path := filepath.Join(e.Home, name)
		if err := os.WriteFile(path, []byte(files[name]+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	carryOut(t, e, Wish{Hosts: Hosts(), Remove: true})
	for name, text := range tree(t, e.Home) {
		if strings.Contains(text, "__") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
	makeHome(t, e, map[string]string{".cursor/mcp.json": `{"mcpServers": {"reviewer__lint": {"command": "mine"}}}`})
	if _, err := Plan(second, Wish{Hosts: Hosts()}, Load(e.Home)); err == nil || !strings.Contains(err.Error(), "mcpServers.reviewer__lint is there already and isn't whet's; rename it first") {
		t.Errorf("got %v", err)
	}
}

func TestInstallFollowsLinks(t *testing.T) {
	e := testEnv(t)
	makeHome(t, e, map[string]string{"dotfiles/claude.json": "{\n  \"model\": \"x\"\n}\n", ".claude/x": ""})
	link := filepath.Join(e.Home, ".claude/settings.json")
	if err := os.Symlink(filepath.Join(e.Home, "dotfiles/claude.json"), link); err != nil {
		t.Skip(err)
	}
	h, err := Find("claude-code")
	if err != nil {
		t.Fatal(err)
	}
	carryOut(t, e, Wish{Hosts: []Host{h}})
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v", err)
	}
	info, err := os.Stat(link)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v, want 0640", info.Mode(), err)
	}
}

// A file that can't be edited stops the whole plan with its name.
func TestInstallRefuses(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"broken JSON":     {".claude/settings.json", `{"a": `, ".claude/settings.json: "},
		"not an object":   {".claude/settings.json", `[]`, "it is not a JSON object"},
		"broken TOML":     {".codex/config.toml", "a = \n", ".codex/config.toml: line 1, column "},
		"null":            {".claude/settings.json", `{"hooks": null}`, "hooks: it is null; remove it first"},
		"a list of hooks": {".claude/settings.json", `{"hooks": {"PreToolUse": 5}}`, "hooks.PreToolUse: it is neither an object nor a list"},
		"another whet":    {".claude.json", `{"mcpServers": {"whet": {"command": "grindstone"}}}`, "mcpServers.whet is there already and isn't whet's; rename it first"},
		"inline table":    {".codex/config.toml", "mcp_servers = { whet = { command = \"x\" } }\n", "mcp_servers.whet is written in a way that can't be edited safely"},
		"newer Cursor":    {".cursor/hooks.json", `{"version": 2}`, "version is there already"},
	} {
		e := testEnv(t)
		makeHome(t, e, map[string]string{c.file: c.text})
		_, err := Plan(e, Wish{Hosts: Hosts()}, Load(e.Home))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want …%s…", name, err, c.want)
		}
	}
}

// An older or other whet's entry is replaced where it stands, so that Codex,
// which knows hooks by their place, and the person find it there again.
func TestInstallReplacesItsOwnEntryInPlace(t *testing.T) {
	e := testEnv(t)
	makeHome(t, e, map[string]string{".codex/hooks.json": `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"/old/whet hook codex"}]},{"hooks":[{"type":"command","command":"b"}]}]}}`})
	h, err := Find("codex")
	if err != nil {
		t.Fatal(err)
	}
	carryOut(t, e, Wish{Hosts: []Host{h}})
	var v struct {
		Hooks map[string][]struct{ Hooks []struct{ Command string } }
	}
	if err := json.Unmarshal([]byte(tree(t, e.Home)[".codex/hooks.json"]), &v); err != nil {
		t.Fatal(err)
	}
	pre := v.Hooks["PreToolUse"]
	if len(pre) != 2 || pre[0].Hooks[0].Command != "/opt/whet hook codex" || pre[1].Hooks[0].Command != "b" {
		t.Errorf("got %+v", pre)
	}
}

// Each host's files, as they are written on a fresh machine. They hold the
// units of time too: ten seconds are 10 or 10000.
func TestHostFiles(t *testing.T) {
	for _, goos := range []string{"linux", "windows"} {
		e := testEnv(t)
		e.GOOS, e.Home = goos, "/home/me"
		if goos == "windows" {
			e.Exe = `C:\Program Files\whet\whet.exe`
		}
		var got txtar.Archive
		got.Comment = []byte("What whet install writes on a fresh machine (" + goos + ").\n\n")
		for _, h := range Hosts() {
			files := h.files(e)
			if h.replaces != nil {
				files = append(files, h.replaces(e)...)
			}
			for i, f := range files {
				if filepath.Ext(f.path) == ".js" {
					continue
				}
				text, err := f.transform(nil, false)
				if err != nil {
					t.Fatal(err)
				}
				name := h.Name + " " + filepath.ToSlash(strings.TrimPrefix(f.path, e.Home))
				if i >= len(h.files(e)) {
					name += " with --replace"
				}
				got.Files = append(got.Files, txtar.File{Name: name, Data: text})
			}
		}
		golden := filepath.Join("testdata", "files-"+goos+".txtar")
		if os.Getenv("WHET_UPDATE") != "" {
			if err := os.WriteFile(golden, txtar.Format(&got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(txtar.Format(&got))); diff != "" {
			t.Errorf("%s (-want +got)\n%s", goos, diff)
		}
	}
}

func TestQuoteShell(t *testing.T) {
	for _, c := range []struct{ goos, in, want string }{
		{"linux", "/usr/bin/whet", "/usr/bin/whet"},
		{"linux", "/my dir/whet", `"/my dir/whet"`},
		{"linux", "/a$b/it's/whet", `'/a$b/it'\''s/whet'`},
		{"windows", "C:/Program Files/whet.exe", `"C:/Program Files/whet.exe"`},
	} {
		if got := quoteShell(c.goos, c.in); got != c.want {
			t.Errorf("%s: got %s, want %s", c.in, got, c.want)
		}
	}
}

// What whet writes it knows again, wherever it is installed; what only speaks of
// it is another's.
func TestCommandParts(t *testing.T) {
	for _, exe := range []string{"/usr/bin/whet", "/my dir/whet", "/a$b/it's/whet", `/say "hi"/whet`, "/opt/whet.d/whet", "/my dir/whet-hook"} {
		c := Command{Shell: quoteShell("linux", exe) + " hook codex"}
		if c.Program() != exe || c.Hook() != "codex" || !c.isWhet() {
			t.Errorf("%s: program %q, host %q", c.Shell, c.Program(), c.Hook())
		}
	}
	for _, line := range []string{
		"audit && whet hook codex", "env A=1 whet hook codex", "whet", "whet hook", "whet hook codex; rm x", `"a" "whet" hook codex`, "/opt/other hook codex", "",
	} {
		if c := (Command{Shell: line}); c.isWhet() {
			t.Errorf("%q is taken for whet's", line)
		}
	}
	for words, want := range map[string]bool{"/x/whet mcp": true, `C:\whet\whet.exe hook claude-code`: true, "/x/whet run": false, "/x/whetstone mcp": false, `C:\whet\whet-hook.exe hook codex`: true, "/x/whet-hooks hook codex": false} {
		if c := (Command{Words: strings.Split(words, " ")}); c.isWhet() != want {
			t.Errorf("%s: %v, want %v", words, c.isWhet(), want)
		}
	}
}

// Whatever the file, an edit and its undoing give valid JSON of the same value.
func FuzzEdits(f *testing.F) {
	for _, files := range homes {
		for name, text := range files {
			if strings.HasSuffix(name, ".json") {
				f.Add([]byte(text))
			}
		}
	}
	f.Add([]byte(`{"hooks":{"PreToolUse":[1,/*a*/]},}`))
	f.Add([]byte("{//\n\"hooks\":{\"PreToolUse\":[[],{}//x\n,//y\n]}}"))
	guest := guests{"mcpServers", map[string]entry{"acme__lint": {Command: "/opt/whet", Args: Guest{Server: "acme/x/lint"}.args()}}}
	edits := []change{group("PreToolUse", "*", entry{Command: "/opt/whet hook codex"}), member("mcpServers", entry{Command: "/opt/whet", Args: []string{"mcp"}}), word("WebFetch", "permissions", "deny"), guest}
	f.Fuzz(func(t *testing.T, text []byte) {
		whole := file{path: "f.json", edits: edits}
		out, err := whole.transform(text, false)
		if err != nil {
			return
		}
		again, err := whole.transform(out, false)
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("not idempotent: %v\n%q\n%q", err, out, again)
		}
		if bytes.Contains(text, []byte("whet")) || bytes.Contains(text, []byte("WebFetch")) {
			return
		}
		back, err := whole.transform(out, true)
		if err != nil {
			t.Fatalf("undo: %v\n%q", err, out)
		}
		a, errA := jsonc.Parse(text)
		b, errB := jsonc.Parse(back)
		if errA != nil || errB != nil {
			t.Fatalf("%v %v\n%q\n%q", errA, errB, text, back)
		}
		if diff := cmp.Diff(withoutEmpty(valueOf(a)), withoutEmpty(valueOf(b))); diff != "" {
			t.Fatalf("(-before +after)\n%s\n%q\n%q\n%q", diff, text, out, back)
		}
	})
}

func valueOf(d *jsonc.Document) any {
	v, _ := d.Get()
	return v
}

// withoutEmpty drops the empty containers that an undo may take along.
func withoutEmpty(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := map[string]any{}
	for k, x := range m {
		x = withoutEmpty(x)
		if s, ok := x.([]any); ok && len(s) == 0 {
			continue
		}
		if s, ok := x.(map[string]any); ok && len(s) == 0 {
			continue
		}
		out[k] = x
	}
	return out
}
