package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/whet-dev/whet/market/tree"
)

// stamp is the time of every materialised file and directory: what has another
// was touched, what has it needs no reading for a quick look.
var stamp = time.Unix(1_000_000_000, 0)

// Put writes the package's files: each under its digest, their list, and the
// directory of id. What is there and right stays, what is damaged is replaced.
// All of it is invisible until a commit names it.
func (tx *Tx) Put(id string, t tree.Tree) error {
	listing := t.Listing()
	digest := t.Digest()
	entries, err := parseListing(listing)
	if err != nil {
		return err
	}
	for _, e := range entries {
		f, _ := t.Get(e.name)
		if err := tx.blob(e, f.Data); err != nil {
			return err
		}
	}
	if err := tx.replace(treeName(digest), listing); err != nil {
		return err
	}
	return tx.materialise(id, digest, entries)
}

func (tx *Tx) blob(e entry, data []byte) error {
	name := blobName(e.sum)
	if old, err := tx.root.ReadFile(name); err == nil && sum(old) == e.sum {
		return nil
	}
	if err := tx.root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	tmp := tx.stage + "/blob"
	if err := tx.write(tmp, data, 0o444); err != nil {
		return err
	}
	return tx.root.Rename(tmp, name)
}

// materialise builds the directory from the blobs, unless it is there and whole.
func (tx *Tx) materialise(id, digest string, entries []entry) error {
	name := rootName(id, digest)
	if len(tx.store.look(id, digest, entries, true)) == 0 {
		return nil
	}
	tmp := tx.stage + "/root"
	for _, e := range entries {
		data, err := tx.root.ReadFile(blobName(e.sum))
		if err != nil {
			return err
		}
		at := tmp + "/" + e.name
		if err := tx.root.MkdirAll(path.Dir(at), 0o755); err != nil {
			return err
		}
		if err := tx.write(at, data, e.mode()); err != nil {
			return err
		}
		if err := tx.root.Chtimes(at, stamp, stamp); err != nil {
			return err
		}
	}
	if len(entries) == 0 {
		return errors.New("the package has no files")
	}
	if err := tx.root.Chtimes(tmp, stamp, stamp); err != nil {
		return err
	}
	for d := range parents(entries) {
		if err := tx.root.Chtimes(tmp+"/"+d, stamp, stamp); err != nil {
			return err
		}
	}
	if err := tx.root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	if err := tx.root.Rename(name, tx.stage+"/damaged"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := tx.root.Rename(tmp, name); err != nil {
		return err
	}
	return tx.syncDir(path.Dir(name))
}

// An entry is a line of a tree's listing.
type entry struct {
	exec bool
	sum  string
	size int64
	name string
}

func (e entry) mode() fs.FileMode {
	if e.exec {
		return 0o555
	}
	return 0o444
}

func parseListing(b []byte) (entries []entry, err error) {
	head, rest, _ := strings.Cut(string(b), "\n")
	if head != "whet-tree-v1" {
		return nil, fmt.Errorf("%.40q is no list of files", head)
	}
	for line := range strings.Lines(rest) {
		part := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 4)
		if len(part) != 4 || len(part[1]) != 2*sha256.Size || !fs.ValidPath(part[3]) {
			return nil, fmt.Errorf("%.80q is no line of a list of files", line)
		}
		size, err := strconv.ParseInt(part[2], 10, 64)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{part[0] == "x", part[1], size, part[3]})
	}
	return entries, nil
}

// entries reads the list of a tree's files, and checks that it is that.
func (s *Store) entries(digest string) ([]entry, error) {
	b, err := os.ReadFile(s.path(treeName(digest)))
	if err != nil {
		return nil, err
	}
	if sum(b) != hexOf(digest) {
		return nil, errors.New("the list of its files is damaged")
	}
	return parseListing(bytes.TrimSpace(b))
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// Part returns the lines of a tree's list whose files are below prefix, or are
// the file prefix itself, without their common start: two parts are the same
// bytes if these are equal. "" means that there are none.
func (s *Store) Part(digest, prefix string) string {
	entries, err := s.entries(digest)
	if err != nil {
		return ""
	}
	var b strings.Builder
	for _, e := range entries {
		if rest, ok := strings.CutPrefix(e.name, prefix); ok && (rest == "" || strings.HasSuffix(prefix, "/")) {
			fmt.Fprintln(&b, e.exec, e.sum, rest)
		}
	}
	return b.String()
}
