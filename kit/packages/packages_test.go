package packages

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/agent"
	"github.com/whet-dev/whet/market"
	"github.com/whet-dev/whet/market/plugin"
)

const provenance = "from package acme/reviewer@1.2.0, third-party text"

// reviewer is a package with a part of each kind.
func reviewer(t *testing.T, trusted bool) market.Package {
	t.Helper()
	root := t.TempDir()
	write(t, root, "dev.whet/agents/critic.md", "---\ndescription: Finds faults\n---\nBe strict.\n")
	write(t, root, "dev.whet/agents/painter.md", "---\ndescription: Paints\ntools: Read, Edit\n---\nPaint.\n")
	write(t, root, "skills/review/SKILL.md", "---\nname: review\ndescription: How to review\n---\nRead references/style.md.\n")
	write(t, root, "skills/review/references/style.md", "Tabs.")
	write(t, root, "outside.txt", "not the skill's")
	return market.Package{
		ID: "acme/reviewer", Version: "1.2.0", Root: root, Data: filepath.Join(t.TempDir(), "data"), Trusted: trusted,
		Skills:   map[string][]string{"review": {"review", "reviewer.review"}},
		Commands: map[string][]string{"check": {"check", "reviewer.check"}, "plain": {"reviewer.plain"}},
		Servers:  map[string]string{"lint": "reviewer__lint"},
		Plugin: &plugin.Plugin{
			ID: "acme/reviewer", Version: "1.2.0", Name: "reviewer",
			Agents: []plugin.Agent{
				{Text: plugin.Text{Name: "critic", File: "dev.whet/agents/critic.md", Body: "Be strict."}, Description: "Finds faults", Extends: "oracle", When: []string{"a diff", "a plan"}, Avoid: []string{"writing code"}},
				{Text: plugin.Text{Name: "painter", File: "dev.whet/agents/painter.md", Body: "Paint."}, Description: "Paints"},
			},
			Skills:       []plugin.Skill{{Text: plugin.Text{Name: "review", File: "skills/review/SKILL.md", Body: "Read references/style.md."}, Description: "How to review"}},
			Instructions: []plugin.Text{{Name: "house", File: "dev.whet/instructions/house.md", Body: "Say please."}},
			Commands: []plugin.Command{
				{Text: plugin.Text{Name: "check", Body: "Check $1 and then $ARGUMENTS; not $2."}, Description: "Checks", Agent: "critic", Model: "here/m"},
				{Text: plugin.Text{Name: "plain", Body: "Look."}, Model: "sonnet"},
			},
			Settings: []plugin.Setting{{Name: "key", Env: "LINT_KEY", Required: true}},
		},
	}
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestRoles(t *testing.T) {
	s := Set{reviewer(t, false)}
	s[0].Plugin.Agents = append(s[0].Plugin.Agents,
		plugin.Agent{Text: plugin.Text{Name: "lost", File: "dev.whet/agents/lost.md"}},
		plugin.Agent{Text: plugin.Text{Name: "boss", File: "dev.whet/agents/critic.md"}, Extends: "orchestrator"},
		plugin.Agent{Text: plugin.Text{Name: "spy", File: "../../../../../../../etc/passwd"}})
	roles, problems := s.Roles()
	want := []agent.Role{
		{Name: "critic", About: "Finds faults", Prompt: provenance + ":\n\nBe strict.", Tools: []string{"ast_grep_search", "glob", "grep", "read"}},
		{Name: "painter", About: "Paints", Prompt: provenance + ":\n\nPaint.", Tools: []string{"apply_patch", "ast_grep_replace", "edit", "read"}},
	}
	if diff := cmp.Diff(want, roles); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if len(problems) != 3 || !strings.HasPrefix(problems[0], "acme/reviewer: agent lost is left out: ") ||
		problems[1] != "acme/reviewer: agent boss is left out: it extends the orchestrator, which hands out tasks and is no specialist" ||
		!strings.HasPrefix(problems[2], "acme/reviewer: agent spy is left out: ") {
		t.Errorf("problems %q", problems)
	}
}

func TestPrompt(t *testing.T) {
	s := Set{reviewer(t, false)}
	got := s.Prompt(agent.Roles()[0])
	want := provenance + `:

Say please.

Specialists that come with packages, for the task tool:

` + provenance + `:
- critic: Finds faults. Lane: thinks about architecture and hard faults; changes nothing. Give it: a diff; a plan. Not for: writing code.
- painter: Paints.

Skills that come with packages. When one fits what you do, read it with the skill tool first:

` + provenance + `:
- review: How to review`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the orchestrator's (-want +got)\n%s", diff)
	}
	explorer, err := agent.FindRole("explorer")
	if err != nil {
		t.Fatal(err)
	}
	k := &whet.Kit{}
	s.Equip(k, &explorer)
	if got := s.Prompt(explorer); strings.Contains(got, "Specialists") || !strings.Contains(got, "- review:") {
		t.Errorf("the explorer's:\n%s", got)
	}
	council, err := agent.FindRole("council") // it has no tools
	if err != nil {
		t.Fatal(err)
	}
	s.Equip(k, &council)
	if got := s.Prompt(council); got != provenance+":\n\nSay please." {
		t.Errorf("the council's:\n%s", got)
	}
	if got := (Set{}).Prompt(agent.Roles()[0]); got != "" {
		t.Errorf("without packages: %q", got)
	}
}

