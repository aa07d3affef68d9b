// Package convert turns the formats that plugins are really published in into
// whet's own. It works on trees in memory: it runs, fetches and writes nothing.
package convert

import (
	"errors"

	"github.com/whet-dev/whet/market/plugin"
	"github.com/whet-dev/whet/market/tree"
)

// A Result is a package in the native format, or what a catalogue offers.
type Result struct {
	Tree      tree.Tree // nil for a catalogue of which no plugin was chosen
	Format    string    // what it was: agent-plugin (taken as it is), claude-plugin, …
	Notes     []plugin.Note
	Catalogue []Entry
	Upstream  string // the digest that an older single-file manifest has in its own lock file
}

// An Entry is one plugin of a catalogue.
type Entry struct {
	Name        string
	Version     string
	Description string
	Source      string // as the catalogue has it
	Remote      bool   // it isn't in the tree, and never fetched
}

// Import reads t in whichever format it is. The name is for a package that has
// none of its own, such as the last part of its path; sub chooses a plugin of a
// catalogue.
func Import(t tree.Tree, name, sub string) (Result, error) {
	return Result{}, errors.New("importing isn't written yet")
}
