package agent

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/whet-dev/whet/internal/plainfile"
	"github.com/whet-dev/whet/market/plugin"
)

// A Place is a directory with agents in Markdown files.
type Place struct {
	Dir string
	// Looking agents alone: what a repository brings along gets no tool that
	// changes anything.
	Looking bool
}

// Places lists where a person's and a project's agents are, later ones over
// earlier ones: whet's own directories and those of two other agents.
func Places(config, home, project string) []Place {
	var out []Place
	add := func(looking bool, parts ...string) {
		if parts[0] != "" {
			out = append(out, Place{filepath.Join(parts...), looking})
		}
	}
	add(false, home, ".config", "opencode", "agents")
	add(false, home, ".claude", "agents")
	add(false, config, "agents")
	add(true, project, ".opencode", "agents")
	add(true, project, ".claude", "agents")
	add(true, project, ".whet", "agents")
	return out
}

// Limits of what is read.
const (
	maxAgentFile = 64 << 10
	maxAgents    = 200
)

var agentName = regexp.MustCompile(`^[a-z][a-z0-9_-]*(/[a-z][a-z0-9_-]*)*$`)

// Custom reads the agents of the places. A file that isn't right is left out,
// and a problem says why: a slip must never widen what an agent may do. The
// name of an agent is that of its file below its directory.
func Custom(places []Place) (roles []Role, problems []string) {
	byName := map[string]Role{}
	for _, p := range places {
		root, err := os.OpenRoot(p.Dir)
		if err != nil {
			continue
		}
		err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || path.Ext(name) != ".md" || len(byName) >= maxAgents {
				return nil // an unreadable directory holds no agents
			}
			r, err := readRole(root, name, p.Looking)
			if err != nil {
				problems = append(problems, fmt.Sprintf("%s: left out: %v", filepath.Join(p.Dir, filepath.FromSlash(name)), err))
				return nil
			}
			byName[r.Name] = r
			return nil
		})
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s: %v", p.Dir, err))
		}
		root.Close()
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		roles = append(roles, byName[name])
	}
	return roles, problems
}

func readRole(root *os.Root, file string, looking bool) (r Role, err error) {
	b, err := plainfile.ReadIn(root, file, maxAgentFile)
	if errors.Is(err, plainfile.ErrLarge) || errors.Is(err, plainfile.ErrSpecial) {
		return r, fmt.Errorf("want a file of at most %d KiB", maxAgentFile>>10)
	}
	if err != nil {
		return r, err
	}
	r.Name = strings.TrimSuffix(filepath.ToSlash(file), ".md")
	if !agentName.MatchString(r.Name) {
		return r, fmt.Errorf("its name must be lower-case letters, digits, - and _, and begin with a letter")
	}
	if _, err := FindRole(r.Name); err == nil {
		return r, fmt.Errorf("whet has an agent called %q; take another name", r.Name)
	}
	return r, r.parse(string(b), looks, looking)
}

// Parse reads the text of an agent's file by [Custom]'s rules. base are the
// tools of an agent whose head says nothing of tools; nil stands for those that
// only look.
func Parse(name, text string, base []string) (Role, error) {
	r := Role{Name: name}
	if base == nil {
		base = looks
	}
	return r, r.parse(text, base, false)
}

// A frontmatter is the head of an agent's file, in any of three dialects:
// whet's, OpenCode's and Claude Code's.
type frontmatter struct {
	Description string         `yaml:"description"`
	Mode        string         `yaml:"mode"`
	Model       string         `yaml:"model"`
	Tools       any            `yaml:"tools"`           // a list, a list in one string, or booleans by name
	Disallowed  any            `yaml:"disallowedTools"` // a list
	Permission  map[string]any `yaml:"permission"`      // allow, ask or deny by tool
	MaxTurns    int            `yaml:"max_turns"`
	MaxTurns2   int            `yaml:"maxTurns"`
	Steps       int            `yaml:"steps"`
}

