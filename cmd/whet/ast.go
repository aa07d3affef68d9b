package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/astgrep"
	"github.com/whet-dev/whet/internal/escape"
)

func astCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "ast", Short: "Search and rewrite code by its structure", GroupID: "people", Args: noSuchCommand,
		Long: `Search and rewrite code by its structure, in 25 languages.

A pattern is code in which $NAME stands for any one node and $$$NAME for any
number of them. Quote it: the shell would take the dollars. The engine is
ast-grep; whet setup installs it.`,
		Example: `  whet ast search -l ts 'console.log($$$ARGS)' src
  whet ast replace -l go 'errors.Wrap($E, $M)' 'fmt.Errorf($M+": %w", $E)'
  whet ast tree -l python 'def f(): pass'`,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(astSearch(), astReplace(), astTree())
	return c
}

// langFlag adds the flag that every command about code needs.
func langFlag(c *cobra.Command, lang *string) {
	c.Flags().StringVarP(lang, "lang", "l", "", "`language` of the code")
	_ = c.RegisterFlagCompletionFunc("lang", cobra.FixedCompletions(astgrep.Languages(), cobra.ShellCompDirectiveNoFileComp))
}

// patternFlags adds the flags of a pattern and returns how to take the
// pattern off the arguments, where a rule stands in its place.
func patternFlags(c *cobra.Command, q *astgrep.Query) (take func(args []string, more int) ([]string, error)) {
	langFlag(c, &q.Lang)
	f := c.Flags()
	f.StringArrayVarP(&q.Globs, "glob", "g", nil, "only files that match this `glob`; a leading ! excludes; may be repeated")
	f.StringVar(&q.Selector, "selector", "", "`kind` of the node within the pattern that is meant")
	f.StringVar(&q.Strictness, "strictness", "", "`how` exact: cst, smart (the default), ast, relaxed or signature")
	f.StringVar(&q.Rule, "rule", "", "an ast-grep rule in `YAML` in place of the pattern")
	return func(args []string, more int) ([]string, error) {
		if q.Lang == "" {
			return nil, usageError{fmt.Errorf("say with --lang which language it is: %s", strings.Join(astgrep.Languages(), ", "))}
		}
		if q.Rule == "" {
			more++
		}
		what := strings.TrimSuffix(strings.TrimPrefix(c.Use, c.Name()+" "), " [PATH...]")
		if len(args) < more {
			return nil, usageError{fmt.Errorf("%s takes %s before the paths\nTry: %s --help", c.CommandPath(), what, c.CommandPath())}
		}
		if q.Rule == "" {
			q.Pattern, args = args[0], args[1:]
		}
		return args, nil
	}
}

