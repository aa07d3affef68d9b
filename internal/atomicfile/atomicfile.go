// Package atomicfile replaces one file so that anyone who looks, at any moment
// and after any crash, finds the old bytes or the new ones. Several files that
// must change together are the business of package applypatch.
package atomicfile

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Write makes data the content of the file called name inside root. A file
// that exists keeps its mode, and one reached by a link inside root is itself
// replaced, not the link. A new file gets mode 0666 less the umask; its
// directory must exist.
func Write(root *os.Root, name string, data []byte) error {
	name, err := follow(root, filepath.ToSlash(name))
	if err != nil {
		return err
	}
	perm := fs.FileMode(0o666)
	old, err := root.Stat(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if old != nil && old.Mode().Perm()&0o200 == 0 {
		return &fs.PathError{Op: "write", Path: name, Err: errors.New("file is read-only")}
	}
	tmp := path.Join(path.Dir(name), "."+path.Base(name)+".whet-"+rand.Text()[:8])
	f, err := root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if old != nil {
		err = errors.Join(err, f.Chmod(old.Mode()))
	}
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = root.Rename(tmp, name)
	}
	if err != nil {
		_ = root.Remove(tmp)
	}
	return err
}

// follow resolves name through links. A link that leads out of root stays as
// it is: root refuses to open it.
func follow(root *os.Root, name string) (string, error) {
	const maxLinks = 40
	for range maxLinks {
		info, err := root.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return name, nil
		}
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			return name, err
		}
		to, err := root.Readlink(name)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(to) {
			if to, err = filepath.Rel(root.Name(), to); err != nil {
				return "", err
			}
			name = filepath.ToSlash(to)
			continue
		}
		name = path.Join(path.Dir(name), filepath.ToSlash(to))
	}
	return "", &fs.PathError{Op: "write", Path: name, Err: errors.New("too many links")}
}
