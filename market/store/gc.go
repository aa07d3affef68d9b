package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// Grace is how old something unreferenced must be until it is removed: a
// reader may just be opening what was current a moment ago.
const Grace = time.Hour

// Garbage is what a collection removed, or would remove.
type Garbage struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
}

// Collect removes what nothing refers to any more and is older than grace: no
// package, none of the versions kept for a rollback, and no running session. What
// the change itself removes goes with a later collection.
// With dry set it only counts.
func (tx *Tx) Collect(grace time.Duration, dry bool) (g Garbage, err error) {
	keep := map[string]bool{}
	mark := func(id, digest string) {
		keep[treeName(digest)], keep[rootName(id, digest)] = true, true
		entries, err := tx.store.entries(digest)
		if err != nil {
			return // verify says so; nothing of it is found by its name
		}
		for _, e := range entries {
			keep[blobName(e.sum)] = true
		}
	}
	committed, err := tx.store.Read()
	if err != nil {
		return g, err
	}
	// What is committed is in force until this change is.
	for _, l := range []*Lock{committed, tx.Lock} {
		for id, p := range l.Packages {
			for _, v := range append([]Package{p}, p.Previous...) {
				mark(id, v.Tree)
			}
		}
	}
	pins, err := tx.pins(dry)
	if err != nil {
		return g, err
	}
	for _, p := range pins {
		mark(p.ID, p.Tree)
	}
	c := collector{tx: tx, keep: keep, before: time.Now().Add(-grace), dry: dry, g: &g, young: map[string]bool{}}
	if err := c.ages(); err != nil {
		return g, err
	}
	return g, errors.Join(c.level("objects/sha256", 2), c.level("trees", 1), c.level("roots", 3), c.staging())
}

type collector struct {
	tx     *Tx
	keep   map[string]bool
	before time.Time
	young  map[string]bool // directories of trees that are younger
	dry    bool
	g      *Garbage
}

// ages finds out how old materialised trees are: their own time says nothing,
// but that of their list does.
func (c *collector) ages() error {
	names, err := fs.ReadDir(c.tx.root.FS(), "trees")
	for _, d := range names {
		if info, err := d.Info(); err == nil && len(d.Name()) > 16 && info.ModTime().After(c.before) {
			c.young[d.Name()[:16]] = true
		}
	}
	return err
}

// level removes the entries depth levels below dir that aren't kept.
func (c *collector) level(dir string, depth int) error {
	names, err := fs.ReadDir(c.tx.root.FS(), dir)
	if err != nil {
		return err
	}
	for _, d := range names {
		name := dir + "/" + d.Name()
		if depth == 1 || !d.IsDir() {
			err = c.sweep(name, d)
		} else if err = c.level(name, depth-1); err == nil && !c.dry {
			_ = c.tx.root.Remove(name) // if it is empty now
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *collector) sweep(name string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil || c.keep[name] || c.young[d.Name()] || info.ModTime().After(c.before) {
		return err
	}
	return c.remove(name)
}

func (c *collector) remove(name string) error {
	err := fs.WalkDir(c.tx.root.FS(), name, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			c.g.Files++
			c.g.Bytes += info.Size()
		}
		return err
	})
	if err != nil || c.dry {
		return err
	}
	return c.tx.root.RemoveAll(name)
}

// staging removes what writers that died have left: the living hold the lock,
// and that is us.
func (c *collector) staging() error {
	names, err := fs.ReadDir(c.tx.root.FS(), "staging")
	if err != nil {
		return err
	}
	for _, d := range names {
		if name := "staging/" + d.Name(); name != c.tx.stage {
			err = errors.Join(err, c.remove(name))
		}
	}
	return err
}

// A Pin keeps a version as long as a process uses it.
type Pin struct {
	ID   string `json:"id"`
	Tree string `json:"tree"`
}

