package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/whet-dev/whet/market/tree"
)

// A Finding is one way in which what is stored isn't what was installed.
type Finding struct {
	File string // in the package; empty for all of it
	What string // modified, missing, extra, mode, or a sentence
}

func (f Finding) String() string { return strings.TrimSpace(f.File + " " + f.What) }

// Verify reads every stored byte of the package again.
func (s *Store) Verify(id string, p Package) []Finding {
	entries, err := s.entries(p.Tree)
	if err != nil {
		return []Finding{listTrouble(err)}
	}
	found := s.look(id, p.Tree, entries, true)
	for _, e := range entries {
		b, err := os.ReadFile(s.path(filepath.FromSlash(blobName(e.sum))))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			found = append(found, Finding{e.name, "missing from the store's objects"})
		case err != nil || sum(b) != e.sum:
			found = append(found, Finding{e.name, "modified in the store's objects"})
		}
	}
	return found
}

// Look is a quick Verify: it reads files only if the size or the time of
// anything isn't that of the installation.
func (s *Store) Look(id string, p Package) []Finding {
	entries, err := s.entries(p.Tree)
	if err != nil {
		return []Finding{listTrouble(err)}
	}
	return s.look(id, p.Tree, entries, false)
}

// Glance reports whether the package's directory is there and what is in its
// top was not touched: all that matters of one that is not in force.
func (s *Store) Glance(id string, p Package) bool {
	info, err := os.Lstat(s.Root(id, p.Tree))
	return err == nil && info.IsDir() && info.ModTime().Equal(stamp)
}

// Load reads the package's files, each checked against its digest.
func (s *Store) Load(id string, p Package) (tree.Tree, []Finding) {
	entries, err := s.entries(p.Tree)
	if err != nil {
		return nil, []Finding{listTrouble(err)}
	}
	if found := s.look(id, p.Tree, entries, false); found != nil {
		return nil, found
	}
	root := s.Root(id, p.Tree)
	var files []tree.File
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(e.name)))
		if err != nil || sum(b) != e.sum {
			return nil, []Finding{{e.name, "modified"}}
		}
		files = append(files, tree.File{Name: e.name, Exec: e.exec, Data: b})
	}
	return tree.New(files), nil
}

func listTrouble(err error) Finding {
	if errors.Is(err, fs.ErrNotExist) {
		return Finding{"", "the list of its files is missing"}
	}
	return Finding{"", err.Error()}
}

// look compares the materialised files with their list. Unless all is set it
// reads them only if anything looks touched.
func (s *Store) look(id, digest string, entries []entry, all bool) (found []Finding) {
	root, dirs := s.Root(id, digest), parents(entries)
	if !all && untouched(root, dirs, entries) {
		return nil
	}
	want := make(map[string]entry, len(entries))
	for _, e := range entries {
		want[e.name] = e
	}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(strings.TrimPrefix(p, root), string(filepath.Separator)))
		if d.IsDir() {
			if name != "" && !dirs[name] {
				found = append(found, Finding{name + "/", "extra"})
				return fs.SkipDir
			}
			return nil
		}
		e, ok := want[name]
		delete(want, name)
		if !ok {
			found = append(found, Finding{name, "extra"})
		} else if what := compare(p, d, e); what != "" {
			found = append(found, Finding{name, what})
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		found = append(found, Finding{"", err.Error()})
	}
	for name := range want {
		found = append(found, Finding{name, "missing"})
	}
	slices.SortFunc(found, func(a, b Finding) int { return strings.Compare(a.File, b.File) })
	return found
}

// untouched reports whether every file has the size, mode and time that it was
// made with, and every directory the time, which changes with what is in it.
func untouched(root string, dirs map[string]bool, entries []entry) bool {
	same := func(name string) fs.FileInfo {
		info, err := os.Lstat(filepath.Join(root, name))
		if err != nil || !info.ModTime().Equal(stamp) {
			return nil
		}
		return info
	}
	if info := same(""); info == nil || !info.IsDir() {
		return false
	}
	for d := range dirs {
		if info := same(d); info == nil || !info.IsDir() {
			return false
		}
	}
	for _, e := range entries {
		info := same(e.name)
		if info == nil || !info.Mode().IsRegular() || info.Size() != e.size || hasExecBits && (info.Mode().Perm()&0o111 != 0) != e.exec {
			return false
		}
	}
	return true
}

func parents(entries []entry) map[string]bool {
	dirs := map[string]bool{}
	for _, e := range entries {
		for i, c := range e.name {
			if c == '/' {
				dirs[e.name[:i]] = true
			}
		}
	}
	return dirs
}

// compare says what is wrong with one materialised file.
func compare(path string, d fs.DirEntry, e entry) string {
	info, err := d.Info()
	switch {
	case err != nil || !info.Mode().IsRegular() || info.Size() != e.size:
		return "modified"
	case hasExecBits && (info.Mode().Perm()&0o111 != 0) != e.exec:
		return "mode"
	}
	b, err := os.ReadFile(path)
	if err != nil || sum(b) != e.sum {
		return "modified"
	}
	return ""
}
