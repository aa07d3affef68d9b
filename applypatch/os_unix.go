//go:build unix

package applypatch

import (
	"io/fs"
	"os"
	"syscall"
)

const errNotDir = syscall.ENOTDIR

// links is how many names the file has.
func links(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink) //nolint:unconvert // its size differs between systems
	}
	return 1
}

// chownLike gives f the owner and group of like, if they differ and we may.
func chownLike(f *os.File, like fs.FileInfo) error {
	want, ok := like.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	now, err := f.Stat()
	if err != nil {
		return err
	}
	if st, ok := now.Sys().(*syscall.Stat_t); ok && (st.Uid != want.Uid || st.Gid != want.Gid) {
		_ = f.Chown(int(want.Uid), int(want.Gid))
	}
	return nil
}

// syncDir flushes a directory's entries to disk.
func syncDir(r *os.Root, dir string) error {
	f, err := r.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
