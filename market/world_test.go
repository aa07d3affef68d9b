package market_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whet-dev/whet/market"
	"github.com/whet-dev/whet/market/store"
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
