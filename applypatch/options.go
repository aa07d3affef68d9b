package applypatch

import "github.com/whet-dev/whet"

// Options says how far a rescue may go. The zero value is the safe default.
type Options struct {
	Outside    string   `json:"outside,omitempty" enum:"block,defer" layer:"user" doc:"a patch of the host's own tool that touches a path outside the project: block (default), or defer to the host's own policy"`
	ExtraRoots []string `json:"extraRoots,omitempty" layer:"user" doc:"directories beside the project that patches may touch"`
	Stale      string   `json:"stale,omitempty" enum:"similar,bounded,refuse" doc:"a deletion that the file has in a changed form: similar (default) deletes it if it is alike and the lines around it match, bounded also if it alone differs between two unique lines, refuse never"`
	Indent     string   `json:"indent,omitempty" enum:"on,off" doc:"whether a patch that lost its indentation by one rule is re-indented; default on"`
	Repair     string   `json:"repair,omitempty" enum:"on,off" doc:"whether a final newline or line ending that the host's own applier changed is put right after it; default on"`
	Durable    *bool    `json:"durable,omitempty" doc:"whether writes are flushed to the disk; default true"`

	// Earlier, if not nil, knows the text that a file had before a formatter
	// changed it: models write patches against what they wrote themselves.
	Earlier func(s whet.Session, path string) *Earlier `json:"-"`

	earlier func(path string) *Earlier // Earlier of the call's session
}

// An Earlier is what a file was before it was formatted.
type Earlier struct {
	Written, Formatted []byte
	// Rebase carries a change of Written over to Formatted.
	Rebase func(written, formatted, patched []byte) []byte
}

// in returns the options for the calls of one session.
func (o Options) in(s whet.Session) Options {
	if o.Earlier != nil {
		o.earlier = func(path string) *Earlier { return o.Earlier(s, path) }
	}
	return o
}

// Values of [Options.Stale].
const (
	StaleSimilar = "similar"
	StaleBounded = "bounded"
	StaleRefuse  = "refuse"
)
