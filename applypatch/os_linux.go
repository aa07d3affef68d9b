package applypatch

import (
	"os"

	"golang.org/x/sys/unix"
)

// copyAttributes copies extended attributes, access lists among them, as far as
// the file system and our rights allow.
func copyAttributes(r *os.Root, from string, to *os.File) {
	f, err := r.Open(from)
	if err != nil {
		return
	}
	defer f.Close()
	names := make([]byte, 1<<10)
	n, err := unix.Flistxattr(int(f.Fd()), names)
	if err != nil {
		return
	}
	var value []byte
	for start, i := 0, 0; i < n; i++ {
		if names[i] != 0 {
			continue
		}
		name := string(names[start:i])
		if value == nil {
			value = make([]byte, 64<<10)
		}
		start = i + 1
		if m, err := unix.Fgetxattr(int(f.Fd()), name, value); err == nil {
			_ = unix.Fsetxattr(int(to.Fd()), name, value[:m], 0)
		}
	}
}
