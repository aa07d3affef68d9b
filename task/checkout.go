package task

import (
	"fmt"
	"path/filepath"
	"strings"
)

// A Checkout is a git worktree of a task's own, so that two writers can't
// meet. The changes made in it wait there until somebody merges or discards
// them.
type Checkout struct {
	Home      string   `json:"home"`                // the task's directory in the person's own checkout
	Root      string   `json:"root"`                // of the repository there that holds the task's files
	Dir       string   `json:"dir"`                 // the worktree
	Base      string   `json:"base,omitempty"`      // commit of all that Root held when it was made, committed or not; "" until then
	Fate      Fate     `json:"fate,omitempty"`      // what became of the changes
	Conflicts []string `json:"conflicts,omitempty"` // files in which they don't fit into Root, as far as is known
	Trouble   string   `json:"trouble,omitempty"`   // why its changes could not be looked at
}

// A Fate is what became of the changes in a checkout.
type Fate string

// The fates. At first there is none: the task is at work.
const (
	Unmerged  Fate = "unmerged" // there may be some, and they wait
	Clashing  Fate = "conflict" // they wait, and don't fit
	Merged    Fate = "merged"
	Discarded Fate = "discarded"
	Unchanged Fate = "unchanged" // there were none
)

// Kept reports whether the worktree is there, with what was done in it.
func (c *Checkout) Kept() bool {
	return c != nil && c.Base != "" && (c.Fate == "" || c.Waits())
}

// Waits reports whether there are changes that somebody must merge or discard.
func (c *Checkout) Waits() bool { return c != nil && (c.Fate == Unmerged || c.Fate == Clashing) }

// With returns a copy that change has changed, nil of nil.
func (c *Checkout) With(change func(*Checkout)) *Checkout {
	if c == nil {
		return nil
	}
	d := *c
	change(&d)
	return &d
}

// state is what a person or a model should know of it, in a few words.
func (c *Checkout) state() string {
	switch {
	case c == nil:
		return ""
	case c.Fate == "":
		return Line(c.Dir)
	case c.Fate == Clashing:
		return fmt.Sprintf("%s, conflict with the project (%d files): task_revive, then task_merge", Line(c.Dir), len(c.Conflicts))
	case c.Fate == Unmerged:
		return Line(c.Dir) + ", waits for task_merge"
	}
	return string(c.Fate)
}

// Place returns where in the worktree the task works: at its own directory, or
// at the top if the repository doesn't hold that.
func (c *Checkout) Place() string {
	if rel, ok := Inside(c.Root, c.Home); ok {
		return filepath.Join(c.Dir, rel)
	}
	return c.Dir
}

// Inside returns path relative to dir; ok is false if it isn't dir or below it.
func Inside(dir, path string) (rel string, ok bool) {
	rel, err := filepath.Rel(dir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return rel, true
}

// Home returns the task's directory in the person's own checkout, whose
// settings count.
func (t *Task) Home() string {
	if t.Checkout != nil {
		return t.Checkout.Home
	}
	return t.Dir
}
