//go:build !unix

package applypatch

import (
	"io/fs"
	"os"
	"syscall"
)

const errNotDir = syscall.ENOTDIR

func links(fs.FileInfo) uint64 { return 1 }

func chownLike(*os.File, fs.FileInfo) error { return nil }

func syncDir(*os.Root, string) error { return nil }
