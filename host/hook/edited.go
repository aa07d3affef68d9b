package hook

import (
	"path/filepath"
	"strings"

	"github.com/whet-dev/whet"
)

// edited lists the files that a finished call of an editing tool wrote, absolute.
func edited(c *whet.Call, t Tool) (files []string) {
	names := []string{c.Path}
	if t.PatchArg != "" {
		names = patched(whet.StringArg(c.Args, t.PatchArg))
	}
	for _, name := range names {
		if name == "" {
			continue
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(c.Session.Dir, name)
		}
		files = append(files, name)
	}
	return files
}

// patched lists the files that are there after a patch has been applied.
func patched(patch string) (names []string) {
	for line := range strings.Lines(patch) {
		line = strings.TrimSpace(line)
		for _, header := range []string{"*** Add File:", "*** Update File:", "*** Move to:"} {
			name, ok := strings.CutPrefix(line, header)
			if !ok {
				continue
			}
			name = strings.TrimSpace(name)
			if header == "*** Move to:" && len(names) > 0 {
				names[len(names)-1] = name
			} else {
				names = append(names, name)
			}
		}
	}
	return names
}
