package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/whet-dev/whet/internal/lazyregexp"
)

// Lock is lock.json, the one file that says which packages are installed.
type Lock struct {
	Schema     int                `json:"schema"`
	Generation int                `json:"generation"` // one more with each change
	Packages   map[string]Package `json:"packages"`   // by publisher/name
}

// A Package is one installed package.
type Package struct {
	Version     string     `json:"version"`
	Versioned   bool       `json:"versioned"` // its manifest has a version
	Tree        string     `json:"tree"`      // digest of its files
	Exec        string     `json:"exec,omitempty"`
	Title       string     `json:"title,omitempty"`
	Description string     `json:"description,omitempty"`
	Files       int        `json:"files"`
	Bytes       int64      `json:"bytes"`
	Source      Source     `json:"source"`
	Signature   Signature  `json:"signature"`
	Components  Components `json:"components"`
	Requires    Requires   `json:"requires,omitzero"`
	Lint        []string   `json:"lint,omitempty"`
	InstalledAt time.Time  `json:"installedAt"`
	Previous    []Package  `json:"previous,omitempty"` // newest first, themselves without a past
}

// A Source is where a package was read from.
type Source struct {
	Kind    string `json:"kind"` // directory, archive, bundle or file
	Path    string `json:"path"`
	Archive string `json:"archive,omitempty"` // digest
	Format  string `json:"format"`
	Commit  string `json:"commit,omitempty"`
	// Upstream is the digest that an older single-file manifest has in the lock
	// file of the program it was made for.
	Upstream string `json:"upstream,omitempty"`
}

// A Signature is what was found when the package was installed.
type Signature struct {
	Status    string `json:"status"` // none, valid, untrusted-key or bad
	Kind      string `json:"kind,omitempty"`
	Key       string `json:"key,omitempty"`
	Principal string `json:"principal,omitempty"`
}

// Components names what a package brings along.
type Components struct {
	Agents       []string `json:"agents,omitempty"`
	Skills       []string `json:"skills,omitempty"`
	Commands     []string `json:"commands,omitempty"`
	Instructions []string `json:"instructions,omitempty"`
	MCP          []string `json:"mcp,omitempty"`
	Formatters   []string `json:"formatters,omitempty"`
	Hooks        int      `json:"hooks,omitempty"`
}

// Executable counts the parts that run programs or reach servers.
func (c Components) Executable() int { return c.Hooks + len(c.MCP) + len(c.Formatters) }

// Requires names what a package can't do without, apart from itself.
type Requires struct {
	Skills []string `json:"skills,omitempty"`
	MCP    []string `json:"mcp,omitempty"`
	Tools  []string `json:"tools,omitempty"`
}

// IsZero reports whether nothing is required.
func (r Requires) IsZero() bool { return len(r.Skills)+len(r.MCP)+len(r.Tools) == 0 }

// Schema and Format are what this version writes and reads.
const (
	schema = 1
	format = "1"
)

// ErrLockfile is wrapped by errors that say that the store can't be understood.
var ErrLockfile = errors.New("the store can't be read")

var (
	idForm     = lazyregexp.New(`^[a-z0-9][a-z0-9._-]{0,63}/[a-z0-9][a-z0-9._-]{0,63}$`)
	digestForm = lazyregexp.New(`^sha256:[0-9a-f]{64}$`)
)

// ValidID reports whether id is publisher/name.
func ValidID(id string) bool { return idForm.MatchString(id) }

// Read returns the committed state. It takes no lock and creates nothing; a
// store that isn't there is empty.
func (s *Store) Read() (*Lock, error) {
	if b, err := os.ReadFile(s.path("FORMAT")); err == nil && string(bytes.TrimSpace(b)) != format {
		return nil, fmt.Errorf("%w: %s is of format %.20q, made by another version of whet", ErrLockfile, s.Dir, bytes.TrimSpace(b))
	}
	b, err := os.ReadFile(s.path(lockName))
	if errors.Is(err, fs.ErrNotExist) {
		return &Lock{Schema: schema, Packages: map[string]Package{}}, nil
	}
	if err != nil {
		return nil, err
	}
	l, err := Decode(b)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrLockfile, filepath.Join(s.Dir, lockName), err)
	}
	return l, nil
}

// Decode reads lock.json, and checks all of it that becomes a path.
func Decode(b []byte) (*Lock, error) {
	var l Lock
	if err := json.Unmarshal(b, &l); err != nil {
		return nil, err
	}
	if l.Schema != schema {
		return nil, fmt.Errorf("its schema is %d, not %d", l.Schema, schema)
	}
	if l.Packages == nil {
		l.Packages = map[string]Package{}
	}
	for id, p := range l.Packages {
		if !ValidID(id) {
			return nil, fmt.Errorf("%.80q is no package id", id)
		}
		for _, v := range append([]Package{p}, p.Previous...) {
			if !digestForm.MatchString(v.Tree) {
				return nil, fmt.Errorf("%s: %.80q is no digest", id, v.Tree)
			}
		}
	}
	return &l, nil
}

// Encode is the inverse of Decode: keys sorted, a newline at the end.
func (l *Lock) Encode() ([]byte, error) {
	b, err := json.MarshalIndent(l, "", " ")
	return append(b, '\n'), err
}

// IDs returns the installed packages in order.
func (l *Lock) IDs() []string {
	ids := make([]string, 0, len(l.Packages))
	for id := range l.Packages {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
