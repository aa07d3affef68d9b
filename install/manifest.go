package install

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/whet-dev/whet/internal/atomicfile"
)

// A Manifest remembers what files were before whet came, so that they can be
// that again. It is kept among whet's state; without it, uninstalling takes
// whet's entries out one by one.
type Manifest struct {
	Files    map[string]record `json:"files"`
	Replaced []string          `json:"replaced,omitempty"` // hosts that --replace was used for
	Dirs     []string          `json:"dirs,omitempty"`     // directories made for files

	path string
}

type record struct {
	After  string `json:"after"`            // hash of the file as whet left it
	Before []byte `json:"before,omitempty"` // the file as it was
	New    bool   `json:"new,omitempty"`    // there was none
}

// Load reads the manifest in a directory. A damaged one counts as none.
func Load(dir string) *Manifest {
	m := &Manifest{path: filepath.Join(dir, "install.json")}
	if b, err := os.ReadFile(m.path); err == nil && json.Unmarshal(b, m) != nil {
		m.Files, m.Replaced, m.Dirs = nil, nil, nil
	}
	if m.Files == nil {
		m.Files = map[string]record{}
	}
	return m
}

// original returns what the file was before whet came, if nobody has changed
// it since.
func (m *Manifest) original(path string, now []byte) (text []byte, known bool) {
	r, ok := m.Files[path]
	if !ok || now == nil || r.After != sum(now) {
		return nil, false
	}
	if r.New {
		return nil, true
	}
	return append([]byte{}, r.Before...), true
}

func (m *Manifest) replaced(host string) bool { return slices.Contains(m.Replaced, host) }

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// Apply writes the changes of a plan and remembers what was there. Each file is
// written whole or not at all.
func (m *Manifest) Apply(changes []Change, w Wish) error {
	if !w.Remove && w.Replace {
		for _, h := range w.Hosts {
			if !m.replaced(h.Name) {
				m.Replaced = append(m.Replaced, h.Name)
			}
		}
	}
	if w.Remove {
		m.Replaced = slices.DeleteFunc(m.Replaced, func(name string) bool {
			return slices.ContainsFunc(w.Hosts, func(h Host) bool { return h.Name == name })
		})
	}
	for _, c := range changes {
		if err := m.apply(c, w.Remove); err != nil {
			return errors.Join(fmt.Errorf("writing %s: %w", c.Path, err), m.save())
		}
	}
	if w.Remove {
		slices.SortFunc(m.Dirs, func(a, b string) int { return len(b) - len(a) }) // deepest first
		m.Dirs = slices.DeleteFunc(m.Dirs, func(dir string) bool {
			err := os.Remove(dir) // not if something is in it
			return err == nil || errors.Is(err, fs.ErrNotExist)
		})
	}
	return m.save()
}

func (m *Manifest) apply(c Change, remove bool) error {
	if now, err := os.ReadFile(c.Path); err == nil && !bytes.Equal(now, c.Before) || err != nil && (c.Before != nil || !errors.Is(err, fs.ErrNotExist)) {
		return errors.New("it has changed since the plan was made; try again")
	}
	if c.After == nil {
		if err := os.Remove(c.Path); err != nil {
			return err
		}
		delete(m.Files, c.Path)
		return nil
	}
	r := record{After: sum(c.After), Before: c.Before, New: c.Before == nil}
	if old, ok := m.Files[c.Path]; ok {
		if old.After == sum(c.Before) { // nobody else has been there
			r.Before, r.New = old.Before, old.New
		}
	}
	if !remove {
		made, err := makeDirs(filepath.Dir(c.Path))
		if err != nil {
			return err
		}
		m.Dirs = append(m.Dirs, made...)
	}
	if err := write(c.Path, c.After); err != nil {
		return err
	}
	if remove {
		delete(m.Files, c.Path)
	} else {
		m.Files[c.Path] = r
	}
	return nil
}

// makeDirs makes a directory and returns those that weren't there, deepest first.
func makeDirs(dir string) (made []string, err error) {
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); err == nil || filepath.Dir(d) == d {
			break
		}
		made = append(made, d)
	}
	return made, os.MkdirAll(dir, 0o700)
}

// write replaces a file, also through a link that leads elsewhere: many keep
// their settings in a repository of their own.
func write(path string, text []byte) error {
	top := filepath.VolumeName(path) + string(filepath.Separator)
	root, err := os.OpenRoot(top)
	if err != nil {
		return err
	}
	defer root.Close()
	name, err := filepath.Rel(top, path)
	if err != nil {
		return err
	}
	return atomicfile.Write(root, name, text)
}

func (m *Manifest) save() error {
	if len(m.Files) == 0 && len(m.Replaced) == 0 {
		err := os.Remove(m.path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(m.path), 0o700); err != nil {
		return err
	}
	if err := write(m.path, b); err != nil {
		return err
	}
	return os.Chmod(m.path, 0o600) // it holds copies of settings
}
