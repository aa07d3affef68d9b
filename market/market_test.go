package market_test

import (
	"archive/zip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet/market"
	"github.com/whet-dev/whet/market/store"
	"github.com/whet-dev/whet/market/tree"
)

// A world is a home, a project in it, and packages to take.
type world struct {
	t             *testing.T
	home, project string
	m             *market.Market
	live          []market.Live
	known         bool // live is
}

func newWorld(t *testing.T) *world {
	home := t.TempDir()
	w := &world{t: t, home: home, project: filepath.Join(home, "my project")}
	w.write("my project/.git/HEAD", "ref: refs/heads/main\n")
	w.m = &market.Market{
		Where:   market.Where{Dir: w.project, Worktree: w.project, Environ: []string{"HOME=" + home}},
		Version: "0.1.0-dev", NoSync: true,
		Live: func() ([]market.Live, bool) { return w.live, w.known },
	}
	return w
}

func (w *world) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.home, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) read(name string) string {
	b, err := os.ReadFile(filepath.Join(w.home, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

const manifest = `{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": %q%s, "description": "Reviews changes",
 "extensions": {"dev.whet": {"schema": 1, "id": %q%s}}}`

// pack writes a package of version, "" for none, and returns its path. Files
// are by name; one called "requires" is that part of the manifest.
func (w *world) pack(id, version string, files map[string]string) string {
	w.t.Helper()
	dir := "packages/" + strings.ReplaceAll(id, "/", "-") + "-" + version + fmt.Sprint(len(files))
	if err := os.RemoveAll(filepath.Join(w.home, dir)); err != nil {
		w.t.Fatal(err)
	}
	_, name, _ := strings.Cut(id, "/")
	if version != "" {
		version = fmt.Sprintf(`, "version": %q`, version)
	}
	requires := ""
	if r := files["requires"]; r != "" {
		requires = `, "requires": ` + r
	}
	w.write(dir+"/plugin.json", fmt.Sprintf(manifest, name, version, id, requires))
	w.write(dir+"/README.md", "# "+name+"\n")
	for name, text := range files {
		if name != "requires" {
			w.write(dir+"/"+name, text)
		}
	}
	return filepath.Join(w.home, dir)
}

func skill(name, text string) map[string]string {
	return map[string]string{"skills/" + name + "/SKILL.md": "---\nname: " + name + "\ndescription: Does " + name + "\n---\n" + text + "\n"}
}

func with(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}

func agentFile(name string) map[string]string {
	return map[string]string{"dev.whet/agents/" + name + ".md": "---\ndescription: A " + name + "\n---\nYou are a " + name + ".\n"}
}

func hook(command string) map[string]string {
	return map[string]string{"dev.whet/hooks/hooks.json": `{"hooks": {"pre_tool": [{"command": "` + command + `"}]}}`}
}

func server(name string) map[string]string {
	return map[string]string{
		"mcp.json":  `{"$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json", "mcpServers": {"` + name + `": {"type": "stdio", "command": "node", "args": ["${PLUGIN_ROOT}/server.js"]}}}`,
		"server.js": "1\n",
	}
}

// ok checks that an action was done and its text.
func (w *world) ok(want string, o market.Outcome, err error) market.Outcome {
	w.t.Helper()
	if err != nil || !o.OK {
		w.t.Fatalf("got %v: %s; want %q", err, o.Text, want)
	}
	if want != "" && !strings.HasPrefix(o.Text, want) {
		w.t.Errorf("got %q, want %q", o.Text, want)
	}
	return o
}

// fails checks the code of an error and a part of its text.
func (w *world) fails(code market.Code, part string, o market.Outcome, err error) {
	w.t.Helper()
	var e *market.Error
	if !errors.As(err, &e) || e.Code != code || !strings.Contains(e.Text, part) || !strings.HasPrefix(e.Error(), "marketplace "+e.Action+": "+string(code)+": ") {
		w.t.Errorf("got %v (%s), want %s with %q", err, o.Text, code, part)
	}
}

func (w *world) generation() int {
	w.t.Helper()
	l, err := w.store().Read()
	if err != nil {
		w.t.Fatal(err)
	}
	return l.Generation
}

func (w *world) store() *store.Store {
	return &store.Store{Dir: filepath.Join(w.home, ".local", "share", "whet", "market")}
}

// begin starts a session: what is in force now is live.
func (w *world) begin() {
	w.t.Helper()
	var err error
	if w.live, err = market.Snapshot(w.m.Where); err != nil {
		w.t.Fatal(err)
	}
	w.known = true
}

func (w *world) install(path string) {
	w.t.Helper()
	o, err := w.m.Install(w.t.Context(), path)
	w.ok("Installed ", o, err)
}

func (w *world) enable(id, scope string) {
	w.t.Helper()
	o, err := w.m.Enable(w.t.Context(), id, scope)
	w.ok("Enabled ", o, err)
}

func (w *world) active() []market.Package {
	w.t.Helper()
	in, _, err := market.Active(w.t.Context(), w.m.Where)
	if err != nil {
		w.t.Fatal(err)
	}
	return in
}

func (w *world) diagnostics() (all []string) {
	w.t.Helper()
	o, err := w.m.Status()
	w.ok("", o, err)
	for _, d := range o.Diagnostics {
		all = append(all, d.ID+" "+d.Code+": "+d.Text)
	}
	return all
}

func TestNothingThere(t *testing.T) {
	w := newWorld(t)
	o, err := w.m.List()
	w.ok("no packages installed", o, err)
	o, err = w.m.Verify(t.Context(), "")
	w.ok("no packages installed", o, err)
	o, err = w.m.Status()
	w.ok("project: "+w.project, o, err)
	if !strings.HasSuffix(o.Text, "\n\nno packages installed") {
		t.Errorf("status: %s", o.Text)
	}
	o, err = w.m.Show("acme/x", false)
	w.fails(market.NotFound, "acme/x", o, err)
	if in := w.active(); in != nil {
		t.Errorf("in force: %v", in)
	}
	all, _ := filepath.Glob(w.home + "/.*")
	if len(all) > 0 {
		t.Errorf("created: %v", all)
	}
}

func TestInstallAndUpdate(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	v1 := w.pack("acme/reviewer", "1.0.0", skill("review", "v1"))
	v2 := w.pack("acme/reviewer", "2.0.0", skill("review", "v2"))
	o, err := w.m.Update(ctx, v1)
	w.fails(market.Conflict, "not installed", o, err)
	o, err = w.m.Install(ctx, v1)
	w.ok("Installed acme/reviewer@1.0.0 (3 files, sha256:", o, err)
	if !o.Changed || o.Package.State != "disabled" || o.Package.Source.Path != canonical(v1) {
		t.Errorf("got %+v, %+v", o, o.Package)
	}
	g := w.generation()
	o, err = w.m.Install(ctx, v1)
	w.ok("Already installed acme/reviewer@1.0.0, nothing changed", o, err)
	if o.Changed || w.generation() != g {
		t.Errorf("changed %v, generation %d and then %d", o.Changed, g, w.generation())
	}
	o, err = w.m.Install(ctx, v2)
	w.fails(market.Conflict, "use update", o, err)
	o, err = w.m.Update(ctx, v2)
	w.ok("Updated acme/reviewer 1.0.0 -> 2.0.0", o, err)
	o, err = w.m.Update(ctx, v2)
	w.fails(market.Conflict, "the same", o, err)
	o, err = w.m.Update(ctx, v1)
	w.fails(market.Conflict, "newer", o, err)
	other := w.pack("acme/reviewer", "2.0.0", skill("review", "else"))
	o, err = w.m.Install(ctx, other)
	w.fails(market.Conflict, "sha256:", o, err)
	o, err = w.m.Update(ctx, other)
	w.fails(market.Conflict, "give it a new version", o, err)
	if e := new(market.Error); errors.As(err, &e) && strings.Count(e.Text, "sha256:") != 2 {
		t.Errorf("both digests should be named: %s", e.Text)
	}
	o, err = w.m.Rollback(ctx, "acme/reviewer")
	w.ok("Rolled back acme/reviewer 2.0.0 -> 1.0.0", o, err)
	o, err = w.m.Rollback(ctx, "acme/reviewer")
	w.ok("Rolled back acme/reviewer 1.0.0 -> 2.0.0", o, err)
	if o, err = w.m.Verify(ctx, ""); err != nil || o.Text != "OK acme/reviewer@2.0.0 3 files" {
		t.Errorf("verify: %s, %v", o.Text, err)
	}
}

func canonical(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	return path
}

func TestUnversioned(t *testing.T) {
	w := newWorld(t)
	o, err := w.m.Install(t.Context(), w.pack("acme/x", "", skill("a", "1")))
	first := w.ok("Installed acme/x@0.0.0+", o, err).Package.Version
	changed := w.pack("acme/x", "", skill("a", "2"))
	o, err = w.m.Install(t.Context(), changed)
	w.fails(market.Conflict, "use update", o, err)
	o, err = w.m.Update(t.Context(), changed)
	second := w.ok("Updated acme/x "+first+" -> 0.0.0+", o, err).Package.Version
	if first == second {
		t.Errorf("both are %s", first)
	}
	o, err = w.m.Update(t.Context(), changed)
	w.fails(market.Conflict, "the same", o, err)
}

func TestVerifyAndRepair(t *testing.T) {
	w := newWorld(t)
	path := w.pack("acme/x", "1.0.0", skill("a", "1"))
	w.install(path)
	w.enable("acme/x", "")
	w.begin()
	root := w.active()[0].Root
	file := filepath.Join(root, "skills", "a", "SKILL.md")
	if err := errors.Join(os.Chmod(file, 0o644), os.WriteFile(file, []byte("else"), 0o644)); err != nil {
		t.Fatal(err)
	}
	o, err := w.m.Verify(t.Context(), "acme/x")
	if err != nil || o.OK || o.Text != "FAIL acme/x@1.0.0 skills/a/SKILL.md modified" {
		t.Errorf("verify: %s, %v", o.Text, err)
	}
	if in := w.active(); len(in) > 0 {
		t.Error("a damaged package is in force")
	}
	o, err = w.m.Status()
	w.ok("", o, err)
	if o.ReloadRequired != "true" || !strings.Contains(o.Text, "\n  acme/x@1.0.0 corrupt\n") || !strings.Contains(o.Text, "\n  disk acme/x corrupt: skills/a/SKILL.md modified") {
		t.Errorf("status: %s", o.Text)
	}
	o, err = w.m.Install(t.Context(), path)
	w.ok("Already installed", o, err)
	if o, err = w.m.Verify(t.Context(), ""); err != nil || !o.OK {
		t.Errorf("verify after the repair: %s, %v", o.Text, err)
	}
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	o, err = w.m.Repair(t.Context())
	w.ok("acme/x@1.0.0 rebuilt", o, err)
}

func TestLockfile(t *testing.T) {
	w := newWorld(t)
	path := w.pack("acme/x", "1.0.0", skill("a", "1"))
	w.install(path)
	w.install(w.pack("acme/y", "1.0.0", skill("a", "1")))
	w.begin()
	lock := filepath.Join(w.store().Dir, "lock.json")
	b, _ := os.ReadFile(lock)
	if err := os.WriteFile(lock, b[:len(b)-20], 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := w.m.Status()
	w.ok("", o, err)
	if o.ReloadRequired != "unknown" || len(o.Diagnostics) != 1 || o.Diagnostics[0].Code != "lockfile" {
		t.Errorf("status: %s", o.Text)
	}
	o, err = w.m.Install(t.Context(), path)
	w.fails(market.Lockfile, "whet market repair", o, err)
	o, err = w.m.List()
	w.fails(market.Lockfile, "whet market repair", o, err)
	o, err = w.m.Repair(t.Context())
	w.ok("lock.json restored", o, err)
	if o, err = w.m.List(); err != nil || !strings.HasPrefix(o.Text, "acme/x@1.0.0\tdisabled\tskill\t") || len(o.Packages) != 1 {
		t.Errorf("list: %s, %v", o.Text, err)
	}
}

func TestScopes(t *testing.T) {
	w := newWorld(t)
	w.install(w.pack("acme/x", "1.0.0", skill("a", "1")))
	const user, project = ".config/whet/whet.jsonc", "my project/.whet/whet.jsonc"
	check := func(what string, on bool, inUser, inProject string) {
		t.Helper()
		if got := len(w.active()) == 1; got != on {
			t.Errorf("%s: in force %v", what, got)
		}
		if got := w.read(user); strings.Join(strings.Fields(got), "") != inUser {
			t.Errorf("%s: the user's file holds %s", what, got)
		}
		if got := w.read(project); strings.Join(strings.Fields(got), "") != inProject {
			t.Errorf("%s: the project's file holds %s", what, got)
		}
	}
	const on, off, none = `{"marketplace":{"packages":{"acme/x":true}}}`, `{"marketplace":{"packages":{"acme/x":false}}}`, "{}"
	check("at first", false, "", "")
	o, err := w.m.Enable(t.Context(), "acme/x", "user")
	w.ok("Enabled acme/x (user)", o, err)
	check("enabled by the user", true, on, "")
	o, err = w.m.Enable(t.Context(), "acme/x", "project")
	w.ok("Already enabled acme/x", o, err)
	check("enabled again", true, on, "")
	o, err = w.m.Disable(t.Context(), "acme/x", "")
	w.ok("Disabled acme/x (project)", o, err)
	check("disabled by the project", false, on, off)
	o, err = w.m.Disable(t.Context(), "acme/x", "user")
	w.ok("Already disabled acme/x", o, err)
	check("disabled again", false, on, off)
	o, err = w.m.Enable(t.Context(), "acme/x", "project")
	w.ok("Enabled acme/x (project)", o, err)
	check("enabled by the project", true, on, none)
	o, err = w.m.Disable(t.Context(), "acme/x", "user")
	w.ok("Disabled acme/x (user)", o, err)
	check("disabled by the user", false, none, none)
	o, err = w.m.Enable(t.Context(), "acme/x", "")
	w.ok("Enabled acme/x (project)", o, err)
	check("enabled by the project alone", true, none, on)
	o, err = w.m.Disable(t.Context(), "acme/x", "user")
	w.fails(market.Conflict, "my project/.whet/whet.jsonc:4 says otherwise", o, err)
	check("disabled where it doesn't count", true, none, on)
	o, err = w.m.Enable(t.Context(), "acme/none", "")
	w.fails(market.NotFound, "acme/none", o, err)
}

func TestEnvironmentHasTheLastWord(t *testing.T) {
	w := newWorld(t)
	w.install(w.pack("acme/x", "1.0.0", skill("a", "1")))
	w.m.Environ = append(w.m.Environ, `WHET_CONFIG_CONTENT={"marketplace": {"packages": {"acme/x": true}}}`)
	if len(w.active()) != 1 {
		t.Error("the environment doesn't enable")
	}
	o, err := w.m.Disable(t.Context(), "acme/x", "project")
	w.fails(market.Conflict, "the environment says otherwise", o, err)
	o, err = w.m.Remove(t.Context(), "acme/x", true, false)
	w.fails(market.Referenced, "can't be edited here", o, err)
}

// One line of a person's file changes, and nothing when there is nothing to do.
func TestEditKeepsTheFile(t *testing.T) {
	w := newWorld(t)
	w.install(w.pack("acme/x", "1.0.0", skill("a", "1")))
	const name = "my project/.whet/whet.jsonc"
	before := "// mine\r\n{\r\n\t/* on purpose */\r\n\t\"marketplace\": {\r\n\t\t\"packages\": {\r\n\t\t\t\"acme/a\": false, // not this\r\n\t\t\t\"acme/b\": true // but this\r\n\t\t},\r\n\t},\r\n}\r\n"
	w.write(name, before)
	w.enable("acme/x", "project")
	want := strings.Replace(before, "true // but this\r\n", "true, // but this\r\n\t\t\t\"acme/x\": true\r\n", 1)
	if diff := cmp.Diff(want, w.read(name)); diff != "" {
		t.Error(diff)
	}
	info, _ := os.Stat(filepath.Join(w.home, name))
	o, err := w.m.Enable(t.Context(), "acme/x", "project")
	w.ok("Already", o, err)
	if now, _ := os.Stat(filepath.Join(w.home, name)); !now.ModTime().Equal(info.ModTime()) {
		t.Error("the file was written again")
	}
	o, err = w.m.Disable(t.Context(), "acme/x", "project")
	w.ok("Disabled", o, err)
	if got := w.read(name); strings.Count(got, "\r\n") != strings.Count(before, "\r\n") || !strings.Contains(got, "// but this") || !strings.Contains(got, "/* on purpose */") {
		t.Errorf("%q", got)
	}
}

func TestEditRefuses(t *testing.T) {
	w := newWorld(t)
	w.install(w.pack("acme/x", "1.0.0", skill("a", "1")))
	const name = "my project/.whet/whet.json"
	for _, text := range []string{`{"marketplace": {"packages": {}}, "marketplace": {}}`, `{"marketplace": `, `[]`, `{"marketplace": 1}`} {
		w.write(name, text)
		o, err := w.m.Enable(t.Context(), "acme/x", "project")
		w.fails(market.IO, "nothing was written", o, err)
		if got := w.read(name); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	w.write(name, `{"loopGuard": {"warnAt": 3}}`)
	w.enable("acme/x", "project")
	if got := w.read(name); strings.Contains(got, "//") || strings.Contains(got, ",}") || !strings.Contains(got, "acme/x") {
		t.Errorf("%q", got)
	}
	if got := w.read("my project/.whet/whet.jsonc"); got != "" {
		t.Errorf("a second file: %q", got)
	}
}

// A project's file that is a link out of the project is not written through.
func TestEditStaysInTheProject(t *testing.T) {
	w := newWorld(t)
	w.install(w.pack("acme/x", "1.0.0", skill("a", "1")))
	w.write("precious.jsonc", "{}\n")
	w.write("my project/.whet/x", "")
	if err := os.Symlink("../../precious.jsonc", filepath.Join(w.project, ".whet", "whet.jsonc")); err != nil {
		t.Skip(err)
	}
	o, err := w.m.Enable(t.Context(), "acme/x", "project")
	w.fails(market.IO, "", o, err)
	if got := w.read("precious.jsonc"); got != "{}\n" {
		t.Errorf("the file outside holds %q", got)
	}
	// The person's own may be kept elsewhere.
	w.write(".config/whet/x", "")
	if err := os.Symlink("../../precious.jsonc", filepath.Join(w.home, ".config", "whet", "whet.jsonc")); err != nil {
		t.Fatal(err)
	}
	w.enable("acme/x", "user")
	if got := w.read("precious.jsonc"); !strings.Contains(got, "acme/x") {
		t.Errorf("the person's own file holds %q", got)
	}
}

func TestRemove(t *testing.T) {
	w := newWorld(t)
	w.install(w.pack("acme/x", "1.0.0", skill("a", "1")))
	w.enable("acme/x", "user")
	w.write("my project/.whet/whet.jsonc", "{\n  // a comment\n  \"marketplace\": {\"packages\": {\"acme/x\": true}}\n}\n")
	o, err := w.m.Remove(t.Context(), "acme/x", false, false)
	w.fails(market.Referenced, ".config/whet/whet.jsonc:4, "+w.project+"/.whet/whet.jsonc:3;", o, err)
	o, err = w.m.Remove(t.Context(), "acme/x", true, false)
	w.ok("Removed acme/x (2 references dropped; other projects not scanned)", o, err)
	if got := w.read("my project/.whet/whet.jsonc"); !strings.Contains(got, "// a comment") || strings.Contains(got, "acme") {
		t.Errorf("the project's file: %q", got)
	}
	if got := w.read(".config/whet/whet.jsonc"); strings.Contains(got, "acme") {
		t.Errorf("the user's file: %q", got)
	}
	o, err = w.m.Remove(t.Context(), "acme/x", true, false)
	w.fails(market.NotFound, "acme/x", o, err)
	w.write("my project/.whet/whet.jsonc", `{"marketplace": {"packages": {"acme/x": true}}}`)
	if got := w.diagnostics(); len(got) != 1 || !strings.HasPrefix(got[0], "acme/x missing: enabled by "+w.project+"/.whet/whet.jsonc:1") {
		t.Errorf("diagnostics: %q", got)
	}
}

func TestTrust(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.install(w.pack("acme/x", "1.0.0", with(skill("a", "1"), hook("echo 1"), server("lint"))))
	o, err := w.m.Enable(ctx, "acme/x", "")
	if w.ok("Enabled acme/x (project)", o, err); !strings.Contains(o.Text, "\n2 executable parts stay off until a person runs: whet market trust acme/x") {
		t.Errorf("enable: %s", o.Text)
	}
	parts := func(want ...int) market.Package {
		t.Helper()
		p := w.active()[0]
		if got := []int{len(p.Plugin.Skills), len(p.Plugin.Hooks), len(p.Plugin.Servers)}; !slices.Equal(got, want) || p.Trusted != (want[1] > 0) {
			t.Errorf("skills, hooks, servers are %v, want %v; trusted %v", got, want, p.Trusted)
		}
		return p
	}
	p := parts(1, 0, 0)
	o, err = w.m.Trust(ctx, "acme/x", "sha256:00", "")
	w.fails(market.Conflict, "look at it again", o, err)
	o, err = w.m.Trust(ctx, "acme/x", p.Tree, "looked at it")
	w.ok("Trusted acme/x", o, err)
	p = parts(1, 1, 1)
	if diff := cmp.Diff(map[string]string{"lint": "x__lint"}, p.Servers); diff != "" {
		t.Error(diff)
	}
	o, err = w.m.Update(ctx, w.pack("acme/x", "1.1.0", with(skill("a", "2"), hook("echo 1"), server("lint"))))
	w.ok("Updated acme/x 1.0.0 -> 1.1.0", o, err)
	parts(1, 1, 1)
	o, err = w.m.Update(ctx, w.pack("acme/x", "1.2.0", with(skill("a", "2"), hook("echo 2"), server("lint"))))
	if w.ok("Updated acme/x 1.1.0 -> 1.2.0", o, err); !strings.Contains(o.Text, "stay off until") {
		t.Errorf("update: %s", o.Text)
	}
	p = parts(1, 0, 0)
	o, err = w.m.Trust(ctx, "acme/x", p.Tree, "")
	w.ok("Trusted", o, err)
	parts(1, 1, 1)
	if o, err = w.m.List(); err != nil || !strings.Contains(o.Text, "\tskill,mcp,hook\t") {
		t.Errorf("list: %s, %v", o.Text, err)
	}
	o, err = w.m.Distrust(ctx, "acme/x")
	w.ok("No longer trusted: acme/x", o, err)
	parts(1, 0, 0)
	if o, err = w.m.List(); err != nil || !strings.Contains(o.Text, "\tskill,mcp!,hook!\t") {
		t.Errorf("list: %s, %v", o.Text, err)
	}
	server := filepath.Join(p.Root, "server.js")
	if err := errors.Join(os.Chmod(server, 0o644), os.WriteFile(server, []byte("2\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	o, err = w.m.Trust(ctx, "acme/x", p.Tree, "")
	w.fails(market.IO, "server.js modified", o, err)
	o, err = w.m.Repair(ctx)
	w.ok("acme/x@1.2.0 rebuilt", o, err)
	w.install(w.pack("acme/prose", "1.0.0", skill("b", "1")))
	d, err := w.m.Detail("acme/prose")
	if err != nil {
		t.Fatal(err)
	}
	o, err = w.m.Trust(ctx, "acme/prose", d.Tree, "")
	w.fails(market.InvalidArguments, "nothing that runs", o, err)
	// What can't be read grants nothing, and says so.
	if err := os.WriteFile(filepath.Join(w.store().Dir, "trust.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	parts(1, 0, 0)
	if got := w.diagnostics(); len(got) != 1 || !strings.Contains(got[0], "nothing executable runs") {
		t.Errorf("diagnostics: %q", got)
	}
}

func TestNames(t *testing.T) {
	w := newWorld(t)
	w.m.Has = func(kind, name string) bool {
		return kind == "agent" && name == "explorer" || kind == "command" && name == "taken"
	}
	w.install(w.pack("acme/x", "1.0.0", with(agentFile("explorer"), agentFile("mine"), skill("setup", "of acme"), skill("same", "bytes"), server("s"), map[string]string{"dev.whet/commands/taken.md": "---\ndescription: c\n---\ntext\n"})))
	w.install(w.pack("beta/y", "1.0.0", with(agentFile("theirs"), skill("setup", "of beta"), skill("same", "bytes"))))
	w.enable("acme/x", "")
	w.enable("beta/y", "")
	in := w.active()
	var agents []string
	for _, p := range in {
		for _, a := range p.Plugin.Agents {
			agents = append(agents, a.Name)
		}
	}
	if want := []string{"mine", "theirs"}; !slices.Equal(agents, want) {
		t.Errorf("agents %q, want %q", agents, want)
	}
	if diff := cmp.Diff(map[string][]string{"setup": {"x.setup"}, "same": {"same", "x.same", "y.same"}}, in[0].Skills); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string][]string{"setup": {"y.setup"}}, in[1].Skills); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string][]string{"taken": {"x.taken"}}, in[0].Commands); diff != "" {
		t.Error(diff)
	}
	want := []string{
		"acme/x collision: agent explorer is left out: there is one of that name already",
		"acme/x collision: skill setup is reached as x.setup only: there is another of that name",
		"acme/x collision: command taken is reached as x.taken only: there is another of that name",
		"beta/y collision: skill setup is reached as y.setup only: there is another of that name",
	}
	if diff := cmp.Diff(want, w.diagnostics()); diff != "" {
		t.Error(diff)
	}
	if n := len(in[1].Plugin.Skills); n != 1 {
		t.Errorf("beta/y has %d skills of its own in force, want 1: the other is acme/x's", n)
	}
	// Of two packages with one last name both are named whole.
	w.install(w.pack("gamma/x", "1.0.0", skill("other", "1")))
	w.enable("gamma/x", "")
	in = w.active()
	if diff := cmp.Diff(map[string][]string{"other": {"other", "gamma.x.other"}}, in[2].Skills); diff != "" {
		t.Error(diff)
	}
	if got := in[0].Skills["setup"]; !slices.Equal(got, []string{"acme.x.setup"}) {
		t.Errorf("setup of acme/x is %q", got)
	}
}

func TestRequirements(t *testing.T) {
	w := newWorld(t)
	w.m.Has = func(kind, name string) bool { return kind == "tool" && name == "webfetch" }
	w.install(w.pack("acme/a", "1.0.0", with(skill("a", "1"), map[string]string{"requires": `{"whet": ">=0.1 <1", "skills": ["b"], "tools": ["webfetch"]}`})))
	w.install(w.pack("acme/b", "1.0.0", with(skill("b", "1"), map[string]string{"requires": `{"skills": ["a"]}`})))
	w.install(w.pack("acme/c", "1.0.0", with(skill("c", "1"), map[string]string{"requires": `{"mcp": ["context7"]}`})))
	w.install(w.pack("acme/d", "1.0.0", with(skill("d", "1"), map[string]string{"requires": `{"skills": ["c"]}`})))
	for _, id := range []string{"acme/a", "acme/c", "acme/d"} {
		w.enable(id, "")
	}
	want := []string{
		"acme/a missing-required-dependency: it requires skill b",
		"acme/c missing-required-dependency: it requires mcp context7",
		"acme/d missing-required-dependency: it requires skill c",
	}
	if diff := cmp.Diff(want, w.diagnostics()); diff != "" {
		t.Error(diff)
	}
	w.enable("acme/b", "")
	if in := w.active(); len(in) != 2 || in[0].ID != "acme/a" || in[1].ID != "acme/b" {
		t.Errorf("in force: %v", in)
	}
	o, err := w.m.Install(t.Context(), w.pack("acme/e", "1.0.0", map[string]string{"requires": `{"whet": ">=2"}`}))
	w.fails(market.Incompatible, "requires whet >=2", o, err)
	o, err = w.m.Show("acme/c", false)
	if w.ok("# acme/c@1.0.0", o, err); !strings.Contains(o.Text, "- requires mcp context7: missing") {
		t.Errorf("show: %s", o.Text)
	}
}

func TestSignatures(t *testing.T) {
	w := newWorld(t)
	status := "none"
	w.m.Sign = func(statement []byte, publisher string, files tree.Tree) (store.Signature, error) {
		if want := "whet-package-v1\nid: acme/x\nversion: 1.0.0\ntree: " + files.Digest() + "\n"; string(statement) != want || publisher != "acme" {
			t.Errorf("%s: %q, want %q", publisher, statement, want)
		}
		return store.Signature{Status: status, Key: "SHA256:k"}, nil
	}
	w.m.Known = func(publisher string) bool { return publisher == "acme" }
	path := w.pack("acme/x", "1.0.0", skill("a", "1"))
	for _, c := range []struct {
		status, rule string
		code         market.Code // "" for installed
	}{
		{"none", "off", ""},
		{"none", "known-publisher", market.BadSignature},
		{"none", "always", market.BadSignature},
		{"untrusted-key", "off", ""},
		{"untrusted-key", "known-publisher", market.BadSignature},
		{"valid", "always", ""},
		{"bad", "off", market.BadSignature},
	} {
		w.write(".config/whet/whet.jsonc", `{"marketplace": {"requireSignature": "`+c.rule+`"}}`)
		status = c.status
		o, err := w.m.Install(t.Context(), path)
		if c.code != "" {
			w.fails(c.code, "signature", o, err)
			continue
		}
		w.ok("Installed", o, err)
		if o.Package.Signature.Status != c.status {
			t.Errorf("kept as %+v", o.Package.Signature)
		}
		if o, err = w.m.Remove(t.Context(), "acme/x", false, false); err != nil {
			t.Fatal(err)
		}
	}
	// A project can't lower what the person wants.
	w.write("my project/.whet/whet.jsonc", `{"marketplace": {"requireSignature": "off"}}`)
	w.write(".config/whet/whet.jsonc", `{"marketplace": {"requireSignature": "always"}}`)
	status = "none"
	o, err := w.m.Install(t.Context(), path)
	w.fails(market.BadSignature, "always", o, err)
}

func TestLint(t *testing.T) {
	w := newWorld(t)
	text := "Never use bash.\n<!-- psst -->\nSee https://example.com/x?y\n" + strings.Repeat("QUJD", 60) + "\nzero\u200bwidth \u202eright\n"
	w.install(w.pack("acme/x", "1.0.0", skill("a", text)))
	o, err := w.m.Show("acme/x", false)
	w.ok("", o, err)
	for _, want := range []string{"2 characters that can't be seen", "a comment that no reader", "avoid or replace a tool", "a long run of encoded bytes", `address on the network: "https://example.com/x?y"`} {
		if !strings.Contains(o.Text, want) {
			t.Errorf("show doesn't say %q: %s", want, o.Text)
		}
	}
	if strings.ContainsAny(o.Text, "\u200b\u202e") || strings.Contains(o.Text, "psst -->\nSee") {
		t.Errorf("show prints the content: %s", o.Text)
	}
	o, err = w.m.Show("acme/x", true)
	if w.ok("", o, err); strings.ContainsAny(o.Text, "\u200b\u202e") || !strings.Contains(o.Text, "psst -->\nSee") {
		t.Errorf("show --content: %s", o.Text)
	}
	w.install(w.pack("acme/plain", "1.0.0", skill("b", "Read the file, then write a summary. Don't guess.")))
	d, err := w.m.Detail("acme/plain")
	if err != nil || d.Lint != nil {
		t.Errorf("lint of a plain text: %q, %v", d.Lint, err)
	}
}

func TestNotALocalPath(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"https://example.com/x.zip", "git@example.com:a/b.git", "acme/reviewer", "npm:reviewer"} {
		o, err := w.m.Install(t.Context(), path)
		w.fails(market.NotALocalPath, "", o, err)
	}
	o, err := w.m.Install(t.Context(), "./none")
	w.fails(market.NotFound, "", o, err)
	w.pack("acme/x", "1.0.0", nil)
	o, err = w.m.Install(t.Context(), "../packages/acme-x-1.0.00")
	w.ok("Installed acme/x@1.0.0", o, err)
}

// While another process changes the store, a change gives up and a look doesn't
// even wait.
func TestBusy(t *testing.T) {
	w := newWorld(t)
	path := w.pack("acme/x", "1.0.0", skill("a", "1"))
	w.install(path)
	w.begin()
	err := w.store().Change(t.Context(), func(*store.Tx) error {
		o, err := w.m.Update(t.Context(), w.pack("acme/x", "2.0.0", nil))
		w.fails(market.Busy, fmt.Sprintf("process %d is changing the store", os.Getpid()), o, err)
		if o, err = w.m.Status(); err != nil || o.ReloadRequired != "false" {
			t.Errorf("status: %s, %v", o.Text, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestHostileArchive(t *testing.T) {
	w := newWorld(t)
	path := filepath.Join(w.home, "x.zip")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for _, name := range []string{"plugin.json", "../../escaped"} {
		if _, err := z.Create(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	o, err := w.m.Import(t.Context(), path)
	w.fails(market.UnsafeArchive, "traversal", o, err)
	if _, err := os.Lstat(w.store().Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the store was made: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(w.home, "..", "escaped")); err == nil {
		t.Error("a file escaped")
	}
}

func TestCatalogue(t *testing.T) {
	w := newWorld(t)
	w.write("cat/.claude-plugin/marketplace.json", `{"name": "tools", "owner": {"name": "Acme"}, "plugins": [
		{"name": "one", "source": "./plugins/one"},
		{"name": "two", "source": "./plugins/two", "version": "1.2.0"},
		{"name": "far", "source": {"source": "url", "url": "https://example.com/far.git"}},
		{"name": "farther", "source": {"source": "git-subdir", "url": "https://example.com/x.git", "path": "y"}}]}`)
	w.write("cat/plugins/one/commands/hi.md", "---\ndescription: Says hi\n---\nhi\n")
	w.write("cat/plugins/two/skills/a/SKILL.md", "---\nname: a\ndescription: A\n---\ntext\n")
	path := filepath.Join(w.home, "cat")
	o, err := w.m.Import(t.Context(), path)
	w.ok(path+" offers 4 plugins; choose one with ", o, err)
	if o.Changed || strings.Count(o.Text, "remote-source-not-fetched") != 2 {
		t.Errorf("got %s", o.Text)
	}
	o, err = w.m.Install(t.Context(), path)
	w.fails(market.InvalidArguments, "is a catalogue", o, err)
	o, err = w.m.Import(t.Context(), path+"#far")
	w.fails(market.InvalidPackage, "remote-source-not-fetched", o, err)
	o, err = w.m.Import(t.Context(), path+"#none")
	w.fails(market.InvalidPackage, "no-such-plugin", o, err)
	o, err = w.m.Import(t.Context(), path+"#two")
	w.ok("Installed ", o, err)
	if !strings.Contains(o.Text, "/two@1.2.0 from claude-plugin (") {
		t.Errorf("got %s", o.Text)
	}
	o, err = w.m.Install(t.Context(), path+"#two")
	w.fails(market.InvalidPackage, "use import", o, err)
	o, err = w.m.ImportSome(t.Context(), path, nil)
	w.ok("Installed ", o, err)
	if strings.Count(o.Text, "remote-source-not-fetched") != 2 || strings.Count(o.Text, "Already installed") != 1 {
		t.Errorf("got %s", o.Text)
	}
	o, err = w.m.ImportSome(t.Context(), path, []string{"one", "none"})
	w.fails(market.NotFound, "none", o, err)
	if o, err = w.m.ImportSome(t.Context(), path, []string{"far"}); err != nil || o.OK {
		t.Errorf("a remote plugin by name: %s, %v", o.Text, err)
	}
	o, err = w.m.Verify(t.Context(), "")
	w.ok("OK ", o, err)
}

// Many at once lose nothing of each other's, in the store and in one
// configuration file.
func TestManyAtOnce(t *testing.T) {
	const writers, rounds = 8, 4
	w := newWorld(t)
	w.write("my project/.whet/whet.jsonc", "{\n  // kept\n  \"loopGuard\": {\"warnAt\": 3}\n}\n")
	paths := make([]string, writers)
	for i := range paths {
		paths[i] = w.pack(fmt.Sprintf("acme/p%d", i), "1.0.0", skill("a", fmt.Sprint(i)))
	}
	var wg sync.WaitGroup
	for i, path := range paths {
		wg.Go(func() {
			m, ctx, id := *w.m, t.Context(), fmt.Sprintf("acme/p%d", i)
			m.Wait = time.Minute
			for round := range rounds {
				for _, do := range []func() (market.Outcome, error){
					func() (market.Outcome, error) { return m.Install(ctx, path) },
					func() (market.Outcome, error) { return m.Enable(ctx, id, "") },
					func() (market.Outcome, error) { return m.Disable(ctx, id, "") },
					func() (market.Outcome, error) { return m.Enable(ctx, id, "") },
					func() (market.Outcome, error) { return m.Remove(ctx, id, true, true) },
				} {
					if o, err := do(); err != nil || !o.Changed {
						t.Errorf("%s, round %d: %v %q", id, round, err, o.Text)
					}
				}
			}
			if _, err := m.Install(ctx, path); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	o, err := w.m.Verify(t.Context(), "")
	if err != nil || !o.OK || len(o.Packages) != writers {
		t.Errorf("verify: %s, %v", o.Text, err)
	}
	if got := w.read("my project/.whet/whet.jsonc"); !strings.Contains(got, "// kept") || strings.Contains(got, "acme") {
		t.Errorf("the configuration: %s", got)
	}
	if want := writers * (2*rounds + 1); w.generation() != want {
		t.Errorf("generation %d, want %d", w.generation(), want)
	}
	o, err = w.m.GC(t.Context(), false)
	w.ok("Removed 0 unused files", o, err)
	if left, _ := os.ReadDir(filepath.Join(w.store().Dir, "staging")); len(left) > 0 {
		t.Errorf("left in staging: %v", left)
	}
}
