package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

const trustName = "trust.json"

// Trust is what a person has agreed to, by package.
type Trust map[string]Grant

// A Grant lets the executable parts of a package run as long as they are what
// they were.
type Grant struct {
	Exec string    `json:"exec"` // digest of the executable parts
	At   time.Time `json:"at"`
	Note string    `json:"note,omitempty"`
}

// Has reports whether the package's executable parts may run.
func (t Trust) Has(id string, p Package) bool { return p.Exec != "" && t[id].Exec == p.Exec }

// Trusted returns what is trusted. With an error nothing is.
func (s *Store) Trusted() (Trust, error) {
	b, err := os.ReadFile(s.path(trustName))
	if errors.Is(err, fs.ErrNotExist) {
		return Trust{}, nil
	}
	if err != nil {
		return nil, err
	}
	t, err := DecodeTrust(b)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w; remove the file to trust nothing", ErrLockfile, s.path(trustName), err)
	}
	return t, nil
}

// DecodeTrust reads trust.json.
func DecodeTrust(b []byte) (Trust, error) {
	var t Trust
	if err := json.Unmarshal(b, &t); err != nil {
		return nil, err
	}
	if t == nil {
		t = Trust{}
	}
	for id, g := range t {
		if !ValidID(id) || !digestForm.MatchString(g.Exec) {
			return nil, fmt.Errorf("%.80q: %.80q is no grant of trust", id, g.Exec)
		}
	}
	return t, nil
}
