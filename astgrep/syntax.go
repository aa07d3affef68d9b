package astgrep

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/whet-dev/whet/internal/escape"
)

// A flaw counter reads the engine's account of what it could not parse.
type flaws struct {
	errors  map[string]int // ERROR nodes of a file
	first   map[string]int // line of the first
	missing map[string]bool
}

// spoiled tells which file would have syntax errors that it doesn't have now.
// Files as they are and as they would be are parsed side by side.
func (s *searcher) spoiled(ctx context.Context, r *Replacement) (problem string, err error) {
	if len(r.edits) == 0 {
		return "", nil
	}
	dir := filepath.Join(s.temp, "check")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", fmt.Errorf("checking the syntax: %w", err)
	}
	name := func(i int, when string) string {
		return filepath.Join(dir, fmt.Sprintf("%d-%s%s", i, when, filepath.Ext(r.edits[i].Path)))
	}
	for i, e := range r.edits {
		for when, text := range map[string][]byte{"old": e.Old, "new": e.New} {
			if err := os.WriteFile(name(i, when), text, 0o600); err != nil {
				return "", fmt.Errorf("checking the syntax: %w", err)
			}
		}
	}
	rules := fmt.Sprintf("id: error\nlanguage: %[1]s\nrule: {kind: ERROR}\n---\nid: missing\nlanguage: %[1]s\nrule: {kind: %[2]s, has: {regex: '^$', stopBy: end}}\n", s.lang.name, s.lang.root)
	var out bytes.Buffer
	if _, err := s.workspace.run(ctx, &out, "scan", "--inline-rules="+rules, "--json=stream", "--color=never", "--no-ignore=hidden", "--", dir); err != nil {
		return "", fmt.Errorf("checking the syntax: %w", err)
	}
	f := flaws{map[string]int{}, map[string]int{}, map[string]bool{}}
	if err := f.read(out.Bytes()); err != nil {
		return "", err
	}
	for i, e := range r.edits {
		old, new := name(i, "old"), name(i, "new")
		if f.errors[new] > f.errors[old] || f.missing[new] && !f.missing[old] {
			where := ""
			if f.errors[new] > 0 {
				where = fmt.Sprintf(" near line %d", f.first[new])
			}
			return fmt.Sprintf("%s would have a syntax error%s that it doesn't have now; write a rewrite that is whole code of %s in its place", escape.Text(s.shown(e.Path)), where, s.lang.name), nil
		}
	}
	return "", nil
}

func (f *flaws) read(out []byte) error {
	for line := range bytes.Lines(out) {
		var m struct {
			RuleID string   `json:"ruleId"`
			File   string   `json:"file"`
			Range  rawRange `json:"range"`
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return fmt.Errorf("checking the syntax: reading the engine's output: %w", err)
		}
		file := filepath.FromSlash(m.File)
		if m.RuleID == "missing" {
			f.missing[file] = true
			continue
		}
		if at := m.Range.Start.Line + 1; f.errors[file] == 0 || at < f.first[file] {
			f.first[file] = at
		}
		f.errors[file]++
	}
	return nil
}

// shown is a path as the answer shows it.
func (s *searcher) shown(path string) string {
	if rel, err := filepath.Rel(s.q.Dir, path); err == nil && !strings.HasPrefix(rel, "..") {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(path)
}
