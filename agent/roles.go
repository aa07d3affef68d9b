package agent

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/internal/plainfile"
)

// A Role is a kind of agent: what it is told, and the tools that are its lane.
type Role struct {
	Name   string
	About  string // one line, for lists
	Prompt string
	Tools  []string // nil means all; any other tool doesn't exist for it
	// Model and MaxSteps are the role's own; zero leaves them to the settings.
	Model    string
	MaxSteps int
}

//go:embed roles/orchestrator.md
var orchestratorPrompt string

//go:embed roles/explorer.md
var explorerPrompt string

//go:embed roles/librarian.md
var librarianPrompt string

//go:embed roles/oracle.md
var oraclePrompt string

//go:embed roles/designer.md
var designerPrompt string

//go:embed roles/fixer.md
var fixerPrompt string

//go:embed roles/observer.md
var observerPrompt string

//go:embed roles/council.md
var councilPrompt string

//go:embed roles/councillor.md
var councillorPrompt string

// Roles lists the roles that come with whet, the default first.
func Roles() []Role {
	look := []string{"read", "glob", "grep", "ast_grep_search"}
	change := slices.Concat(look, []string{"write", "edit", "apply_patch", "ast_grep_replace", "bash"})
	return []Role{
		{Name: "orchestrator", About: "plans and does the work, with every tool", Prompt: orchestratorPrompt, Tools: nil},
		{Name: "explorer", About: "finds things in the project; changes nothing", Prompt: explorerPrompt, Tools: look},
		{Name: "librarian", About: "finds outside documentation and examples; changes nothing", Prompt: librarianPrompt, Tools: slices.Concat(look, []string{"webfetch"})},
		{Name: "oracle", About: "thinks about architecture and hard faults; changes nothing", Prompt: oraclePrompt, Tools: look},
		{Name: "designer", About: "builds and reviews what people see", Prompt: designerPrompt, Tools: change},
		{Name: "fixer", About: "makes a change that is described well", Prompt: fixerPrompt, Tools: change},
		{Name: "observer", About: "describes files that are given to it", Prompt: observerPrompt, Tools: []string{"read"}},
		{Name: "council", About: "brings the opinions of the councillors together", Prompt: councilPrompt, Tools: []string{}},
		{Name: "councillor", About: "gives one independent opinion; changes nothing", Prompt: councillorPrompt, Tools: look},
	}
}

// FindRole returns the role called name.
func FindRole(name string) (Role, error) {
	var names []string
	for _, r := range Roles() {
		if r.Name == name {
			return r, nil
		}
		names = append(names, r.Name)
	}
	return Role{}, fmt.Errorf("no agent is called %q; there are %s", name, strings.Join(names, ", "))
}

// kit returns the role's tools, the agent's own among them, under k's guards,
// without the disabled ones. A tool of k takes the place of the agent's own one
// of that name.
func (r Role) kit(k *whet.Kit, disabled []string) *whet.Kit {
	own := *k
	own.Tools = nil
	for _, t := range slices.Concat(k.Tools, Tools()) {
		allowed := r.Tools == nil || slices.Contains(r.Tools, t.Name)
		if allowed && !slices.Contains(disabled, t.Name) && !slices.ContainsFunc(own.Tools, func(o whet.Tool) bool { return o.Name == t.Name }) {
			own.Tools = append(own.Tools, t)
		}
	}
	return &own
}

// Tools returns the tools that each coding agent has of its own.
func Tools() []whet.Tool {
	return []whet.Tool{readTool(), writeTool(), editTool(), bashTool()}
}

// maxInstructions bounds what a project's AGENTS.md may take, in bytes.
const maxInstructions = 32 << 10

// systemPrompt is the same for each turn of a session: vendors' caches live on
// that, so it tells no time.
func systemPrompt(r Role, s whet.Session, also string) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(r.Prompt))
	fmt.Fprintf(&b, "\n\nThe project is %s on %s. Paths are relative to it. Nobody reads along while you work; your last message is what the person gets.\n", s.Dir, runtime.GOOS)
	b.WriteString(instructions(s.Dir))
	if also != "" {
		fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(also))
	}
	return b.String()
}

// instructions are those that a project has for agents.
func instructions(dir string) string {
	if dir == "" {
		return ""
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return ""
	}
	defer root.Close()
	const name = "AGENTS.md"
	f, err := plainfile.OpenIn(root, name)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxInstructions+1)) // what can't be read instructs nobody
	return fmt.Sprintf("\nThe project's own instructions, from %s:\n\n%s\n", filepath.Join(dir, name), cutAt(string(text), maxInstructions))
}
