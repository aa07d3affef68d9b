package packages

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/agent"
	"github.com/whet-dev/whet/market"
	"github.com/whet-dev/whet/market/plugin"
)

// The test binary is also the MCP server of the test package.
func TestMain(m *testing.M) {
	switch os.Getenv("TEST_SERVER") {
	case "":
		os.Exit(m.Run())
	case "silent":
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "broken":
		fmt.Fprintln(os.Stderr, "no licence found")
		os.Exit(3)
	default:
		if err := lintServer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			os.Exit(1)
		}
	}
}

func lintServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "lint", Version: "1"}, nil)
	type in struct {
		Text string `json:"text" jsonschema:"what to look at"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "check.text", Description: "Checks a text", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *mcp.CallToolRequest, in in) (*mcp.CallToolResult, any, error) {
			dir, _ := os.Getwd()
			text := fmt.Sprintf("%s from %s, key %q, token %q, root %s", in.Text, filepath.Base(dir), os.Getenv("LINT_KEY"), os.Getenv("SOME_TOKEN"), os.Getenv("ROOT_AS_GIVEN"))
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: strings.Repeat("long", 30)}, func(context.Context, *mcp.CallToolRequest, in) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no good"}}}, nil, nil
	})
	return s
}

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

// withServer gives the package the test's server.
func withServer(t *testing.T, p market.Package, mode string) market.Package {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p.Plugin.Servers = []plugin.Server{{Name: "lint", Type: "stdio", Command: self, Args: []string{"-root", "${PLUGIN_ROOT}"}, Env: map[string]string{"TEST_SERVER": mode, "ROOT_AS_GIVEN": "${PLUGIN_ROOT}"}}}
	return p
}

func TestServers(t *testing.T) {
	t.Setenv("LINT_KEY", "k1")
	t.Setenv("SOME_TOKEN", "of the person")
	p := withServer(t, reviewer(t, true), "good")
	dir := t.TempDir()
	servers := Set{p}.Start(t.Context(), Starting{Dir: dir})
	defer servers.Close()
	if len(servers.Problems) > 0 {
		t.Fatal(servers.Problems)
	}
	k := &whet.Kit{Tools: servers.Tools, Log: slog.New(slog.DiscardHandler)}
	check, err := k.Tool("reviewer__lint__check_text")
	if err != nil {
		t.Fatal(err)
	}
	if check.Doc != "check.text\n"+provenance+": Checks a text" || !check.ReadOnly || check.Destructive {
		t.Errorf("got %+v", check)
	}
	if b, err := json.Marshal(check.Input()); string(b) != `{"type":"object","properties":{"text":{"type":"string","description":"what to look at"}},"required":["text"]}` {
		t.Errorf("schema %s, %v", b, err)
	}
	r, err := k.Call(t.Context(), &whet.Call{Tool: check.Name, Args: json.RawMessage(`{"text": "hello"}`)})
	if err != nil {
		t.Fatal(err)
	}
	// The key is a setting of the package, the token the person's own.
	if want := fmt.Sprintf("hello from %s, key %q, token %q, root %s", filepath.Base(dir), "k1", "", p.Root); r.Text != want || r.Failed {
		t.Errorf("got %+v, want %s", r, want)
	}
	if _, err := os.Stat(p.Data); err != nil {
		t.Errorf("the package has no directory of its own: %v", err)
	}
	long := "reviewer__lint__longlonglonglonglonglonglonglonglonglon"
	for _, tool := range k.Tools {
		if strings.HasPrefix(tool.Name, long) {
			if r, err := k.Call(t.Context(), &whet.Call{Tool: tool.Name, Args: json.RawMessage(`{"text": ""}`)}); err != nil || !r.Failed || r.Text != "no good" || len(tool.Name) != 64 {
				t.Errorf("%s: %+v, %v", tool.Name, r, err)
			}
		}
	}
	if len(k.Tools) != 2 {
		t.Errorf("%d tools, want 2", len(k.Tools))
	}
	servers.Close()
	if r, err = k.Call(t.Context(), &whet.Call{Tool: check.Name, Args: json.RawMessage(`{"text": "x"}`)}); err != nil || !r.Failed || !strings.HasPrefix(r.Text, "the MCP server lint of package acme/reviewer: ") {
		t.Errorf("after its end: %+v, %v", r, err)
	}
}

// A server that doesn't start is one line and costs nothing else.
func TestServersInTrouble(t *testing.T) {
	t.Setenv("LINT_KEY", "k1")
	good, broken, silent := withServer(t, reviewer(t, true), "good"), withServer(t, reviewer(t, true), "broken"), withServer(t, reviewer(t, true), "silent")
	absent := withServer(t, reviewer(t, true), "good")
	absent.Plugin.Servers[0].Command = "./bin/none"
	keyless := withServer(t, reviewer(t, true), "good")
	keyless.Plugin.Settings = []plugin.Setting{{Name: "key", Title: "the licence", Env: "LICENCE_VALUE", Required: true}}
	broken.Servers = map[string]string{"lint": "broken__lint"}
	unknown := withServer(t, reviewer(t, true), "good")
	unknown.Plugin.Servers[0].Args = []string{"${user_config.other}"}
	start := time.Now()
	servers := Set{good, broken, silent, absent, keyless, unknown}.Start(t.Context(), Starting{Dir: t.TempDir(), Limit: 2 * time.Second})
	defer servers.Close()
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	if len(servers.Tools) != 2 {
		t.Errorf("%d tools, want the good server's two", len(servers.Tools))
	}
	want := []string{
		"acme/reviewer: MCP server lint is left out: it ended: exit status 3: no licence found",
		"acme/reviewer: MCP server lint is left out: it didn't answer within 2s",
		"acme/reviewer: MCP server lint is left out: ", // in the system's words
		"acme/reviewer: MCP server lint is left out: it needs a value for the licence; set the environment variable LICENCE_VALUE",
		"acme/reviewer: MCP server lint is left out: ${user_config.other}: the package has no such setting",
	}
	if len(servers.Problems) != len(want) {
		t.Fatalf("problems %q", servers.Problems)
	}
	for i, w := range want {
		if got := servers.Problems[i]; got != w && !(i == 2 && strings.HasPrefix(got, w)) {
			t.Errorf("problem %d:\n got %q\nwant %q", i, got, w)
		}
	}
}

// A server elsewhere gets its headers, with what the person set in them, and
// nobody that it redirects to does.
func TestRemoteServer(t *testing.T) {
	t.Setenv("LINT_KEY", "k1")
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return lintServer() }, nil)
	var seen string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "/mcp", http.StatusTemporaryRedirect)
			return
		}
		if r.Method == http.MethodPost {
			seen = r.Header.Get("X-Key")
		}
		h.ServeHTTP(w, r)
	}))
	defer srv.Close()
	p := reviewer(t, true)
	p.Plugin.Servers = []plugin.Server{{Name: "lint", Type: "streamable-http", URL: srv.URL + "/mcp", Headers: map[string]string{"X-Key": "v-${user_config.key}"}}}
	servers := Set{p}.Start(t.Context(), Starting{Dir: t.TempDir()})
	if len(servers.Tools) != 2 || len(servers.Problems) > 0 {
		t.Errorf("got %d tools, %q", len(servers.Tools), servers.Problems)
	}
	servers.Close()
	if seen != "v-k1" {
		t.Errorf("the header was %q", seen)
	}
	seen = ""
	p.Plugin.Servers[0].URL = srv.URL + "/away"
	servers = Set{p}.Start(t.Context(), Starting{Dir: t.TempDir()})
	defer servers.Close()
	if len(servers.Tools) > 0 || len(servers.Problems) != 1 || seen != "" {
		t.Errorf("followed a redirect: %d tools, %q, header %q", len(servers.Tools), servers.Problems, seen)
	}
}

func withHooks(p market.Package, hooks ...plugin.Hook) market.Package {
	p.Plugin.Hooks = hooks
	p.Plugin.Settings = nil
	return p
}

func TestHooks(t *testing.T) {
	if _, err := agent.Shell(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	tool := whet.Tool{
		Name: "write", PathArg: "path", Input: func() *whet.Schema { return &whet.Schema{Type: "object"} },
		Run: func(context.Context, *whet.Call) (*whet.Result, error) { return &whet.Result{Text: "written"}, nil },
	}
	for name, c := range map[string]struct {
		hook plugin.Hook
		tool string
		want string
	}{
		"exit 2 blocks":             {plugin.Hook{Event: PreTool, Matcher: "write", Command: "echo not here >&2; exit 2"}, "write", "refused by a hook, " + provenance + ": not here"},
		"by Claude Code's name":     {plugin.Hook{Event: PreTool, Dialect: "claude-code", Matcher: "Edit|Write", Command: "exit 2"}, "write", "refused by a hook, " + provenance + ": it gave no reason"},
		"a whole name only":         {plugin.Hook{Event: PreTool, Matcher: "Writ", Command: "exit 2"}, "write", "written"},
		"edits by a patch":          {plugin.Hook{Event: PreTool, Dialect: "codex", Matcher: "Edit", Command: "exit 2"}, "apply_patch", "refused by a hook, " + provenance + ": it gave no reason"},
		"every tool":                {plugin.Hook{Event: PreTool, Matcher: "*", Command: "exit 2"}, "write", "refused by a hook, " + provenance + ": it gave no reason"},
		"a bad matcher is none":     {plugin.Hook{Event: PreTool, Matcher: "(", Command: "exit 2"}, "write", "written"},
		"another exit code doesn't": {plugin.Hook{Event: PreTool, Command: "exit 1"}, "write", "written"},
		"too late":                  {plugin.Hook{Event: PreTool, Command: "sleep 60", Timeout: 1}, "write", "written"},
		"a decision in JSON":        {plugin.Hook{Event: PreTool, Command: `echo '{"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}}'`}, "write", "refused by a hook, " + provenance + ": no"},
		"asks, and nobody is there": {plugin.Hook{Event: PreTool, Command: `echo '{"hookSpecificOutput": {"permissionDecision": "ask"}}'`}, "write", `refused: write "{\"path\":\"a.txt\"}" needs a person's permission and there is nobody to ask; do without it or say what is needed`},
		"by Gemini CLI's name":      {plugin.Hook{Event: PreTool, Dialect: "gemini", Matcher: "write_file|replace", Command: "grep -q BeforeTool && exit 2"}, "write", "refused by a hook, " + provenance + ": it gave no reason"},
		"not by another's":          {plugin.Hook{Event: PreTool, Matcher: "Write", Command: "exit 2"}, "write", "written"},
		"a program":                 {plugin.Hook{Event: PreTool, Command: "sh", Args: []string{"-c", "echo ${PLUGIN_ROOT} >&2; exit 2"}}, "write", "refused by a hook, " + provenance + ": ROOT"},
		"in our words":              {plugin.Hook{Event: PreTool, Command: `grep -q '"hook_event_name":"pre_tool","tool_name":"write"' && exit 2`}, "write", "refused by a hook, " + provenance + ": it gave no reason"},
		"what it reads":             {plugin.Hook{Event: PreTool, Dialect: "claude-code", Command: "cat >&2; exit 2"}, "write", "refused by a hook, " + provenance + `: {"session_id":"s1","cwd":"` + dir + `","hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":"` + filepath.Join(dir, "a.txt") + `","path":"a.txt"},"tool_use_id":"c1"}`},
		"its environment":           {plugin.Hook{Event: PreTool, Command: `echo "$PLUGIN_ROOT|$SOME_TOKEN|$(pwd)" >&2; exit 2`}, "write", "refused by a hook, " + provenance + ": ROOT||" + dir},
		"after":                     {plugin.Hook{Event: PostTool, Matcher: "write", Command: "grep -q '\"text\":\"written\"' && echo well written >&2 && exit 2"}, "write", "written\n\nA hook, " + provenance + ": well written"},
		"after, in JSON":            {plugin.Hook{Event: PostTool, Command: `echo '{"hookSpecificOutput": {"additionalContext": "look again"}}'`}, "write", "written\n\nA hook, " + provenance + ": look again"},
		"after, plain words":        {plugin.Hook{Event: PostTool, Command: "echo nothing for the model"}, "write", "written"},
		"another event":             {plugin.Hook{Event: Stop, Command: "exit 2"}, "write", "written"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("SOME_TOKEN", "of the person")
			p := withHooks(reviewer(t, true), c.hook)
			patch := tool
			patch.Name, patch.PathArg = "apply_patch", ""
			k := &whet.Kit{Tools: []whet.Tool{tool, patch}, Log: slog.New(slog.DiscardHandler)}
			k.Guards = []whet.Guard{Set{p}.Guard(k.Log)}
			call := &whet.Call{ID: "c1", Tool: c.tool, Args: json.RawMessage(`{"path":"a.txt"}`), Session: whet.Session{ID: "s1", Dir: dir}}
			r, err := k.Call(t.Context(), call)
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.Replace(c.want, "ROOT", p.Root, 1); r.Text != want {
				t.Errorf("got  %s\nwant %s", r.Text, want)
			}
		})
	}
}

