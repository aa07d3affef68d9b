package search

import (
	"context"
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
	// search calls found for each file that has matches, from any goroutine,
	// and returns how many files it searched.
	search(ctx context.Context, s *scope, found func(hit)) (searched int, err error)
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

func (own) search(ctx context.Context, s *scope, found func(hit)) (int, error) {
	n := runtime.GOMAXPROCS(0)
	matchers := make([]*matcher, n)
	readers := make([]reader, n)
	searched := make([]int, n)
	o := walk.Options{Root: s.dir, Hidden: s.Hidden || s.filters.hidden, NoIgnore: s.NoIgnore, Workers: n}
	_, err := walk.Walk(ctx, o, func(w int, e walk.Entry) {
		if !s.filters.match(e.Path) {
			return
		}
		if matchers[w] == nil {
			matchers[w] = s.pattern.matcher(ctx, s.Multiline)
		}
		text, err := readEntry(&readers[w], e)
		if err != nil {
			return
		}
		searched[w]++
		if isBinary(text) {
			return
		}
		if c := matchers[w].count(text); c > 0 {
			found(hit{e.Path, c})
		}
	})
	sum := 0
	for _, c := range searched {
		sum += c
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