func TestSkillTool(t *testing.T) {
	s := Set{reviewer(t, false)}
	k := &whet.Kit{Log: slog.New(slog.DiscardHandler)}
	role := agent.Roles()[0]
	s.Equip(k, &role)
	dir := filepath.Join(s[0].Root, "skills", "review")
	for args, want := range map[string]string{
		`{"name": "review"}`:                                          provenance + ":\n\nRead references/style.md.\n\nFiles of this skill, below " + dir + ": references/style.md",
		`{"name": "reviewer.review"}`:                                 provenance + ":\n\nRead references/style.md.\n\nFiles of this skill, below " + dir + ": references/style.md",
		`{"name": "review", "file": "references/style.md"}`:           provenance + ":\n\nTabs.",
		`{"name": "other"}`:                                           `no skill is called "other"; there are review, reviewer.review`,
		`{"name": "review", "file": "references"}`:                    "references of the skill review can't be read: it is not a file of at most 128 KiB; it has references/style.md",
		`{"name": "review", "file": "x.md"}`:                          "x.md of the skill review can't be read: there is no such file; it has references/style.md",
		`{"name": "review", "file": "../../outside.txt"}`:             "../../outside.txt of the skill review can't be read: ",
		`{"name": "review", "file": "` + s[0].Root + `/plugin.json"}`: s[0].Root + "/plugin.json of the skill review can't be read: ",
	} {
		r, err := k.Call(t.Context(), &whet.Call{Tool: "skill", Args: json.RawMessage(args)})
		if err != nil {
			t.Fatal(err)
		}
		if r.Text != want && !(strings.HasSuffix(want, ": ") && strings.HasPrefix(r.Text, want)) {
			t.Errorf("%s:\n got %q\nwant %q", args, r.Text, want)
		}
	}
}

func TestCommands(t *testing.T) {
	s := Set{reviewer(t, false)}
	for line, want := range map[string]*Command{
		`/check "a b" c $1`:    {Prompt: provenance + ":\n\nCheck a b and then \"a b\" c $1; not c.", Agent: "critic", Model: "here/m"},
		"/reviewer.check":      {Prompt: provenance + ":\n\nCheck  and then ; not .", Agent: "critic", Model: "here/m"},
		"/reviewer.plain x  y": {Prompt: provenance + ":\n\nLook.\n\nx  y"},
		"/plain":               nil, // another has that name
		"/etc/hosts is odd":    nil,
		"check":                nil,
		"/":                    nil,
	} {
		got, ok := s.Command(line)
		if ok != (want != nil) {
			t.Errorf("%s: %v", line, ok)
		} else if ok && got != *want {
			t.Errorf("%s: got %+v, want %+v", line, got, *want)
		}
	}
}

