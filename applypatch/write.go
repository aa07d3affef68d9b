package applypatch

import (
	"cmp"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/whet-dev/whet/internal/plainfile"
)

func (t *txn) fill(f *os.File, s *step) (err error) {
	defer func() { err = cmp.Or(err, f.Close()) }()
	if _, err := f.Write(s.New); err != nil {
		return err
	}
	if s.like != nil {
		if err := chownLike(f, s.like); err != nil {
			return err
		}
		if s.info != nil {
			copyAttributes(s.root.Root, s.rel, f)
		}
		if err := f.Chmod(s.like.Mode()); err != nil { // after chown, which clears set-user-id
			return err
		}
	}
	if t.opt.Fast {
		return nil
	}
	return f.Sync()
}

func (s *step) makeParents() error {
	dir := filepath.Dir(s.rel)
	var todo []string
	for d := dir; d != "."; d = filepath.Dir(d) {
		if _, err := s.root.Lstat(d); err == nil {
			break
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		todo = append(todo, d)
	}
	for _, d := range slices.Backward(todo) {
		if err := s.root.Mkdir(d, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		} else if err == nil {
			s.made = append(s.made, d)
		}
	}
	return nil
}

// overwrite writes into the file that is there.
func overwrite(r *os.Root, rel string, b []byte, sync bool) (err error) {
	f, err := r.OpenFile(rel, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, f.Close()) }()
	if _, err := f.WriteAt(b, 0); err != nil {
		return err
	}
	if err := f.Truncate(int64(len(b))); err != nil || !sync {
		return err
	}
	return f.Sync()
}

// restore puts a file back as it was. like, if known, gives its owner.
func restore(r *os.Root, rel string, b []byte, mode fs.FileMode, mtime time.Time, like fs.FileInfo) error {
	tmp := filepath.Join(filepath.Dir(rel), "."+clipName(filepath.Base(rel))+".whet-"+rand.Text()[:12])
	f, err := r.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if like != nil {
		err = errors.Join(err, chownLike(f, like))
	}
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = r.Chtimes(tmp, time.Time{}, mtime)
	}
	if err == nil {
		err = r.Rename(tmp, rel)
	}
	if err != nil {
		_ = r.Remove(tmp)
	}
	return err
}

// readFile reads a file of about size bytes.
func readFile(r *os.Root, rel string, size int64) ([]byte, error) {
	f, err := plainfile.OpenIn(r, rel)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, size+1)
	n, err := io.ReadFull(f, b)
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return b[:n], nil
	case err != nil:
		return nil, err
	}
	more, err := io.ReadAll(f)
	return append(b, more...), err
}
