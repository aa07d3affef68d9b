package format

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/whet-dev/whet/internal/proc"
)

// A Choice is the one formatter of a file, and how it is run.
type Choice struct {
	Formatter string
	Why       string   // what decided
	Program   string   // absolute path; "" for one inside this program
	Args      []string // the text goes to its standard input, unless InPlace
	Dir       string   // where it runs
	Env       []string // what is added to the environment
	InPlace   bool     // it changes the file that Args names
	// Code lists the files of the project that would run as programs: the
	// formatter itself, or a configuration that is one.
	Code []string

	row   *row
	stamp string // changes with the configuration
}

// ErrNone says that no formatter is wanted for a file.
var ErrNone = errors.New("no formatter is configured for this file")

// A MissingError says that the project asks for a formatter that isn't there.
type MissingError struct{ Formatter, Program, Why string }

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is not installed (%s); looked for %s in the project's own directories and in PATH", e.Formatter, e.Why, e.Program)
}

// choose picks the one formatter for the file at s: the one that the options
// name for its ending; else the one configured in the nearest directory; else
// the nearest manifest's dependency; else its language's only one.
func (e *Engine) choose(ctx context.Context, s *site) (Choice, error) {
	rows := e.rows(filepath.Base(s.path))
	var explicit []found
	for _, r := range rows {
		if e.Use[r.name].explicit() {
			explicit = append(explicit, found{r, s.top, "your configuration"})
		}
	}
	if len(explicit) > 0 {
		return e.first(ctx, s, explicit)
	}
	for _, ask := range []struct {
		what  string
		marks func(*row) string
	}{
		{"configured", func(r *row) string { return r.configs }},
		{"a dependency", func(r *row) string { return r.deps }},
	} {
		for _, d := range s.dirs {
			var fs []found
			for _, r := range rows {
				if files := s.marked(d, ask.marks(r)); files != nil && r.applies(s) {
					fs = append(fs, found{r, d, fmt.Sprintf("%s in %s", ask.what, s.rel(files[0]))})
				}
			}
			if fs != nil {
				return e.first(ctx, s, fs)
			}
		}
	}
	for _, r := range rows {
		if !r.always {
			continue
		}
		dir := s.nearest(r.roots)
		if dir == "" {
			dir = filepath.Dir(s.path)
		}
		c, err := e.choice(s, found{r, dir, "the only formatter of its language"})
		if missing := (*MissingError)(nil); errors.As(err, &missing) {
			return c, ErrNone // nobody asked for it
		}
		return c, err
	}
	return Choice{}, ErrNone
}

func (s *site) rel(path string) string {
	if rel, err := filepath.Rel(s.top, path); err == nil {
		return filepath.ToSlash(rel)
	}
	return path
}

// found is a formatter that something asks for.
type found struct {
	row *row
	dir string
	why string
}

// rows lists the formatters that know files of this name, the most wanted
// first. Those of a longer ending hide the others.
func (e *Engine) rows(name string) (rows []*row) {
	longest := 0
	consider := func(r *row) {
		n := r.fits(name, e.Use[r.name].Extensions)
		if n == 0 || n < longest || e.disabled(r.name) {
			return
		}
		if n > longest {
			longest, rows = n, nil
		}
		rows = append(rows, r)
	}
	for i := range table {
		consider(&table[i])
	}
	for _, name := range e.custom() {
		consider(&row{name: name})
	}
	rank := func(r *row) int {
		if i := slices.Index(e.Prefer, r.name); i >= 0 {
			return i
		}
		return len(e.Prefer)
	}
	slices.SortStableFunc(rows, func(a, b *row) int { return rank(a) - rank(b) })
	return rows
}

// fits returns the length of the longest ending of name that the formatter
// knows.
func (r *row) fits(name string, instead []string) (n int) {
	exts := instead
	if exts == nil {
		exts = strings.Fields(r.exts)
	}
	for _, ext := range exts {
		if len(name) > len(ext) && strings.HasSuffix(strings.ToLower(name), strings.ToLower(ext)) {
			n = max(n, len(ext))
		}
	}
	return n
}

// disabled reports whether a formatter is switched off. Uv runs ruff: who
// doesn't want one doesn't want the other.
func (e *Engine) disabled(name string) bool {
	if name == "ruff" || name == "uv" {
		return e.Use["ruff"].Disabled || e.Use["uv"].Disabled
	}
	return e.Use[name].Disabled
}

// first returns the first of the found that can run, or the first one's error.
// Whom the person prefers is not given up for another.
func (e *Engine) first(ctx context.Context, s *site, fs []found) (Choice, error) {
	var first error
	for _, f := range fs {
		c, err := e.choice(s, f)
		if err == nil && !probed(ctx, c) {
			err = &MissingError{f.row.name, f.row.program, f.why}
		}
		if err == nil {
			return c, nil
		}
		if first == nil {
			first = err
		}
	}
	return Choice{}, first
}

// choice says how f is run, whether it may or not.
func (e *Engine) choice(s *site, f found) (Choice, error) {
	r, u := f.row, e.Use[f.row.name]
	c := Choice{Formatter: r.name, Why: f.why, Dir: f.dir, row: r}
	for k, v := range u.Environment {
		c.Env = append(c.Env, k+"="+v)
	}
	slices.Sort(c.Env)
	c.Env = slices.Concat(r.env, c.Env)
	c.Code = s.all(r.code)
	names, args := r.program, r.args
	c.InPlace = r.inPlace
	if r.resident {
		c.stamp = stamp(s.all(r.configs))
	}
	if len(u.Command) > 0 {
		names, args = u.Command[0], u.Command[1:]
		c.InPlace, c.Dir, c.row = !u.Stdin, s.top, &row{name: r.name}
	} else if r.inside != nil {
		return c, nil
	} else if r.more != nil {
		args = slices.Concat(args, r.more(s))
	}
	if strings.ContainsRune(names, filepath.Separator) {
		if !filepath.IsAbs(names) {
			names = filepath.Join(s.top, names)
		}
		if executable(names) {
			c.Program = names
		}
	} else {
		c.Program = s.program(names)
	}
	if c.Program == "" {
		return c, &MissingError{r.name, names, f.why}
	}
	if s.inside(c.Program) {
		c.Code = append(c.Code, c.Program)
	}
	for _, a := range args {
		c.Args = append(c.Args, strings.ReplaceAll(a, "$FILE", s.path))
	}
	return c, nil
}

// probed reports whether the program is the one that its name says.
func probed(ctx context.Context, c Choice) bool {
	if c.row.probe == nil || len(c.Code) > 0 {
		return true
	}
	r, err := proc.Run(ctx, proc.Command{Path: c.Program, Args: c.row.probe, Dir: c.Dir, Timeout: 2 * time.Second, Grace: grace})
	return err == nil && r.Code == 0 && strings.Contains(string(r.Output), c.row.probed)
}

// stamp tells one state of the files from another.
func stamp(files []string) string {
	var b strings.Builder
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			fmt.Fprintf(&b, "%s %d %d\n", f, info.Size(), info.ModTime().UnixNano())
		}
	}
	return b.String()
}
