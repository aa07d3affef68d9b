//go:build !unix

package walk

import (
	"io/fs"
	"os"
)

const nonblock = 0

func readDir(f *os.File) ([]fs.DirEntry, error) { return f.ReadDir(-1) }
