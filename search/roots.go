package search

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/whet-dev/whet/internal/escape"
	"github.com/whet-dev/whet/internal/plainfile"
	"github.com/whet-dev/whet/internal/similar"
)

// inside tells whether p, followed through its links, stays within one of the
// roots. What doesn't exist is judged by the part that does.
func inside(roots []string, p string) bool {
	for _, root := range roots {
		for _, r := range spellings(root) {
			if rel, ok := under(r, p); ok && staysIn(r, rel) {
				return true
			}
		}
	}
	return false
}

// spellings returns root, and its path without links if that is another: a
// model may have been told either.
func spellings(root string) []string {
	if real, err := filepath.EvalSymlinks(root); err == nil && real != root {
		return []string{root, real}
	}
	return []string{root}
}

// under returns p relative to root, if it is there by its text.
func under(root, p string) (rel string, ok bool) {
	rel, err := filepath.Rel(root, p)
	return rel, err == nil && filepath.IsLocal(rel)
}

// staysIn looks along rel for a link that leads out of root.
func staysIn(root, rel string) bool {
	r, err := os.OpenRoot(root)
	if err != nil {
		return true // there is nothing to find, and nothing that leads out
	}
	defer func() { _ = r.Close() }()
	for rel != "." {
		_, err := r.Stat(rel)
		switch {
		case err == nil:
			return true
		case strings.Contains(err.Error(), "escapes"):
			return false // package os has no name for this error
		}
		rel = filepath.Dir(rel)
	}
	return true
}

// siblings returns up to three names that stand where p's first missing
// component was looked for and resemble it, nearest first.
func siblings(roots []string, p string) []string {
	dir := nearest(p)
	rel, err := filepath.Rel(dir, filepath.Clean(p))
	if err != nil || !inside(roots, dir) {
		return nil
	}
	want, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
	f, err := plainfile.OpenDir(dir)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	const most = 10_000 // a directory of a million files isn't worth the wait
	names, _ := f.Readdirnames(most)
	return neighbours(want, names)
}

// A MissingError says to a person that a path isn't there, and what stands
// where it was looked for.
type MissingError struct{ Given, Nearest, Similar string }

func (e *MissingError) Error() string {
	text := fmt.Sprintf("%s does not exist; the nearest directory that does is %s", escape.Text(e.Given), escape.Text(e.Nearest))
	if e.Similar != "" {
		text += ", which has " + e.Similar
	}
	return text
}

// Missing describes the absolute path p, which isn't there, as it was given. It
// is for who may look anywhere.
func Missing(given, p string) *MissingError {
	dir := nearest(p)
	root := filepath.VolumeName(dir) + string(filepath.Separator)
	return &MissingError{given, dir, strings.Join(siblings([]string{root}, p), ", ")}
}

// neighbours returns up to three of names by edit distance from want.
func neighbours(want string, names []string) []string {
	type near struct {
		name string
		dist int
	}
	var found []near
	limit := max(2, len(want)/3)
	lower := strings.ToLower(want)
	for _, n := range names {
		if d := len(n) - len(want); d > limit || -d > limit {
			continue
		}
		if d := similar.Distance(lower, strings.ToLower(n)); d <= limit && d < len(want) {
			found = append(found, near{n, d})
		}
	}
	slices.SortFunc(found, func(a, b near) int {
		return cmp.Or(cmp.Compare(a.dist, b.dist), cmp.Compare(a.name, b.name))
	})
	var out []string
	for _, n := range found[:min(3, len(found))] {
		out = append(out, escape.Text(n.name))
	}
	return out
}
