package main

import (
	"bufio"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/whet-dev/whet/internal/escape"
	"github.com/whet-dev/whet/search"
)

func globCommand() *cobra.Command {
	var q search.GlobQuery
	var asJSON, null bool
	c := &cobra.Command{
		Use:     "glob PATTERN [DIR]",
		Short:   "Find files by name, the newest first",
		GroupID: "people",
		Long: `Find files by name, the newest first.

** matches any number of directories, * and ? stay within a name, {a,b} is
either. A pattern without a slash matches at any depth. Quote the pattern, or
the shell expands it. Files that .gitignore leaves out and hidden files are
skipped unless asked for or named in the pattern.

The exit status is 0 if something was found, 1 if not, with the reason on
standard error, 2 for a wrong command line.`,
		Example: `  whet glob '*.go'
  whet glob 'src/**/*.{ts,tsx}' --limit 20
  whet glob '.github/**' -0 | xargs -0 wc -l`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			q.Pattern = args[0]
			where, err := placeOf(args[1:])
			if err != nil {
				return err
			}
			q.Root, q.Path, q.Prefix = where.root, where.path, where.prefix
			a, err := search.Glob(c.Context(), q)
			if err != nil {
				return usageError{err}
			}
			return printGlob(c, a, asJSON, null)
		},
	}
	f := c.Flags()
	f.BoolVar(&q.Hidden, "hidden", false, "hidden files too")
	f.BoolVar(&q.NoIgnore, "no-ignore", false, "files that .gitignore leaves out too")
	f.IntVarP(&q.Limit, "limit", "m", -1, "files to show, the newest (default all)")
	f.DurationVar(&q.Timeout, "timeout", 0, "stop after this `time` (default 30s)")
	f.BoolVarP(&null, "null", "0", false, "end each name with NUL, for xargs -0")
	f.BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

func printGlob(c *cobra.Command, a *search.GlobAnswer, asJSON, null bool) error {
	out := bufio.NewWriterSize(c.OutOrStdout(), 64<<10)
	person := colour(c.OutOrStdout())
	switch {
	case asJSON:
		if err := jsonLines(out).Encode(a); err != nil {
			return err
		}
	case a.Total == 0:
		fmt.Fprintln(c.ErrOrStderr(), a)
	}
	for _, f := range a.Files {
		switch {
		case asJSON:
		case null:
			fmt.Fprintf(out, "%s\x00", f)
		case person:
			fmt.Fprintln(out, escape.Text(f))
		default:
			fmt.Fprintln(out, f)
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return searched(c, a.Total, a.Notes(), asJSON)
}
