package market_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/internal/state"
	"github.com/whet-dev/whet/market"
)

// call uses the tool as an orchestrator in a session.
func (w *world) call(s whet.Session, args string) *whet.Result {
	w.t.Helper()
	tool := market.Tool(func(dir, worktree string) market.Market {
		m := *w.m
		m.Dir, m.Worktree = dir, worktree
		return m
	})
	r, err := tool.Run(w.t.Context(), &whet.Call{Tool: tool.Name, Args: json.RawMessage(args), Session: s})
	if err != nil {
		return &whet.Result{Text: err.Error(), Failed: true}
	}
	return r
}

func (w *world) session() whet.Session {
	return whet.Session{ID: "s1", Agent: "orchestrator", Dir: w.project, Worktree: w.project, Store: state.Memory()}
}

func TestTool(t *testing.T) {
	w := newWorld(t)
	path := w.pack("acme/x", "1.0.0", with(skill("a", "1"), hook("echo")))
	specialist, nobody, noSession := w.session(), w.session(), w.session()
	specialist.Agent, nobody.Agent, noSession.ID = "fixer", "", ""
	build, general := w.session(), w.session()
	build.Host, build.Agent, general.Host, general.Agent = "opencode", "build", "opencode", "general"
	refusing, asked := w.session(), []string{}
	refusing.Ask = func(_ context.Context, p whet.Permission) error {
		asked = append(asked, p.Action+" "+p.Subject)
		return whet.Refuse("the person said no")
	}
	install := `{"action": "install", "path": "` + path + `"}`
	for _, c := range []struct {
		s          whet.Session
		args, want string
	}{
		{specialist, `{"action": "list"}`, "marketplace list: not-orchestrator: "},
		{nobody, `{"action": "list"}`, "marketplace list: not-orchestrator: "},
		{noSession, `{"action": "list"}`, "marketplace list: not-orchestrator: "},
		{general, `{"action": "list"}`, "marketplace list: not-orchestrator: "},
		{build, `{"action": "list"}`, "no packages installed"},
		{refusing, install, "marketplace install: denied: the person said no"},
		{refusing, `{"action": "list"}`, "no packages installed"},
		{w.session(), install, "Installed acme/x@1.0.0 ("},
		{w.session(), `{"action": "show", "path": "x"}`, `marketplace show: invalid-arguments: field "path" does not belong to action "show"`},
		{w.session(), `{"action": "list", "verbose": true}`, `marketplace list: invalid-arguments: field "verbose" does not belong to action "list"`},
		{w.session(), `{"action": "list", "force": false}`, `marketplace list: invalid-arguments: field "force" does not belong`},
		{w.session(), `{"action": "enable", "path": "x", "packageId": "acme/x"}`, `marketplace enable: invalid-arguments: field "path"`},
		{w.session(), `{"action": "enable"}`, `marketplace enable: invalid-arguments: action "enable" needs field "packageId"`},
		{w.session(), `{"action": "install"}`, `marketplace install: invalid-arguments: action "install" needs field "path"`},
		{w.session(), `{"action": "install", "path": "https://example.com/x.zip"}`, "marketplace install: not-a-local-path: "},
		{w.session(), `{"action": "show", "package_id": "acme/x"}`, "# acme/x@1.0.0"},
		{w.session(), `{"action": "verify"}`, "OK acme/x@1.0.0 "},
		{w.session(), `{"action": "enable", "packageId": "acme/x", "scope": "user"}`, "Enabled acme/x (user)\n1 executable part stays"},
		{w.session(), `{"action": "list"}`, "acme/x@1.0.0\tenabled(user)\tskill,hook!\tx"},
		{w.session(), `{"action": "remove", "packageId": "acme/x"}`, "marketplace remove: referenced: "},
		{w.session(), `{"action": "remove", "packageId": "acme/x", "force": true}`, "Removed acme/x (1 reference dropped; other projects not scanned)\n"},
		{w.session(), `{"action": "trust", "packageId": "acme/x"}`, "marketplace: "},
	} {
		r := w.call(c.s, c.args)
		if !strings.HasPrefix(r.Text, c.want) {
			t.Errorf("%s: got %q, want %q", c.args, r.Text, c.want)
		}
		if failed := strings.HasPrefix(c.want, "marketplace "); failed && !r.Failed {
			t.Errorf("%s: it is no failure: %s", c.args, r.Text)
		}
	}
	if want := "marketplace install " + path; len(asked) != 1 || asked[0] != want {
		t.Errorf("asked %q, want %q", asked, want)
	}
	r := w.call(w.session(), install)
	b, err := json.Marshal(r.Data)
	if err != nil {
		t.Fatal(err)
	}
	var data struct {
		Action         string
		OK, Changed    bool
		ReloadRequired string
		Package        struct{ ID, Version, State string }
	}
	if err := json.Unmarshal(b, &data); err != nil || data.Action != "install" || !data.OK || !data.Changed || data.ReloadRequired != "unknown" || data.Package.ID != "acme/x" || data.Package.State != "disabled" {
		t.Errorf("for machines: %s, %v", b, err)
	}
}

