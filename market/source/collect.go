package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/whet-dev/whet/market/plugin"
	"github.com/whet-dev/whet/market/tree"
)

// A collector takes the entries of a source one by one and refuses the first
// that isn't right.
type collector struct {
	ctx     context.Context
	max     limits
	entries int
	total   int64
	files   []tree.File
	links   map[string]string // name → target
	seen    map[string]seen   // by folded path
	notes   []plugin.Note
}

// seen is a path that was taken: a file's, or a directory's that one is in.
type seen struct {
	name string
	dir  bool
}

func (c *collector) note(code, file, format string, args ...any) {
	c.notes = append(c.notes, plugin.Note{Code: code, File: file, Text: fmt.Sprintf(format, args...)})
}

// count counts an entry, whatever it is.
func (c *collector) count(name string) error {
	if err := c.ctx.Err(); err != nil {
		return context.Cause(c.ctx)
	}
	if c.entries++; c.entries > c.max.entries {
		return refuse("too-many-files", name, "the package has more than %d entries; is this its own directory?", c.max.entries)
	}
	return nil
}

// claim takes a cleaned path for a file or a link.
func (c *collector) claim(name string) error {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		was, ok := c.seen[fold(dir)]
		switch {
		case !ok:
			c.seen[fold(dir)] = seen{dir, true}
		case !was.dir:
			return refuse("file-as-dir", name, "%s is a file or a link, not a directory", was.name)
		case was.name != dir:
			return refuse("case-collision", name, "%s and %s are one directory on some systems", was.name, dir)
		}
	}
	was, ok := c.seen[fold(name)]
	switch {
	case !ok:
		c.seen[fold(name)] = seen{name, false}
		return nil
	case was.dir:
		return refuse("file-as-dir", name, "it is both a file and a directory")
	case was.name == name:
		return refuse("duplicate", name, "it is there twice")
	}
	return refuse("case-collision", name, "%s and %s are one file on some systems", was.name, name)
}

// add takes a regular file. Its size is what r holds, whatever a header says.
func (c *collector) add(name string, mode fs.FileMode, r io.Reader) error {
	if err := c.claim(name); err != nil {
		return err
	}
	data, err := io.ReadAll(io.LimitReader(r, c.max.file+1))
	if err != nil {
		if e := (*Error)(nil); errors.As(err, &e) {
			return err
		}
		return refuse("unreadable", name, "%s", reason(err))
	}
	if err := c.grow(name, int64(len(data))); err != nil {
		return err
	}
	if mode&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0 {
		c.note("mode-dropped", name, "set-user-ID, set-group-ID and sticky bits aren't kept")
	}
	c.files = append(c.files, tree.File{Name: name, Exec: mode&0o111 != 0, Data: data})
	return nil
}

// grow counts the bytes of a file.
func (c *collector) grow(name string, n int64) error {
	if n > c.max.file {
		return refuse("file-too-large", name, "the file has more than %d bytes", c.max.file)
	}
	if c.total += n; c.total > c.max.total {
		return refuse("package-too-large", name, "the files have more than %d bytes", c.max.total)
	}
	return nil
}

// link takes a symbolic link, to be looked at when all files are there.
func (c *collector) link(name, target string) error {
	if err := c.claim(name); err != nil {
		return err
	}
	c.links[name] = target
	return nil
}

// tree puts copies in the place of links and returns all files. A directory
// around everything in an archive is taken off.
func (c *collector) tree(archive bool) (tree.Tree, error) {
	t := tree.New(c.files)
	var copies []tree.File
	links := slices.Sorted(maps.Keys(c.links))
	for _, name := range links {
		more, err := c.follow(t, links, name)
		if err != nil {
			return nil, err
		}
		copies = append(copies, more...)
	}
	if len(copies) > 0 {
		t = tree.New(append(t, copies...))
	}
	if archive {
		t = c.unwrap(t)
	}
	if len(t) == 0 {
		return nil, refuse("empty", "", "there are no files in it")
	}
	return t, nil
}

// follow copies what the link called name points at: a file, or a directory
// without further links. It must be in the package.
func (c *collector) follow(t tree.Tree, links []string, name string) (copies []tree.File, err error) {
	target := c.links[name]
	to := path.Join(path.Dir(name), target)
	bad := func(why string) error {
		return refuse("link-escapes", name, "it is a link to %q, and %s", printable(target), why)
	}
	switch {
	case target == "" || strings.HasPrefix(target, "/") || strings.ContainsAny(target, "\\\x00") || drive.MatchString(target):
		return nil, bad("only relative links are taken")
	case to == ".." || strings.HasPrefix(to, "../"):
		return nil, bad("that is outside of the package")
	case to == "." || strings.HasPrefix(name, to+"/"):
		return nil, bad("that is the directory that it is in")
	}
	take := func(f tree.File, as string) error {
		if _, err := clean(as); err != nil {
			return err
		}
		if err := c.count(as); err != nil {
			return err
		}
		f.Name = as
		copies = append(copies, f)
		return c.grow(as, int64(len(f.Data)))
	}
	if f, ok := t.Get(to); ok {
		return copies, take(f, name)
	}
	for dir := to; dir != "."; dir = path.Dir(dir) {
		if _, ok := c.links[dir]; ok {
			return nil, bad("that is another link, or behind one")
		}
	}
	if i, _ := slices.BinarySearch(links, to+"/"); i < len(links) && strings.HasPrefix(links[i], to+"/") {
		return nil, bad("that holds another link")
	}
	for _, f := range under(t, to) {
		if err := take(f, name+strings.TrimPrefix(f.Name, to)); err != nil {
			return nil, err
		}
	}
	if len(copies) == 0 {
		return nil, bad("there is nothing")
	}
	return copies, nil
}

// under are the files below a directory.
func under(t tree.Tree, dir string) tree.Tree {
	from, _ := slices.BinarySearchFunc(t, dir+"/", func(f tree.File, p string) int { return strings.Compare(f.Name, p) })
	to := from
	for to < len(t) && strings.HasPrefix(t[to].Name, dir+"/") {
		to++
	}
	return t[from:to]
}

// parts are directories that mean something at the top of a package.
var parts = []string{"skills", "skill", "agents", "agent", "commands", "command", "hooks", "plugins"}

// unwrap takes off the one directory that archives of a repository or an npm
// package have around everything.
func (c *collector) unwrap(t tree.Tree) tree.Tree {
	if len(t) == 0 {
		return t
	}
	top, _, ok := strings.Cut(t[0].Name, "/")
	if !ok || strings.HasPrefix(top, ".") || strings.Contains(top, plugin.Namespace) || slices.Contains(parts, top) {
		return t
	}
	for _, f := range t {
		if !strings.HasPrefix(f.Name, top+"/") {
			return t
		}
	}
	for i := range t {
		t[i].Name = strings.TrimPrefix(t[i].Name, top+"/")
	}
	c.note("directory-taken-off", top, "everything is in this directory; the package is what is in it")
	return t
}
