//go:build unix

package walk

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// nonblock keeps a named pipe, put in place of a file, from holding up the
// open.
const nonblock = syscall.O_NONBLOCK

// readDir lists a directory. Package os looks at every entry of a directory
// that was opened below a root, which takes longer than all the rest of a walk;
// through a descriptor of its own the directory is like any other, and the
// kernel tells the types in the listing.
func readDir(f *os.File) ([]fs.DirEntry, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	d := os.NewFile(uintptr(fd), f.Name())
	defer func() { _ = d.Close() }()
	return d.ReadDir(-1)
}
