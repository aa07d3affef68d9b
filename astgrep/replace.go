package astgrep

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/whet-dev/whet/internal/escape"
	"github.com/whet-dev/whet/internal/plainfile"
)

// ReplaceOptions say what becomes of a rewrite.
type ReplaceOptions struct {
	Apply  bool // write it; else only show it
	Expect *int // the number of replacements that there must be
	// Commit writes all edits or none.
	Commit func(context.Context, []Edit) error
}

// A Replacement is a rewrite, shown or applied.
type Replacement struct {
	Changes   []Change `json:"changes"` // the first 500
	Total     int      `json:"total"`
	Files     int      `json:"files"`
	Nested    int      `json:"nested,omitempty"` // matches within replaced ones, which are left
	Applied   bool     `json:"applied"`
	Truncated bool     `json:"truncated"`
	Problem   string   `json:"problem,omitempty"` // why it can't be applied
	Reading   *Reading `json:"reading,omitempty"`
	Engine    string   `json:"engine"`

	none  *Answer // nothing was found
	note  string
	edits []Edit
	all   []Change
}

// Changed are the files that were written.
func (r *Replacement) Changed() (paths []string) {
	if r.Applied {
		for _, e := range r.edits {
			paths = append(paths, e.Path)
		}
	}
	return paths
}

// Failed tells that the rewrite must not be applied as it is.
func (r *Replacement) Failed() bool { return r.Problem != "" }

// maxEdited bounds the bytes of the files of one rewrite.
const maxEdited = 256 << 20

// Replace finds what to replace by the query's Rewrite and shows it or, if all
// of it is in order, applies it. If something is not, nothing is written.
func Replace(ctx context.Context, e Engine, q Query, o ReplaceOptions) (*Replacement, error) {
	if q.Rewrite == nil {
		return nil, errors.New("the rewrite is missing; an empty one deletes")
	}
	q.Context, q.Offset = 0, 0
	s, err := begin(e, &q)
	if err != nil {
		return nil, err
	}
	defer s.close()
	f, err := s.find(ctx, 0)
	if err != nil {
		return nil, err
	}
	if f.reason != "" {
		return nil, fmt.Errorf("not all matches were found (%s), so nothing was changed; narrow the paths or the pattern", f.reason)
	}
	r, err := s.plan(f)
	if err != nil {
		return nil, err
	}
	if r.Problem == "" {
		r.Problem, err = s.spoiled(ctx, r)
	}
	if err != nil || !o.Apply {
		return r, err
	}
	switch {
	case r.Problem != "" || o.Expect == nil && r.Total == 0:
		return r, nil
	case o.Expect != nil && *o.Expect != r.Total:
		r.Problem = fmt.Sprintf("the dry run showed %s and now there are %s: the files have changed since. Look at the new dry run", plural(*o.Expect, "replacement"), thousands(r.Total))
		return r, nil
	case f.context != "" && f.sound && o.Expect == nil:
		r.Problem = "the pattern alone finds nothing, and what it was read as may not be what is meant. To apply it pass expect=" + fmt.Sprint(r.Total)
		return r, nil
	}
	if err := o.Commit(ctx, r.edits); err != nil {
		return nil, fmt.Errorf("%w; nothing was changed", err)
	}
	r.Applied = true
	return r, nil
}

