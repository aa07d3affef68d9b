package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/whet-dev/whet/internal/escape"
	"github.com/whet-dev/whet/search"
)

func grepCommand() *cobra.Command {
	var q search.Query
	var asJSON, files, count bool
	c := &cobra.Command{
		Use:     "grep PATTERN [PATH]",
		Short:   "Search file contents, the newest files first",
		GroupID: "people",
		Long: `Search file contents with a regular expression, the newest files first.

Files that .gitignore leaves out and hidden files are skipped unless asked for.
When nothing is found, standard error says what was searched and what was left
out. Uses ripgrep if there is one, and does without if not.

On a terminal the matches stand under their file's name, in colour; piped, each
is a line path:line:text. The exit status is 0 if something was found, 1 if not,
2 for a wrong command line.`,
		Example: `  whet grep 'func \w+Reader'
  whet grep -F 'foo(' src --include '*.ts'
  whet grep -l TODO | xargs wc -l`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			q.Pattern = args[0]
			where, err := placeOf(args[1:])
			if err != nil {
				return err
			}
			q.Root, q.Path, q.Prefix = where.root, where.path, where.prefix
			q.Output = search.Content
			if files {
				q.Output = search.Files
			}
			if count {
				q.Output = search.Count
			}
			a, err := search.Grep(c.Context(), q)
			if c.Context().Err() != nil {
				return c.Context().Err()
			}
			if err != nil { // it speaks of the tool's parameters
				return usageError{errors.New(strings.NewReplacer("(literal: true)", "(-F)", "set literal", "use -F").Replace(err.Error()))}
			}
			return printGrep(c, a, q, asJSON)
		},
	}
	f := c.Flags()
	f.BoolVarP(&q.Literal, "fixed-strings", "F", false, "take the pattern as plain text")
	f.BoolVarP(&q.IgnoreCase, "ignore-case", "i", false, "upper and lower case are the same")
	f.BoolVarP(&q.Word, "word-regexp", "w", false, "match whole words only")
	f.BoolVarP(&q.Multiline, "multiline", "U", false, "a match may span lines")
	f.StringArrayVarP(&q.Include, "include", "g", nil, "only files that match this `glob`; a leading ! excludes; may be repeated")
	f.BoolVar(&q.Hidden, "hidden", false, "search hidden files too")
	f.BoolVar(&q.NoIgnore, "no-ignore", false, "search files that .gitignore leaves out too")
	f.IntVarP(&q.Context, "context", "C", 0, "`lines` to show around each match, at most 20")
	f.IntVarP(&q.Limit, "limit", "m", -1, "matches to show, the newest files' first (default all)")
	f.IntVar(&q.Offset, "offset", 0, "matches to skip")
	f.DurationVar(&q.Timeout, "timeout", 0, "stop after this `time` (default 30s)")
	f.BoolVarP(&files, "files-with-matches", "l", false, "print only the names of files")
	f.BoolVarP(&count, "count", "c", false, "print only how many lines match in each file")
	f.BoolVar(&asJSON, "json", false, "print one JSON object")
	c.MarkFlagsMutuallyExclusive("files-with-matches", "count")
	return c
}

// A whereabouts is a path of the command line, as the search wants it.
type whereabouts struct{ root, path, prefix string }

// placeOf finds the path to search. A person may search anywhere.
func placeOf(args []string) (whereabouts, error) {
	dir, err := os.Getwd()
	if err != nil {
		return whereabouts{}, err
	}
	if len(args) == 0 {
		return whereabouts{root: dir}, nil
	}
	given := args[0]
	abs, err := filepath.Abs(given)
	if err != nil {
		return whereabouts{}, err
	}
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return whereabouts{}, usageError{search.Missing(given, abs)}
	case err != nil:
		return whereabouts{}, usageError{err}
	}
	if rel, err := filepath.Rel(dir, abs); err == nil && filepath.IsLocal(rel) && !filepath.IsAbs(given) {
		if real, err := filepath.EvalSymlinks(abs); err == nil && real == abs {
			return whereabouts{root: dir, path: trimDot(filepath.ToSlash(rel))}, nil
		}
	}
	prefix := filepath.ToSlash(given)
	if !info.IsDir() {
		abs, _ = filepath.Split(abs)
		prefix = strings.TrimSuffix(prefix, filepath.Base(prefix))
		return whereabouts{root: abs, path: filepath.Base(args[0]), prefix: prefix}, nil
	}
	return whereabouts{root: abs, prefix: strings.TrimSuffix(prefix, "/") + "/"}, nil
}

