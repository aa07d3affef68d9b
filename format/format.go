// Package format formats the files that an agent has edited. Formatting never
// costs the edit: a file that can't be formatted stays as the agent wrote it.
package format

import (
	"bytes"
	"fmt"
	"go/format"
	"os"
	"path/filepath"

	"github.com/whet-dev/whet/internal/atomicfile"
)

// maxSize is the largest file that is formatted, in bytes.
const maxSize = 2 << 20

// File formats one file in place, inside root. It reports whether the bytes
// changed; name is relative to root. A file that no formatter knows is left.
func File(root *os.Root, name string) (changed bool, err error) {
	if filepath.Ext(name) != ".go" {
		return false, nil
	}
	info, err := root.Stat(name)
	if err != nil || info.Size() > maxSize {
		return false, err
	}
	src, err := root.ReadFile(name)
	if err != nil {
		return false, err
	}
	out, err := format.Source(src)
	if err != nil {
		return false, fmt.Errorf("gofmt: %w", err)
	}
	if len(out) == 0 || bytes.Equal(src, out) {
		return false, nil
	}
	return true, atomicfile.Write(root, name, out)
}
