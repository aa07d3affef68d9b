package applypatch

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// A Change is one file's part of a [Commit].
type Change struct {
	Path string // absolute, or relative to the workspace
	Old  []byte // what the file must hold now; nil: there must be none
	New  []byte // what it shall hold; nil: it shall be gone
	Like string // for a new file: the file whose mode and owner it takes, "" for the defaults
}

// CommitOptions says how safe a [Commit] is.
type CommitOptions struct {
	// Journal is the directory for the journals that [Recover] undoes after a
	// crash, and for the lock that keeps two commits apart. "" does without.
	Journal string
	// Fast skips flushing to disk.
	Fast bool
}

const lockWait = 2 * time.Second

// Commit makes all changes or none. Each file is replaced by a rename, so that
// a reader sees the old content or the new; one with several hard links is
// written in place, to stay one file. A file that no longer holds Old is
// file_changed, one that should not be there exists; then nothing is written.
// Any error while writing restores what was there, unless it is
// rollback_incomplete, which names what could not be restored.
func Commit(ctx context.Context, w *Workspace, changes []Change, o CommitOptions) error {
	if o.Journal != "" {
		unlock, err := lock(ctx, o.Journal)
		if err != nil {
			return err
		}
		defer unlock()
	}
	t := &txn{id: rand.Text()[:12], opt: o}
	for _, c := range changes {
		s, err := t.check(w, c)
		if err != nil {
			return err
		}
		t.steps = append(t.steps, s)
	}
	// Removals come last: until then every byte exists somewhere.
	slices.SortStableFunc(t.steps, func(a, b *step) int { return cmp.Compare(boolInt(a.New == nil), boolInt(b.New == nil)) })
	if err := t.run(ctx); err != nil {
		return t.rollback(err)
	}
	t.finish()
	return nil
}

// lock takes the lock of the journal directory, in this process and all others.
func lock(ctx context.Context, dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, ioError("making the journal directory", err)
	}
	type held struct {
		unlock func()
		err    error
	}
	got := make(chan held, 1)
	go func() {
		u, err := lockedfile.MutexAt(filepath.Join(dir, "lock")).Lock()
		got <- held{u, err}
	}()
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	select {
	case h := <-got:
		return h.unlock, ioError("locking the journal directory", h.err)
	case <-ctx.Done():
		go func() {
			if h := <-got; h.err == nil {
				h.unlock()
			}
		}()
		return nil, &Error{Kind: Internal, Code: Busy, Message: "another patch is being written; try again", Err: ctx.Err()}
	}
}

// ioError is nil for a nil err.
func ioError(doing string, err error) error {
	if err == nil {
		return nil
	}
	code := IO
	if errors.Is(err, fs.ErrPermission) {
		code = Permission
	}
	return &Error{Kind: Internal, Code: code, Message: doing + ": " + err.Error(), Err: err}
}

// step is one change on its way to disk.
type step struct {
	Change
	target
	info    fs.FileInfo // of the file that is there, nil if none
	link    string      // what a link to be removed says
	like    fs.FileInfo // whose mode and owner the new file takes
	tmp     string      // beside the file, "" until made
	inPlace bool
	made    []string // directories that were made for it
	done    bool
}

type txn struct {
	id      string
	opt     CommitOptions
	steps   []*step
	journal string // its directory once written
}

// check verifies that the file is as the change expects it.
func (t *txn) check(w *Workspace, c Change) (*step, error) {
	tg, err := w.locate(w.dir, c.Path, c.New != nil)
	if err != nil {
		return nil, &Error{Kind: Blocked, Code: OutsideWorkspace, At: At{Path: c.Path}, Message: err.Error()}
	}
	s := &step{Change: c, target: tg}
	at := At{Path: tg.show}
	s.info, err = s.root.Lstat(s.rel)
	switch {
	case missing(err) && c.Old == nil:
		return s, t.takeMode(w, s)
	case missing(err):
		return nil, unverified(FileChanged, at, "the file is gone since the patch was planned")
	case err != nil:
		return nil, ioError("looking at "+tg.show, err)
	case c.Old == nil:
		return nil, unverified(Exists, at, "the file exists already")
	case s.info.Mode()&fs.ModeSymlink != 0 && c.New == nil:
		s.link, err = s.root.Readlink(s.rel)
		return s, ioError("reading the link "+tg.show, err)
	case !s.info.Mode().IsRegular():
		return nil, unverified(NotRegular, at, "it is not a regular file")
	case c.New != nil && s.info.Mode()&0o200 == 0:
		return nil, &Error{Kind: Internal, Code: Permission, At: at, Message: "the file is read-only"}
	}
	now, err := readFile(s.root.Root, s.rel, s.info.Size())
	if err != nil {
		return nil, ioError("reading "+tg.show, err)
	}
	if !bytes.Equal(now, c.Old) {
		return nil, unverified(FileChanged, at, "the file has changed since the patch was planned")
	}
	s.inPlace = c.New != nil && links(s.info) > 1
	s.like = s.info
	return s, nil
}

