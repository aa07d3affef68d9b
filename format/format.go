// Package format formats the files that an agent has edited, with the
// formatter that their project has configured. Formatting never costs the
// edit: a file that can't be formatted stays as the agent wrote it, and in a
// file that was badly formatted before only the edited lines move.
//
// It changes layout only, it installs nothing, and it never runs what a
// repository brings before a person has trusted the project.
package format

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/whet-dev/whet/internal/atomicfile"
	"github.com/whet-dev/whet/internal/plainfile"
	"github.com/whet-dev/whet/internal/walk"
)

// An Engine formats files as its options say. It may be used by several
// goroutines at once. Close it to end the processes that it keeps.
type Engine struct {
	Options
	// Trusted returns an error if a person has not agreed that the files of
	// the project may run as programs. A nil Trusted agrees to none.
	Trusted func(project string, files []string) error

	pool pool
}

// Close ends the processes that the engine keeps.
func (e *Engine) Close() { e.pool.close() }

// An Edit is a file that was just changed.
type Edit struct {
	Root *os.Root // everything read and written is inside it
	Name string   // the file, relative to Root
	// Before is the text before the edit; nil if the file wasn't there. It is
	// looked at unless Scope is Whole.
	Before []byte
	// Ours says that Before is what a formatter made of the whole file, Partly
	// that it is what was left when a formatter would have changed more.
	Ours, Partly bool
	Scope        string // Auto, Changed or Whole; "" means the engine's
	Check        bool   // write nothing
	// Off reports whether a formatter must leave the file alone; may be nil.
	Off func(formatter string) bool
}

// An Outcome is what became of an edited file.
type Outcome struct {
	Formatter  string
	Edited     []byte // the text as the edit left it
	Formatted  []byte // the text that is in the file now; the same if nothing changed
	Lines      []Range
	Whole      bool // all that the formatter wanted was done
	Unverified bool // the edited lines can't be formatted without moving others
	Unstable   bool // the formatter changed what it had itself made of the text before
}

// A Range is lines of the formatted file, from 1; Last is included. Last may
// be First-1 where lines were removed.
type Range struct{ First, Last int }

// Changed reports whether formatting changed the text.
func (o Outcome) Changed() bool { return !bytes.Equal(o.Edited, o.Formatted) }

// Errors for which a file stays as it is. See also [Failure], [MissingError]
// and what Trusted returns.
var (
	ErrSkipped = errors.New("the file is binary, generated, too large or ignored")
	ErrRaced   = errors.New("another program changed the file meanwhile")
)

// maxSize is the largest file that is formatted, in bytes.
const maxSize = 1 << 20

const (
	defaultTimeout = 10 * time.Second
	maxTimeout     = 120 * time.Second
)

func (e *Engine) timeout() time.Duration {
	return min(cmp.Or(time.Duration(e.TimeoutMs)*time.Millisecond, defaultTimeout), maxTimeout)
}

// custom lists the formatters that only the options know. One without a command
// may have lost it for want of trust.
func (e *Engine) custom() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(e.Use)) {
		if len(e.Use[name].Command) > 0 && !slices.ContainsFunc(table[:], func(r row) bool { return r.name == name }) {
			names = append(names, name)
		}
	}
	return names
}

// Choose says which formatter a file has and how it would be run.
func (e *Engine) Choose(ctx context.Context, root *os.Root, name string) (Choice, error) {
	f, err := open(root, name)
	if err != nil {
		return Choice{}, err
	}
	return e.choose(ctx, newSite(f.path, f.top))
}

