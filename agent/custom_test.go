package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet/agent"
)

func TestCustomAgents(t *testing.T) {
	for _, tt := range []struct {
		name, file, text string
		looking          bool
		want             agent.Role
		problem          string
	}{
		{
			name: "nothing said is looking", file: "reviewer.md", text: "---\ndescription: Reviews\n  changes\n---\nReview it.\n",
			want: agent.Role{Name: "reviewer", About: "Reviews changes", Prompt: "Review it.", Tools: []string{"ast_grep_search", "glob", "grep", "read", "webfetch"}},
		},
		{
			name: "Claude Code", file: "team/coder.md", text: "\ufeff---\r\nname: coder\r\ndescription: codes\r\ntools: Read, Edit, Bash, mcp__x__y, TodoWrite\r\ndisallowedTools: [Bash]\r\nmodel: sonnet\r\nmaxTurns: 7\r\n---\r\n\r\nDo.\r\n",
			want: agent.Role{Name: "team/coder", About: "codes", Prompt: "Do.", Tools: []string{"apply_patch", "ast_grep_replace", "edit", "read"}, MaxSteps: 7},
		},
		{
			name: "OpenCode", file: "x.md", text: "---\ndescription: d\nmode: subagent\nmodel: openai/gpt#high\ntools:\n  write: true\n  bash: false\npermission:\n  edit: deny\n  read: allow\n  grep: ask\nsteps: 3\n---\np",
			want: agent.Role{Name: "x", About: "d", Prompt: "p", Tools: []string{"grep", "read", "write"}, Model: "openai/gpt", MaxSteps: 3},
		},
		{
			name: "a repository's only look", file: "x.md", looking: true, text: "---\ndescription: d\ntools: '*'\n---\np",
			want: agent.Role{Name: "x", About: "d", Prompt: "p", Tools: []string{"ast_grep_search", "glob", "grep", "read", "webfetch"}},
		},
		{
			name: "part of a tool is none", file: "x.md", text: "---\ndescription: d\ntools: Read, Bash(git diff:*)\n---\np",
			want: agent.Role{Name: "x", About: "d", Prompt: "p", Tools: []string{"read"}},
		},
		{name: "a slip widens nothing", file: "x.md", text: "---\ndescription: d\ndisallowedTools: Bsah\n---\np", problem: `no tool is called "Bsah"`},
		{name: "unknown verdict", file: "x.md", text: "---\ndescription: d\npermission: {bash: maybe}\n---\np", problem: `permission bash: want allow, ask or deny, not "maybe"`},
		{name: "name", file: "My Agent.md", text: "---\ndescription: d\n---\np", problem: "its name must be lower-case"},
		{name: "taken", file: "fixer.md", text: "---\ndescription: d\n---\np", problem: `whet has an agent called "fixer"`},
		{name: "no head", file: "x.md", text: "Just text.", problem: "doesn't begin with a head"},
		{name: "head never ends", file: "x.md", text: "---\ndescription: d\n", problem: "doesn't begin with a head"},
		{name: "bad head", file: "x.md", text: "---\na: [\n---\np", problem: "its head can't be read: "},
		{name: "nested without end", file: "x.md", text: "---\na: " + strings.Repeat("[", 60000) + "\n---\np", problem: "nested too deep"},
		{name: "aliases of aliases", file: "x.md", text: "---\na: &a [x, x]\nb: &b [*a, *a]\ndescription: d\n---\np", problem: "has aliases"},
		{name: "no description", file: "x.md", text: "---\nmodel: a/b\n---\np", problem: "no description"},
		{name: "no prompt", file: "x.md", text: "---\ndescription: d\n---\n \n", problem: "no prompt"},
		{name: "primary", file: "x.md", text: "---\ndescription: d\nmode: primary\n---\np", problem: "primary agent"},
		{name: "too large", file: "x.md", text: strings.Repeat("x", 70000), problem: "at most 64 KiB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, filepath.FromSlash(tt.file))
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			roles, problems := agent.Custom([]agent.Place{{Dir: dir, Looking: tt.looking}, {Dir: filepath.Join(dir, "none")}})
			if tt.problem != "" {
				if len(roles) != 0 || len(problems) != 1 || !strings.Contains(problems[0], tt.problem) || strings.Contains(problems[0], "\n") {
					t.Errorf("roles %v, problems %q", roles, problems)
				}
				return
			}
			if d := cmp.Diff([]agent.Role{tt.want}, roles); d != "" || len(problems) != 0 {
				t.Errorf("%q\n%s", problems, d)
			}
		})
	}
}

func TestLaterAgentsWin(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	for _, dir := range []string{filepath.Join(home, ".claude", "agents"), filepath.Join(project, ".whet", "agents")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "x.md"), []byte("---\ndescription: d\ntools: Bash\n---\n"+dir), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roles, problems := agent.Custom(agent.Places("", home, project))
	if len(problems) != 0 || len(roles) != 1 || !strings.HasPrefix(roles[0].Prompt, project) || len(roles[0].Tools) != 0 {
		t.Errorf("%v %v", roles, problems)
	}
}

func FuzzCustom(f *testing.F) {
	f.Add("---\ndescription: d\ntools: [Read]\n---\np")
	f.Add("---\ntools: {a: {b: c}}\npermission: [1]\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "x.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		roles, problems := agent.Custom([]agent.Place{{Dir: dir}})
		if len(roles)+len(problems) != 1 {
			t.Errorf("%v %v", roles, problems)
		}
		if len(roles) == 1 && roles[0].Tools == nil {
			t.Error("no list of tools means all tools")
		}
	})
}
