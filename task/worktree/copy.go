package worktree

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// copyFile copies a file or a link from one tree into another, unless it is
// there already. Neither tree is left, whatever links it holds.
func copyFile(from, to *os.Root, name string) error {
	info, err := from.Lstat(name)
	if err != nil {
		return err
	}
	if err := to.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := from.Readlink(name)
		if err == nil {
			err = to.Symlink(target, name)
		}
		return there(err)
	}
	if !info.Mode().IsRegular() {
		return nil // a pipe or a socket can't be had twice
	}
	src, err := from.Open(name)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return there(err)
	}
	_, err = io.Copy(dst, src) // shares the blocks where the file system can
	return errors.Join(err, dst.Close())
}

// there forgives that something has been there already.
func there(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
