// Package plainfile opens regular files and directories, and nothing else. What
// a repository brings under the name of a file may be a pipe, the open of which
// waits for a writer for ever, or a device without end; and a look before the
// open doesn't help when somebody changes the file in between.
package plainfile

import (
	"errors"
	"io"
	"os"
)

// ErrSpecial says that a file is no regular one: a pipe, a socket, a device or
// a directory.
var ErrSpecial = errors.New("not a regular file")

// ErrLarge says that a file is larger than the reader is ready for.
var ErrLarge = errors.New("too large")

// Open opens a regular file for reading.
func Open(path string) (*os.File, error) {
	return regular(os.OpenFile(path, os.O_RDONLY|nonblock, 0))
}

// OpenIn opens a regular file below root for reading.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	return regular(root.OpenFile(name, os.O_RDONLY|nonblock, 0))
}

func regular(f *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "open", Path: f.Name(), Err: ErrSpecial}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// Read returns a regular file's content, of at most limit bytes.
func Read(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	return read(f, limit)
}

// ReadIn returns the content of a regular file below root, of at most limit bytes.
func ReadIn(root *os.Root, name string, limit int64) ([]byte, error) {
	f, err := OpenIn(root, name)
	if err != nil {
		return nil, err
	}
	return read(f, limit)
}

func read(f *os.File, limit int64) ([]byte, error) {
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		return nil, &os.PathError{Op: "read", Path: f.Name(), Err: ErrLarge}
	}
	return b, err
}

// Cause drops the operation and the path from an error, for a sentence that says
// them already.
func Cause(err error) error {
	if p := (*os.PathError)(nil); errors.As(err, &p) {
		return p.Err
	}
	return err
}

// OpenDir opens a directory, to list it.
func OpenDir(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|directory, 0) }

// OpenDirIn opens a directory below root, to list it.
func OpenDirIn(root *os.Root, name string) (*os.File, error) {
	return root.OpenFile(name, os.O_RDONLY|directory, 0)
}