// Whatever an untrusted package brings: nothing of it runs. It is given what it
// would have if nobody had taken it out before.
func TestUntrustedRunsNothing(t *testing.T) {
	t.Setenv("LINT_KEY", "k1")
	mark := filepath.Join(t.TempDir(), "ran")
	touch := "touch " + mark
	p := withServer(t, reviewer(t, false), "good")
	p.Plugin.Servers[0].Command, p.Plugin.Servers[0].Args = "/bin/sh", []string{"-c", touch}
	for event := range claudeEvents {
		p.Plugin.Hooks = append(p.Plugin.Hooks, plugin.Hook{Event: event, Command: touch})
	}
	s := Set{p}
	servers := s.Start(t.Context(), Starting{Dir: t.TempDir()})
	defer servers.Close()
	if len(servers.Tools) > 0 {
		t.Error("it has tools")
	}
	if g := s.Guard(slog.New(slog.DiscardHandler)); g.Before != nil || g.After != nil {
		t.Error("it guards calls")
	}
	for event := range claudeEvents {
		if said, err := s.Said(t.Context(), whet.Session{Dir: t.TempDir()}, Event{Name: event}, slog.New(slog.DiscardHandler)); said != nil || err != nil {
			t.Errorf("%s: %q, %v", event, said, err)
		}
	}
	e := environ{p, t.TempDir(), os.Environ()}
	if _, err := e.command(p.Plugin.Servers[0]); err == nil || !strings.Contains(err.Error(), "whet market trust acme/reviewer") {
		t.Errorf("its server can be started: %v", err)
	}
	if _, err := e.remote(plugin.Server{Type: "sse", URL: "http://127.0.0.1:1/"}); err == nil {
		t.Error("its server can be reached")
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("it ran")
	}
	if _, err := os.Stat(p.Data); err == nil {
		t.Error("it has got a directory")
	}
}

// What OpenCode is given must not run anything, reach files outside the project
// or take a person's rules away.
func TestOpenCode(t *testing.T) {
	p := withServer(t, reviewer(t, false), "good")
	p.Plugin.Commands = []plugin.Command{{Text: plugin.Text{Name: "check", Body: "!`id` @~/.ssh/id @/etc/passwd @a/../../b @README.md $ARGUMENTS"}, Description: "Checks"}}
	dir := filepath.Join(t.TempDir(), "texts")
	s := Set{p}
	got, err := s.OpenCode(Host{Exe: "/opt/whet", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if got["mcp"] != nil {
		t.Errorf("an untrusted package has servers: %v", got["mcp"])
	}
	command := got["command"].(map[string]any)["reviewer.check"].(map[string]any)
	if want := provenance + ":\n\n! `id` @ ~/.ssh/id @ /etc/passwd @ a/../../b @README.md $ARGUMENTS"; command["template"] != want {
		t.Errorf("template:\n got %q\nwant %q", command["template"], want)
	}
	critic := got["agent"].(map[string]any)["critic"].(map[string]any)
	rules := critic["permission"].(map[string]string)
	for tool, want := range map[string]string{"bash": "deny", "edit": "deny", "webfetch": "deny", "task": "deny", "*_*": "deny", "read": "", "grep": "", "ast_grep_search": "allow", "external_directory": "ask"} {
		if rules[tool] != want {
			t.Errorf("critic: %s is %q, want %q", tool, rules[tool], want)
		}
	}
	painter := got["agent"].(map[string]any)["painter"].(map[string]any)["permission"].(map[string]string)
	if painter["edit"] != "" || painter["bash"] != "deny" || painter["ast_grep_replace"] != "ask" {
		t.Errorf("painter: %v", painter)
	}
	instructions := got["instructions"].([]string)
	if b, err := os.ReadFile(instructions[0]); err != nil || string(b) != provenance+":\n\nSay please.\n" {
		t.Errorf("instructions %q, %v", b, err)
	}
	skill := filepath.Join(got["skills"].(map[string]any)["paths"].([]string)[0], "review", "SKILL.md")
	want := "---\nname: review\ndescription: \"How to review (" + provenance + ")\"\n---\n" + provenance + ":\n\nRead references/style.md.\n\nFiles of this skill, below " + filepath.Join(p.Root, "skills", "review") + ": references/style.md\n"
	if b, err := os.ReadFile(skill); err != nil || string(b) != want {
		t.Errorf("the skill:\n got %q, %v\nwant %q", b, err, want)
	}
	old := filepath.Join(dir, "old")
	write(t, old, "x", "")
	past := time.Now().Add(-2 * textsFor)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	p.Plugin.Instructions[0].Body = "Say thanks."
	if _, err = s.OpenCode(Host{Exe: "/opt/whet", Dir: dir}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("what nobody reads any more is still there")
	}
	if _, err := os.Stat(instructions[0]); err != nil {
		t.Errorf("what a running host reads is gone: %v", err)
	}
	if got, err := (Set{}).OpenCode(Host{Dir: dir}); err != nil || len(got) > 0 {
		t.Errorf("without packages: %v, %v", got, err)
	}
}
