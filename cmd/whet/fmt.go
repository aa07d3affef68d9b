package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/whet-dev/whet/format"
	"github.com/whet-dev/whet/internal/project"
	"github.com/whet-dev/whet/internal/trust"
	"github.com/whet-dev/whet/internal/walk"
)

func fmtCommand() *cobra.Command {
	var check, changed, explain bool
	c := &cobra.Command{
		Use:     "fmt FILE|DIRECTORY...",
		Short:   "Format files the way their project wants it",
		GroupID: "people",
		Long: `Format files the way their project wants it, each with the one formatter that
the nearest configuration names. Directories are searched as .gitignore says.

The names of the files that changed go to standard output. The exit status is 0;
1 if a file could not be formatted or, with --check, isn't formatted.

What a project brings along runs only after whet trust.`,
		Example: `  whet fmt main.go web/app.ts
  whet fmt --check .
  whet fmt --changed src
  whet fmt --explain src/app.ts`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			p, err := open(c, "")
			if err != nil {
				return err
			}
			f := formatting{engine: &format.Engine{Options: p.config.Config.Formatter, Trusted: trust.Check}, place: p, check: check, scope: format.Whole}
			defer f.engine.Close()
			if changed {
				f.scope = format.Changed
			}
			files, err := f.files(c.Context(), args)
			if err != nil {
				return err
			}
			if explain {
				return f.explain(c.Context(), c.OutOrStdout(), files)
			}
			return f.run(c.Context(), files, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f := c.Flags()
	f.BoolVar(&check, "check", false, "write nothing; exit with 1 if a file isn't formatted")
	f.BoolVar(&changed, "changed", false, "format only the lines that differ from the last commit")
	f.BoolVar(&explain, "explain", false, "say which formatter each file has, why, and how it would be run")
	return c
}

type formatting struct {
	engine *format.Engine
	place  *place
	check  bool
	scope  string
}

// files lists the files that args name, absolute and in order.
func (f formatting) files(ctx context.Context, args []string) (files []string, err error) {
	for _, arg := range args {
		path, err := filepath.Abs(arg)
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%s: there is no such file or directory", arg)
		case err != nil:
			return nil, err
		case !info.IsDir():
			files = append(files, path)
			continue
		}
		found, err := below(ctx, path)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return files, nil
}

func below(ctx context.Context, dir string) (files []string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var mu sync.Mutex
	_, err = walk.Walk(ctx, walk.Options{Root: root}, func(_ int, e walk.Entry) {
		mu.Lock()
		defer mu.Unlock()
		files = append(files, filepath.Join(dir, filepath.FromSlash(e.Path)))
	})
	slices.Sort(files)
	return files, err
}

// open opens the project around the file.
func (f formatting) open(path string) (*os.Root, string, error) {
	for _, dir := range []string{f.place.worktree, project.Worktree(filepath.Dir(path))} {
		if name, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(name) {
			root, err := os.OpenRoot(dir)
			return root, name, err
		}
	}
	return nil, "", fmt.Errorf("%s is in no project", path) // not reached: a file is below its own directory
}

func (f formatting) one(ctx context.Context, path string) (o format.Outcome, err error) {
	root, name, err := f.open(path)
	if err != nil {
		return o, err
	}
	defer root.Close()
	e := format.Edit{Root: root, Name: name, Scope: f.scope, Check: f.check}
	if f.scope == format.Changed {
		e.Before, _ = format.Committed(ctx, path) // what was never committed is all new
	}
	return f.engine.Format(ctx, e)
}

func (f formatting) run(ctx context.Context, files []string, out, errs io.Writer) error {
	type result struct {
		outcome format.Outcome
		err     error
	}
	results := make([]result, len(files))
	done := make([]chan struct{}, len(files))
	for i := range done {
		done[i] = make(chan struct{})
	}
	slots := make(chan struct{}, min(2, runtime.NumCPU()))
	go func() {
		for i, path := range files {
			slots <- struct{}{}
			go func() {
				defer func() { <-slots; close(done[i]) }()
				results[i].outcome, results[i].err = f.one(ctx, path)
			}()
		}
	}()
	bad, known := false, false
	for i, path := range files {
		<-done[i]
		name, r := f.shown(path), results[i]
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(r.err, format.ErrNone) || errors.Is(r.err, format.ErrSkipped) && len(files) > 1:
			continue
		case r.err != nil:
			fmt.Fprintf(errs, "whet: %s: %v\n", name, r.err)
			bad = true
		case r.outcome.Unverified:
			fmt.Fprintf(errs, "whet: %s: %s can't format the changed lines alone; left as it is\n", name, r.outcome.Formatter)
			bad = true
		case r.outcome.Changed():
			fmt.Fprintln(out, name)
			bad = bad || f.check
		}
		known = true
	}
	if !known {
		fmt.Fprintln(errs, "whet: no formatter is configured for any of these files; whet fmt --explain FILE says more")
	}
	if bad {
		return exit(exitFailed)
	}
	return nil
}

func (f formatting) shown(path string) string {
	if rel, err := filepath.Rel(f.place.dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

func (f formatting) explain(ctx context.Context, out io.Writer, files []string) error {
	for _, path := range files {
		root, name, err := f.open(path)
		if err != nil {
			return err
		}
		c, err := f.engine.Choose(ctx, root, name)
		root.Close()
		if c.Formatter == "" {
			fmt.Fprintf(out, "%s: %v\n", f.shown(path), err)
			continue
		}
		fmt.Fprintf(out, "%s: %s, %s\n", f.shown(path), c.Formatter, c.Why)
		switch {
		case err != nil:
			fmt.Fprintf(out, "  does not run: %v\n", err)
			continue
		case c.Program == "":
			fmt.Fprintln(out, "  runs inside whet")
		default:
			fmt.Fprintf(out, "  runs: %s\n  in: %s\n", strings.Join(append([]string{c.Program}, c.Args...), " "), c.Dir)
		}
		if len(c.Env) > 0 {
			fmt.Fprintf(out, "  with: %s\n", strings.Join(c.Env, " "))
		}
		if len(c.Code) > 0 {
			if err := trust.Check(root.Name(), c.Code); err != nil {
				fmt.Fprintf(out, "  does not run: %v\n", err)
			}
		}
	}
	return nil
}
