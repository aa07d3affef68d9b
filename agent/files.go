package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/internal/plainfile"
)

// A file is a path that a call may touch, inside an open directory that the
// system holds every access to.
type file struct {
	root *os.Root
	name string // relative to root
	abs  string // as the session spells it
	show string // as the model is told: relative to the project if inside
}

func (f *file) close() { f.root.Close() }

// open finds the file that path means: relative to the project, inside one of
// the session's roots. For any other place a person is asked first; action is
// "read" or "edit". Links are followed before the question, so that it names
// what would really be touched.
func open(ctx context.Context, s whet.Session, path, action string) (*file, error) {
	if path == "" {
		return nil, errors.New("no path was given")
	}
	if strings.ContainsRune(path, 0) {
		return nil, fmt.Errorf("%q is no path", path)
	}
	if n := strings.Count(filepath.ToSlash(path), "/"); n > maxDepth {
		return nil, fmt.Errorf("the path has %d directories, the limit is %d", n, maxDepth)
	}
	if s.Dir == "" {
		return nil, errors.New("this session has no project directory, so no file can be touched")
	}
	abs := filepath.Clean(path)
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(s.Dir, abs)
	}
	real, err := resolve(abs)
	if err != nil {
		return nil, err
	}
	for _, dir := range s.Roots() {
		realDir, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return nil, err
		}
		if name, err := filepath.Rel(realDir, real); err == nil && filepath.IsLocal(name) {
			root, err := os.OpenRoot(realDir)
			if err != nil {
				return nil, err
			}
			f := &file{root: root, name: name, abs: filepath.Join(dir, name)}
			f.show = shown(s.Dir, f.abs)
			return f, nil
		}
	}
	if err := s.Allow(ctx, whet.Permission{Action: action, Subject: real, Reason: "outside the project " + s.Dir}); err != nil {
		return nil, err
	}
	dir := existing(filepath.Dir(real))
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	name, err := filepath.Rel(dir, real)
	return &file{root: root, name: name, abs: real, show: filepath.ToSlash(real)}, err
}

func shown(dir, abs string) string {
	if rel, err := filepath.Rel(dir, abs); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(abs)
}

// resolve follows the links in abs, as far as it exists. What doesn't exist
// yet is below what does.
func resolve(abs string) (string, error) {
	real, err := filepath.EvalSymlinks(abs)
	if err == nil {
		return real, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if info, err := os.Lstat(abs); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return "", fmt.Errorf("%s is a link to nothing", abs)
	}
	parent := filepath.Dir(abs)
	if parent == abs {
		return abs, nil
	}
	if parent, err = resolve(parent); err != nil {
		return "", err
	}
	return filepath.Join(parent, filepath.Base(abs)), nil
}

// existing returns the nearest directory at or above dir that is there.
func existing(dir string) string {
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return dir
		}
		dir = up
	}
}

// maxEdit is the largest file that is held in memory, in bytes.
const maxEdit = 16 << 20

// maxDepth bounds the directories of a path: each is looked up from the root.
const maxDepth = 200

// load reads a file that is to be changed.
func (f *file) load() (string, error) {
	info, err := f.stat()
	if err != nil {
		return "", err
	}
	if info.Size() > maxEdit {
		return "", fmt.Errorf("%s is %d MiB, too large to edit; use bash", f.show, info.Size()>>20)
	}
	b, err := plainfile.ReadIn(f.root, f.name, maxEdit)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", f.show, plainfile.Cause(err))
	}
	if binary(b) {
		return "", fmt.Errorf("%s is not a text file; use bash", f.show)
	}
	return string(b), nil
}

// stat finds a regular file: opening a pipe or a device could wait for ever.
func (f *file) stat() (fs.FileInfo, error) {
	info, err := f.root.Stat(f.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s does not exist%s", f.show, f.similar())
	case err != nil:
		return nil, fmt.Errorf("looking at %s: %w", f.show, plainfile.Cause(err))
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory, not a file", f.show)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file (%v)", f.show, info.Mode().Type())
	}
	return info, nil
}

// similar names up to three entries of the same directory that may be meant.
func (f *file) similar() string {
	d, err := plainfile.OpenDirIn(f.root, filepath.Dir(f.name))
	if err != nil {
		return ", and neither does its directory"
	}
	defer d.Close()
	names, _ := d.Readdirnames(2000) // more is no help
	want := strings.ToLower(filepath.Base(f.name))
	stem := strings.TrimSuffix(want, filepath.Ext(want))
	var found []string
	for _, n := range names {
		low := strings.ToLower(n)
		if low == want || stem != "" && strings.TrimSuffix(low, filepath.Ext(low)) == stem || len(stem) > 3 && strings.Contains(low, stem) {
			found = append(found, n)
		}
	}
	if len(found) == 0 || len(found) > 3 {
		return ""
	}
	return "; there is " + strings.Join(found, ", ")
}

// binary reports whether the beginning of a file shows that it isn't text.
func binary(b []byte) bool {
	const look = 8 << 10
	for _, c := range b[:min(len(b), look)] {
		if c == 0 {
			return true
		}
	}
	return false
}
