package market_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet/market"
	"github.com/whet-dev/whet/market/store"
	"github.com/whet-dev/whet/market/tree"
)

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
		o, err := w.m.Enable(t.Context(), id, "")
		if w.ok("Enabled", o, err); !strings.Contains(o.Text, "\nnote: missing-required-dependency: it requires ") {
			t.Errorf("enable: %s", o.Text)
		}
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
