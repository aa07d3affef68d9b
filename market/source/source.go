// Package source reads what a person points at, a directory, an archive, a git
// bundle or a single file, into memory as the files of a package. Everything in
// it is hostile: see [Limits] for what is refused. It never reaches the network
// and writes nothing but a temporary repository for a bundle.
package source

import (
	"context"
	"fmt"

	"github.com/whet-dev/whet/market/plugin"
	"github.com/whet-dev/whet/market/tree"
)

// Info is where a tree came from.
type Info struct {
	Path    string // canonical and absolute, of what was read
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

func (e *Error) Error() string { return fmt.Sprintf("%s: %s: %s", e.Code, e.Path, e.Text) }

// Unsafe reports whether it is the content that was refused, not the path.
func (e *Error) Unsafe() bool {
	switch e.Code {
	case "not-a-local-path", "not-found", "unreadable", "git-not-found", "invalid-package":
		return false
	}
	return true
}

// Read reads the directory, archive, bundle or file at path, which may be
// relative to the current directory or a file: URL.
func Read(ctx context.Context, path string) (tree.Tree, Info, error) {
	return nil, Info{}, &Error{"unreadable", path, "reading sources isn't written yet"}
}
