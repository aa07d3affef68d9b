package applypatch

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// A Plan is what a patch does to a workspace, worked out in memory.
type Plan struct {
	Files     []File   `json:"files"`
	Unchanged []string `json:"unchanged,omitempty"` // named by the patch, already as it wants them
	Notes     []string `json:"notes,omitempty"`

	ws  *Workspace
	opt Options
	env string
	dir string
}

// A File is the net change of one file.
type File struct {
	Path    string        `json:"path"`           // relative to the workspace, with slashes
	From    string        `json:"from,omitempty"` // for Move
	Op      Op            `json:"op"`
	Added   int           `json:"added"`   // lines
	Removed int           `json:"removed"` // lines
	EOL     string        `json:"eol,omitempty"`
	Chunks  []ChunkReport `json:"chunks,omitempty"`
	Old     []byte        `json:"-"` // nil: there was no file
	New     []byte        `json:"-"` // nil: there is none after

	target, from target
	moved        []byte // for Move: what the file moved from held
	edits        []edit // from the original text to New, for rendering
}

// A ChunkReport says where a chunk went and on what evidence.
type ChunkReport struct {
	Lines [2]int      `json:"lines"` // first and last line it was matched with, 1-based
	Tier  Tier        `json:"tier"`
	Notes []string    `json:"notes,omitempty"`
	Stale [][2]string `json:"stale,omitempty"` // deleted though different: patch line, file line
}

type planner struct {
	*Plan
	entries []*entry
}

// Resolve works out what p does in w, touching nothing. Relative paths start at
// the workspace's directory, or at the patch's own "cd".
func Resolve(w *Workspace, p *Patch, opt Options) (*Plan, error) {
	pl := &planner{Plan: &Plan{ws: w, opt: opt, env: p.Environment}}
	pl.dir = filepath.FromSlash(p.Dir)
	if !filepath.IsAbs(pl.dir) {
		pl.dir = filepath.Join(w.dir, pl.dir)
	}
	if err := pl.checkPaths(p); err != nil {
		return nil, err
	}
	for i := range p.Sections {
		if err := pl.section(&p.Sections[i]); err != nil {
			return nil, err
		}
	}
	pl.settle()
	if len(pl.Files) == 0 {
		return nil, unverified(NoChange, At{}, "nothing to change: every file already is as the patch wants it")
	}
	return pl.Plan, nil
}

// checkPaths looks at every path before any file is read.
func (pl *planner) checkPaths(p *Patch) error {
	var bad []string
	line := 0
	check := func(name string, at int, exists, follow bool) {
		if name == "" {
			return
		}
		if _, err := pl.ws.find(pl.dir, name, exists, follow); err != nil {
			if !slices.Contains(bad, name) {
				bad = append(bad, name)
			}
			if line == 0 {
				line = at
			}
		}
	}
	for _, s := range p.Sections {
		check(s.Path, s.Line, s.Op != Add, s.Op != Delete)
		check(s.MoveTo, s.Line, false, true)
	}
	if bad == nil {
		return nil
	}
	return &Error{
		Kind: Blocked, Code: OutsideWorkspace, At: At{PatchLine: line},
		Message: fmt.Sprintf("%s: outside the workspace (%s)", strings.Join(bad, ", "), strings.Join(pl.ws.Roots(), ", ")),
		Detail:  "fix: use paths inside the workspace; a person can allow more with applyPatch.extraRoots in their own configuration.",
	}
}

func (pl *planner) section(s *Section) error {
	switch s.Op {
	case Add:
		return pl.add(s)
	case Delete:
		e, err := pl.existing(s, false)
		if err != nil {
			return err
		}
		e.cur, e.edits, e.lines, e.deleted = nil, nil, nil, true
		return nil
	}
	return pl.update(s)
}

func (pl *planner) add(s *Section) error {
	e, err := pl.entry(s, s.Path, false, true)
	if err != nil {
		return err
	}
	at := At{Path: e.show, PatchLine: s.Line}
	if e.cur != nil {
		err := unverified(Exists, at, "the file exists already")
		err.Detail = "fix: use \"*** Update File:\" to change it, or delete it first."
		return err
	}
	if e.rel == "." {
		return unverified(NotRegular, at, "it is the workspace itself")
	}
	e.source = e
	e.cur = []byte(strings.Join(append(slices.Clone(s.Add), ""), "\n"))
	e.edits, e.lines = nil, authored(len(s.Add))
	return nil
}

// existing returns the entry of a section whose file must be there.
func (pl *planner) existing(s *Section, follow bool) (*entry, error) {
	e, err := pl.entry(s, s.Path, true, follow)
	if err != nil {
		return nil, err
	}
	if e.cur != nil {
		return e, nil
	}
	at := At{Path: e.show, PatchLine: s.Line}
	if e.deleted {
		return nil, unverified(FileMissing, at, "an earlier section of this patch removes the file")
	}
	miss := unverified(FileMissing, at, "no such file")
	if near := pl.ws.similar(pl.dir, s.Path); len(near) > 0 {
		miss.Detail = "similar: " + strings.Join(near, ", ")
	}
	return nil, miss
}