func trimDot(p string) string {
	if p == "." {
		return ""
	}
	return p
}

func printGrep(c *cobra.Command, a *search.Answer, q search.Query, asJSON bool) error {
	out := bufio.NewWriterSize(c.OutOrStdout(), 64<<10)
	var err error
	switch {
	case asJSON:
		err = jsonLines(out).Encode(a)
	case a.Total == 0:
		fmt.Fprintln(c.ErrOrStderr(), a)
	case !colour(c.OutOrStdout()):
		plainGrep(out, a, q)
	default:
		colourGrep(out, a)
	}
	if err = errors.Join(err, out.Flush()); err != nil {
		return err
	}
	return searched(c, a.Total, a.Notes(), asJSON)
}

// searched ends a search: its notes are for people, and its exit status says
// whether anything was found.
func searched(c *cobra.Command, total int, notes []string, asJSON bool) error {
	if total == 0 {
		return exit(exitFailed)
	}
	if !asJSON {
		for _, note := range notes {
			fmt.Fprintf(c.ErrOrStderr(), "whet %s: %s\n", c.Name(), note)
		}
	}
	return nil
}

// plainGrep prints what other programs expect of a grep. Names are printed as
// they are, since programs read them.
func plainGrep(w io.Writer, a *search.Answer, q search.Query) {
	for _, f := range a.Found {
		if q.Output == search.Files {
			fmt.Fprintln(w, f.Path)
		} else {
			fmt.Fprintf(w, "%s:%d\n", f.Path, f.Count)
		}
	}
	for _, m := range a.Matches {
		for i, l := range m.Before {
			fmt.Fprintf(w, "%s-%d-%s\n", m.Path, m.Line-len(m.Before)+i, l)
		}
		text := strings.Split(m.Text, "\n")
		for i, l := range text {
			fmt.Fprintf(w, "%s:%d:%s\n", m.Path, m.Line+i, l)
		}
		for i, l := range m.After {
			fmt.Fprintf(w, "%s-%d-%s\n", m.Path, m.Line+len(text)+i, l)
		}
	}
}

// Colours of a terminal.
const (
	fileColour  = "\x1b[35m"
	lineColour  = "\x1b[32m"
	matchColour = "\x1b[1;31m"
	plain       = "\x1b[0m"
)

// colourGrep prints for a person. What comes from files is escaped: a
// terminal obeys it.
func colourGrep(w io.Writer, a *search.Answer) {
	for _, f := range a.Found {
		fmt.Fprintf(w, "%s%s%s %d\n", fileColour, escape.Text(f.Path), plain, f.Count)
	}
	file := ""
	for _, m := range a.Matches {
		if m.Path != file {
			if file != "" {
				fmt.Fprintln(w)
			}
			fmt.Fprintf(w, "%s%s%s\n", fileColour, escape.Text(m.Path), plain)
			file = m.Path
		}
		for i, l := range m.Before {
			fmt.Fprintf(w, "%s%d%s-%s\n", lineColour, m.Line-len(m.Before)+i, plain, escape.Text(l))
		}
		text := strings.Split(m.Text, "\n")
		for i, l := range text {
			fmt.Fprintf(w, "%s%d%s:%s\n", lineColour, m.Line+i, plain, highlight(a, l))
		}
		for i, l := range m.After {
			fmt.Fprintf(w, "%s%d%s-%s\n", lineColour, m.Line+len(text)+i, plain, escape.Text(l))
		}
	}
}

func highlight(a *search.Answer, text string) string {
	var b strings.Builder
	at := 0
	for _, s := range a.Spans(text) {
		b.WriteString(escape.Text(text[at:s[0]]) + matchColour + escape.Text(text[s[0]:s[1]]) + plain)
		at = s[1]
	}
	return b.String() + escape.Text(text[at:])
}