// plan makes the edits.
func (s *searcher) plan(f *finding) (*Replacement, error) {
	raw, err := f.matches()
	if err != nil {
		return nil, err
	}
	r := &Replacement{Changes: []Change{}, note: f.note(), Engine: s.engine.Version}
	if f.context != "" {
		r.Reading = &Reading{f.pattern, f.selector}
	}
	if len(raw) == 0 {
		r.none, err = s.answer(f)
		return r, err
	}
	if f.warned {
		r.Problem = "a part of the pattern could not be parsed, so these may be chance matches; write it as whole code of " + s.lang.name
	}
	size := 0
	for len(raw) > 0 {
		n := slices.IndexFunc(raw, func(m rawMatch) bool { return m.File != raw[0].File })
		if n < 0 {
			n = len(raw)
		}
		added, err := r.add(s, raw[:n])
		if err != nil {
			return nil, err
		}
		size += added
		if size > maxEdited {
			return nil, fmt.Errorf("the files to change have more than %d MiB, so nothing was changed; narrow the paths", maxEdited>>20)
		}
		raw = raw[n:]
	}
	r.Total, r.Files = len(r.all), len(r.edits)
	r.Changes = r.all[:min(len(r.all), defaultLimit)]
	r.Truncated = len(r.Changes) < len(r.all)
	return r, nil
}

// add adds the edit of one file and returns its size.
func (r *Replacement) add(s *searcher, ms []rawMatch) (size int, err error) {
	name := filepath.ToSlash(ms[0].File)
	path := filepath.FromSlash(name)
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.q.Dir, path)
	}
	info, err := os.Lstat(path)
	if err == nil && info.Mode()&os.ModeSymlink != 0 { // what it leads to is what is changed
		if path, err = filepath.EvalSymlinks(path); err == nil {
			info, err = os.Stat(path)
		}
	}
	if slices.ContainsFunc(r.edits, func(e Edit) bool { return e.Path == path }) {
		return 0, nil // reached by two names
	}
	var old []byte
	if err == nil {
		old, err = plainfile.Read(path, maxEdited)
	}
	if err != nil {
		return 0, fmt.Errorf("reading %s again: %w; nothing was changed", escape.Text(name), err)
	}
	if info.Mode().Perm()&0o200 == 0 {
		r.Problem = or(r.Problem, fmt.Sprintf("%s is read-only", escape.Text(name)))
	}
	text, changes, nested, err := s.edit(name, old, ms)
	if err != nil {
		return 0, err
	}
	r.Nested += nested
	r.all = append(r.all, changes...)
	r.edits = append(r.edits, Edit{path, old, text})
	return len(old) + len(text), nil
}

// String is the rewrite for a model.
func (r *Replacement) String() string {
	var b strings.Builder
	file := ""
	for _, c := range r.Changes {
		if c.Path != file {
			if file != "" {
				b.WriteByte('\n')
			}
			file = c.Path
			b.WriteString(escape.Text(file) + ":\n")
		}
		m := Match{Line: c.Line, EndLine: c.EndLine, Text: c.Old, Replacement: &c.New}
		m.write(&b)
	}
	if file != "" {
		b.WriteByte('\n')
	}
	return b.String() + r.Summary()
}

// Summary says what was or would be done, without the changes themselves.
func (r *Replacement) Summary() string {
	var lines []string
	if r.none != nil {
		lines = append(lines, strings.Replace(r.none.String(), "No matches found", "No matches found for replacement", 1))
	} else {
		lines = append(lines, r.headline())
	}
	if r.Nested > 0 {
		lines = append(lines, fmt.Sprintf("%s left: within replaced ones; run again for them", plural(r.Nested, "nested match")))
	}
	if r.note != "" {
		lines = append(lines, r.note)
	}
	switch {
	case r.Problem != "":
		lines = append(lines, "Nothing was written: "+r.Problem+".")
	case !r.Applied && r.none == nil:
		lines = append(lines, fmt.Sprintf("Nothing was written. To apply this, call again with dryRun=false and expect=%d.", r.Total))
	}
	return strings.Join(lines, "\n")
}

func (r *Replacement) headline() string {
	state := "DRY RUN"
	switch {
	case r.Applied:
		state = "APPLIED"
	case r.Problem != "":
		state = "REFUSED"
	}
	text := fmt.Sprintf("[%s] %s in %s", state, plural(r.Total, "replacement"), plural(r.Files, "file"))
	if r.Truncated {
		text += fmt.Sprintf(" (showing %s: max_matches)", thousands(len(r.Changes)))
	}
	return text
}