// Pin keeps versions until this process ends. It takes no lock: what it names
// was just read, and garbage is older than that.
func (s *Store) Pin(pins []Pin) error {
	if len(pins) == 0 {
		return nil
	}
	root, err := s.open()
	if err != nil {
		return err
	}
	defer root.Close()
	b, err := json.Marshal(pins)
	if err != nil {
		return err
	}
	return root.WriteFile(fmt.Sprintf("pins/%d.json", os.Getpid()), b, 0o600)
}

// pins returns those of processes that are there, and removes the others.
func (tx *Tx) pins(dry bool) (all []Pin, err error) {
	names, err := fs.ReadDir(tx.root.FS(), "pins")
	if err != nil {
		return nil, err
	}
	for _, d := range names {
		pid, err := strconv.Atoi(strings.TrimSuffix(d.Name(), ".json"))
		if err != nil {
			continue
		}
		if !alive(pid) {
			if !dry {
				_ = tx.root.Remove("pins/" + d.Name())
			}
			continue
		}
		var pins []Pin
		if b, err := tx.root.ReadFile("pins/" + d.Name()); err == nil && json.Unmarshal(b, &pins) == nil {
			for _, p := range pins {
				if ValidID(p.ID) && digestForm.MatchString(p.Tree) {
					all = append(all, p)
				}
			}
		}
	}
	return all, nil
}

// Repair brings lock.json back from its previous generation if it can't be
// read, and rebuilds what is damaged of each package from the store's objects. It
// returns what it did and what it couldn't, a line each.
func (s *Store) Repair(ctx context.Context) (done, left []string, err error) {
	if _, err := s.Read(); errors.Is(err, ErrLockfile) {
		if left, err = s.restore(ctx); err != nil {
			return nil, nil, err
		}
		done = append(done, "lock.json restored from the generation before; a later change is lost")
	} else if err != nil {
		return nil, nil, err
	}
	err = s.Change(ctx, func(tx *Tx) error {
		tx.Log = Entry{Action: "repair"}
		for _, id := range tx.IDs() {
			p := tx.Packages[id]
			if len(s.Verify(id, p)) == 0 {
				continue
			}
			entries, err := s.entries(p.Tree)
			if err == nil {
				err = tx.materialise(id, p.Tree, entries)
			}
			if found := s.Verify(id, p); err != nil || len(found) > 0 {
				left = append(left, fmt.Sprintf("%s@%s is damaged; install it again from %s", id, p.Version, p.Source.Path))
				continue
			}
			done = append(done, fmt.Sprintf("%s@%s rebuilt", id, p.Version))
		}
		return nil
	})
	return done, left, err
}

// restore replaces lock.json by the generation before, under the lock.
// It returns a line for each package that it had to leave out.
func (s *Store) restore(ctx context.Context) (left []string, err error) {
	root, err := s.open()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	unlock, err := s.lock(ctx, root)
	if err != nil {
		return nil, err
	}
	defer unlock()
	b, err := root.ReadFile(lockName + ".prev")
	if err != nil {
		return nil, fmt.Errorf("%w: there is no generation before: %w", ErrLockfile, err)
	}
	l, err := Decode(b)
	if err != nil {
		return nil, fmt.Errorf("%w: the generation before can't be read either: %w", ErrLockfile, err)
	}
	for _, id := range l.IDs() {
		if p := l.Packages[id]; s.gone(p.Tree) {
			delete(l.Packages, id)
			left = append(left, fmt.Sprintf("%s@%s is gone; install it again from %s", id, p.Version, p.Source.Path))
		}
	}
	tx := &Tx{Lock: l, store: s, root: root, stage: "staging"}
	if b, err = l.Encode(); err != nil {
		return nil, err
	}
	return left, tx.replace(lockName, b)
}

func (s *Store) gone(digest string) bool {
	_, err := s.entries(digest)
	return err != nil
}

// Purge removes the package's own data.
func (tx *Tx) Purge(id string) error { return tx.root.RemoveAll("data/" + id) }
