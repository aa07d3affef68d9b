package state

import (
	"fmt"
	"os"
	"path/filepath"
)

// maxSocket is the longest path of a socket that every system takes, in bytes.
const maxSocket = 100

// Socket returns the path of the socket that belongs to dir: inside, or if that
// is too long a path for a socket, in a directory of the user's own for
// temporary files.
func Socket(dir string) string {
	if path := filepath.Join(dir, "socket"); len(path) <= maxSocket {
		return path
	}
	base := os.Getenv("XDG_RUNTIME_DIR")
	if base == "" {
		base = filepath.Join(os.TempDir(), fmt.Sprintf("whet-%d", os.Getuid()))
	}
	return filepath.Join(base, hashed(dir))
}
