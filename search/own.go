package search

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"runtime"

	"github.com/whet-dev/whet/internal/walk"
)

// A hit is a file with matches.
type hit struct {
	path  string // from the directory searched, with slashes
	count int    // matching lines
}

// An engine counts the matching lines of every file in a directory. Which of
// them are shown, and how, isn't its business.
type engine interface {
	name() string
	// search calls found for each file that has matches, from any goroutine,
	// and returns how far it came.
	search(ctx context.Context, s *scope, found func(hit)) (tally, error)
}

// A tally is what an engine did.
type tally struct {
	searched int  // files
	denied   bool // some file or directory could not be read
}

// A scope is what an engine needs to know.
type scope struct {
	*Query
	pattern *pattern
	dir     *os.Root // the directory searched
	filters filters
}

// own is the engine that needs nothing but this program.
type own struct{}

func (own) name() string { return EngineOwn }

func (own) search(ctx context.Context, s *scope, found func(hit)) (tally, error) {
	n := runtime.GOMAXPROCS(0)
	matchers := make([]*matcher, n)
	readers := make([]reader, n)
	tallies := make([]tally, n)
	o := walk.Options{Root: s.dir, Hidden: s.Hidden || s.filters.hidden, NoIgnore: s.NoIgnore, Workers: n}
	counts, err := walk.Walk(ctx, o, func(w int, e walk.Entry) {
		if !s.filters.match(e.Path) {
			return
		}
		if matchers[w] == nil {
			matchers[w] = s.pattern.matcher(ctx, s.Multiline)
		}
		text, err := readEntry(&readers[w], e)
		if err != nil {
			tallies[w].denied = tallies[w].denied || errors.Is(err, fs.ErrPermission)
			return
		}
		tallies[w].searched++
		if isBinary(text) {
			return
		}
		if c := matchers[w].count(text); c > 0 {
			found(hit{e.Path, c})
		}
	})
	sum := tally{denied: counts.Unreadable > 0}
	for _, t := range tallies {
		sum.searched += t.searched
		sum.denied = sum.denied || t.denied
	}
	return sum, err
}

func readEntry(r *reader, e walk.Entry) ([]byte, error) {
	f, err := e.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return r.whole(f, maxFileSize)
}
