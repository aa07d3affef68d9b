package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Blobs is a directory of values that are written once under a key and never
// changed, only forgotten. Any process may read, write and prune at any time.
type Blobs string

// Put keeps data under key. A key that is there already is left as it is.
func (b Blobs) Put(key string, data []byte) error {
	path := b.path(key)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "*"+partial)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// Get returns what is kept under key; ok is false if there is nothing. A hit
// makes the blob young again for Prune.
func (b Blobs) Get(key string) (data []byte, ok bool) {
	path := b.path(key)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, false
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now)
	return data, true
}

func (b Blobs) path(key string) string {
	h := hashed(key)
	return filepath.Join(string(b), h[:2], h[2:])
}

// Prune forgets the blobs that were not used for maxAge, then the oldest ones
// until at most maxBytes are left.
func (b Blobs) Prune(maxAge time.Duration, maxBytes int64) error {
	type blob struct {
		path string
		used time.Time
		size int64
	}
	var blobs []blob
	var total int64
	err := filepath.WalkDir(string(b), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // nothing kept yet, or forgotten by another process just now
		}
		if err != nil || d.IsDir() {
			return err
		}
		if info, err := d.Info(); err == nil {
			blobs = append(blobs, blob{path, info.ModTime(), info.Size()})
			total += info.Size()
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(blobs, func(x, y blob) int { return x.used.Compare(y.used) })
	for _, x := range blobs {
		if time.Since(x.used) <= maxAge && total <= maxBytes {
			break
		}
		if err := os.Remove(x.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		total -= x.size
	}
	return nil
}
