package search

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"runtime"
	"sync"
	"time"

	"github.com/whet-dev/whet/internal/walk"
)

// A leftOut tells what a search that found nothing went past.
type leftOut struct {
	walk.Counts
	Met           int // files that met the filters
	Binary, Large int // of those: have NUL bytes, are over the size limit
	Denied        int // of those: can't be read
	Lines, Within int // matches in ignored and hidden files, and in how many
	Partial       bool
	extensions    map[string]int
}

const (
	explainTime = 2 * time.Second
	sniffed     = 8 << 10 // bytes in which a NUL makes a file binary
)

// explain looks once more, at everything, to say why nothing was found. It is
// the same for both engines, so that they answer in the same words.
func explain(ctx context.Context, s *scope) leftOut {
	ctx, cancel := context.WithTimeout(ctx, explainTime)
	defer cancel()
	all, err := compileFilters(s.Include, true)
	if err != nil {
		all = s.filters
	}
	e := &explainer{scope: s, all: all, out: leftOut{extensions: map[string]int{}}}
	e.workers = make([]explainWorker, runtime.GOMAXPROCS(0))
	for i := range e.workers {
		e.workers[i].matcher = s.pattern.matcher(ctx, s.Multiline)
	}
	o := walk.Options{Root: s.dir, Hidden: s.Hidden || s.filters.hidden, NoIgnore: s.NoIgnore, LeftOut: true}
	counts, err := walk.Walk(ctx, o, e.visit)
	e.out.Counts, e.out.Partial = counts, err != nil
	return e.out
}

type explainer struct {
	*scope
	all     filters // Include, hidden names too
	workers []explainWorker

	mu  sync.Mutex
	out leftOut
}

type explainWorker struct {
	reader  reader
	matcher *matcher
	head    [sniffed]byte
}

func (x *explainer) visit(w int, e walk.Entry) {
	if e.Reason != walk.Wanted {
		if x.all.match(e.Path) {
			x.search(w, e)
		}
		return
	}
	met := x.filters.match(e.Path)
	var err error
	binary := false
	if met {
		binary, err = x.workers[w].sniff(e)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.out.extensions[path.Ext(e.Path)]++
	if met {
		x.out.Met++
	}
	if binary {
		x.out.Binary++
	}
	switch {
	case errors.Is(err, errLarge):
		x.out.Large++
	case err != nil:
		x.out.Denied++
	}
}

// search looks into a file that was left out.
func (x *explainer) search(w int, e walk.Entry) {
	text, err := readEntry(&x.workers[w].reader, e)
	if err != nil || isBinary(text) {
		return
	}
	n := x.workers[w].matcher.count(text)
	x.mu.Lock()
	defer x.mu.Unlock()
	if n > 0 {
		x.out.Lines, x.out.Within = x.out.Lines+n, x.out.Within+1
	}
}

func (w *explainWorker) sniff(e walk.Entry) (binary bool, err error) {
	f, err := e.Open()
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	n, err := f.Read(w.head[:])
	if err == io.EOF {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if n == len(w.head) {
		if info, err := f.Stat(); err == nil && info.Size() > maxFileSize {
			return false, errLarge
		}
	}
	return isBinary(decode(w.head[:n])), nil
}

// why says in words what was looked at and what was left out.
func (l leftOut) why(ignoreFiles bool) string {
	parts := []string{}
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", thousands(n), what))
		}
	}
	if ignoreFiles {
		add(l.Ignored, "ignored by .gitignore or the like")
	}
	add(l.Hidden, "hidden")
	add(l.Binary, "binary")
	add(l.Large, "over 10 MB")
	add(l.Links, "symbolic links")
	add(l.Special, "pipes, sockets or devices")
	add(l.Denied, "unreadable files")
	add(l.Unreadable, "unreadable directories")
	if l.Partial && len(parts) > 0 {
		parts[0] = "at least " + parts[0]
	}
	return list(parts)
}
