package applypatch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/whet-dev/whet/internal/plainfile"
)

// A Workspace is the directories that a patch may touch. All reading and
// writing goes through an [os.Root] of one of them, so that a link put in place
// after a path was checked can't lead out.
type Workspace struct {
	dir   string // where relative paths start, as a real path
	roots []root
}

type root struct {
	dir string // real path
	*os.Root
}

// Open returns the workspace of dir and the other roots. Roots that don't exist
// or that are the whole file system are left out; dir must exist.
func Open(dir string, others ...string) (*Workspace, error) {
	w := &Workspace{}
	for i, d := range append([]string{dir}, others...) {
		real, err := realDir(d)
		if i == 0 {
			if err != nil {
				return nil, fmt.Errorf("opening workspace %s: %w", d, err)
			}
			w.dir = real
		}
		if err != nil || i > 0 && filepath.Dir(real) == real || slices.ContainsFunc(w.roots, func(r root) bool { return r.dir == real }) {
			continue
		}
		r, err := os.OpenRoot(real)
		if err != nil {
			w.Close()
			return nil, fmt.Errorf("opening workspace %s: %w", d, err)
		}
		w.roots = append(w.roots, root{real, r})
	}
	return w, nil
}

func realDir(d string) (string, error) {
	if d == "" {
		return "", fs.ErrNotExist
	}
	d, err := filepath.Abs(d)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(d)
}

// Close releases the roots.
func (w *Workspace) Close() {
	for _, r := range w.roots {
		_ = r.Close()
	}
}

// Roots returns the real paths of the roots, the working directory's first.
func (w *Workspace) Roots() []string {
	ds := make([]string, len(w.roots))
	for i, r := range w.roots {
		ds[i] = r.dir
	}
	return ds
}

// target is a path inside the workspace.
type target struct {
	root root
	rel  string // below root, through no link; for os.Root
	real string // root.dir joined with rel: the file's identity
	show string // for people and patches: relative to the workspace, with slashes
	note string // how the path as written was changed
}

var errOutside = errors.New("path is outside the workspace")

// locate resolves name, relative to base. follow says whether a link at the
// very end is followed (update) or meant itself (delete).
func (w *Workspace) locate(base, name string, follow bool) (target, error) {
	abs := filepath.FromSlash(name)
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(base, abs)
	}
	abs = filepath.Clean(abs)
	real, err := realPath(abs, follow)
	if err != nil {
		return target{}, err
	}
	for _, r := range w.roots {
		if rel, err := filepath.Rel(r.dir, real); err == nil && filepath.IsLocal(rel) {
			return target{root: r, rel: rel, real: real, show: w.show(real)}, nil
		}
	}
	return target{}, errOutside
}

func (w *Workspace) show(real string) string {
	rel, err := filepath.Rel(w.dir, real)
	if err != nil {
		return filepath.ToSlash(real)
	}
	return filepath.ToSlash(rel)
}

// realPath resolves the links of the longest part of abs that exists.
func realPath(abs string, follow bool) (string, error) {
	if !follow {
		dir, err := realPath(filepath.Dir(abs), true)
		return filepath.Join(dir, filepath.Base(abs)), err
	}
	tail := ""
	for p := abs; ; p = filepath.Dir(p) {
		real, err := filepath.EvalSymlinks(p)
		if err == nil {
			return filepath.Join(real, tail), nil
		}
		if info, lerr := os.Lstat(p); lerr == nil && info.Mode()&fs.ModeSymlink != 0 && !errors.Is(err, fs.ErrPermission) {
			return danglingTarget(p, tail)
		}
		if !missing(err) || filepath.Dir(p) == p {
			return "", err
		}
		tail = filepath.Join(filepath.Base(p), tail)
	}
}

// danglingTarget is where a link that leads to nothing leads: the file would be
// made there, so there it must be allowed.
func danglingTarget(link, tail string) (string, error) {
	to, err := os.Readlink(link)
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(link), to)
	}
	if filepath.Clean(to) == link {
		return "", &fs.PathError{Op: "follow", Path: link, Err: errors.New("link to itself")}
	}
	if _, err := os.Lstat(to); err == nil {
		return "", &fs.PathError{Op: "follow", Path: link, Err: errors.New("links in a circle")}
	}
	return realPath(filepath.Join(to, tail), true)
}

// missing reports that there is no such file, perhaps because a parent is one.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir)
}

// find resolves the path of a section. If the file must exist and doesn't, the
// ways in which models miswrite a path are tried; only one may exist.
func (w *Workspace) find(base, name string, exists, follow bool) (target, error) {
	t, err := w.locate(base, name, follow)
	if err == nil && (!exists || t.exists()) {
		return t, nil
	}
	var found []target
	for _, v := range variants(name) {
		if o, oerr := w.locate(base, v, follow); oerr == nil && (o.exists() || !exists && v == unquote(name)) &&
			!slices.ContainsFunc(found, func(f target) bool { return f.real == o.real }) {
			o.note = fmt.Sprintf("%s is taken as %s", name, o.show)
			found = append(found, o)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return t, err
}

func (t target) exists() bool {
	_, err := t.root.Lstat(t.rel)
	return err == nil
}

func unquote(name string) string {
	if n := len(name); n > 2 && name[0] == name[n-1] && strings.IndexByte("\"'`", name[0]) >= 0 {
		return name[1 : n-1]
	}
	return name
}

// variants are other spellings of a path: quoted, with a diff's a/ or b/, with
// the root as /, with other composition of accents, with backslashes.
func variants(name string) []string {
	u := unquote(name)
	vs := []string{u, norm.NFC.String(u), norm.NFD.String(u)}
	if rest, ok := strings.CutPrefix(u, "a/"); ok {
		vs = append(vs, rest)
	}
	if rest, ok := strings.CutPrefix(u, "b/"); ok {
		vs = append(vs, rest)
	}
	if path.IsAbs(u) {
		vs = append(vs, strings.TrimLeft(u, "/"))
	}
	if runtime.GOOS != "windows" && strings.Contains(u, `\`) {
		vs = append(vs, strings.ReplaceAll(u, `\`, "/"))
	}
	return slices.DeleteFunc(vs, func(v string) bool { return v == name || v == "" })
}

// similar lists up to three files near a path that isn't there.
func (w *Workspace) similar(base, name string) []string {
	abs := filepath.FromSlash(name)
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(base, abs)
	}
	t, err := w.locate(base, filepath.Dir(abs), true)
	if err != nil {
		return nil
	}
	f, err := plainfile.OpenDirIn(t.root.Root, t.rel)
	if err != nil {
		return nil
	}
	defer f.Close()
	es, _ := f.ReadDir(2000)
	type near struct {
		name  string
		score float64
	}
	var best []near
	want := strings.ToLower(filepath.Base(abs))
	for _, e := range es {
		if s := dice(want, strings.ToLower(e.Name())); s >= 0.5 && !e.IsDir() {
			best = append(best, near{w.show(filepath.Join(t.real, e.Name())), s})
		}
	}
	slices.SortFunc(best, func(a, b near) int {
		if a.score != b.score {
			return int(b.score*1000) - int(a.score*1000)
		}
		return strings.Compare(a.name, b.name)
	})
	var names []string
	for _, b := range best[:min(3, len(best))] {
		names = append(names, b.name)
	}
	return names
}
