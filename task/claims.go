package task

import (
	"path"
	"path/filepath"
	"strings"
)

// A Claim is the files that a task at work alone may change: globs relative to
// its directory, in which ** stands for any number of directories. Without any,
// it merely tells that the task may change something.
type Claim struct {
	Task    string   `json:"task"`
	Session string   `json:"session,omitempty"` // the backend's own name for its conversation
	Alias   string   `json:"alias"`
	Agent   string   `json:"agent"`
	Dir     string   `json:"dir"`
	Files   []string `json:"files,omitempty"`
	// Main is what a task that works in a worktree, then Dir, must leave alone:
	// the checkout that the worktree was made from.
	Main string `json:"main,omitempty"`
	// Strict keeps the task itself from changing anything else.
	Strict bool `json:"strict,omitempty"`
}

// Leaves reports whether the file, an absolute path, is none of those that the
// task was given.
func (c Claim) Leaves(file string) bool { return len(c.Files) > 0 && !c.Owns(file) }

// Owns reports whether the claim names the file, an absolute path.
func (c Claim) Owns(file string) bool {
	for _, g := range c.globs() {
		if meet(g, segments(filepath.ToSlash(file)), true) {
			return true
		}
	}
	return false
}

// Meets returns a glob of c that may name a file that o names too, or "".
func (c Claim) Meets(o Claim) string {
	for _, f := range c.Files {
		for _, a := range (Claim{Dir: c.Dir, Files: []string{f}}).globs() {
			for _, b := range o.globs() {
				if meet(a, b, false) {
					return f
				}
			}
		}
	}
	return ""
}

// globs returns the claim's globs as absolute paths in segments, braces spelt
// out. A directory stands for all that is in it.
func (c Claim) globs() (out [][]string) {
	// In the directory's own name nothing is a wildcard.
	dir := strings.Map(func(r rune) rune {
		if strings.ContainsRune(meta, r) {
			return '?'
		}
		return r
	}, filepath.ToSlash(c.Dir))
	for _, f := range c.Files {
		for _, g := range braces(filepath.ToSlash(f)) {
			if strings.HasSuffix(g, "/") {
				g += "**"
			}
			out = append(out, segments(dir+"/"+g))
		}
	}
	return out
}

func segments(p string) []string { return strings.Split(path.Clean(p), "/") }

// braces spells {a,b} out, as often as it stands in p.
func braces(p string) []string {
	before, rest, ok := strings.Cut(p, "{")
	inside, after, closed := strings.Cut(rest, "}")
	if !ok || !closed || strings.Contains(inside, "{") {
		return []string{p}
	}
	var out []string
	for _, tail := range braces(after) {
		for _, alt := range strings.Split(inside, ",") {
			out = append(out, before+alt+tail)
		}
	}
	return out[:min(len(out), 64)]
}

// meet reports whether some file may match both a and b; literal says that b is
// a file itself.
func meet(a, b []string, literal bool) bool {
	switch {
	case len(a) == 0 && len(b) == 0:
		return true
	case len(a) > 0 && a[0] == "**":
		return meet(a[1:], b, literal) || len(b) > 0 && meet(a, b[1:], literal)
	case len(b) > 0 && b[0] == "**" && !literal:
		return meet(a, b[1:], literal) || len(a) > 0 && meet(a[1:], b, literal)
	case len(a) == 0 || len(b) == 0:
		return false
	}
	return meetSegment(a[0], b[0], literal) && meet(a[1:], b[1:], literal)
}

const meta = `*?[\`

// meetSegment is meet for one part of a path. Of two patterns it compares what
// stands before the first and after the last wildcard, so that it may say yes
// where no name fits both, never the other way round.
func meetSegment(a, b string, literal bool) bool {
	wildA, wildB := strings.ContainsAny(a, meta), strings.ContainsAny(b, meta) && !literal
	match := func(pattern, name string) bool {
		ok, err := path.Match(pattern, name)
		return ok || err != nil
	}
	unreadable := func(s string) bool { _, err := path.Match(s, "x"); return err != nil }
	switch {
	case wildA && unreadable(a), wildB && unreadable(b):
		return true // it may mean anything
	case !wildA && !wildB:
		return a == b
	case !wildB:
		return match(a, b)
	case !wildA:
		return match(b, a)
	}
	headA, headB := a[:strings.IndexAny(a, meta)], b[:strings.IndexAny(b, meta)]
	tail := func(s string) string { return s[strings.LastIndexAny(s, meta+"]")+1:] }
	tailA, tailB := tail(a), tail(b)
	return (strings.HasPrefix(headA, headB) || strings.HasPrefix(headB, headA)) &&
		(strings.HasSuffix(tailA, tailB) || strings.HasSuffix(tailB, tailA))
}

// ClaimOf returns what t claims; ok is false if it changes nothing. All of its
// own worktree is its own.
func ClaimOf(t *Task) (c Claim, ok bool) {
	c = Claim{Task: t.ID, Session: t.Session, Alias: t.Alias, Agent: t.Agent, Dir: t.Dir, Files: t.Files}
	if t.Checkout != nil {
		c.Dir, c.Files, c.Main = t.Checkout.Dir, []string{"**"}, t.Checkout.Root
	}
	return c, t.Writes
}
