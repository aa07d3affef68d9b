// Package install puts whet into the configuration of coding agents, and takes
// it out again. It edits the text of their files: comments, order and all that
// isn't whet's stay byte for byte.
//
// A plan is made first and shown; nothing is written before it is carried out.
package install

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/whet-dev/whet/internal/jsonc"
)

// A Change is a file before and after. A nil text means that there is none.
type Change struct {
	Path          string
	Before, After []byte
}

// Wish says what to plan.
type Wish struct {
	Hosts   []Host
	Replace bool // switch off what a host has of its own where whet has a better one
	Remove  bool
}

// Find returns the host called name.
func Find(name string) (Host, error) {
	var names []string
	for _, h := range Hosts() {
		if h.Name == name {
			return h, nil
		}
		names = append(names, h.Name)
	}
	return Host{}, fmt.Errorf("unknown host %q; known: %s", name, strings.Join(names, ", "))
}

// Present reports whether the agent is on the machine: its program, or the
// directory that it keeps its settings in.
func (h Host) Present(e Env) bool {
	if _, err := e.LookPath(h.Program); err == nil {
		return true
	}
	return slices.ContainsFunc(h.dirs(e), func(dir string) bool {
		info, err := os.Stat(dir)
		return err == nil && info.IsDir()
	})
}

// Plan says what would change. The error names the file that is in the way;
// then nothing at all should be written.
func Plan(e Env, w Wish, m *Manifest) ([]Change, error) {
	p := planner{before: map[string][]byte{}, after: map[string][]byte{}}
	for _, h := range w.Hosts {
		files := h.files(e)
		// What --replace put there is taken out with the rest.
		if h.replaces != nil && (w.Replace || w.Remove && m.replaced(h.Name)) {
			files = append(files, h.replaces(e)...)
		}
		for _, f := range files {
			if err := p.file(f, w.Remove, m); err != nil {
				return nil, fmt.Errorf("%s: %w", f.path, err)
			}
		}
	}
	var changes []Change
	for _, path := range p.order {
		if c := (Change{path, p.before[path], p.after[path]}); !bytes.Equal(c.Before, c.After) || (c.Before == nil) != (c.After == nil) {
			changes = append(changes, c)
		}
	}
	return changes, nil
}

// A planner keeps what files would be, so that two hosts may share one.
type planner struct {
	order         []string
	before, after map[string][]byte
}

func (p *planner) file(f file, remove bool, m *Manifest) error {
	if _, seen := p.before[f.path]; !seen {
		text, err := os.ReadFile(f.path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return errors.Unwrap(err)
		}
		if err == nil && text == nil {
			text = []byte{}
		}
		p.order = append(p.order, f.path)
		p.before[f.path], p.after[f.path] = text, text
	}
	text := p.after[f.path]
	if remove {
		if original, known := m.original(f.path, p.before[f.path]); known {
			p.after[f.path] = original
			return nil
		}
	}
	out, err := f.transform(text, remove)
	if err != nil {
		return err
	}
	p.after[f.path] = out
	return nil
}

// transform puts whet into a file's text, or takes it out.
func (f file) transform(text []byte, remove bool) ([]byte, error) {
	switch {
	case f.whole != nil && remove:
		return nil, nil
	case f.whole != nil:
		return f.whole, nil
	case remove && text == nil:
		return nil, nil
	case f.table != nil:
		return f.tables(text, remove)
	}
	d, err := jsonc.Parse(text)
	if err != nil {
		return nil, err
	}
	for _, e := range f.edits {
		if remove {
			err = e.undo(d)
		} else {
			err = e.apply(d)
		}
		if err != nil {
			return nil, err
		}
	}
	return d.Bytes(), nil
}

// Commands lists the ways in which a host's configuration starts whet.
func (h Host) Commands(e Env) ([]Command, error) {
	var all []Command
	for _, f := range h.files(e) {
		text, err := os.ReadFile(f.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		v, err := f.decode(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.path, err)
		}
		collect(v, func(c Command) {
			c.File = f.path
			all = append(all, c)
		})
	}
	return all, nil
}

func (f file) decode(text []byte) (any, error) {
	if f.table != nil {
		return readTOML(text)
	}
	if filepath.Ext(f.path) == ".js" {
		return nil, nil
	}
	d, err := jsonc.Parse(text)
	if err != nil {
		return nil, err
	}
	v, _ := d.Get()
	return v, nil
}

// collect walks a configuration for whet's commands.
func collect(v any, found func(Command)) {
	switch v := v.(type) {
	case map[string]any:
		if c, ok := commandOf(v); ok && c.isWhet() {
			found(c)
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			collect(v[name], found)
		}
	case []any:
		for _, x := range v {
			collect(x, found)
		}
	}
}

// Paths lists the files that whet puts something into.
func (h Host) Paths(e Env) (paths []string) {
	for _, f := range h.files(e) {
		paths = append(paths, f.path)
	}
	return paths
}
