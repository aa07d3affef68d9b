package search

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/whet-dev/whet/internal/walk"
)

// What a [Query] asks for.
const (
	Content = "content" // matching lines
	Files   = "files"   // names of files that have one
	Count   = "count"   // matching lines of each file
)

// A Query is one text search.
type Query struct {
	// Root is the absolute directory that the search never leaves, and Path
	// the file or directory in it to search, "" for all of it.
	Root, Path string
	// Prefix is put before every path in the answer, which is else relative to
	// Root.
	Prefix string

	Pattern    string
	Literal    bool // Pattern is plain text
	IgnoreCase bool
	Word       bool // no word character may touch a match
	Multiline  bool // a match may span lines

	Include  []string // globs; a file must meet one. A leading ! excludes
	Hidden   bool     // also names that begin with a dot
	NoIgnore bool     // also what .gitignore and its kin leave out

	Output  string // Content, Files or Count; "" is Content
	Context int    // lines around each match, 0 to 20
	Limit   int    // matches (for Files and Count: files); 0 is 100, below 0 all
	Offset  int    // how many of them to skip

	Timeout time.Duration // 0 is 30 s
	Engine  string        // EngineRipgrep or EngineOwn to insist on one
}

// The engines.
const (
	EngineRipgrep = "ripgrep"
	EngineOwn     = "own"
)

const (
	defaultLimit   = 100
	maxContext     = 20
	defaultTimeout = 30 * time.Second
	maxFileSize    = 10 << 20 // bytes; larger files are searched only when named
	maxPattern     = 64 << 10 // bytes
)

func (q *Query) setDefaults() error {
	if q.Pattern == "" {
		return fmt.Errorf("grep: the pattern is empty: it would match every line; give the text or regular expression to look for")
	}
	if len(q.Pattern) > maxPattern {
		return fmt.Errorf("grep: the pattern has %d bytes, more than %d; look for a part of it", len(q.Pattern), maxPattern)
	}
	if strings.Contains(q.Pattern, "\n") && !q.Multiline {
		return fmt.Errorf("grep: the pattern has a line break, but lines are searched one at a time; set multiline, or look for one of its lines")
	}
	if strings.Contains(q.Pattern, "\x00") {
		return fmt.Errorf("grep: the pattern has a NUL byte, which no text file has")
	}
	if q.Output == "" {
		q.Output = Content
	}
	if !slices.Contains([]string{Content, Files, Count}, q.Output) {
		return fmt.Errorf("grep: output %s isn't known; use content, files or count", quote(q.Output))
	}
	if q.Limit == 0 {
		q.Limit = defaultLimit
	}
	q.Context = min(max(q.Context, 0), maxContext)
	q.Offset = max(q.Offset, 0)
	if q.Timeout <= 0 {
		q.Timeout = defaultTimeout
	}
	return nil
}

// filters are compiled globs: a path must meet one of include, if there are
// any, and none of exclude.
type filters struct {
	include, exclude []*walk.Filter
	hidden           bool // one of include names something hidden
	names            []string
}

// compileFilters compiles globs, each as [walk.CompileFilter] reads it.
func compileFilters(globs []string, hidden bool) (f filters, err error) {
	for _, g := range globs {
		if g = strings.TrimSpace(g); g == "" {
			continue
		}
		negated, exclude := strings.CutPrefix(g, "!")
		c, err := walk.CompileFilter(negated, hidden || exclude)
		if err != nil {
			return f, err
		}
		if exclude {
			f.exclude = append(f.exclude, c)
			continue
		}
		f.include = append(f.include, c)
		f.names = append(f.names, g)
		f.hidden = f.hidden || c.Hidden
	}
	return f, nil
}

func (f filters) match(path string) bool {
	if len(f.include) > 0 && !slices.ContainsFunc(f.include, func(c *walk.Filter) bool { return c.Match(path) }) {
		return false
	}
	return !slices.ContainsFunc(f.exclude, func(c *walk.Filter) bool { return c.MatchAbove(path) })
}
