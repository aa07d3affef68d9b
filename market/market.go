// Package market is the local marketplace: packages of agents, skills,
// commands, instructions, MCP servers, hooks and formatters, taken from a
// directory or an archive on this machine. It reaches no network. What a
// package would run stays off until a person has agreed to it.
package market

import (
	"time"

	"github.com/whet-dev/whet/market/store"
	"github.com/whet-dev/whet/market/tree"
)

// A Market does what people and agents ask for, in one place.
type Market struct {
	Where
	Version string        // whet's own, for what packages require of it; empty if unknown
	Wait    time.Duration // for another process that changes the store
	NoSync  bool          // leave out waiting for the disk; for measurements

	// Sign checks the signatures among a package's files; nil knows no key. It
	// is handed in because it brings the network along, which hooks must not.
	Sign func(statement []byte, publisher string, t tree.Tree) (store.Signature, error)
	// Known reports whether a key of the publisher is known.
	Known func(publisher string) bool
	// Live returns what was in force when the session began; false if that
	// isn't known.
	Live func() ([]Live, bool)
}

// statement is the text that is signed. It names the files by their digest, so
// that a signature stays good when they are packed in another way.
func statement(id string, p store.Package) []byte {
	return []byte("whet-package-v1\nid: " + id + "\nversion: " + p.Version + "\ntree: " + p.Tree + "\n")
}

func (m *Market) open() (*store.Store, error) {
	dir, err := store.Place(m.getenv)
	if err != nil {
		return nil, err
	}
	return &store.Store{Dir: dir, Wait: m.Wait, NoSync: m.NoSync}, nil
}

// An Outcome is what came of an action.
type Outcome struct {
	Action         string       `json:"action"`
	OK             bool         `json:"ok"`
	Changed        bool         `json:"changed"`
	ReloadRequired string       `json:"reloadRequired,omitempty"` // true, false or unknown
	Package        *Summary     `json:"package,omitempty"`
	Packages       []Summary    `json:"packages,omitempty"`
	Diagnostics    []Diagnostic `json:"diagnostics,omitempty"`
	Notes          []string     `json:"notes,omitempty"`
	Error          *Error       `json:"error,omitempty"`

	Detail *Detail `json:"detail,omitempty"` // of show

	Text string `json:"-"` // for people and models
}

func (o Outcome) String() string { return o.Text }

// Failed reports whether the action was not done.
func (o Outcome) Failed() bool { return !o.OK }

// A Summary is a package in a few words.
type Summary struct {
	ID      string `json:"id"`
	Version string `json:"version"`
	Tree    string `json:"tree"`
	Title   string `json:"title,omitempty"`
	// State is enabled(user), enabled(project), enabled(environment), disabled
	// or corrupt.
	State      string           `json:"state"`
	Trusted    bool             `json:"trusted,omitempty"`
	Files      int              `json:"files"`
	Bytes      int64            `json:"bytes"`
	Source     store.Source     `json:"source"`
	Signature  store.Signature  `json:"signature"`
	Components store.Components `json:"components"`
}