func astSearch() *cobra.Command {
	var q astgrep.Query
	var asJSON bool
	c := &cobra.Command{
		Use: "search PATTERN [PATH...]", Short: "Find code by its structure",
		Long: `Find code by its structure.

On a terminal the matches stand under their file's name, in colour; piped, each
line of a match is a line path:line:text. The exit status is 0 if something was
found, 1 if not or if there is no engine, 2 for a wrong command line.`,
		Example: `  whet ast search -l ts 'new APIError($A, $B, $C)'
  whet ast search -l js 'try { $$$ } catch ($E) { }' src --json`,
	}
	take := patternFlags(c, &q)
	c.RunE = func(c *cobra.Command, args []string) error {
		args, err := take(args, 0)
		if err != nil {
			return err
		}
		p, e, err := openEngine(c)
		if err != nil {
			return err
		}
		q.Dir, q.Paths = p.dir, args
		a, err := astgrep.Search(c.Context(), e, q)
		if err != nil {
			return err
		}
		return printAST(c, a, asJSON)
	}
	c.Flags().IntVarP(&q.Context, "context", "C", 0, "`lines` to show around each match, at most 20")
	c.Flags().IntVarP(&q.Limit, "limit", "m", 1_000_000, "matches to show")
	c.Flags().IntVar(&q.Offset, "offset", 0, "matches to skip")
	c.Flags().DurationVar(&q.Timeout, "timeout", 5*time.Minute, "stop after this `time`")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

// openEngine finds the project and the engine for it.
func openEngine(c *cobra.Command) (*place, astgrep.Engine, error) {
	p, err := open(c, "")
	if err != nil {
		return nil, astgrep.Engine{}, err
	}
	e, err := astgrep.NewFinder(p.config.Config.AstGrep).Find(c.Context())
	return p, e, err
}

func printAST(c *cobra.Command, a *astgrep.Answer, asJSON bool) error {
	out := bufio.NewWriterSize(c.OutOrStdout(), 64<<10)
	var err error
	switch {
	case asJSON:
		err = jsonLines(out).Encode(a)
	case a.Total == 0:
		fmt.Fprintln(c.ErrOrStderr(), a)
	case colour(c.OutOrStdout()):
		colourAST(out, a)
	default:
		plainAST(out, a)
	}
	if err = errors.Join(err, out.Flush()); err != nil {
		return err
	}
	if a.Total == 0 {
		return exit(exitFailed)
	}
	if note := a.Notes(); note != "" && !asJSON {
		fmt.Fprintln(c.ErrOrStderr(), "whet ast:", note)
	}
	return nil
}

// plainAST prints for other programs: names and text as they are.
func plainAST(w io.Writer, a *astgrep.Answer) {
	for _, m := range a.Matches {
		for i, l := range m.Before {
			fmt.Fprintf(w, "%s-%d-%s\n", m.Path, m.Line-len(m.Before)+i, l)
		}
		for i, l := range strings.Split(m.Text, "\n") {
			fmt.Fprintf(w, "%s:%d:%s\n", m.Path, m.Line+i, strings.TrimSuffix(l, "\r"))
		}
		for i, l := range m.After {
			fmt.Fprintf(w, "%s-%d-%s\n", m.Path, m.EndLine+1+i, l)
		}
	}
}

// colourAST prints for a person. What comes from files is escaped: a terminal
// obeys it.
func colourAST(w io.Writer, a *astgrep.Answer) {
	file := ""
	for _, m := range a.Matches {
		if m.Path != file {
			if file != "" {
				fmt.Fprintln(w)
			}
			file = m.Path
			fmt.Fprintf(w, "%s%s%s\n", fileColour, escape.Text(file), plain)
		}
		for i, l := range m.Before {
			fmt.Fprintf(w, "%s%d%s-%s\n", lineColour, m.Line-len(m.Before)+i, plain, escape.Text(l))
		}
		for i, l := range strings.Split(m.Text, "\n") {
			fmt.Fprintf(w, "%s%d%s:%s%s%s\n", lineColour, m.Line+i, plain, matchColour, escape.Text(strings.TrimSuffix(l, "\r")), plain)
		}
		for i, l := range m.After {
			fmt.Fprintf(w, "%s%d%s-%s\n", lineColour, m.EndLine+1+i, plain, escape.Text(l))
		}
	}
}

func astReplace() *cobra.Command {
	var q astgrep.Query
	var apply, asJSON bool
	var expect int
	c := &cobra.Command{
		Use: "replace PATTERN REWRITE [PATH...]", Short: "Rewrite code by its structure: show it, or with --apply do it",
		Long: `Rewrite code by its structure.

The changes are shown as a diff. With --apply all files are written or none,
and then formatted as after any edit. With --expect N nothing is written unless
there are N replacements, as many as were shown before.`,
		Example: `  whet ast replace -l js 'console.log($$$A)' 'logger.info($$$A)' src
  whet ast replace -l js 'console.log($$$A)' 'logger.info($$$A)' src --apply --expect 12`,
	}
	take := patternFlags(c, &q)
	c.RunE = func(c *cobra.Command, args []string) error {
		args, err := take(args, 1)
		if err != nil {
			return err
		}
		p, err := open(c, "")
		if err != nil {
			return err
		}
		call := map[string]any{"lang": q.Lang, "rewrite": args[0], "paths": args[1:], "globs": q.Globs, "dryRun": !apply}
		for name, v := range map[string]string{"pattern": q.Pattern, "rule": q.Rule, "selector": q.Selector, "strictness": q.Strictness} {
			if v != "" {
				call[name] = v
			}
		}
		if c.Flags().Changed("expect") {
			call["expect"] = expect
		}
		b, err := json.Marshal(call)
		if err != nil {
			return err
		}
		r, err := p.kit.Call(c.Context(), &whet.Call{Tool: "ast_grep_replace", Args: b, Session: p.session("", "")})
		if err != nil {
			return err
		}
		return printReplacement(c, r, asJSON)
	}
	c.Flags().BoolVar(&apply, "apply", false, "write the changes")
	c.Flags().IntVar(&expect, "expect", 0, "the `number` of replacements that there must be")
	c.Flags().BoolVar(&asJSON, "json", false, "print the outcome as JSON")
	return c
}

func printReplacement(c *cobra.Command, r *whet.Result, asJSON bool) error {
	data, ok := r.Data.(*astgrep.Replacement)
	if asJSON || !ok {
		return answer(c.OutOrStdout(), r, asJSON)
	}
	w := c.OutOrStdout()
	if _, err := io.WriteString(w, diffText(w, data.Diff())); err != nil {
		return err
	}
	fmt.Fprintln(c.ErrOrStderr(), strings.Replace(data.Summary(), "call again with dryRun=false and expect=", "run it again with --apply --expect ", 1))
	if r.Failed {
		return exit(exitFailed)
	}
	return nil
}

func astTree() *cobra.Command {
	var lang string
	var all, asPattern bool
	c := &cobra.Command{
		Use: "tree CODE|-", Short: "Print the syntax tree of a piece of code",
		Long: `Print the syntax tree of a piece of code, which is how one learns to write
patterns: the kinds of nodes are what --selector and rules name. With --pattern
it is shown how the code is read as a pattern.`,
		Example: `  whet ast tree -l go 'x := f(1)'
  whet ast tree -l js --pattern 'foo($A, $$$B)'
  whet ast tree -l rust - < main.rs`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			code := args[0]
			if code == "-" {
				const most = 1 << 20 // bytes; the engine takes less
				b, err := io.ReadAll(io.LimitReader(input(c, "the code"), most))
				if err != nil {
					return fmt.Errorf("reading the code: %w", err)
				}
				code = string(b)
			}
			form := astgrep.TreeNamed
			switch {
			case asPattern:
				form = astgrep.TreePattern
			case all:
				form = astgrep.TreeAll
			}
			_, e, err := openEngine(c)
			if err != nil {
				return err
			}
			text, err := astgrep.Tree(c.Context(), e, lang, code, form, os.TempDir())
			if err != nil {
				return err
			}
			_, err = io.WriteString(c.OutOrStdout(), text)
			return err
		},
	}
	langFlag(c, &lang)
	c.Flags().BoolVarP(&all, "all", "a", false, "show brackets and keywords too")
	c.Flags().BoolVarP(&asPattern, "pattern", "p", false, "show how it is read as a pattern")
	c.MarkFlagsMutuallyExclusive("all", "pattern")
	return c
}