func (t *txn) takeMode(w *Workspace, s *step) error {
	if s.Like == "" {
		return nil
	}
	tg, err := w.locate(w.dir, s.Like, true)
	if err != nil {
		return err
	}
	s.like, err = tg.root.Stat(tg.rel)
	return ioError("looking at "+tg.show, err)
}

// run writes the journal, then every new content beside its file, then puts
// them in place one after the other.
func (t *txn) run(ctx context.Context) error {
	if err := t.writeJournal(); err != nil {
		return err
	}
	for _, s := range t.steps {
		if err := cmp.Or(ctx.Err(), t.prepare(s)); err != nil {
			return err
		}
	}
	for _, s := range t.steps {
		if err := t.place(s); err != nil {
			return ioError("writing "+s.show, err)
		}
	}
	return nil
}

func (t *txn) tmpName(s *step) string {
	base := filepath.Base(s.rel)
	return filepath.Join(filepath.Dir(s.rel), "."+clipName(base)+".whet-"+t.id)
}

// clipName keeps a temporary name within what file systems allow.
func clipName(base string) string {
	if len(base) > 100 {
		return base[:100]
	}
	return base
}

func (t *txn) prepare(s *step) error {
	if s.New == nil || s.inPlace {
		return nil
	}
	if err := s.makeParents(); err != nil {
		return ioError("making the directory of "+s.show, err)
	}
	tmp := t.tmpName(s)
	perm := fs.FileMode(0o666)
	if s.like != nil {
		perm = 0o600
	}
	f, err := s.root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if errors.Is(err, fs.ErrPermission) && s.info != nil {
		s.inPlace = true // the directory can't be written but the file can
		return nil
	}
	if err != nil {
		return ioError("writing "+s.show, err)
	}
	s.tmp = tmp
	return ioError("writing "+s.show, t.fill(f, s))
}

// place makes the change visible.
func (t *txn) place(s *step) error {
	if s.info != nil {
		now, err := s.root.Lstat(s.rel)
		if err != nil {
			return err
		}
		if now.Size() != s.info.Size() || !now.ModTime().Equal(s.info.ModTime()) || !os.SameFile(now, s.info) {
			return errors.New("the file changed while the patch was being written")
		}
	}
	switch {
	case s.New == nil:
		s.done = true
		return s.root.Remove(s.rel)
	case s.inPlace:
		s.done = true
		return overwrite(s.root.Root, s.rel, s.New, !t.opt.Fast)
	case s.info == nil:
		// A link fails where a rename would overwrite what appeared meanwhile.
		if err := s.root.Link(s.tmp, s.rel); err == nil || errors.Is(err, fs.ErrExist) {
			s.done = err == nil
			return err
		}
		if _, err := s.root.Lstat(s.rel); err == nil {
			return fs.ErrExist
		}
	}
	err := s.root.Rename(s.tmp, s.rel)
	if err == nil {
		s.done, s.tmp = true, ""
	}
	return err
}

func (t *txn) finish() {
	t.removeTemps()
	if !t.opt.Fast {
		synced := map[string]bool{}
		for _, s := range t.steps {
			if dir := filepath.Dir(s.rel); !synced[filepath.Dir(s.real)] {
				synced[filepath.Dir(s.real)] = true
				_ = syncDir(s.root.Root, dir)
			}
		}
	}
	t.dropJournal()
}

func (t *txn) removeTemps() {
	for _, s := range t.steps {
		if s.tmp != "" {
			_ = s.root.Remove(s.tmp)
			s.tmp = ""
		}
	}
}

// rollback restores what was there before the commit.
func (t *txn) rollback(cause error) error {
	t.removeTemps()
	var lost []error
	for _, s := range slices.Backward(t.steps) {
		if s.done {
			if err := s.undo(); err != nil {
				lost = append(lost, fmt.Errorf("restoring %s: %w", s.show, err))
			}
		}
		for _, d := range slices.Backward(s.made) {
			_ = s.root.Remove(d)
		}
	}
	if lost == nil {
		t.dropJournal()
		if e := (*Error)(nil); !errors.As(cause, &e) {
			return ioError("writing", cause)
		}
		return cause
	}
	err := errors.Join(append([]error{cause}, lost...)...)
	e := &Error{Kind: Internal, Code: RollbackIncomplete, Message: err.Error(), Err: err}
	if t.journal != "" {
		e.Detail = "fix: whet patch recover --id " + t.id
	}
	return e
}

func (s *step) undo() error {
	switch {
	case s.info == nil:
		return s.root.Remove(s.rel)
	case s.link != "":
		return s.root.Symlink(s.link, s.rel)
	case s.inPlace:
		if err := overwrite(s.root.Root, s.rel, s.Old, true); err != nil {
			return err
		}
		return s.root.Chtimes(s.rel, time.Time{}, s.info.ModTime())
	}
	return restore(s.root.Root, s.rel, s.Old, s.info.Mode(), s.info.ModTime(), s.info)
}
