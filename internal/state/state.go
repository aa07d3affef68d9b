// Package state keeps what must outlive one process, as files: a [Dir] of
// small values changed under a lock, a [Spool] of notes for one reader, and
// [Blobs] that are written once. There is no daemon and no database: starting
// a process dominates a hook's time, and a lock costs what a dial would.
//
// Nothing here is worth failing a model's call for: callers treat an error as
// "no state".
package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/whet-dev/whet"
)

// Root returns the directory that holds all of whet's state: $WHET_STATE, or
// whet's place in the user's state directory.
func Root() (string, error) {
	if dir := os.Getenv("WHET_STATE"); dir != "" {
		return dir, nil
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "whet"), nil
	}
	if runtime.GOOS == "windows" {
		dir, err := os.UserCacheDir()
		return filepath.Join(dir, "whet", "state"), err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("finding a place for state: %w; set HOME or WHET_STATE", err)
	}
	return filepath.Join(home, ".local", "state", "whet"), nil
}

// maxSessions is how many sessions' values are kept on disk. The one used
// least recently goes first.
const maxSessions = 512

// Session returns the store of one session under root, shared by all processes
// that name the same session.
func Session(root, id string) whet.Store {
	return Dir(filepath.Join(root, "sessions", hashed(id)))
}

// Default returns the session's store below [Root], or nil if there is no
// place for one.
func Default(session string) whet.Store {
	root, err := Root()
	if err != nil {
		return nil
	}
	return Session(root, session)
}

func hashed(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:12])
}

// A Dir is a directory of small named values, one file each, JSON. A value is
// replaced at once while a lock is held: processes never lose each other's
// updates, and one that is killed leaves the old value or the new one.
type Dir string

// Update implements [whet.Store].
func (d Dir) Update(name string, f func([]byte) ([]byte, error)) error {
	mutex := lockedfile.MutexAt(filepath.Join(string(d), "lock"))
	unlock, err := mutex.Lock()
	if errors.Is(err, fs.ErrNotExist) {
		if err := d.create(); err != nil {
			return err
		}
		unlock, err = mutex.Lock()
	}
	if err != nil {
		return err
	}
	defer unlock()
	path := filepath.Join(string(d), name+".json")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	old, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	v, err := f(bytes.TrimRight(old, " "))
	if err != nil {
		return err
	}
	if n := max(len(old), len(v)); n <= pageSize {
		// One write to one page is done or not done when a process is killed, and
		// costs a fraction of a rename. Spaces cover what was longer before.
		_, err := file.WriteAt(append(v, bytes.Repeat([]byte{' '}, n-len(v))...), 0)
		return err
	}
	// The lock makes one fixed temporary name enough; a crash leaves at most it.
	tmp := path + ".new"
	if err := os.WriteFile(tmp, v, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

const pageSize = 4096 // the smallest page there is

// create makes the directory. A session that is new makes room for itself.
func (d Dir) create() error {
	err := os.Mkdir(string(d), 0o700)
	switch {
	case err == nil:
		prune(filepath.Dir(string(d)), maxSessions)
	case errors.Is(err, fs.ErrNotExist):
		return os.MkdirAll(string(d), 0o700)
	case errors.Is(err, fs.ErrExist):
		return nil
	}
	return err
}

// prune keeps the most recently changed entries of dir, and removes the rest
// as well as it can: another process may be pruning too.
func prune(dir string, keep int) {
	es, err := os.ReadDir(dir)
	if err != nil || len(es) <= keep {
		return
	}
	age := func(e fs.DirEntry) time.Time {
		if info, err := e.Info(); err == nil {
			return info.ModTime()
		}
		return time.Time{}
	}
	slices.SortFunc(es, func(a, b fs.DirEntry) int { return age(b).Compare(age(a)) })
	for _, e := range es[keep:] {
		_ = os.RemoveAll(filepath.Join(dir, e.Name()))
	}
}

// Memory returns a store that lives and dies with the process.
func Memory() whet.Store { return &memory{m: map[string][]byte{}} }

type memory struct {
	mu sync.Mutex
	m  map[string][]byte
}

func (s *memory) Update(name string, f func([]byte) ([]byte, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := f(s.m[name])
	if err == nil {
		s.m[name] = v
	}
	return err
}

// Memories returns in-memory stores by session id, the same one for the same
// id, for hosts that live as long as their sessions. At most maxSessions are
// kept; the one asked for least recently goes first.
func Memories() func(session string) whet.Store {
	var mu sync.Mutex
	stores := map[string]whet.Store{}
	var order []string // least recently asked for first
	return func(id string) whet.Store {
		mu.Lock()
		defer mu.Unlock()
		order = append(slices.DeleteFunc(order, func(s string) bool { return s == id }), id)
		if len(order) > maxSessions {
			delete(stores, order[0])
			order = order[1:]
		}
		if stores[id] == nil {
			stores[id] = Memory()
		}
		return stores[id]
	}
}