// Format formats an edited file. Its errors leave the file as it is; most are
// no news to anybody: [ErrNone] and [ErrSkipped].
func (e *Engine) Format(ctx context.Context, edit Edit) (o Outcome, err error) {
	f, err := open(edit.Root, edit.Name)
	if err != nil {
		return o, err
	}
	o.Edited, o.Formatted = f.data, f.data
	if f.skip() || e.ignored(edit.Name) {
		return o, ErrSkipped
	}
	c, err := e.choose(ctx, newSite(f.path, f.top))
	if err != nil {
		return o, err
	}
	o.Formatter = c.Formatter
	if edit.Off != nil && edit.Off(c.Formatter) {
		return o, ErrSkipped
	}
	if len(c.Code) > 0 {
		if err := e.trusted(f.top, c.Code); err != nil {
			return o, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, e.timeout())
	defer cancel()
	err = e.format(ctx, c, f, edit, &o)
	return o, err
}

func (e *Engine) trusted(project string, files []string) error {
	if e.Trusted == nil {
		return fmt.Errorf("%s would run as a program, and nothing of this project is trusted", files[0])
	}
	return e.Trusted(project, files)
}

func (e *Engine) format(ctx context.Context, c Choice, f file, edit Edit, o *Outcome) error {
	j := job{e: e, c: c, f: f, edit: edit, now: read(f.data)}
	text, err := j.run(ctx, j.now)
	if err != nil {
		return err
	}
	j.formatted = split(text)
	take := exact(j.now.lines, j.formatted)
	o.Whole = len(take) == 0
	if o.Whole {
		return nil
	}
	if edit.Before != nil {
		if take, err = j.wanted(ctx, take); err != nil {
			return err
		}
	}
	o.Unstable, o.Unverified = j.unstable, take == nil
	if take == nil {
		return nil
	}
	o.Formatted = j.now.apply(take, j.formatted)
	result := read(o.Formatted).lines
	o.Whole, o.Lines = slices.Equal(result, j.formatted), ranges(j.now.lines, result)
	if edit.Check || !o.Changed() {
		return nil
	}
	return f.replace(o.Formatted)
}

// A job is the formatting of one edited file.
type job struct {
	e         *Engine
	c         Choice
	f         file
	edit      Edit
	now       source   // the file
	formatted []string // all of it
	unstable  bool     // see [Outcome]
}

func (j *job) run(ctx context.Context, text source) (string, error) {
	return j.e.run(ctx, j.c, j.f, text.text())
}

// wanted returns what is to be taken over of all that the formatter wants; nil
// for nothing.
func (j *job) wanted(ctx context.Context, all []span) (take []span, err error) {
	edited := edits(read(j.edit.Before).lines, j.now.lines)
	scope := cmp.Or(j.edit.Scope, j.e.Scope, Auto)
	fine := pieces(j.now.lines, j.formatted)
	switch beyond := len(touching(fine, edited)) < len(fine); {
	case beyond && j.edit.Ours:
		if j.unstable, err = j.dirty(ctx); err != nil || j.unstable {
			return nil, err
		}
	case beyond && scope == Auto && !j.edit.Partly:
		return j.either(ctx, all, edited)
	case beyond && scope == Auto:
		return j.verified(ctx, edited)
	}
	if scope == Changed {
		return j.verified(ctx, edited)
	}
	return all, nil
}

// either returns all if the text before was formatted, else what the edited
// lines need. Each takes a run of the formatter: they run at the same time if
// that is a process of its own.
func (j *job) either(ctx context.Context, all, edited []span) ([]span, error) {
	if j.c.InPlace || j.c.row.resident || j.c.row.inside != nil {
		if dirty, err := j.dirty(ctx); err != nil || !dirty {
			return all, err
		}
		return j.verified(ctx, edited)
	}
	ctx, cancel := context.WithCancel(ctx)
	var part []span
	var partErr error
	done := make(chan struct{})
	go func() {
		defer close(done)
		part, partErr = j.verified(ctx, edited)
	}()
	dirty, err := j.dirty(ctx)
	if err != nil || !dirty {
		cancel()
		<-done
		return all, err
	}
	<-done
	cancel()
	return part, partErr
}

// dirty reports whether the text before the edit wasn't as the formatter wants
// it.
func (j *job) dirty(ctx context.Context) (bool, error) {
	before := read(j.edit.Before)
	out, err := j.run(ctx, before)
	if failure := (*Failure)(nil); errors.As(err, &failure) && !failure.TimedOut {
		return true, nil // it wasn't even a program
	}
	return err == nil && !slices.Equal(split(out), before.lines), err
}

// verified returns the least part of the formatted text that has the edited
// lines in it, and of which the formatter makes the same as of the whole: so
// it is the same program. nil if there is none.
func (j *job) verified(ctx context.Context, edited []span) ([]span, error) {
	for _, take := range candidates(j.now.lines, j.formatted, edited) {
		if len(take) == 0 {
			return []span{}, nil // the edited lines are well as they are
		}
		again, err := j.run(ctx, read(j.now.apply(take, j.formatted)))
		if failure := (*Failure)(nil); errors.As(err, &failure) && !failure.TimedOut {
			continue // not even a program
		}
		if err != nil {
			return nil, err
		}
		if slices.Equal(split(again), j.formatted) {
			return take, nil
		}
	}
	return nil, nil
}

func ranges(before, after []string) (rs []Range) {
	for _, s := range exact(before, after) {
		rs = append(rs, Range{s.b0 + 1, s.b1})
	}
	return rs
}

// A file is one that is about to be formatted.
type file struct {
	root *os.Root
	name string // inside root
	path string // absolute, without links
	top  string // root's directory, without links
	data []byte
	mode fs.FileMode
}

func open(root *os.Root, name string) (f file, err error) {
	f = file{root: root, name: name}
	info, err := root.Stat(name)
	if err != nil {
		return f, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSize {
		return f, ErrSkipped
	}
	f.mode = info.Mode().Perm()
	if f.top, err = filepath.EvalSymlinks(root.Name()); err != nil {
		return f, err
	}
	if f.path, err = filepath.EvalSymlinks(filepath.Join(f.top, name)); err != nil {
		return f, err
	}
	f.data, err = plainfile.ReadIn(root, name, maxSize)
	return f, err
}

// skip reports whether the file is nothing to format.
func (f file) skip() bool {
	return len(bytes.TrimSpace(f.data)) == 0 || bytes.IndexByte(f.data, 0) >= 0 || generated(f.data)
}

// replace writes data, if the file is still as it was read.
func (f file) replace(data []byte) error {
	now, err := plainfile.ReadIn(f.root, f.name, maxSize)
	if err != nil {
		return err
	}
	if bytes.Equal(now, data) {
		return nil // another of us has done the same
	}
	if !bytes.Equal(now, f.data) {
		return ErrRaced
	}
	return atomicfile.Write(f.root, f.name, data)
}

// write makes text what a command that works in place finds.
func (f file) write(text []byte) error {
	if now, err := plainfile.ReadIn(f.root, f.name, maxSize); err == nil && bytes.Equal(now, text) {
		return nil
	}
	return atomicfile.Write(f.root, f.name, text)
}

func (f file) restore() error {
	return errors.Join(f.write(f.data), f.root.Chmod(f.name, f.mode))
}

// ignored reports whether the options leave the file out.
func (e *Engine) ignored(name string) bool {
	return slices.ContainsFunc(e.Ignore, func(pattern string) bool {
		g, err := walk.CompileGlob(pattern)
		name := filepath.ToSlash(name)
		return err == nil && (g.Match(name) || !strings.Contains(pattern, "/") && g.Match(filepath.Base(name)))
	})
}
