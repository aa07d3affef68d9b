package search

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/whet-dev/whet/internal/escape"
	"github.com/whet-dev/whet/internal/walk"
)

// A GlobQuery is one search for files by name.
type GlobQuery struct {
	// Root is the absolute directory that the search never leaves, and Path
	// the directory in it that Pattern is anchored at, "" for Root itself.
	Root, Path string
	Prefix     string // put before every path in the answer

	Pattern  string
	Hidden   bool // also names that begin with a dot
	NoIgnore bool // also what .gitignore and its kin leave out
	Limit    int  // files; 0 is 100, below 0 all

	Timeout time.Duration // 0 is 30 s
}

// A GlobAnswer is what [Glob] found.
type GlobAnswer struct {
	Files     []string `json:"files"`
	Total     int      `json:"total"` // shown or not
	Truncated bool     `json:"truncated"`
	Searched  int      `json:"searched"` // files that the pattern was held against
	Skipped   Skipped  `json:"skipped"`
	Partial   bool     `json:"partial"` // ended before all was looked at

	query  *GlobQuery
	took   time.Duration
	counts walk.Counts
	absent string // the directory that the pattern names, if it doesn't exist
	anyway int    // files that are left out and match
	least  bool   // anyway may be more
}

// Glob searches for files by name. Its errors are about the query; that
// nothing was found is an answer, and says why.
func Glob(ctx context.Context, q GlobQuery) (*GlobAnswer, error) {
	if q.Pattern == "" {
		return nil, fmt.Errorf("glob: the pattern is empty; give one such as **/*.go")
	}
	if q.Limit == 0 {
		q.Limit = defaultLimit
	}
	if q.Timeout <= 0 {
		q.Timeout = defaultTimeout
	}
	filter, err := walk.CompileFilter(q.Pattern, q.Hidden)
	if err != nil {
		return nil, fmt.Errorf("glob: %w", err)
	}
	dir, file, err := openAt("glob", q.Root, q.Path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	if file != "" {
		return nil, fmt.Errorf("glob: %s is a file; give its directory %s, or use grep or read for the file itself",
			escape.Text(q.Prefix+q.Path), escape.Text(q.Prefix+path.Dir(q.Path)))
	}
	limited, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	g := &glob{GlobQuery: &q, filter: filter, dir: dir, found: map[string]bool{}}
	return g.run(ctx, limited)
}

type glob struct {
	*GlobQuery
	filter *walk.Filter
	dir    *os.Root

	mu    sync.Mutex
	found map[string]bool // from dir
}

func (g *glob) run(ctx, limited context.Context) (*GlobAnswer, error) {
	a := &GlobAnswer{query: g.GlobQuery, Files: []string{}}
	begun := time.Now()
	// The directory that a pattern names without wildcards is looked at even
	// if a rule or a dot would leave it out, and so is the file.
	start, err := literalDir(g.Pattern)
	if err != nil {
		return nil, err
	}
	g.exact()
	if info, err := g.dir.Stat(filepath.FromSlash(start)); err != nil || !info.IsDir() {
		a.absent = start
	} else if err := g.walk(limited, start, a); err != nil && limited.Err() == nil {
		return nil, err
	}
	a.Partial, a.took = limited.Err() != nil, time.Since(begun).Round(time.Millisecond)
	files := make([]string, 0, len(g.found))
	for f := range g.found {
		files = append(files, f)
	}
	sortNewest(g.dir.Name(), files, func(f string) string { return f })
	a.Total = len(files)
	if a.Truncated = g.Limit > 0 && a.Total > g.Limit; a.Truncated {
		files = files[:g.Limit]
	}
	for _, f := range files {
		a.Files = append(a.Files, g.Prefix+path.Join(g.Path, f))
	}
	a.Skipped = Skipped{Ignored: a.counts.Ignored, Hidden: a.counts.Hidden}
	if a.Total == 0 && ctx.Err() == nil && a.absent == "" {
		g.missed(ctx, start, a)
	}
	return a, nil
}

// walk collects the files below start that match.
func (g *glob) walk(ctx context.Context, start string, a *GlobAnswer) error {
	dir, err := g.dir.OpenRoot(filepath.FromSlash(start))
	if err != nil {
		return fmt.Errorf("glob: %w", err)
	}
	defer func() { _ = dir.Close() }()
	o := walk.Options{Root: dir, Hidden: g.Hidden || g.filter.Hidden, NoIgnore: g.NoIgnore}
	a.counts, err = walk.Walk(ctx, o, func(_ int, e walk.Entry) {
		if p := path.Join(start, e.Path); g.filter.Match(p) {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.found[p] = true
		}
	})
	a.Searched = a.counts.Files
	return err
}

// exact adds the file that the pattern names, if it has no wildcards.
func (g *glob) exact() {
	name := path.Clean(strings.TrimPrefix(g.Pattern, "/"))
	if strings.ContainsAny(name, wildcards) || !filepath.IsLocal(filepath.FromSlash(name)) {
		return
	}
	info, err := g.dir.Lstat(filepath.FromSlash(name))
	if err == nil && info.Mode().IsRegular() {
		g.found[name] = true
	}
}

const wildcards = `*?[]{}\`

// literalDir returns the directory that pattern names before its first
// wildcard, "." if there is none.
func literalDir(pattern string) (string, error) {
	p := strings.TrimLeft(pattern, "/")
	if i := strings.IndexAny(p, wildcards); i >= 0 {
		p = p[:i]
	}
	dir := path.Dir(p)
	if !filepath.IsLocal(filepath.FromSlash(dir)) {
		return "", fmt.Errorf("glob: the pattern %s leaves the directory that it starts from; name another with path", quote(pattern))
	}
	return dir, nil
}

// missed counts the files that match among those left out.
func (g *glob) missed(ctx context.Context, start string, a *GlobAnswer) {
	all, err := walk.CompileFilter(g.Pattern, true)
	if err != nil {
		return
	}
	dir, err := g.dir.OpenRoot(filepath.FromSlash(start))
	if err != nil {
		return
	}
	defer func() { _ = dir.Close() }()
	ctx, cancel := context.WithTimeout(ctx, explainTime)
	defer cancel()
	var mu sync.Mutex
	_, err = walk.Walk(ctx, walk.Options{Root: dir, Hidden: true, NoIgnore: true}, func(_ int, e walk.Entry) {
		if all.Match(path.Join(start, e.Path)) {
			mu.Lock()
			defer mu.Unlock()
			a.anyway++
		}
	})
	a.least = err != nil
}

// String is the answer for a model.
func (a *GlobAnswer) String() string {
	var b strings.Builder
	for _, f := range a.Files {
		b.WriteString(escape.Text(f) + "\n")
	}
	switch {
	case a.absent != "":
		fmt.Fprintf(&b, "No files match %s: there is no directory %s to search\n", quote(a.query.Pattern), escape.Text(a.query.Prefix+path.Join(a.query.Path, a.absent)))
	case a.Total == 0:
		l := leftOut{Counts: a.counts}
		fmt.Fprintf(&b, "No files match %s (%s looked at%s)\n", quote(a.query.Pattern), plural(a.Searched, "file"), semicolon(l.why(!a.query.NoIgnore)))
	}
	if a.anyway > 0 {
		least := ""
		if a.least {
			least = "at least "
		}
		fmt.Fprintf(&b, "(%s%s left out would match; set %s to see them)\n", least, plural(a.anyway, "file"), a.query.unset())
	}
	for _, n := range a.Notes() {
		fmt.Fprintf(&b, "(%s)\n", n)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Notes tells what isn't shown, and why.
func (a *GlobAnswer) Notes() (out []string) {
	if a.Truncated {
		out = append(out, fmt.Sprintf("showing the newest %s of %s; narrow the pattern or raise the limit", thousands(len(a.Files)), thousands(a.Total)))
	}
	if a.counts.Unreadable > 0 && a.Total > 0 {
		out = append(out, "partial: "+fmt.Sprintf("%d unreadable directories left out", a.counts.Unreadable))
	}
	if a.Partial {
		out = append(out, fmt.Sprintf("partial: stopped after %s, before all files were looked at; narrow the path", a.took))
	}
	return out
}

// unset names the options that would show more.
func (q *GlobQuery) unset() string {
	var out []string
	if !q.NoIgnore {
		out = append(out, "no_ignore")
	}
	if !q.Hidden {
		out = append(out, "hidden")
	}
	return strings.Join(out, " and ")
}