func (pl *planner) update(s *Section) error {
	e, err := pl.existing(s, true)
	if err != nil {
		return err
	}
	if len(s.Chunks) > 0 {
		if err := pl.edit(e, s); err != nil {
			return err
		}
	}
	if s.MoveTo == "" {
		return nil
	}
	to, err := pl.entry(s, s.MoveTo, false, true)
	if err != nil || to == e {
		return err
	}
	if to.cur != nil {
		return unverified(Exists, At{Path: to.show, PatchLine: s.Line}, "the file to move to exists already")
	}
	to.cur, to.edits, to.lines, to.source, to.chunks = e.cur, e.edits, e.lines, e.source, append(to.chunks, e.chunks...)
	e.cur, e.edits, e.lines, e.chunks, e.deleted = nil, nil, nil, nil, true
	return nil
}

func (pl *planner) edit(e *entry, s *Section) error {
	if binary(e.cur) {
		return unverified(BinaryOrUTF16, At{Path: e.show, PatchLine: s.Line}, "the file is binary or UTF-16; it can't be edited by lines")
	}
	t := newText(e.cur)
	ps, err := resolve(t, e.show, s.Chunks, pl.opt)
	if err != nil {
		if pl.editEarlier(e, s) {
			return nil
		}
		return err
	}
	fn := keepNewline
	for i := range ps {
		c := &s.Chunks[min(i, len(s.Chunks)-1)]
		if (c.oldNoEOL || c.newNoEOL) && ps[i].end == t.lines() {
			fn = addNewline
			if c.newNoEOL {
				fn = dropNewline
			}
		}
		e.chunks = append(e.chunks, ps[i].report())
	}
	es := edits(ps)
	e.track(t, es)
	e.cur = t.apply(es, fn)
	return nil
}

func (p *placement) report() ChunkReport {
	return ChunkReport{Lines: [2]int{p.start + 1, max(p.end, p.start+1)}, Tier: p.tier, Notes: p.notes, Stale: p.stale}
}

// settle turns the entries into net changes, in order of first appearance.
func (pl *planner) settle() {
	for _, e := range pl.entries {
		switch {
		case e.cur == nil && pl.movedFrom(e):
			continue // told with the destination
		case e.orig == nil && e.cur == nil:
			pl.Notes = append(pl.Notes, e.show+": made and removed again by the patch")
			continue
		case e.orig != nil && e.cur != nil && bytes.Equal(e.orig, e.cur):
			pl.Unchanged = append(pl.Unchanged, e.show)
			continue
		}
		f := File{Path: e.show, Op: Update, Old: e.orig, New: e.cur, Chunks: e.chunks, target: e.target}
		before := e.orig
		switch {
		case e.cur == nil:
			f.Op = Delete
		case e.orig != nil:
			if e.source != e { // something else was moved over a removed file
				e.edits, e.lines = nil, nil
			}
		case e.source != e && e.source.cur == nil && e.source.orig != nil:
			f.Op, f.From, f.from, before = Move, e.source.show, e.source.target, e.source.orig
			f.moved = before
		default:
			f.Op = Add
		}
		f.count(before, e.edits, e.lines)
		pl.Files = append(pl.Files, f)
	}
}

// movedFrom reports whether e's text now lives elsewhere.
func (pl *planner) movedFrom(e *entry) bool {
	return slices.ContainsFunc(pl.entries, func(o *entry) bool {
		return o != e && o.source == e && o.cur != nil && o.orig == nil
	})
}

// count derives the line edits from before to f.New and counts them.
func (f *File) count(before []byte, es []edit, lines []int) {
	now := newText(f.New)
	f.EOL = now.eolKind()
	switch {
	case f.Op == Add:
		f.Added = now.lines()
		return
	case f.Op == Delete:
		f.Removed, f.EOL = newText(before).lines(), ""
		return
	case es == nil && lines == nil && bytes.Equal(before, f.New): // only moved
	case es != nil:
		f.edits = slices.Clone(es)
	default:
		if lines == nil || len(lines) != now.lines() {
			lines = authored(now.lines())
		}
		f.edits = editsBetween(newText(before), now, lines)
	}
	old := newText(before)
	for i := range f.edits {
		f.edits[i].shrink(old)
	}
	f.edits = slices.DeleteFunc(f.edits, func(e edit) bool { return e.n == 0 && len(e.add) == 0 })
	for _, e := range f.edits {
		f.Added += len(e.add)
		f.Removed += e.n
	}
}

// Changes are the writes that the plan amounts to.
func (p *Plan) Changes() (cs []Change) {
	for i := range p.Files {
		f := &p.Files[i]
		c := Change{Path: f.target.real, Old: f.Old, New: f.New}
		if f.Op == Move {
			c.Like = f.from.real
			cs = append(cs, c, Change{Path: f.from.real, Old: f.moved})
			continue
		}
		cs = append(cs, c)
	}
	return cs
}

// Commit writes the plan, all or nothing. journal is where [Recover] looks; ""
// for none.
func (p *Plan) Commit(ctx context.Context, journal string) error {
	return Commit(ctx, p.ws, p.Changes(), CommitOptions{Journal: journal, Fast: p.opt.Durable != nil && !*p.opt.Durable})
}
