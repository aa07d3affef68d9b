package search

import (
	"context"
	_ "embed"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/internal/pathflavor"
)

//go:embed grep.md
var grepDoc string

//go:embed glob.md
var globDoc string

// Tools returns the tools grep and glob.
func Tools() []whet.Tool { return []whet.Tool{grepTool(), globTool()} }

type grepInput struct {
	Pattern    string   `json:"pattern" doc:"regular expression to look for, or plain text with literal" alias:"query,regex,search,pattern_regex" eg:"func \\w+Reader"`
	Path       string   `json:"path,omitempty" doc:"file or directory to search; the project if left out" alias:"directory,dir,file,file_path,search_path" eg:"src"`
	Include    []string `json:"include,omitempty" doc:"only files that match one of these globs; a leading ! excludes" alias:"glob,globs,file_pattern,include_pattern" eg:"*.{ts,tsx}"`
	Literal    bool     `json:"literal,omitempty" doc:"take the pattern as plain text" alias:"fixed_strings,fixed,-F"`
	IgnoreCase bool     `json:"ignore_case,omitempty" doc:"upper and lower case are the same" alias:"-i,case_insensitive"`
	Word       bool     `json:"word,omitempty" doc:"match whole words only" alias:"-w,whole_word,word_regexp"`
	Multiline  bool     `json:"multiline,omitempty" doc:"a match may span lines" alias:"-U"`
	Context    int      `json:"context,omitempty" doc:"lines to show around each match" alias:"-C,-A,-B,context_lines" min:"0" max:"20"`
	Limit      int      `json:"limit,omitempty" doc:"matches to show, 100 if left out" alias:"head_limit,max_results,max_count,-m" min:"1" max:"1000"`
	Offset     int      `json:"offset,omitempty" doc:"matches to skip, to see what a limit has cut" min:"0"`
	Output     string   `json:"output,omitempty" doc:"content (matching lines, the default), files (names only) or count (lines a file)" alias:"output_mode" eg:"files"`
	Hidden     bool     `json:"hidden,omitempty" doc:"search hidden files too"`
	NoIgnore   bool     `json:"no_ignore,omitempty" doc:"search files that .gitignore leaves out too" alias:"ignored"`
}

func grepTool() whet.Tool {
	t := whet.New("grep", grepDoc, func(ctx context.Context, c *whet.Call, in grepInput) (*Answer, error) {
		at, err := locate("grep", c.Session, in.Path)
		if err != nil {
			return nil, err
		}
		if in.Output == "files_with_matches" { // as another host's grep calls it
			in.Output = Files
		}
		return Grep(ctx, Query{
			Root: at.root, Path: at.rel, Prefix: at.prefix,
			Pattern: in.Pattern, Literal: in.Literal, IgnoreCase: in.IgnoreCase, Word: in.Word, Multiline: in.Multiline,
			Include: in.Include, Hidden: in.Hidden || at.hidden, NoIgnore: in.NoIgnore,
			Output: in.Output, Context: in.Context, Limit: in.Limit, Offset: in.Offset,
		})
	})
	t.ReadOnly, t.Idempotent, t.PathArg = true, true, "path"
	return t
}

type globInput struct {
	Pattern  string `json:"pattern" doc:"glob that the files must match" alias:"glob,glob_pattern,query" eg:"src/**/*.ts"`
	Path     string `json:"path,omitempty" doc:"directory that the pattern starts from; the project if left out" alias:"directory,dir,search_path" eg:"src"`
	Limit    int    `json:"limit,omitempty" doc:"files to show, 100 if left out" alias:"head_limit,max_results" min:"1" max:"5000"`
	Hidden   bool   `json:"hidden,omitempty" doc:"hidden files too"`
	NoIgnore bool   `json:"no_ignore,omitempty" doc:"files that .gitignore leaves out too" alias:"ignored"`
}

func globTool() whet.Tool {
	t := whet.New("glob", globDoc, func(ctx context.Context, c *whet.Call, in globInput) (*GlobAnswer, error) {
		pattern := in.Pattern
		if dir, rest, ok := splitAbsolute(c.Session, in); ok {
			in.Path, pattern = dir, rest
		}
		at, err := locate("glob", c.Session, in.Path)
		if err != nil {
			return nil, err
		}
		return Glob(ctx, GlobQuery{
			Root: at.root, Path: at.rel, Prefix: at.prefix,
			Pattern: pattern, Hidden: in.Hidden || at.hidden, NoIgnore: in.NoIgnore, Limit: in.Limit,
		})
	})
	t.ReadOnly, t.Idempotent, t.PathArg = true, true, "path"
	return t
}

// splitAbsolute takes the directory off a pattern that begins with one of the
// session's roots.
func splitAbsolute(s whet.Session, in globInput) (dir, pattern string, ok bool) {
	for _, root := range s.Roots() {
		rest, found := strings.CutPrefix(filepath.ToSlash(in.Pattern), filepath.ToSlash(root)+"/")
		if found && in.Path == "" {
			return root, rest, true
		}
	}
	return "", "", false
}

// Locate finds what a path argument of another tool means: the root of the
// session that it is in and the path within, with slashes, "" for the root
// itself. A path that is outside or isn't there is an error for the model, in
// the words that grep has for it.
func Locate(tool string, s whet.Session, path string) (root, rel string, err error) {
	p, err := locate(tool, s, path)
	return p.root, p.rel, err
}

// A place is where a tool searches.
type place struct {
	root, rel string // rel with slashes
	prefix    string // for paths outside the project directory, which are shown whole
	hidden    bool   // the path itself is hidden, so what is in it isn't
}

// locate finds what a path argument means, within the session's roots only.
func locate(tool string, s whet.Session, raw string) (place, error) {
	if s.Dir == "" {
		return place{}, errors.New(tool + ": there is no project directory to search in")
	}
	abs := s.Dir
	if raw != "" {
		abs = pathflavor.Native(cwdOf).Resolve(s.Dir, raw)
	}
	if !inside(s.Roots(), abs) {
		return place{}, errors.New(outside(tool, abs, raw, s.Roots()))
	}
	check := pathCheck{tool: tool, dir: s.Dir, roots: s.Roots(), raw: raw}
	if text, err := check.checkOne(abs); text != "" {
		return place{}, errors.New(text)
	} else if err != nil {
		return place{}, err
	}
	for i, root := range s.Roots() {
		for _, r := range spellings(root) {
			rel, ok := under(r, abs)
			if !ok || !staysIn(r, rel) {
				continue
			}
			p := place{root: root, rel: filepath.ToSlash(rel)}
			if rel == "." {
				p.rel = ""
			}
			if i > 0 {
				p.prefix = filepath.ToSlash(root) + "/"
			}
			p.hidden = slices.ContainsFunc(strings.Split(p.rel, "/"), func(name string) bool { return strings.HasPrefix(name, ".") })
			return p, nil
		}
	}
	return place{}, errors.New(outside(tool, abs, raw, s.Roots()))
}
