package applypatch

// A Patch is a parsed patch.
type Patch struct {
	Sections    []Section
	Environment string // the "*** Environment ID:" line's value; kept for the host
	Dir         string // the directory of a "cd DIR && apply_patch" wrapper
}

// Op is what a section does to its file.
type Op string

// The operations.
const (
	Add    Op = "add"
	Delete Op = "delete"
	Update Op = "update"
	Move   Op = "move" // only in a [File]: an update with a new path
)

// A Section is one file's part of a patch.
type Section struct {
	Op     Op
	Path   string
	MoveTo string   // for Update; "" if the file stays
	Add    []string // for Add: the lines
	Chunks []Chunk  // for Update
	Line   int      // of the header, 1-based
}

// A Chunk is one contiguous change.
type Chunk struct {
	Anchors []string // the @@ lines before it, outermost first
	Lines   []Line
	EOF     bool // "*** End of File" follows: the chunk ends the file
	Hint    int  // the old line number of a unified diff header, 0 if none
	Unified bool // the header had line numbers
	At      int  // patch line of its first line

	oldNoEOL, newNoEOL bool // "\ No newline at end of file"
}

// A Line is a line of a chunk: ' ' context, '-' deletion, '+' addition.
type Line struct {
	Op      byte
	Text    string
	At      int  // patch line, 1-based
	suspect bool // had no prefix: context only if the file has it, byte for byte
}

// old returns the lines that the chunk expects in the file.
func (c *Chunk) old() []Line {
	var ls []Line
	for _, l := range c.Lines {
		if l.Op != '+' {
			ls = append(ls, l)
		}
	}
	return ls
}
