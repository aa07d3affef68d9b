// Package tree is the files of a marketplace package in memory, and the digest
// that names them. It reads nothing and writes nothing.
package tree

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// A File is one regular file. Of its mode only the exec bit counts.
type File struct {
	Name string // slash-separated, relative, in UTF-8
	Exec bool   // any exec bit is set
	Data []byte
}

// A Tree is files sorted by the bytes of their names, each name once.
type Tree []File

// New returns the files as a tree. It sorts them in place.
func New(files []File) Tree {
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return files
}

// Get returns the file called name.
func (t Tree) Get(name string) (File, bool) {
	i, ok := slices.BinarySearchFunc(t, name, func(f File, name string) int { return cmp.Compare(f.Name, name) })
	if !ok {
		return File{}, false
	}
	return t[i], true
}

// Size is the bytes of all files.
func (t Tree) Size() (n int64) {
	for _, f := range t {
		n += int64(len(f.Data))
	}
	return n
}

// SignatureDir holds detached signatures. It alone doesn't count in the digest.
const SignatureDir = ".whet-signature/"

// Listing is the canonical text of the tree: a line with the format's name, then
// one for each file with its exec bit, digest, size and name.
func (t Tree) Listing() []byte {
	b := []byte("whet-tree-v1\n")
	for _, f := range t {
		if strings.HasPrefix(f.Name, SignatureDir) {
			continue
		}
		mode := "-"
		if f.Exec {
			mode = "x"
		}
		b = fmt.Appendf(b, "%s %x %d %s\n", mode, sha256.Sum256(f.Data), len(f.Data), f.Name)
	}
	return b
}

// Digest names the tree: "sha256:" and the SHA-256 of its listing in hexadecimal.
func (t Tree) Digest() string {
	sum := sha256.Sum256(t.Listing())
	return "sha256:" + hex.EncodeToString(sum[:])
}
