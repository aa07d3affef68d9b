package webfetch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const diskBytes = 200 << 20

// A disk keeps pages between processes, a file each. Nothing that goes wrong
// with it is worth an error: the page is fetched again.
type disk struct{ dir string }

func (s *disk) name(key string) string {
	h := sha256.Sum256([]byte(cacheSchema + "\x00" + key))
	return filepath.Join(s.dir, hex.EncodeToString(h[:])+".json")
}

func (s *disk) get(key string) *document {
	b, err := os.ReadFile(s.name(key))
	if err != nil {
		return nil
	}
	var f struct {
		Key string
		Doc document
	}
	if json.Unmarshal(b, &f) != nil || f.Key != key {
		return nil
	}
	return &f.Doc
}

func (s *disk) put(key string, d *document) {
	b, err := json.Marshal(struct {
		Key string
		Doc *document
	}{key, d})
	if err != nil || len(b) > diskBytes/4 || os.MkdirAll(s.dir, 0o700) != nil {
		return
	}
	t, err := os.CreateTemp(s.dir, ".tmp-*") // made with mode 0600
	if err != nil {
		return
	}
	_, err = t.Write(b)
	if t.Close() != nil || err != nil || os.Rename(t.Name(), s.name(key)) != nil {
		os.Remove(t.Name())
		return
	}
	s.prune()
}

// prune removes the oldest files when there are too many bytes, and what a
// killed process left behind.
func (s *disk) prune() {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return
	}
	type file struct {
		name string
		size int64
		at   time.Time
	}
	var files []file
	total := int64(0)
	for _, e := range entries {
		i, err := e.Info()
		if err != nil || !i.Mode().IsRegular() {
			continue
		}
		if filepath.Ext(e.Name()) != ".json" {
			if time.Since(i.ModTime()) > time.Hour {
				os.Remove(filepath.Join(s.dir, e.Name()))
			}
			continue
		}
		files = append(files, file{e.Name(), i.Size(), i.ModTime()})
		total += i.Size()
	}
	if total <= diskBytes {
		return
	}
	slices.SortFunc(files, func(a, b file) int { return a.at.Compare(b.at) })
	for _, f := range files {
		if total <= diskBytes*9/10 {
			return
		}
		if os.Remove(filepath.Join(s.dir, f.name)) == nil {
			total -= f.size
		}
	}
}
