// Package hosttool says what a host's own tools are in whet's words: the table
// that each host keeps, and what can be told of a call by it.
package hosttool

import (
	"path/filepath"
	"strings"

	"github.com/whet-dev/whet"
)

// A Tool names one of a host's own tools as guards know it.
type Tool struct {
	Name     string
	PathArg  string // the parameter that is the call's path
	PatchArg string // the parameter that is a patch
	Edits    bool   // writes the file at its path, or those that its patch names
}

// Table maps the names of a host's own tools.
type Table map[string]Tool

// Name gives c the canonical name and path of its tool, if the table has it.
func (t Table) Name(c *whet.Call) {
	if tool, ok := t[c.Tool]; ok {
		c.Tool = tool.Name
		if c.Path == "" {
			c.Path = whet.StringArg(c.Args, tool.PathArg)
		}
	}
}

// Edited lists the files that a finished call of this tool wrote, absolute.
// Call it with the call's path already set.
func (t Tool) Edited(c *whet.Call) (files []string) {
	if !t.Edits {
		return nil
	}
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
