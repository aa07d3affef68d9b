package astgrep

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/internal/state"
)

//go:embed search.md
var searchDoc string

//go:embed replace.md
var replaceDoc string

// Deps is what other features do for the tools.
type Deps struct {
	// Locate finds what a path argument means: a root of the session and the
	// path within it, with slashes, "" for the root itself. A path that may not
	// or can't be searched is an error for the model.
	Locate func(tool string, s whet.Session, path string) (root, rel string, err error)
	// Commit writes all edits of a call, or none and says why.
	Commit func(ctx context.Context, c *whet.Call, edits []Edit) error
}

// Tools returns ast_grep_search and ast_grep_replace.
func Tools(o Options, d Deps) []whet.Tool {
	t := &tools{Options: o, Deps: d, finder: NewFinder(o)}
	search := whet.New("ast_grep_search", searchDoc, t.search)
	search.ReadOnly, search.Idempotent = true, true
	replace := whet.New("ast_grep_replace", replaceDoc, t.replace)
	replace.Destructive = true
	return []whet.Tool{search, replace}
}

// NewFinder returns what finds the engine as the options say, and keeps what it
// found out with whet's state.
func NewFinder(o Options) *Finder {
	f := &Finder{Path: o.Path}
	if root, err := state.Root(); err == nil {
		f.Known = state.Blobs(filepath.Join(root, "astgrep", "engines"))
	}
	return f
}

type tools struct {
	Options
	Deps
	finder *Finder
}

type searchInput struct {
	Pattern    string   `json:"pattern,omitempty" doc:"code to look for, with $NAME for a node and $$$NAME for any number of nodes" alias:"query" eg:"console.log($$$ARGS)"`
	Lang       string   `json:"lang" doc:"bash, c, cpp, csharp, css, elixir, go, haskell, html, java, javascript, json, kotlin, lua, nix, php, python, ruby, rust, scala, solidity, swift, typescript, tsx or yaml" alias:"language" eg:"typescript"`
	Paths      []string `json:"paths,omitempty" doc:"files or directories to search; the project if left out" alias:"path,files" eg:"src"`
	Globs      []string `json:"globs,omitempty" doc:"only files that match one of these globs; a leading ! excludes" alias:"glob,include" eg:"!**/*.test.ts"`
	Context    int      `json:"context,omitempty" doc:"lines to show around each match" min:"0" max:"20"`
	Rewrite    *string  `json:"rewrite,omitempty" doc:"show what a replacement by this would change; nothing is written"`
	Selector   string   `json:"selector,omitempty" doc:"kind of the node within the pattern that is meant, the rest being context" eg:"call_expression"`
	Strictness string   `json:"strictness,omitempty" doc:"cst, smart (the default), ast, relaxed or signature" eg:"relaxed"`
	Rule       string   `json:"rule,omitempty" doc:"an ast-grep rule in YAML in place of the pattern" eg:"{kind: catch_clause, not: {has: {kind: throw_statement, stopBy: end}}}"`
	Limit      int      `json:"limit,omitempty" doc:"matches to show, 500 if left out" alias:"max_results" min:"1" max:"5000"`
	Offset     int      `json:"offset,omitempty" doc:"matches to skip, to see what a limit has cut" min:"0"`
}

// search answers with an *Answer or, if there is a rewrite, what that would do.
func (t *tools) search(ctx context.Context, c *whet.Call, in searchInput) (fmt.Stringer, error) {
	q := Query{
		Globs: in.Globs, Lang: in.Lang, Pattern: in.Pattern, Selector: in.Selector, Strictness: in.Strictness,
		Rule: in.Rule, Rewrite: in.Rewrite, Context: in.Context, Limit: in.Limit, Offset: in.Offset,
	}
	e, err := t.prepare(ctx, c, in.Paths, &q)
	if err != nil {
		return nil, err
	}
	var out fmt.Stringer
	if in.Rewrite != nil {
		out, err = Replace(ctx, e, q, ReplaceOptions{})
	} else {
		out, err = Search(ctx, e, q)
	}
	return out, named(c.Tool, err)
}

type replaceInput struct {
	Pattern    string   `json:"pattern,omitempty" doc:"code to look for, with $NAME for a node and $$$NAME for any number of nodes" alias:"query" eg:"console.log($$$ARGS)"`
	Rewrite    string   `json:"rewrite" doc:"code to put in its place, with the pattern's meta-variables; empty to delete" alias:"replacement,fix" eg:"logger.info($$$ARGS)"`
	Lang       string   `json:"lang" doc:"bash, c, cpp, csharp, css, elixir, go, haskell, html, java, javascript, json, kotlin, lua, nix, php, python, ruby, rust, scala, solidity, swift, typescript, tsx or yaml" alias:"language" eg:"typescript"`
	Paths      []string `json:"paths,omitempty" doc:"files or directories to change; the project if left out" alias:"path,files" eg:"src"`
	Globs      []string `json:"globs,omitempty" doc:"only files that match one of these globs; a leading ! excludes" alias:"glob,include" eg:"!**/*.test.ts"`
	DryRun     *bool    `json:"dryRun,omitempty" doc:"false to write; otherwise the changes are only shown"`
	Expect     *int     `json:"expect,omitempty" doc:"number of replacements that the dry run showed; if it has changed, nothing is written"`
	Selector   string   `json:"selector,omitempty" doc:"kind of the node within the pattern that is meant, the rest being context" eg:"call_expression"`
	Strictness string   `json:"strictness,omitempty" doc:"cst, smart (the default), ast, relaxed or signature" eg:"relaxed"`
	Rule       string   `json:"rule,omitempty" doc:"an ast-grep rule in YAML in place of the pattern"`
}

func (t *tools) replace(ctx context.Context, c *whet.Call, in replaceInput) (*Replacement, error) {
	q := Query{
		Globs: in.Globs, Lang: in.Lang, Pattern: in.Pattern, Selector: in.Selector, Strictness: in.Strictness,
		Rule: in.Rule, Rewrite: &in.Rewrite,
	}
	e, err := t.prepare(ctx, c, in.Paths, &q)
	if err != nil {
		return nil, err
	}
	o := ReplaceOptions{Apply: in.DryRun != nil && !*in.DryRun, Expect: in.Expect}
	if o.Apply {
		o.Commit = func(ctx context.Context, edits []Edit) error { return t.Commit(ctx, c, edits) }
	}
	r, err := Replace(ctx, e, q, o)
	return r, named(c.Tool, err)
}

// prepare finds the engine and what the paths mean.
func (t *tools) prepare(ctx context.Context, c *whet.Call, paths []string, q *Query) (Engine, error) {
	if c.Session.Dir == "" {
		return Engine{}, named(c.Tool, errors.New("there is no project directory to search in"))
	}
	q.Dir, q.Report = c.Session.Dir, c.Report
	q.Timeout = time.Duration(t.TimeoutSeconds) * time.Second
	for _, p := range paths {
		root, rel, err := t.Locate(c.Tool, c.Session, p)
		switch {
		case err != nil:
			return Engine{}, err
		case root != c.Session.Dir:
			rel = filepath.ToSlash(filepath.Join(root, rel))
		case rel == "":
			rel = "."
		}
		q.Paths = append(q.Paths, rel)
	}
	e, err := t.finder.Find(ctx)
	return e, named(c.Tool, err)
}

func named(tool string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", tool, err)
}
