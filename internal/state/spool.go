package state

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A Spool is a directory of notes: many processes put, one takes.
type Spool string

const partial = ".tmp" // suffix of a note that is still being written

// Put adds a note. It is there whole or not at all, also after a crash.
func (s Spool) Put(note []byte) error {
	if err := os.MkdirAll(string(s), 0o700); err != nil {
		return err
	}
	// Names sort by time of putting; the random tail keeps writers apart.
	path := filepath.Join(string(s), fmt.Sprintf("%020d-%s", time.Now().UnixNano(), rand.Text()[:8]))
	if err := os.WriteFile(path+partial, note, 0o600); err != nil {
		return err
	}
	return os.Rename(path+partial, path)
}

// Take gives f the notes there are, oldest first, and removes each when f has
// returned nil: a crash in between gives a note again, it never loses one. It
// stops at f's first error and returns it.
func (s Spool) Take(f func(note []byte) error) error {
	es, err := os.ReadDir(string(s)) // in name order
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(es) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	// A list that is made while notes are put may hold a later one without an
	// earlier one. All that are older than the last of it are in the next list.
	last := es[len(es)-1].Name()
	if es, err = os.ReadDir(string(s)); err != nil {
		return err
	}
	for _, e := range es {
		if e.Name() > last {
			break
		}
		path := filepath.Join(string(s), e.Name())
		if strings.HasSuffix(e.Name(), partial) {
			s.sweep(path, e)
			continue
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := f(b); err != nil {
			return err
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// sweep removes a half-written note whose writer must be dead by now.
func (s Spool) sweep(path string, e fs.DirEntry) {
	if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > time.Hour {
		_ = os.Remove(path)
	}
}
