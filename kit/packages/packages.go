// Package packages is what the marketplace's packages in force bring into a
// session: specialists, skills, instructions and commands for the model; MCP
// servers, hooks and formatters, which run, of packages that a person trusts.
//
// It installs, enables and trusts nothing: package market decides what is in
// force. Each text of a package stands under the line that says where it is from.
package packages

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/agent"
	"github.com/whet-dev/whet/internal/plainfile"
	"github.com/whet-dev/whet/market"
	"github.com/whet-dev/whet/market/plugin"
)

// A Set is the packages in force, in the order of their ids.
type Set []market.Package

// Roles returns the specialists, and a problem for each that is left out.
func (s Set) Roles() (roles []agent.Role, problems []string) {
	for _, p := range s {
		for _, a := range p.Plugin.Agents {
			r, err := roleOf(p, a)
			if err != nil {
				problems = append(problems, fmt.Sprintf("%s: agent %s is left out: %v", p.ID, a.Name, err))
				continue
			}
			roles = append(roles, r)
		}
	}
	return roles, problems
}

// roleOf reads an agent's file by the rules of a person's own agents. One that
// extends another has its tools, unless its head names some.
func roleOf(p market.Package, a plugin.Agent) (agent.Role, error) {
	var base agent.Role
	if a.Extends != "" {
		var err error
		if base, err = agent.FindRole(a.Extends); err != nil {
			return base, err
		}
		if base.Tools == nil {
			return base, fmt.Errorf("it extends the %s, which hands out tasks and is no specialist", a.Extends)
		}
	}
	text, err := read(p, a.File)
	if err != nil {
		return base, err
	}
	r, err := agent.Parse(a.Name, string(text), base.Tools)
	r.Prompt = p.Provenance() + ":\n\n" + r.Prompt
	return r, err
}

// maxFile bounds a file of a package that is read as a text, in bytes.
const maxFile = 1 << 20

// read reads a file of a package, which never leads out of it.
func read(p market.Package, file string) ([]byte, error) {
	root, err := os.OpenRoot(p.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return plainfile.ReadIn(root, file, maxFile)
}

// Equip adds to a kit and a role what goes with the packages' texts: the tool
// that reads skills, for those who may read.
func (s Set) Equip(k *whet.Kit, r *agent.Role) {
	if !s.hasSkills() {
		return
	}
	k.Tools = append(slices.Clone(k.Tools), s.skillTool())
	if slices.Contains(r.Tools, "read") {
		r.Tools = append(slices.Clone(r.Tools), skillName)
	}
}

func (s Set) hasSkills() bool {
	return slices.ContainsFunc(s, func(p market.Package) bool { return len(p.Plugin.Skills) > 0 })
}

// Prompt is what a role is told of the packages. Whoever hands out tasks is
// told of the specialists too.
func (s Set) Prompt(r agent.Role) string {
	var parts []string
	for _, p := range s {
		for _, t := range p.Plugin.Instructions {
			parts = append(parts, p.Provenance()+":\n\n"+clip(t.Body))
		}
	}
	if r.Tools == nil {
		parts = append(parts, s.list("Specialists that come with packages, for the task tool:", specialists)...)
	}
	if r.Tools == nil || slices.Contains(r.Tools, skillName) {
		parts = append(parts, s.list("Skills that come with packages. When one fits what you do, read it with the skill tool first:", skills)...)
	}
	return strings.Join(parts, "\n\n")
}

// list makes one part: what each package has of a kind, under its provenance.
func (s Set) list(title string, of func(market.Package) []string) []string {
	out := []string{title}
	for _, p := range s {
		if lines := of(p); len(lines) > 0 {
			out = append(out, p.Provenance()+":\n"+strings.Join(lines, "\n"))
		}
	}
	if len(out) == 1 {
		return nil
	}
	return out
}

func specialists(p market.Package) (lines []string) {
	for _, a := range p.Plugin.Agents {
		if _, err := roleOf(p, a); err == nil {
			lines = append(lines, fmt.Sprintf("- %s: %s", a.Name, strings.Join(lane(a), " ")))
		}
	}
	return lines
}

// lane says what a specialist is for, each part a sentence.
func lane(a plugin.Agent) []string {
	out := []string{sentence(a.Description)}
	lane := a.Lane
	if base, err := agent.FindRole(a.Extends); err == nil {
		lane = cmp.Or(lane, base.About)
	}
	if lane != "" {
		out = append(out, sentence("Lane: "+lane))
	}
	if len(a.When) > 0 {
		out = append(out, sentence("Give it: "+strings.Join(a.When, "; ")))
	}
	if len(a.Avoid) > 0 {
		out = append(out, sentence("Not for: "+strings.Join(a.Avoid, "; ")))
	}
	return out
}

func sentence(s string) string {
	s = oneLine(s)
	if strings.HasSuffix(s, ".") || strings.HasSuffix(s, "!") || strings.HasSuffix(s, "?") {
		return s
	}
	return s + "."
}

func skills(p market.Package) (lines []string) {
	for _, k := range p.Plugin.Skills {
		if names := p.Skills[k.Name]; len(names) > 0 {
			lines = append(lines, fmt.Sprintf("- %s: %s", names[0], oneLine(k.Description)))
		}
	}
	return lines
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// maxText bounds what one always-on text takes of each prompt, in bytes, as a
// project's own instructions are bounded.
const maxText = 32 << 10

func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "\n[cut here: it is longer than 32 KiB]"
}
