package applypatch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

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
	}
	if e := pl.known(t); e != nil {
		return e, nil
	}
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

// authored is the origin of n lines that came from nowhere but the patch.
func authored(n int) []int {
	lines := make([]int, n)
	for i := range lines {
		lines[i] = -1
	}
	return lines
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