// Whether a session must be begun anew, for each thing that can be between it
// and what is installed.
func TestReload(t *testing.T) {
	for _, c := range []struct {
		name string
		then func(w *world, s whet.Session)
		want string
		say  string // part of the status
	}{
		{"nothing happened", func(*world, whet.Session) {}, "false", "\nlive_packages:\n  acme/live@1.0.0 agent=reviewer"},
		{"installed", func(w *world, _ whet.Session) { w.install(w.pack("acme/new", "1.0.0", skill("n", "1"))) }, "false", ""},
		{"enabled", func(w *world, _ whet.Session) { w.enable("acme/off", "") }, "true", "\nnote: takes effect in the next session; the running session is not changed\n"},
		{"enabled and disabled", func(w *world, s whet.Session) {
			w.enable("acme/off", "")
			w.call(s, `{"action": "disable", "packageId": "acme/off"}`)
		}, "false", ""},
		{"updated what is off", func(w *world, s whet.Session) {
			w.call(s, `{"action": "update", "path": "`+w.pack("acme/off", "2.0.0", skill("o", "2"))+`"}`)
		}, "false", ""},
		{"updated what is live", func(w *world, s whet.Session) {
			w.call(s, `{"action": "update", "path": "`+w.pack("acme/live", "2.0.0", skill("l", "2"))+`"}`)
		}, "true", ""},
		{"removed what is live", func(w *world, s whet.Session) {
			w.call(s, `{"action": "remove", "packageId": "acme/live", "force": true}`)
		}, "true", ""},
		{"trusted what is live", func(w *world, s whet.Session) {
			d, err := w.m.Detail("acme/live")
			if err != nil {
				w.t.Fatal(err)
			}
			o, err := w.m.Trust(w.t.Context(), "acme/live", d.Tree, "")
			w.ok("Trusted", o, err)
		}, "true", ""},
		{"live and damaged", func(w *world, _ whet.Session) { w.damage("acme/live") }, "true", "  disk acme/live corrupt: "},
		{"off and damaged", func(w *world, _ whet.Session) { w.damage("acme/off") }, "false", "  disk acme/off corrupt: "},
		{"configured and missing", func(w *world, _ whet.Session) {
			w.write(".config/whet/whet.jsonc", `{"marketplace": {"packages": {"acme/none": true}}}`)
		}, "false", "  disk acme/none missing: enabled by "},
		{"the lock file can't be read", func(w *world, _ whet.Session) {
			w.write(".local/share/whet/market/lock.json", "{")
		}, "unknown", "  disk - lockfile: "},
		{"of a newer whet", func(w *world, _ whet.Session) { w.write(".local/share/whet/market/FORMAT", "2\n") }, "unknown", "  disk - lockfile: "},
		{"the configuration can't be read", func(w *world, _ whet.Session) {
			w.write(".config/whet/whet.jsonc", "{")
		}, "unknown", "  disk - config: "},
		{"another process is changing the store", func(w *world, _ whet.Session) {
			w.write(".local/share/whet/market/store.lock", "1\n")
		}, "false", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, s := newLive(t)
			c.then(w, s)
			r := w.call(s, `{"action": "status"}`)
			if !strings.Contains(r.Text, "\nreload_required: "+c.want+"\n") || !strings.Contains(r.Text, c.say) {
				t.Errorf("got %s\nwant %s and %q", r.Text, c.want, c.say)
			}
		})
	}
	t.Run("no session", func(t *testing.T) {
		w, _ := newLive(t)
		if r := w.call(w.session(), `{"action": "status"}`); !strings.Contains(r.Text, "\nreload_required: unknown\n") {
			t.Errorf("got %s", r.Text)
		}
	})
}

// newLive returns a session in which acme/live is in force; acme/off is
// installed.
func newLive(t *testing.T) (*world, whet.Session) {
	w := newWorld(t)
	w.install(w.pack("acme/live", "1.0.0", with(agentFile("reviewer"), skill("l", "1"), hook("echo"))))
	w.install(w.pack("acme/off", "1.0.0", skill("o", "1")))
	w.enable("acme/live", "")
	s := w.session()
	w.begin()
	if err := market.Remember(s, w.live); err != nil {
		t.Fatal(err)
	}
	return w, s
}

func (w *world) damage(id string) {
	w.t.Helper()
	l, err := w.store().Read()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(w.store().Root(id, l.Packages[id].Tree), "plugin.json")); err != nil {
		w.t.Fatal(err)
	}
}

// A change says what it means for the session, unless that is nothing.
func TestChangesSayReload(t *testing.T) {
	w, s := newLive(t)
	for _, c := range []struct{ args, want string }{
		{`{"action": "enable", "packageId": "acme/off"}`, "Enabled acme/off (project)\nreload_required: true"},
		{`{"action": "disable", "packageId": "acme/off"}`, "Disabled acme/off (project)"},
		{`{"action": "disable", "packageId": "acme/off"}`, "Already disabled acme/off"},
		{`{"action": "disable", "packageId": "acme/live"}`, "Disabled acme/live (project)\nreload_required: true"},
	} {
		if r := w.call(s, c.args); r.Text != c.want {
			t.Errorf("%s: got %q, want %q", c.args, r.Text, c.want)
		}
	}
}
