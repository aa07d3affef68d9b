package kit

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/astgrep"
	"github.com/whet-dev/whet/internal/atomicfile"
)

// commit writes the edits one after the other, each at once, after a look at
// all of them. If one can't be written those before it are put back.
func commit(_ context.Context, s whet.Session, edits []astgrep.Edit) error {
	for _, e := range edits {
		now, err := os.ReadFile(e.Path)
		if err != nil {
			return err
		}
		if !bytes.Equal(now, e.Old) {
			return fmt.Errorf("%s has just been changed", e.Path)
		}
	}
	for i, e := range edits {
		if err := write(s, e.Path, e.New); err != nil {
			for _, done := range edits[:i] {
				if back := write(s, done.Path, done.Old); back != nil {
					return fmt.Errorf("%w; and %s could not be put back: %w", err, done.Path, back)
				}
			}
			return err
		}
	}
	return nil
}

func write(s whet.Session, path string, text []byte) error {
	for _, dir := range s.Roots() {
		rel, err := filepath.Rel(dir, path)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return err
		}
		defer func() { _ = root.Close() }()
		return atomicfile.Write(root, rel, text)
	}
	return fmt.Errorf("%s is outside the project", path)
}
