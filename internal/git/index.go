package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/whet-dev/whet/internal/plainfile"
)

// A Snapshot is all that a checkout held at one moment, and the index that git
// works on in the place of the checkout's own.
type Snapshot struct {
	Dir           // where git works on that index
	Commit string // no branch points to it

	scratch string
}

// Snapshot records all that the checkout whose root the directory is holds now,
// but for what is ignored, as a commit with the given parents. The caller must
// drop it.
func (d Dir) Snapshot(ctx context.Context, parents ...string) (s *Snapshot, err error) {
	scratch, err := os.MkdirTemp("", "whet-index-*")
	if err != nil {
		return nil, err
	}
	index := filepath.Join(scratch, "index")
	s = &Snapshot{Dir: d.With("GIT_INDEX_FILE=" + index), scratch: scratch}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(scratch)
		}
	}()
	own, err := d.Run(ctx, "rev-parse", "--path-format=absolute", "--git-path", "index")
	if err != nil {
		return nil, err
	}
	if err := copyIndex(own, index); err != nil {
		return nil, err
	}
	nested, err := d.Nested(ctx)
	if err != nil {
		return nil, err
	}
	add := []string{"add", "--all", "--", "."}
	for _, n := range nested {
		if !n.Tracked { // it belongs to nobody's history
			add = append(add, ":(top,exclude,literal)"+n.Path)
		}
	}
	if _, err := s.Run(ctx, add...); err != nil {
		return nil, err
	}
	tree, err := s.Run(ctx, "write-tree")
	if err != nil {
		return nil, err
	}
	s.Commit, err = d.Record(ctx, tree, parents...)
	return s, err
}

// Drop removes the index; the commit stays.
func (s *Snapshot) Drop() { _ = os.RemoveAll(s.scratch) }

// copyIndex copies a checkout's index, which need not be there. Its time goes
// along: by that, git knows which files may have changed unseen.
func copyIndex(from, to string) error {
	const maxIndex = 1 << 30 // bytes; that of a million files has a tenth
	b, err := plainfile.Read(from, maxIndex)
	if errors.Is(err, os.ErrNotExist) { // nothing was ever added
		return nil
	}
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}
