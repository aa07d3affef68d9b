package applypatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Plan is what a patch does to a workspace, worked out in memory.
type Plan struct {
	Files     []File   `json:"files"`
	Unchanged []string `json:"unchanged,omitempty"` // named by the patch, already as it wants them
	Notes     []string `json:"notes,omitempty"`

	ws    *Workspace
	opt   Options
	env   string
	dir   string
	clean bool // every path and chunk was exact
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

// entry is a file as the sections so far have left it.
type entry struct {
	target
	orig    []byte // nil if there was no file
	cur     []byte // nil if there is none now
	info    fs.FileInfo
	source  *entry // where cur's text came from: itself, or the file moved here
	edits   []edit // from source.orig to cur, while one section has edited it
	lines   []int  // after more than one: for each line of cur its line in source.orig, -1 if authored
	chunks  []ChunkReport
	deleted bool
}

type planner struct {
	*Plan
	entries []*entry
}

// Resolve works out what p does in w, touching nothing. Relative paths start at
// the workspace's directory, or at the patch's own "cd".
func Resolve(w *Workspace, p *Patch, opt Options) (*Plan, error) {
	pl := &planner{Plan: &Plan{ws: w, opt: opt, env: p.Environment, clean: p.Dir == ""}}
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
		Detail:  "fix: use paths inside the workspace; a person can allow more with extra_roots in the configuration.",
	}
}

// entry returns the file that name means, read once.
func (pl *planner) entry(s *Section, name string, exists, follow bool) (*entry, error) {
	if t, err := pl.ws.locate(pl.dir, name, follow); err == nil {
		if e := pl.known(t); e != nil { // perhaps one that an earlier section made
			return e, nil
		}
	}
	t, err := pl.ws.find(pl.dir, name, exists, follow)
	if err != nil {
		return nil, &Error{Kind: Blocked, Code: OutsideWorkspace, At: At{Path: name, PatchLine: s.Line}, Message: err.Error()}
	}
	if t.note != "" {
		pl.Notes = append(pl.Notes, t.note)
		pl.clean = false
	}
	if e := pl.known(t); e != nil {
		return e, nil
	}
	pl.clean = pl.clean && t.show == name
	e := &entry{target: t}
	e.source = e
	if err := e.read(follow); err != nil {
		err.At = At{Path: t.show, PatchLine: s.Line}
		return nil, err
	}
	e.cur = e.orig
	pl.entries = append(pl.entries, e)
	return e, nil
}

// known returns the entry of t's file: one file may have several names.
func (pl *planner) known(t target) *entry {
	info, _ := t.root.Lstat(t.rel)
	for _, e := range pl.entries {
		if e.real == t.real || info != nil && e.info != nil && os.SameFile(info, e.info) {
			return e
		}
	}
	return nil
}

const maxFile = 256 << 20 // bytes

func (e *entry) read(follow bool) *Error {
	info, err := e.root.Lstat(e.rel)
	if missing(err) {
		return nil
	}
	if err != nil {
		return &Error{Kind: Internal, Code: IO, Message: "reading the file: " + err.Error(), Err: err}
	}
	if info.Mode()&fs.ModeSymlink != 0 && !follow {
		if info, err = e.root.Stat(e.rel); err != nil { // deleting a link that leads nowhere we may look
			e.orig = []byte{}
			return nil
		}
	}
	switch {
	case info.IsDir():
		return &Error{Kind: Verification, Code: NotRegular, Message: "it is a directory"}
	case !info.Mode().IsRegular():
		return &Error{Kind: Verification, Code: NotRegular, Message: "it is not a regular file"}
	case info.Size() > maxFile:
		return &Error{Kind: Verification, Code: TooLarge, Message: fmt.Sprintf("the file has %d bytes, the limit is %d", info.Size(), maxFile)}
	}
	b, err := readFile(e.root.Root, e.rel, info.Size())
	if err != nil {
		code := IO
		if errors.Is(err, fs.ErrPermission) {
			code = Permission
		}
		return &Error{Kind: Internal, Code: code, Message: "reading the file: " + err.Error(), Err: err}
	}
	e.orig, e.info = b, info
	return nil
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

// authored is the origin of n lines that came from nowhere but the patch.
func authored(n int) []int {
	lines := make([]int, n)
	for i := range lines {
		lines[i] = -1
	}
	return lines
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
		pl.clean = pl.clean && ps[i].tier == Exact && len(ps[i].notes) == 0
	}
	es := edits(ps)
	e.track(t, es)
	e.cur = t.apply(es, fn)
	return nil
}

func (p *placement) report() ChunkReport {
	return ChunkReport{Lines: [2]int{p.start + 1, max(p.end, p.start+1)}, Tier: p.tier, Notes: p.notes, Stale: p.stale}
}

// track keeps in step what became of the original's lines. The first edits are
// edits of the original itself; only later ones need a table of lines.
func (e *entry) track(t *text, es []edit) {
	if e.edits == nil && e.lines == nil {
		e.edits = es
		return
	}
	if e.lines == nil {
		n := newText(e.source.orig).lines()
		e.lines = make([]int, n)
		for i := range e.lines {
			e.lines[i] = i
		}
		e.lines = through(e.lines, e.edits)
	}
	e.edits, e.lines = nil, through(e.lines, es)
}

// through applies edits to the origins of lines.
func through(lines []int, es []edit) (out []int) {
	pos := 0
	for _, d := range es {
		out = append(append(out, lines[pos:d.line]...), authored(len(d.add))...)
		pos = d.line + d.n
	}
	return append(out, lines[pos:]...)
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

// editsBetween rebuilds edits from what each new line was.
func editsBetween(old, now *text, lines []int) (es []edit) {
	next := 0 // the old line that is due
	for i := 0; i <= len(lines); i++ {
		e := edit{line: next}
		for ; i < len(lines) && lines[i] < 0; i++ {
			e.add = append(e.add, string(now.line(i)))
		}
		to := old.lines()
		if i < len(lines) {
			to = lines[i]
		}
		e.n = to - next
		e.off, e.end = old.offset(e.line), old.offset(to)
		es = append(es, e)
		next = to + 1
	}
	return es
}

// shrink drops the lines that e deletes and adds again, unchanged, at its ends.
func (e *edit) shrink(old *text) {
	gone := newText(old.b[e.off:e.end])
	gone.sep = old.sep
	a, z := 0, e.n
	for a < z && len(e.add) > 0 && string(gone.line(a)) == e.add[0] {
		a, e.add = a+1, e.add[1:]
	}
	for a < z && len(e.add) > 0 && string(gone.line(z-1)) == e.add[len(e.add)-1] {
		z, e.add = z-1, e.add[:len(e.add)-1]
	}
	if e.n > 0 {
		e.off, e.end = e.off+gone.offset(a), e.off+gone.offset(z)
	}
	e.line, e.n = e.line+a, z-a
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