// parse reads an agent's file.
func (r *Role) parse(text string, base []string, looking bool) error {
	text = strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\ufeff")
	rest, ok := strings.CutPrefix(text, "---\n")
	head, body, closed := strings.Cut("\n"+rest, "\n---")
	if !ok || !closed {
		return fmt.Errorf("it doesn't begin with a head between two lines of ---")
	}
	var f frontmatter
	if !plugin.SafeYAML(head) {
		return fmt.Errorf("its head is too long, or nested too deep, or has aliases")
	}
	if err := yaml.Unmarshal([]byte(head), &f); err != nil {
		return fmt.Errorf("its head can't be read: %s", strings.Split(err.Error(), "\n")[0])
	}
	_, body, _ = strings.Cut(body, "\n")
	r.Prompt, r.About = strings.TrimSpace(body), strings.Join(strings.Fields(f.Description), " ")
	r.Model, r.MaxSteps = modelOf(f.Model), cmp.Or(f.MaxTurns, f.MaxTurns2, f.Steps)
	switch {
	case r.About == "":
		return fmt.Errorf("its head has no description: say when it is to be used")
	case r.Prompt == "":
		return fmt.Errorf("there is no prompt after its head")
	case f.Mode == "primary":
		return fmt.Errorf("it is a primary agent, and tasks are given to specialists; set mode: subagent or all")
	}
	tools, err := f.allowed(base)
	if err != nil {
		return err
	}
	if looking {
		tools = slices.DeleteFunc(tools, func(t string) bool { return !slices.Contains(looks, t) })
	}
	r.Tools = tools
	return nil
}

// modelOf leaves the names that only their own agent knows to the settings.
func modelOf(s string) string {
	if !strings.Contains(s, "/") {
		return ""
	}
	name, _, _ := strings.Cut(s, "#") // OpenCode's variant
	return name
}

// looks are the tools that change nothing.
var looks = []string{"read", "glob", "grep", "ast_grep_search", "webfetch"}

// toolNames are the names that other agents have for tools.
var toolNames = map[string][]string{
	"read": {"read"}, "glob": {"glob"}, "grep": {"grep"}, "list": {"glob"}, "ls": {"glob"}, "webfetch": {"webfetch"},
	"edit": {"edit", "apply_patch", "ast_grep_replace"}, "multiedit": {"edit"}, "write": {"write"}, "patch": {"apply_patch"},
	"bash": {"bash"}, "ast_grep_search": {"ast_grep_search"}, "ast_grep_replace": {"ast_grep_replace"}, "apply_patch": {"apply_patch"},
}

// without are tools of other agents that whet's agent has no counterpart of.
// Naming them is no slip.
var without = []string{"websearch", "todowrite", "todoread", "task", "agent", "notebookedit", "lsp", "skill", "question", "killshell", "bashoutput", "taskoutput"}

// allowed returns the tools that the head allows. One that says nothing gets
// those of base.
func (f frontmatter) allowed(base []string) ([]string, error) {
	set := map[string]bool{}
	change := func(name string, on bool) error {
		plain, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(name)), "(") // Bash(git diff:*)
		if plain == "*" {
			for _, names := range toolNames {
				for _, n := range names {
					set[n] = on
				}
			}
			return nil
		}
		names, ok := toolNames[plain]
		if !ok && !slices.Contains(without, plain) && !strings.HasPrefix(plain, "mcp__") {
			return fmt.Errorf("no tool is called %q", name)
		}
		if strings.Contains(name, "(") && on { // part of a tool: less than we can hold it to
			return nil
		}
		for _, n := range names {
			set[n] = on
		}
		return nil
	}
	if f.Tools == nil {
		for _, n := range base {
			set[n] = true
		}
	}
	if err := each(f.Tools, change, true); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(f.Permission)) {
		on := false
		if verdict, ok := f.Permission[name].(string); ok {
			if !slices.Contains([]string{"allow", "ask", "deny"}, verdict) {
				return nil, fmt.Errorf("permission %s: want allow, ask or deny, not %q", name, verdict)
			}
			on = verdict != "deny" // what is asked for is asked when it is used
		}
		if err := change(name, on); err != nil {
			return nil, err
		}
	}
	if err := each(f.Disallowed, change, false); err != nil {
		return nil, err
	}
	tools := []string{}
	for n, on := range set {
		if on {
			tools = append(tools, n)
		}
	}
	slices.Sort(tools)
	return tools, nil
}

// each calls change for every tool in v: names, or booleans by name.
func each(v any, change func(string, bool) error, on bool) error {
	var names []string
	switch v := v.(type) {
	case nil:
	case string:
		names = strings.Split(v, ",")
	case []any:
		for _, name := range v {
			names = append(names, fmt.Sprint(name))
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			b, ok := v[name].(bool)
			if !ok {
				return fmt.Errorf("tools.%s: want true or false", name)
			}
			if err := change(name, b && on); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("tools: want a list of names")
	}
	for _, name := range names {
		if strings.TrimSpace(name) == "" {
			continue
		}
		if err := change(name, on); err != nil {
			return err
		}
	}
	return nil
}
