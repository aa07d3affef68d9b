// Package store keeps marketplace packages by their content: every file once,
// under its digest; the list of each package's files; and a materialised copy
// that programs can open. One file, lock.json, says what is installed, and
// replacing it is the one moment at which a change happens.
//
// Readers take no lock and create nothing. Writers take one lock, which the
// system frees when they die, and leave nothing behind that the next writer
// can't tell from what counts.
package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// A Store is a directory. The zero Wait gives up at once if another process
// changes the store.
type Store struct {
	Dir    string
	Wait   time.Duration
	NoSync bool // leave out waiting for the disk; for measurements
}

const lockName = "lock.json"

// Place returns where the person's store is: $WHET_MARKET_DIR, or whet's place
// in the user's data directory.
func Place(env func(string) string) (string, error) {
	if dir := env("WHET_MARKET_DIR"); dir != "" {
		return filepath.Abs(dir)
	}
	if dir := env("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "whet", "market"), nil
	}
	if dir := env("LocalAppData"); runtime.GOOS == "windows" && dir != "" {
		return filepath.Join(dir, "whet", "market"), nil
	}
	if home := env("HOME"); home != "" {
		return filepath.Join(home, ".local", "share", "whet", "market"), nil
	}
	return "", errors.New("finding a place for packages: set HOME or WHET_MARKET_DIR")
}

func (s *Store) path(parts ...string) string {
	return filepath.Join(append([]string{s.Dir}, parts...)...)
}

// Root is the directory of the package's materialised files. It is there if
// the package is installed and whole.
func (s *Store) Root(id, tree string) string { return s.path(filepath.FromSlash(rootName(id, tree))) }

// Data is the package's own directory, which survives updates. Whoever starts
// a program of the package creates it.
func (s *Store) Data(id string) string { return s.path("data", filepath.FromSlash(id)) }

// names below the store, slash-separated, for os.Root

func rootName(id, tree string) string { return "roots/" + id + "/" + hexOf(tree)[:16] }
func treeName(tree string) string     { return "trees/" + hexOf(tree) + ".tree" }
func blobName(sum string) string      { return "objects/sha256/" + sum[:2] + "/" + sum }

func hexOf(digest string) string { return strings.TrimPrefix(digest, "sha256:") }

// open returns the store's directory as a root that nothing leads out of, after
// creating what is missing.
func (s *Store) open() (*os.Root, error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return nil, err
	}
	for _, d := range []string{"objects/sha256", "trees", "roots", "data", "staging", "pins"} {
		if err := root.MkdirAll(d, 0o700); err != nil {
			root.Close()
			return nil, fmt.Errorf("%s: %w", s.path(d), err)
		}
	}
	return root, nil
}
