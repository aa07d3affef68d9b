package plugin

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/whet-dev/whet/internal/lazyregexp"
	"github.com/whet-dev/whet/market/tree"
)

// Limits of texts. A prompt's is that of the format that came before.
const (
	MaxPrompt      = 100_000 // characters
	maxDescription = 1000
	maxList        = 128
)

// Manifest is the file of a package that says what it is.
const Manifest = "plugin.json"

// Original is where an imported package keeps the files that were rewritten,
// as they were. They are never read again, and can't run.
const Original = Namespace + "/original/"

// A parser gathers what is in a package.
type parser struct {
	t      tree.Tree
	p      *Plugin
	routes map[string]Agent // what the manifest says of agents, by name
}

// Parse reads a package. Only a bad manifest is an error, an [*Error]; any
// other part that isn't right is left out alone, and a note says why.
func Parse(t tree.Tree) (*Plugin, error) {
	f, ok := t.Get(Manifest)
	if !ok {
		return nil, &Error{File: Manifest, Text: "it isn't there; a package has it at its top"}
	}
	p := &parser{t, &Plugin{}, map[string]Agent{}}
	version, err := p.manifest(f.Data)
	if err != nil {
		return nil, err
	}
	p.skills()
	p.servers(version)
	p.texts()
	for _, name := range slices.Sorted(maps.Keys(p.routes)) {
		p.note("unknown-agent", Manifest, "it speaks of the agent %q, and %sagents/%s.md isn't there or is left out", name, Namespace+"/", name)
	}
	p.hooks()
	p.formatters()
	for _, f := range t {
		switch {
		case strings.HasPrefix(f.Name, tree.SignatureDir), strings.HasPrefix(f.Name, Original):
		case module(f.Name):
			p.p.Modules = append(p.p.Modules, f.Name)
		case f.Exec:
			p.p.Scripts = append(p.p.Scripts, f.Name)
		}
	}
	return p.p, nil
}

func (p *parser) note(code, file, format string, args ...any) {
	p.p.Notes = append(p.p.Notes, Note{code, file, fmt.Sprintf(format, args...)})
}

// noteErr notes what was left out because of err.
func (p *parser) noteErr(code, what string, err error) {
	if e := (*Error)(nil); errors.As(err, &e) {
		p.note(code, e.File, "%s is left out: %s", what, strings.TrimPrefix(e.Error(), e.File+": "))
		return
	}
	p.note(code, "", "%s is left out: %v", what, err)
}

// module reports whether a file is a plugin of another program's.
func module(name string) bool {
	return strings.HasPrefix(name, Namespace+"/opencode/") && slices.Contains([]string{".js", ".ts", ".mjs", ".cjs", ".mts"}, path.Ext(name))
}

