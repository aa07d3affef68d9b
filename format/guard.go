package format

import (
	"context"
	"os"
	"path/filepath"

	"github.com/whet-dev/whet"
)

// Guard formats the files that a call has changed, and says so in its result.
func Guard(o Options) whet.Guard {
	if o.Enabled != nil && !*o.Enabled {
		return whet.Guard{Name: "format"}
	}
	return whet.Guard{Name: "format", After: func(_ context.Context, c *whet.Call, r *whet.Result) error {
		if r.Failed {
			return nil
		}
		for _, path := range r.Changed {
			root, name, err := within(c.Session.Roots(), path)
			if err != nil {
				return err
			}
			if root == nil {
				continue
			}
			switch changed, err := File(root, name); {
			case err != nil:
				r.Note("[whet] %s was not formatted: %v", name, err)
			case changed:
				r.Note("[whet] %s was formatted after the edit; read it again before the next edit.", name)
			}
			root.Close()
		}
		return nil
	}}
}

// within opens the first of the directories that holds path; nil if none does.
func within(dirs []string, path string) (*os.Root, string, error) {
	for _, dir := range dirs {
		if name, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(name) {
			root, err := os.OpenRoot(dir)
			return root, name, err
		}
	}
	return nil, "", nil
}
