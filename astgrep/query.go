package astgrep

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/whet-dev/whet/internal/walk"
)

// A Query is one structural search, or one rewrite to preview.
type Query struct {
	// Dir is the absolute directory that relative paths start from.
	Dir string
	// Paths are files or directories, relative with slashes or absolute;
	// none: all of Dir. The caller has checked that they may be read.
	Paths []string
	Globs []string // a file must meet one; a leading ! excludes

	Lang       string
	Pattern    string
	Selector   string // kind of the node within the pattern that is meant
	Strictness string // "" is smart
	Rule       string // an inline rule in YAML, in place of Pattern
	Rewrite    *string

	Context int // lines around each match, 0 to 20
	Limit   int // matches to show; 0 is 500
	Offset  int // matches to skip

	Timeout time.Duration // 0 is 300 s
	// Report, if not nil, hears how many of the chosen files have been searched.
	Report func(done, total int64, msg string)
	// Whole hands all files to the engine: nothing is left out for its words.
	Whole bool
}

const (
	defaultLimit   = 500
	maxContext     = 20
	defaultTimeout = 300 * time.Second
	maxPattern     = 64 << 10 // bytes; the system bounds one argument at twice that
)

func strictnesses() []string { return []string{"cst", "smart", "ast", "relaxed", "signature"} }

func (q *Query) check() error {
	switch {
	case q.Pattern == "" && q.Rule == "":
		return errors.New("the pattern is empty; write the code to look for, with $NAME for any node and $$$NAME for any number of them")
	case q.Pattern != "" && q.Rule != "":
		return errors.New("there is a pattern and a rule; give one of them")
	case q.Rule != "" && q.Selector != "":
		return errors.New("selector goes with a pattern; within a rule write it as {pattern: {context: ..., selector: ...}}")
	case len(q.Pattern) > maxPattern, len(q.Rule) > maxPattern, q.Rewrite != nil && len(*q.Rewrite) > maxPattern:
		return fmt.Errorf("the pattern, rule or rewrite is longer than %d bytes", maxPattern)
	case strings.Contains(q.Pattern+q.Rule+q.Selector, "\x00"), q.Rewrite != nil && strings.Contains(*q.Rewrite, "\x00"):
		return errors.New("there is a NUL byte in the pattern, which no source file has")
	case q.Strictness != "" && !slices.Contains(strictnesses(), q.Strictness):
		return fmt.Errorf("strictness %s isn't known; it is one of %s", quote(q.Strictness), strings.Join(strictnesses(), ", "))
	}
	if q.Limit <= 0 {
		q.Limit = defaultLimit
	}
	q.Context = min(max(q.Context, 0), maxContext)
	q.Offset = max(q.Offset, 0)
	if q.Timeout <= 0 {
		q.Timeout = defaultTimeout
	}
	return nil
}

// filters are compiled globs. They narrow what is searched and never bring
// back what .gitignore leaves out, unlike the engine's own --globs.
type filters struct{ include, exclude []*walk.Filter }

func compileFilters(globs []string) (f filters, err error) {
	for _, g := range globs {
		if g = strings.TrimSpace(g); g == "" {
			continue
		}
		negated, exclude := strings.CutPrefix(g, "!")
		c, err := walk.CompileFilter(negated, true)
		switch {
		case err != nil:
			return f, err
		case exclude:
			f.exclude = append(f.exclude, c)
		default:
			f.include = append(f.include, c)
		}
	}
	return f, nil
}

func (f filters) any() bool { return len(f.include)+len(f.exclude) > 0 }

func (f filters) match(path string) bool {
	if len(f.include) > 0 && !slices.ContainsFunc(f.include, func(c *walk.Filter) bool { return c.Match(path) }) {
		return false
	}
	return !slices.ContainsFunc(f.exclude, func(c *walk.Filter) bool { return c.MatchAbove(path) })
}
