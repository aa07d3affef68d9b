package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/whet-dev/whet/internal/escape"
	"github.com/whet-dev/whet/internal/plainfile"
)

const (
	sortedByTime = 5000     // files; more are sorted by path
	maxAnswer    = 48 << 10 // bytes of text, so that with its frame it stays under 50 KB
	afterwards   = 5 * time.Second
)

// Grep searches for text. Its errors are about the query; that nothing was
// found is an answer, and says why.
func Grep(ctx context.Context, q Query) (*Answer, error) {
	if err := q.setDefaults(); err != nil {
		return nil, err
	}
	p, err := compilePattern(&q)
	if err != nil {
		return nil, withLiteralCount(ctx, q, err)
	}
	f, err := compileFilters(q.Include, q.Hidden)
	if err != nil {
		return nil, fmt.Errorf("grep: include: %w", err)
	}
	dir, file, err := openAt("grep", q.Root, q.Path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	g := &grep{scope: scope{Query: &q, pattern: p, dir: dir, filters: f}, base: q.Path}
	if file != "" {
		g.base = ""
	}
	return g.run(ctx, file)
}

// openAt opens the directory to search. If path is a file it is root, and file
// the path from there.
func openAt(tool, root, p string) (dir *os.Root, file string, err error) {
	top, err := os.OpenRoot(root)
	if err != nil {
		return nil, "", fmt.Errorf("%s: opening the directory to search: %w", tool, err)
	}
	if p == "" || p == "." {
		return top, "", nil
	}
	info, err := top.Stat(filepath.FromSlash(p))
	if err == nil && !info.IsDir() {
		return top, p, nil
	}
	defer func() { _ = top.Close() }()
	if err == nil {
		dir, err = top.OpenRoot(filepath.FromSlash(p))
	}
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", tool, err)
	}
	return dir, "", nil
}

// A grep is one search under way.
type grep struct {
	scope
	base string // of paths relative to dir, from Root
}

func (g *grep) run(ctx context.Context, file string) (*Answer, error) {
	limited, cancel := context.WithTimeout(ctx, g.Timeout)
	defer cancel()
	a := &Answer{query: g.Query, pattern: g.pattern, Matches: []Match{}}
	begun := time.Now()
	var hits []hit
	var err error
	if file != "" {
		hits, err = g.named(limited, file, a)
	} else {
		hits, err = g.directory(limited, a)
	}
	if err != nil && limited.Err() == nil {
		return nil, err
	}
	a.Partial, a.took = limited.Err() != nil, time.Since(begun).Round(time.Millisecond)
	// What was found is shown even if the time for finding more is over.
	grace := afterwards
	if g.Limit < 0 {
		grace = g.Timeout
	}
	rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	for _, h := range hits {
		a.Total += h.count
	}
	a.Files = len(hits)
	g.sort(hits)
	g.show(rest, a, hits)
	a.Partial = a.Partial || rest.Err() != nil
	if a.Files == 0 && file == "" && ctx.Err() == nil {
		l := explain(rest, &g.scope)
		a.leftOut = &l
		a.Skipped = Skipped{l.Ignored, l.Hidden, l.Binary, l.Large}
		if !a.Partial && !l.Partial { // the engine counts binary files too
			a.Searched = l.Met - l.Large - l.Binary - l.Denied
		}
	}
	return a, nil
}

// directory runs the first engine that works.
func (g *grep) directory(ctx context.Context, a *Answer) (hits []hit, err error) {
	engines, err := g.engines()
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	found := func(h hit) {
		mu.Lock()
		defer mu.Unlock()
		hits = append(hits, h)
	}
	for _, e := range engines {
		var t tally
		hits = nil
		t, err = e.search(ctx, &g.scope, found)
		a.Engine, a.Searched, a.Denied = e.name(), t.searched, t.denied
		if !errors.Is(err, errEngine) {
			break
		}
	}
	return hits, err
}

// engines lists those to try: ripgrep if there is one, and our own.
func (g *grep) engines() ([]engine, error) {
	rg := FindRipgrep()
	switch {
	case g.Engine == EngineOwn, g.Engine == "" && rg == "":
		return []engine{own{}}, nil
	case rg == "":
		return nil, errors.New("grep: ripgrep isn't installed")
	case g.Engine == EngineRipgrep:
		return []engine{ripgrep{rg}}, nil
	}
	return []engine{ripgrep{rg}, own{}}, nil
}

