package format

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/whet-dev/whet/internal/walk"
)

// Programs lists the files of a project that formatting would run as programs:
// configurations that are code, and the programs of custom commands. Formatters
// that are installed in the project are not searched for. Names are relative
// to root, with slashes.
func (e *Engine) Programs(ctx context.Context, root *os.Root) ([]string, error) {
	top, err := filepath.EvalSymlinks(root.Name())
	if err != nil {
		return nil, err
	}
	marks := map[string]string{} // by file name
	for _, r := range table {
		for m := range strings.FieldsSeq(r.code) {
			name := m
			if i := strings.IndexAny(m[1:], "~!#@"); i >= 0 {
				name = m[:i+1]
			}
			marks[name] += " " + m
		}
	}
	var mu sync.Mutex
	var names []string
	_, err = walk.Walk(ctx, walk.Options{Root: root, Hidden: true}, func(_ int, en walk.Entry) {
		m := marks[path.Base(en.Path)]
		if m == "" {
			return
		}
		file := filepath.Join(top, filepath.FromSlash(en.Path))
		if newSite(file, top).marked(filepath.Dir(file), m) != nil {
			mu.Lock()
			defer mu.Unlock()
			names = append(names, en.Path)
		}
	})
	for _, u := range e.Use {
		if len(u.Command) == 0 || !strings.ContainsRune(u.Command[0], filepath.Separator) {
			continue
		}
		file := u.Command[0]
		if !filepath.IsAbs(file) {
			file = filepath.Join(top, file)
		}
		if rel, err := filepath.Rel(top, file); err == nil && filepath.IsLocal(rel) {
			names = append(names, filepath.ToSlash(rel))
		}
	}
	slices.Sort(names)
	return slices.Compact(names), err
}
