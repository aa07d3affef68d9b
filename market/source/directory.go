package source

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/whet-dev/whet/internal/plainfile"
)

// directory reads a directory by an open root: a link that is swapped in while
// it is read leads nowhere else.
func (c *collector) directory(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return unreadable(dir, err)
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return unreadable(name, err)
		}
		if name == "." {
			return nil
		}
		if strings.EqualFold(d.Name(), ".git") {
			c.note("left-out", name, "a repository's own data is no part of a package")
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.Name() == ".DS_Store" {
			return nil
		}
		if err := c.count(name); err != nil {
			return err
		}
		as, err := clean(name)
		if err != nil {
			return err
		}
		return c.found(root, as, d)
	})
}

// found takes one entry of a directory.
func (c *collector) found(root *os.Root, name string, d fs.DirEntry) error {
	switch d.Type() {
	case fs.ModeDir:
		return nil
	case fs.ModeSymlink:
		target, err := root.Readlink(name)
		if err != nil {
			return unreadable(name, err)
		}
		return c.link(name, strings.ReplaceAll(target, string(os.PathSeparator), "/"))
	case 0:
	default:
		return refuse("not-regular", name, "it is a %s; a package has only files, directories and links", kind(d.Type()))
	}
	f, err := plainfile.OpenIn(root, name)
	if err != nil {
		return unreadable(name, err)
	}
	defer f.Close()
	st, err := f.Stat()
	switch {
	case err != nil:
		return unreadable(name, err)
	case !st.Mode().IsRegular():
		return refuse("not-regular", name, "it is a %s; a package has only files, directories and links", kind(st.Mode()))
	case st.Size() > c.max.file:
		return refuse("file-too-large", name, "the file has more than %d bytes", c.max.file)
	}
	return c.add(name, st.Mode(), f)
}

// reason is why, without the operation and the path that the sentence has
// already.
func reason(err error) string {
	if errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	return plainfile.Cause(err).Error()
}