func TestSessionHooks(t *testing.T) {
	if _, err := agent.Shell(); err != nil {
		t.Skip(err)
	}
	session := whet.Session{ID: "s1", Dir: t.TempDir()}
	log := slog.New(slog.DiscardHandler)
	for name, c := range map[string]struct {
		hook  plugin.Hook
		event Event
		want  []string
	}{
		"the start":            {plugin.Hook{Event: SessionStart, Matcher: "startup|resume", Command: "echo hello"}, Event{Name: SessionStart}, []string{"A hook, " + provenance + ": hello"}},
		"another start":        {plugin.Hook{Event: SessionStart, Matcher: "compact", Command: "echo hello"}, Event{Name: SessionStart}, nil},
		"a prompt":             {plugin.Hook{Event: UserPrompt, Command: `grep -o '"prompt":"[^"]*"'`}, Event{Name: UserPrompt, Prompt: "do it"}, []string{"A hook, " + provenance + `: "prompt":"do it"`}},
		"a prompt, refused":    {plugin.Hook{Event: UserPrompt, Command: "echo not on Sundays >&2; exit 2"}, Event{Name: UserPrompt, Prompt: "do it"}, []string{"error: the prompt is refused by a hook, " + provenance + ": not on Sundays"}},
		"the end":              {plugin.Hook{Event: Stop, Command: "echo tests fail >&2; exit 2"}, Event{Name: Stop}, []string{"A hook, " + provenance + ": tests fail"}},
		"the end, in JSON":     {plugin.Hook{Event: Stop, Command: `echo '{"decision": "block", "reason": "not yet"}'`}, Event{Name: Stop}, []string{"A hook, " + provenance + ": not yet"}},
		"the end, plain words": {plugin.Hook{Event: Stop, Command: "echo fine"}, Event{Name: Stop}, nil},
		"the end, again":       {plugin.Hook{Event: Stop, Command: `grep -q '"stop_hook_active":true' || exit 2`}, Event{Name: Stop, Again: true}, nil},
	} {
		got, err := Set{withHooks(reviewer(t, true), c.hook)}.Said(t.Context(), session, c.event, log)
		if err != nil {
			got = []string{"error: " + err.Error()}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
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

func TestSchemas(t *testing.T) {
	for in, want := range map[string]string{
		`null`:               `{"type":"object","properties":{}}`,
		`{"type": "string"}`: `{"type":"object","properties":{}}`,
		`{"type":"object","properties":{"a":{"type":["null","integer"]},"b":{"anyOf":[{"type":"null"},{"type":"array","items":{"$ref":"#/$defs/x"}}]},"c":{"enum":["x",1]},"$d":{"type":"string"}},"required":["a","$d"],"$defs":{"x":{"type":"object","properties":{"y":{"type":"boolean"}}}}}`: `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"array","items":{"type":"object","properties":{"y":{"type":"boolean"}}}},"c":{"type":"string","enum":["x"]}},"required":["a"]}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"$ref":"#/$defs/x"}}}`: `{"type":"object","properties":{"a":{"type":"string"}}}`,
	} {
		var v any
		if err := json.Unmarshal([]byte(in), &v); err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(schemaOf(v))
		if err != nil || string(b) != want {
			t.Errorf("%s:\n got %s, %v\nwant %s", in, b, err, want)
		}
	}
}

// A host that starts whet for a package's server has that server, wherever it
// runs.
func TestServe(t *testing.T) {
	t.Setenv("LINT_KEY", "k1")
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return lintServer() }, nil)
	srv := httptest.NewServer(h)
	defer srv.Close()
	local, remote := withServer(t, reviewer(t, true), "good"), reviewer(t, true)
	remote.ID = "acme/remote"
	remote.Plugin.Servers = []plugin.Server{{Name: "lint", Type: "streamable-http", URL: srv.URL}}
	s := Set{local, remote}
	for _, name := range []string{"acme/reviewer/lint", "acme/remote/lint"} {
		p, server, err := s.Server(name)
		if err != nil {
			t.Fatal(err)
		}
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		done := make(chan error, 1)
		go func() { done <- Serve(t.Context(), p, server, t.TempDir(), inR, outW) }()
		client, err := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, nil).Connect(t.Context(), &mcp.IOTransport{Reader: outR, Writer: inW}, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "check.text", Arguments: map[string]string{"text": "hello"}})
		if err != nil || !strings.HasPrefix(textOf(r), "hello from ") {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		_ = client.Close()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(30 * time.Second):
			t.Errorf("%s: it serves on when its host has gone", name)
		}
	}
	local.Trusted = false
	for name, want := range map[string]string{
		"acme/reviewer/lint": "acme/reviewer/lint: no person has agreed to it yet; look at it and run: whet market trust acme/reviewer",
		"acme/remote/other":  `package acme/remote has no MCP server "other"`,
		"acme/none/lint":     "no package with the MCP server acme/none/lint is enabled here; see: whet market list",
	} {
		if _, _, err := (Set{local, remote}).Server(name); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
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
