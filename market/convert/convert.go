// Package convert turns the formats that plugins are really published in into
// whet's own. It works on trees in memory: it runs, fetches and writes nothing.
//
// Everything stays where it was, so that what scripts and texts refer to is
// still there; what whet reads is added, in the places of the Agent Plugin
// format and of whet's namespace in it. A file that has to be replaced is kept,
// as it was, below [plugin.Original].
package convert

import (
	"fmt"
	"slices"
	"strings"

	"github.com/whet-dev/whet/market/plugin"
	"github.com/whet-dev/whet/market/tree"
)

// A Result is a package in the native format, or what a catalogue offers.
type Result struct {
	Tree      tree.Tree // nil for a catalogue of which no plugin was chosen
	Format    string    // what it was: agent-plugin (taken as it is), claude-plugin, …
	Notes     []plugin.Note
	Catalogue []Entry
	Upstream  string // the digest that an older single-file manifest has in its own lock file
}

// An Entry is one plugin of a catalogue.
type Entry struct {
	Name        string
	Version     string
	Description string
	Source      string // as the catalogue has it
	Remote      bool   // it isn't in the tree, and never fetched
}

// An Error is why nothing was imported.
type Error struct {
	Code string // unknown-format, no-such-plugin, remote-source-not-fetched, unsupported or invalid-package
	File string // "" is the whole
	Text string
}

func (e *Error) Error() string {
	if e.File == "" {
		return e.Text
	}
	return e.File + ": " + e.Text
}

func fail(code, file, format string, args ...any) error {
	return &Error{code, file, fmt.Sprintf(format, args...)}
}

// The names of the formats.
const (
	Native    = "agent-plugin"
	Catalogue = "catalogue"
)

// Import reads t in whichever format it is. The name is for a package that has
// none of its own, such as the last part of its path; sub chooses a plugin of a
// catalogue. An error is an [*Error] or a [*plugin.Error].
func Import(t tree.Tree, name, sub string) (Result, error) {
	format, file := sniff(t)
	if format == Catalogue {
		return fromCatalogue(t, file, name, sub)
	}
	if sub != "" {
		return Result{}, fail("no-such-plugin", "", "it is no catalogue, so that there is no plugin %q to choose", sub)
	}
	return convert(t, name, format, file, nil)
}

// manifests are the files that tell a format, first to last: of two the first
// wins.
var manifests = []struct{ file, format string }{
	{".claude-plugin/marketplace.json", Catalogue},
	{".agents/plugins/marketplace.json", Catalogue},
	{".claude-plugin/plugin.json", "claude-plugin"},
	{".codex-plugin/plugin.json", "codex-plugin"},
	{".cursor-plugin/plugin.json", "cursor-plugin"},
	{"gemini-extension.json", "gemini-extension"},
	{"qwen-extension.json", "gemini-extension"},
	{"manifest.json", "mcp-bundle"},
	{"opencode.json", "opencode"},
	{"opencode.jsonc", "opencode"},
	{".opencode/opencode.json", "opencode"},
	{".opencode/opencode.jsonc", "opencode"},
	{".plugin/plugin.json", "claude-plugin"},
	{plugin.Manifest, "claude-plugin"}, // without the schema that makes it native
}

// sniff says which format t is in, by which file.
func sniff(t tree.Tree) (format, file string) {
	if f, ok := t.Get(plugin.Manifest); ok && strings.Contains(string(f.Data), "//agent-plugins.org/schemas/") {
		return Native, f.Name
	}
	for _, m := range manifests {
		f, ok := t.Get(m.file)
		if !ok || m.format == "mcp-bundle" && !strings.Contains(string(f.Data), `"manifest_version"`) && !strings.Contains(string(f.Data), `"dxt_version"`) {
			continue
		}
		return m.format, m.file
	}
	if len(t) == 1 && strings.HasSuffix(t[0].Name, ".json") && strings.Contains(string(t[0].Data), `"schemaVersion"`) {
		return "single-file", t[0].Name
	}
	in := func(prefix, suffix string) bool {
		return slices.ContainsFunc(t, func(f tree.File) bool {
			return strings.HasPrefix(f.Name, prefix) && strings.HasSuffix(f.Name, suffix)
		})
	}
	_, servers := t.Get(".mcp.json")
	_, hooks := t.Get("hooks/hooks.json")
	_, skill := t.Get("SKILL.md")
	switch {
	case in(".opencode/", ".md"), in(".opencode/", ".ts"), in(".opencode/", ".js"):
		return "opencode", ""
	case skill:
		return "agent-skills", "SKILL.md"
	case servers, hooks, in("commands/", ".md"), in("agents/", ".md"):
		return "claude-plugin", "" // its manifest is optional
	case in("skills/", "/SKILL.md"):
		return "agent-skills", "skills"
	case in("agent/", ".md"), in("command/", ".md"), in("skill/", "/SKILL.md"):
		return "opencode", ""
	}
	return "", ""
}

// convert makes a package of t. The entry is what a catalogue says of it.
func convert(t tree.Tree, name, format, file string, entry object) (Result, error) {
	if format == Native {
		return native(t, file)
	}
	b := newBuilder(t, name)
	b.others(file)
	var err error
	switch format {
	case "claude-plugin", "codex-plugin", "cursor-plugin":
		err = b.claude(format, file, entry)
	case "gemini-extension":
		err = b.gemini(file)
	case "mcp-bundle":
		err = b.bundle(file)
	case "opencode":
		err = b.opencode(file)
	case "agent-skills":
		b.loneSkills(file)
	case "single-file":
		err = b.single(file)
	default:
		return Result{}, fail("unknown-format", "", "none of the known formats; looked for %s, a SKILL.md, skills/, agents/, commands/, hooks/hooks.json and .mcp.json", plugin.Manifest+", "+strings.Join(manifestNames(), ", "))
	}
	if err != nil {
		return Result{}, err
	}
	out, err := b.build()
	if err != nil {
		return Result{}, err
	}
	if _, err := plugin.Parse(out); err != nil {
		return Result{}, err
	}
	return Result{Tree: out, Format: format, Notes: b.notes, Upstream: b.upstream}, nil
}

func manifestNames() (names []string) {
	for _, m := range manifests[:len(manifests)-1] {
		names = append(names, m.file)
	}
	return names
}

// native takes a package as it is.
func native(t tree.Tree, file string) (Result, error) {
	if _, err := plugin.Parse(t); err != nil {
		return Result{}, err
	}
	b := &builder{in: t, said: map[string]bool{}}
	b.others(file)
	return Result{Tree: t, Format: Native, Notes: b.notes}, nil
}

// others notes the manifests of other formats, which lose.
func (b *builder) others(file string) {
	for _, m := range manifests {
		if _, ok := b.in.Get(m.file); ok && m.file != file && m.format != Catalogue && m.file != plugin.Manifest && m.format != "mcp-bundle" {
			b.note("second-manifest", m.file, "%s was taken instead", orWord(file, "the directory's layout"))
		}
	}
}

func orWord(s, word string) string {
	if s == "" {
		return word
	}
	return s
}