// named searches one file, whatever the rules and filters say of it: it was
// asked for by name.
func (g *grep) named(ctx context.Context, file string, a *Answer) ([]hit, error) {
	f, err := plainfile.OpenIn(g.dir, file)
	if err != nil {
		return nil, fmt.Errorf("grep: %w", err)
	}
	defer func() { _ = f.Close() }()
	a.Engine, a.Searched, a.named = EngineOwn, 1, file
	m := g.pattern.matcher(ctx, g.Multiline)
	h := hit{path: file}
	var r reader
	err = r.blocks(f, func(text []byte) bool {
		a.binary = a.binary || isBinary(text)
		h.count += m.count(text)
		return ctx.Err() == nil && !(a.binary && h.count > 0)
	})
	if err != nil {
		return nil, fmt.Errorf("grep: reading %s: %w", escape.Text(file), err)
	}
	if a.binary {
		a.Skipped.Binary = 1
	}
	if h.count == 0 {
		return nil, nil
	}
	return []hit{h}, nil
}

// sort puts the newest file first, or sorts by path if there are many.
func (g *grep) sort(hits []hit) {
	sortNewest(g.dir.Name(), hits, func(h hit) string { return h.path })
}

// sortNewest sorts by modification time, the newest first, then by path. The
// order of more than [sortedByTime] is by path alone.
func sortNewest[T any](dir string, all []T, name func(T) string) {
	times := map[string]int64{}
	if len(all) <= sortedByTime {
		for _, x := range all {
			if info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name(x)))); err == nil {
				times[name(x)] = info.ModTime().UnixNano()
			}
		}
	}
	slices.SortFunc(all, func(a, b T) int {
		return cmp.Or(cmp.Compare(times[name(b)], times[name(a)]), cmp.Compare(name(a), name(b)))
	})
}

// show fills the answer with what is between Offset and Limit.
func (g *grep) show(ctx context.Context, a *Answer, hits []hit) {
	if g.Output != Content {
		for _, h := range hits[min(g.Offset, len(hits)):] {
			if len(a.Found) == g.Limit && g.Limit > 0 {
				a.more(g.Offset+g.Limit, len(hits))
				break
			}
			a.Found = append(a.Found, FileCount{g.shown(h.path), h.count})
		}
		return
	}
	if g.Limit < 0 {
		g.showAll(ctx, a, hits)
		return
	}
	skip, size := g.Offset, 0
	for _, h := range hits {
		if skip >= h.count {
			skip -= h.count
			continue
		}
		if a.binary || len(a.Matches) == g.Limit || size > maxAnswer {
			break
		}
		rows, err := g.rows(ctx, h.path, skip, g.Limit-len(a.Matches))
		if err != nil {
			a.Unreadable = append(a.Unreadable, g.shown(h.path))
		}
		for _, m := range rows {
			if size += m.size(); size > maxAnswer && len(a.Matches) > 0 {
				break
			}
			a.Matches = append(a.Matches, m)
		}
		skip = 0
	}
	a.more(g.Offset+len(a.Matches), a.Total)
}

// showAll fills the answer with every match.
func (g *grep) showAll(ctx context.Context, a *Answer, hits []hit) {
	rows := make([][]Match, len(hits))
	errs := make([]error, len(hits))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(hits)) && !a.binary; i = next.Add(1) - 1 {
				rows[i], errs[i] = g.rows(ctx, hits[i].path, 0, hits[i].count)
			}
		})
	}
	wg.Wait()
	for i, h := range hits {
		a.Matches = append(a.Matches, rows[i]...)
		if errs[i] != nil {
			a.Unreadable = append(a.Unreadable, g.shown(h.path))
		}
	}
	a.Matches = a.Matches[min(g.Offset, len(a.Matches)):]
}

// shown returns a path relative to dir as the answer has it.
func (g *grep) shown(p string) string { return g.Prefix + path.Join(g.base, p) }

// withLiteralCount adds to the error of a pattern that is no regular expression
// how often it stands in the files as plain text.
func withLiteralCount(ctx context.Context, q Query, cause error) error {
	var pe *PatternError
	if q.Literal || !errors.As(cause, &pe) {
		return cause
	}
	q.Literal, q.Output, q.Timeout, q.Offset = true, Count, explainTime, 0
	a, err := Grep(ctx, q)
	if err != nil {
		return cause
	}
	tail := fmt.Sprintf("As plain text (literal: true) it is in %s of %s.", plural(a.Total, "line"), plural(a.Files, "file"))
	if a.Partial {
		tail = "As plain text (literal: true) it is in at least " + plural(a.Total, "line") + "."
	}
	if pe.Advice != "" {
		tail = pe.Advice + " " + tail
	}
	return &PatternError{pe.Pattern, pe.Problem, tail}
}