var skillName = lazyregexp.New(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// skills reads the directories of skills/ by the rules of the Agent Skills
// format.
func (p *parser) skills() {
	if _, ok := p.t.Get("skills"); ok {
		p.note("invalid-component", "skills", "it is a file, not a directory of skills")
	}
	for _, f := range p.t {
		rest, ok := strings.CutPrefix(f.Name, "skills/")
		dir, base, _ := strings.Cut(rest, "/")
		if !ok || base != "SKILL.md" {
			continue
		}
		s, err := ReadSkill(dir, f.Data)
		if err != nil {
			p.note("invalid-skill", f.Name, "the skill is left out: %v", err)
			continue
		}
		s.File = f.Name
		p.p.Skills = append(p.p.Skills, s)
	}
}

// ReadSkill reads the SKILL.md of the directory called dir. It takes only what
// conforms to the Agent Skills format.
func ReadSkill(dir string, data []byte) (s Skill, err error) {
	if !utf8.Valid(data) {
		return s, errors.New("it is not UTF-8")
	}
	head, body, loose := Front(string(data))
	switch {
	case head == nil:
		return s, errors.New("it doesn't begin with front matter between two lines of ---")
	case loose:
		return s, errors.New("its front matter isn't valid YAML")
	}
	for _, key := range slices.Sorted(maps.Keys(head)) {
		v := head[key]
		text, isText := v.(string)
		switch key {
		case "name":
			s.Name = text
		case "description":
			s.Description = oneLine(text)
		case "license", "allowed-tools":
		case "compatibility":
			if n := utf8.RuneCountInString(text); n == 0 || n > 500 {
				return s, errors.New("compatibility: want 1 to 500 characters")
			}
		case "metadata":
			if isText = metadata(v); !isText {
				return s, errors.New("metadata: want names with strings")
			}
		default:
			return s, fmt.Errorf("%s: the format has no such field; put it under metadata", key)
		}
		if !isText && key != "metadata" {
			return s, fmt.Errorf("%s: want a string", key)
		}
	}
	n := utf8.RuneCountInString(s.Description)
	switch {
	case len(s.Name) > 64 || !skillName.MatchString(s.Name):
		return s, fmt.Errorf("name: want up to 64 of a-z, 0-9 and single hyphens between them, not %q", s.Name)
	case s.Name != dir:
		return s, fmt.Errorf("name: it is %q, and its directory %q; they must be the same", s.Name, dir)
	case n == 0 || n > 1024:
		return s, errors.New("description: want 1 to 1024 characters")
	case utf8.RuneCountInString(body) > MaxPrompt:
		return s, fmt.Errorf("it has more than %d characters", MaxPrompt)
	}
	s.Body = strings.TrimSpace(body)
	return s, nil
}

func metadata(v any) bool {
	m, ok := v.(map[string]any)
	for _, x := range m {
		if _, isText := x.(string); !isText {
			return false
		}
	}
	return ok
}

// texts reads the agents, commands and instructions.
func (p *parser) texts() {
	for _, f := range p.t {
		rest, ok := strings.CutPrefix(f.Name, Namespace+"/")
		dir, base, _ := strings.Cut(rest, "/")
		name, md := strings.CutSuffix(base, ".md")
		if !ok || !md || dir != "agents" && dir != "commands" && dir != "instructions" {
			continue
		}
		head, body, loose := Front(string(f.Data))
		name = strings.ReplaceAll(name, "/", ":")
		text := Text{Name: name, File: f.Name, Body: strings.TrimSpace(body)}
		err := check(dir, text, f.Data, loose)
		if err != nil {
			p.note("invalid-"+strings.TrimSuffix(dir, "s"), f.Name, "it is left out: %v", err)
			continue
		}
		get := func(key string) string {
			s, _ := scalar(head[key])
			return oneLine(s)
		}
		switch dir {
		case "agents":
			p.agent(text, get("description"))
		case "commands":
			p.p.Commands = append(p.p.Commands, Command{text, cut(get("description"), maxDescription), cut(get("argument-hint"), maxDescription), get("agent"), get("model")})
		case "instructions":
			p.p.Instructions = append(p.p.Instructions, text)
		}
	}
}

var (
	agentName   = lazyregexp.New(`^[a-z][a-z0-9_-]{0,63}$`)
	commandName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]*(:[A-Za-z0-9][A-Za-z0-9._-]*)*$`)
)

func check(dir string, t Text, data []byte, loose bool) error {
	switch {
	case !utf8.Valid(data):
		return errors.New("it is not UTF-8")
	case loose:
		return errors.New("its front matter isn't valid YAML")
	case t.Body == "":
		return errors.New("there is no text in it")
	case utf8.RuneCountInString(t.Body) > MaxPrompt:
		return fmt.Errorf("it has more than %d characters", MaxPrompt)
	case dir == "agents" && !agentName.MatchString(t.Name):
		return fmt.Errorf("its name must be up to 64 lower-case letters, digits, - and _, and begin with a letter")
	case len(t.Name) > 64 || !commandName.MatchString(t.Name):
		return fmt.Errorf("its name must be up to 64 letters, digits, dots, - and _")
	}
	return nil
}

// agent takes an agent with what the manifest says of it.
func (p *parser) agent(t Text, description string) {
	if description == "" {
		p.note("invalid-agent", t.File, "it is left out: its front matter has no description: say when it is to be used")
		return
	}
	a := p.routes[t.Name]
	a.Text, a.Description = t, cut(description, 1024)
	delete(p.routes, t.Name)
	p.p.Agents = append(p.p.Agents, a)
}

// cut shortens s to n characters.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
