package plugin

import (
	"errors"
	"fmt"

	"github.com/whet-dev/whet/market/tree"
)

// An Error is why a package is none: its manifest can't be taken.
type Error struct {
	File    string
	Pointer string // JSON pointer of the value; empty is the whole
	Line    int    // 1-based; 0 is unknown
	Text    string
}

func (e *Error) Error() string {
	at := e.File
	if e.Line > 0 {
		at = fmt.Sprintf("%s:%d", at, e.Line)
	}
	if e.Pointer != "" {
		at += ": " + e.Pointer
	}
	return at + ": " + e.Text
}

// Parse reads a package. Only a bad manifest is an error, an [*Error]; any
// other part that isn't right is left out alone, and a note says why.
func Parse(t tree.Tree) (*Plugin, error) {
	return nil, errors.New("parsing isn't written yet")
}

// Exec is the part of a package that can make something run: trust is bound to
// its digest. It is empty for a package of prose.
func Exec(t tree.Tree) tree.Tree { return nil }

// A Program is something that the package would have run, for a person to read.
type Program struct {
	Kind string // hook, mcp, remote, formatter, script or module
	Name string // its event, server, formatter or file
	Line string // the command line, or the address of a remote server
}

// Programs lists all that the package would have run, in a stable order.
func (p *Plugin) Programs() []Program { return nil }
