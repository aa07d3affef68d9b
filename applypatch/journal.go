package applypatch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/whet-dev/whet/internal/plainfile"
)

// manifest is what a journal says about an interrupted commit. The original
// contents lie beside it, in files named by the entry's number.
type manifest struct {
	Time    time.Time `json:"time"`
	Entries []record  `json:"entries"`
}

type record struct {
	Root    string      `json:"root"`
	Rel     string      `json:"rel"`
	Tmp     string      `json:"tmp,omitempty"`
	Existed bool        `json:"existed"`
	Link    string      `json:"link,omitempty"`
	InPlace bool        `json:"in_place,omitempty"`
	Mode    fs.FileMode `json:"mode,omitempty"`
	MTime   time.Time   `json:"mtime"`
	New     string      `json:"new,omitempty"`  // hash of the new content; "" if the file goes
	Make    []string    `json:"make,omitempty"` // directories that did not exist
}

func sum(b []byte) string { return fmt.Sprintf("%x", sha256.Sum256(b)) }

const manifestName = "manifest.json"

// writeJournal keeps the originals of all files before the first is touched.
// One file replaced by a rename needs no journal.
func (t *txn) writeJournal() error {
	if t.opt.Journal == "" || len(t.steps) < 2 && !slices.ContainsFunc(t.steps, func(s *step) bool { return s.inPlace }) {
		return nil
	}
	dir := filepath.Join(t.opt.Journal, t.id)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return ioError("writing the journal", err)
	}
	t.journal = dir
	m := manifest{Time: time.Now()}
	for i, s := range t.steps {
		r := record{Root: s.root.dir, Rel: s.rel, Link: s.link, InPlace: s.inPlace, Existed: s.info != nil}
		if s.New != nil {
			r.New, r.Tmp = sum(s.New), t.tmpName(s)
		}
		for d := filepath.Dir(s.rel); d != "."; d = filepath.Dir(d) {
			if _, err := s.root.Lstat(d); err != nil {
				r.Make = append(r.Make, d)
			}
		}
		if s.info != nil && s.link == "" {
			r.Mode, r.MTime = s.info.Mode(), s.info.ModTime()
			if err := t.keep(strconv.Itoa(i), s.Old); err != nil {
				return ioError("writing the journal", err)
			}
		}
		m.Entries = append(m.Entries, r)
	}
	b, err := json.Marshal(m)
	if err == nil {
		err = t.keep(manifestName+".new", b)
	}
	if err == nil {
		err = os.Rename(filepath.Join(dir, manifestName+".new"), filepath.Join(dir, manifestName))
	}
	return ioError("writing the journal", err)
}

func (t *txn) keep(name string, b []byte) error {
	f, err := os.OpenFile(filepath.Join(t.journal, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if !t.opt.Fast {
		err = errors.Join(err, f.Sync())
	}
	return errors.Join(err, f.Close())
}

// dropJournal removes the journal, its manifest first: without it the rest
// means nothing.
func (t *txn) dropJournal() {
	if t.journal != "" {
		_ = os.Remove(filepath.Join(t.journal, manifestName))
		_ = os.RemoveAll(t.journal)
		t.journal = ""
	}
}

// A Recovered is what [Recover] did about one interrupted commit.
type Recovered struct {
	ID       string    `json:"id"`
	Time     time.Time `json:"time"`
	Restored []string  `json:"restored,omitempty"` // put back as they were
	Left     []string  `json:"left,omitempty"`     // changed since by somebody else: not touched
}

// Recover undoes the interrupted commits whose journals lie in dir; with an id
// only that one. A file that holds neither its old nor its new content was
// changed since and is left alone.
func Recover(ctx context.Context, dir, id string) ([]Recovered, error) {
	if _, err := os.Stat(dir); missing(err) {
		return nil, nil
	}
	unlock, err := lock(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	es, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("reading the journals: %w", err)
	}
	var all []Recovered
	for _, e := range es {
		if !e.IsDir() || id != "" && e.Name() != id {
			continue
		}
		r, err := undoJournal(filepath.Join(dir, e.Name()))
		if err != nil {
			return all, fmt.Errorf("recovering %s: %w", e.Name(), err)
		}
		if r != nil {
			r.ID = e.Name()
			all = append(all, *r)
		}
	}
	if id != "" && all == nil {
		return nil, fmt.Errorf("no journal %q in %s", id, dir)
	}
	return all, nil
}

func undoJournal(dir string) (*Recovered, error) {
	b, err := os.ReadFile(filepath.Join(dir, manifestName))
	if missing(err) { // it stopped before the first file was touched, or after the last
		return nil, os.RemoveAll(dir)
	}
	var m manifest
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if err != nil {
		return nil, err
	}
	out := &Recovered{Time: m.Time}
	for i, r := range slices.Backward(m.Entries) {
		name := filepath.Join(r.Root, r.Rel)
		done, err := r.undo(filepath.Join(dir, strconv.Itoa(i)))
		switch {
		case errors.Is(err, errChangedSince):
			out.Left = append(out.Left, name)
		case err != nil:
			return nil, fmt.Errorf("restoring %s: %w", name, err)
		case done:
			out.Restored = append(out.Restored, name)
		}
	}
	for _, r := range m.Entries {
		r.clean()
	}
	return out, os.RemoveAll(dir)
}

var errChangedSince = errors.New("changed since")

// undo puts one file back; done is false if it is as it was.
func (r *record) undo(saved string) (done bool, err error) {
	root, err := os.OpenRoot(r.Root)
	if err != nil {
		return false, err
	}
	defer root.Close()
	if r.Link != "" {
		if _, err := root.Lstat(r.Rel); err == nil {
			return false, nil
		}
		return true, root.Symlink(r.Link, r.Rel)
	}
	now, err := plainfile.ReadIn(root, r.Rel, maxFile)
	gone := missing(err)
	if err != nil && !gone {
		return false, err
	}
	if !r.Existed {
		switch {
		case gone:
			return false, nil
		case sum(now) != r.New:
			return false, errChangedSince
		}
		return true, root.Remove(r.Rel)
	}
	old, err := os.ReadFile(saved)
	if err != nil {
		return false, err
	}
	switch {
	case !gone && bytes.Equal(now, old):
		return false, nil
	case gone != (r.New == "") && !r.InPlace, !gone && sum(now) != r.New && !r.InPlace:
		return false, errChangedSince
	case r.InPlace && !gone:
		return true, overwrite(root, r.Rel, old, true)
	}
	return true, restore(root, r.Rel, old, r.Mode, r.MTime, nil)
}

// clean removes what the commit left beside the file.
func (r *record) clean() {
	root, err := os.OpenRoot(r.Root)
	if err != nil {
		return
	}
	defer root.Close()
	if strings.Contains(r.Tmp, ".whet-") {
		_ = root.Remove(r.Tmp)
	}
	for _, d := range r.Make { // innermost first; one with something in it stays
		_ = root.Remove(d)
	}
}
