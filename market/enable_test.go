package market_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet/market"
)

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
