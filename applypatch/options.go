package applypatch

// Options says how far a rescue may go. The zero value is the safe default.
type Options struct {
	// Outside is what happens to a path outside the workspace: "block" (default)
	// refuses the patch; "defer" lets the guard pass the call on to the host,
	// which has a policy of its own. Our own tool always refuses.
	Outside string `json:"outside,omitempty" enum:"block,defer" layer:"user"`
	// ExtraRoots are directories beside the project that patches may touch.
	ExtraRoots []string `json:"extra_roots,omitempty" layer:"user"`
	// Stale is what happens to a deletion that the file has in a changed form:
	// "similar" (default) deletes it if the lines around it match and it is
	// alike, "bounded" also if it alone differs between two unique lines,
	// "refuse" never.
	Stale string `json:"stale,omitempty" enum:"similar,bounded,refuse"`
	// Indent is "off" to never re-indent a patch that lost its indentation.
	Indent string `json:"indent,omitempty" enum:"on,off"`
	// Repair is "off" to leave a final newline or line ending as a host's own
	// applier wrote it.
	Repair string `json:"repair,omitempty" enum:"on,off"`
	// Fast skips the flush to disk: a crash of the machine may lose the change.
	Fast bool `json:"fast,omitempty"`
}

// Values of [Options.Stale].
const (
	StaleSimilar = "similar"
	StaleBounded = "bounded"
	StaleRefuse  = "refuse"
)
