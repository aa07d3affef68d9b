// Package source reads what a person points at, a directory, an archive, a git
// bundle or a single file, into memory as the files of a package. Everything in
// it is hostile: what a file system could be misled by is refused, and sizes
// are counted on the bytes that were really read. It never reaches the network
// and writes nothing but a temporary repository for a bundle.
package source

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/whet-dev/whet/market/plugin"
	"github.com/whet-dev/whet/market/tree"
)

// Limits of a package. Most plugins have some dozens of files and less than a
// megabyte; the largest that was met in the wild has 5400 and 45 MB.
const (
	MaxEntries = 8192     // files, directories and links
	MaxFile    = 16 << 20 // bytes of one file
	MaxTotal   = 64 << 20 // bytes of all files, and of an archive
	maxDepth   = 16       // directories above a file
	maxName    = 240      // bytes of a path
)

// limits are what a package may have; tests have smaller ones.
type limits struct {
	entries     int
	file, total int64
}

// packed is what files may have with all that an archive has around them.
func (l limits) packed() int64 { return l.total + int64(l.entries)*2048 }

// Info is where a tree came from.
type Info struct {
	Path    string // canonical and absolute, of what was read
	Name    string // what a package is called that doesn't say itself: the last part of its path
	Kind    string // directory, archive, bundle or file
	Archive string // digest of the archive's or bundle's own bytes
	Commit  string // of a bundle
	Notes   []plugin.Note
}

// An Error is why a source is refused.
type Error struct {
	Code string // a stable word: not-a-local-path, not-found, unreadable, traversal, …
	Path string // the source, or the entry in it
	Text string // what is wrong and what to do
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s: %s", e.Code, printable(e.Path), e.Text) }

// Unsafe reports whether it is the content that was refused, not the path.
func (e *Error) Unsafe() bool {
	switch e.Code {
	case "not-a-local-path", "not-found", "unreadable", "git-not-found", "no-such-ref":
		return false
	}
	return true
}

func refuse(code, path, format string, args ...any) error {
	return &Error{code, path, fmt.Sprintf(format, args...)}
}

// Read reads the directory, archive, bundle or file at path, which may be
// relative to the current directory, or a file: URL. A bundle's path may name a
// ref and a directory in it: x.bundle#v1:plugins/y. An error is an [*Error], or
// ctx's own.
func Read(ctx context.Context, path string) (tree.Tree, Info, error) {
	return read(ctx, path, limits{MaxEntries, MaxFile, MaxTotal})
}

func read(ctx context.Context, path string, l limits) (tree.Tree, Info, error) {
	file, part, err := locate(path)
	if err != nil {
		return nil, Info{}, err
	}
	st, err := os.Stat(file)
	if err != nil {
		return nil, Info{}, unreadable(file, err)
	}
	info := Info{Path: file, Name: nameOf(file)}
	c := &collector{ctx: ctx, max: l, links: map[string]string{}, seen: map[string]seen{}}
	switch {
	case st.IsDir():
		info.Kind = "directory"
		err = c.directory(file)
	case !st.Mode().IsRegular():
		err = refuse("not-regular", file, "it is neither a file nor a directory")
	default:
		err = c.file(file, part, &info)
	}
	var t tree.Tree
	if err == nil {
		t, err = c.tree(info.Kind == "archive")
	}
	if err != nil {
		return nil, Info{}, err
	}
	info.Notes = c.notes
	return t, info, nil
}

func unreadable(path string, err error) error {
	if os.IsNotExist(err) {
		return refuse("not-found", path, "there is no such file or directory")
	}
	return refuse("unreadable", path, "%s", reason(err))
}

// nameOf is the last part of a path without the endings of archives; of a
// SKILL.md it is the directory's.
func nameOf(path string) string {
	name := filepath.Base(path)
	if strings.EqualFold(name, "SKILL.md") {
		return filepath.Base(filepath.Dir(path))
	}
	for _, end := range []string{".zip", ".mcpb", ".dxt", ".skill", ".tgz", ".tar.gz", ".tar", ".bundle", ".json"} {
		if len(name) > len(end) && strings.EqualFold(name[len(name)-len(end):], end) {
			return name[:len(name)-len(end)]
		}
	}
	return name
}
