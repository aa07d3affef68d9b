package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/whet-dev/whet/applypatch"
	"github.com/whet-dev/whet/internal/escape"
)

// Exit codes of whet patch beyond the common ones.
const (
	exitBlocked  = 3
	exitInternal = 4
)

func patchCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "patch", Short: "Apply, check or rescue a patch in the apply_patch format", GroupID: "people", Args: noSuchCommand,
		Long: `Apply, check or rescue a patch in the apply_patch format.

A patch that was made for an older state of the files is placed by what is still
there; one whose place isn't certain is refused. All of it is applied or none.

The exit status is 0 if all went well, 1 if the patch doesn't fit the files, 2 if
it is malformed or the command line is wrong, 3 if it leaves the project, 4 if
reading or writing failed.`,
		Example: `  whet patch check change.patch     # what would it change?
  whet patch apply < change.patch
  whet patch rescue --host codex < stale.patch | apply_patch`,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(patchRun("apply", "Apply a patch, all or nothing", false), patchRun("check", "Show what a patch would change", true), patchRescue(), patchRecover())
	return c
}

// patchInput reads the patch from the file named, or from standard input.
func patchInput(c *cobra.Command, args []string) (string, error) {
	const most = 8 << 20 // bytes; the parser has the real limit
	var in io.Reader
	if len(args) > 0 && args[0] != "-" {
		f, err := os.Open(args[0])
		if err != nil {
			return "", usageError{fmt.Errorf("reading the patch: %w", err)}
		}
		defer f.Close()
		in = f
	} else {
		in = input(c, "the patch")
	}
	b, err := io.ReadAll(io.LimitReader(in, most))
	if err != nil {
		return "", fmt.Errorf("reading the patch: %w", err)
	}
	return string(b), nil
}

func patchRun(name, short string, dry bool) *cobra.Command {
	var dir string
	var asJSON bool
	c := &cobra.Command{
		Use: name + " [FILE|-]", Short: short, Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			text, err := patchInput(c, args)
			if err != nil {
				return err
			}
			p, err := open(c, dir)
			if err != nil {
				return err
			}
			o := p.config.Config.ApplyPatch
			r, err := applypatch.Run(c.Context(), text, applypatch.Job{Dir: p.dir, Others: slices.Concat(o.ExtraRoots, []string{p.worktree}), Options: o, DryRun: dry})
			if err != nil {
				return err
			}
			w := c.OutOrStdout()
			if asJSON {
				err = jsonLines(w).Encode(r)
			} else if r.OK {
				_, err = fmt.Fprint(w, diffText(w, r.Diff()), shown(w, r.String()), "\n")
			} else {
				_, err = fmt.Fprintln(c.ErrOrStderr(), shown(c.ErrOrStderr(), r.String()))
			}
			if err == nil && !r.OK {
				return patchExit(r.Kind)
			}
			return err
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "project `directory` (default the working directory)")
	c.Flags().BoolVar(&asJSON, "json", false, "print the outcome as JSON")
	return c
}

func patchExit(k applypatch.Kind) error {
	switch k {
	case applypatch.Validation:
		return exit(exitUsage)
	case applypatch.Blocked:
		return exit(exitBlocked)
	case applypatch.Internal:
		return exit(exitInternal)
	}
	return exit(exitFailed)
}

func patchRescue() *cobra.Command {
	var dir, host string
	var asJSON bool
	c := &cobra.Command{
		Use: "rescue [FILE|-]", Short: "Print a patch that a host's own applier applies right", Args: usageArgs(cobra.MaximumNArgs(1)),
		Long: `Print a patch that a host's own applier applies right.

The text is unchanged if it does so already. Nothing is written. What the host's
applier can't keep, such as a missing final newline, is told on standard error.`,
		RunE: func(c *cobra.Command, args []string) error {
			text, err := patchInput(c, args)
			if err != nil {
				return err
			}
			p, err := open(c, dir)
			if err != nil {
				return err
			}
			out, err := rescue(p, text, applypatch.Dialect(host))
			if e := (*applypatch.Error)(nil); errors.As(err, &e) {
				fmt.Fprintln(c.ErrOrStderr(), shown(c.ErrOrStderr(), e.Error()))
				return patchExit(e.Kind)
			}
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(c.OutOrStdout()).Encode(map[string]any{"changed": out.Changed, "patch": out.Text, "limits": out.Limits})
			}
			for _, l := range out.Limits {
				fmt.Fprintf(c.ErrOrStderr(), "whet: the host's applier won't keep: %s\n", strings.ReplaceAll(string(l), "_", " "))
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), shown(c.OutOrStdout(), strings.TrimSuffix(out.Text, "\n")))
			return err
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "project `directory` (default the working directory)")
	c.Flags().StringVar(&host, "host", "any", "the `applier`: codex, opencode, opencode-v1, opencode-core, opencode-next or any")
	c.Flags().BoolVar(&asJSON, "json", false, "print the patch as JSON")
	return c
}

func rescue(p *place, text string, d applypatch.Dialect) (*applypatch.Rendered, error) {
	if applypatch.DialectOf(string(d)) != d {
		return nil, usageError{fmt.Errorf("--host %s: not known; use codex, opencode, opencode-v1, opencode-core, opencode-next or any", d)}
	}
	o := p.config.Config.ApplyPatch
	w, err := applypatch.Open(p.dir, slices.Concat(o.ExtraRoots, []string{p.worktree})...)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	patch, err := applypatch.Parse(text)
	if err != nil {
		return nil, err
	}
	plan, err := applypatch.Resolve(w, patch, o)
	if err != nil {
		return nil, err
	}
	return plan.Render(d, text)
}

func patchRecover() *cobra.Command {
	var id string
	var asJSON bool
	c := &cobra.Command{
		Use: "recover", Short: "Undo patches that a crash left half written", Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			all, err := applypatch.Recover(c.Context(), applypatch.Journal(), id)
			if err != nil {
				return err
			}
			w := c.OutOrStdout()
			if asJSON {
				return json.NewEncoder(w).Encode(map[string]any{"recovered": all})
			}
			if len(all) == 0 {
				_, err := fmt.Fprintln(w, "nothing to recover: every patch was written whole")
				return err
			}
			for _, r := range all {
				fmt.Fprintf(w, "%s, of %s\n", r.ID, r.Time.Format("2006-01-02 15:04:05"))
				for _, f := range r.Restored {
					fmt.Fprintln(w, "  restored", f)
				}
				for _, f := range r.Left {
					fmt.Fprintln(w, "  left as it is, somebody changed it since:", f)
				}
			}
			return nil
		},
	}
	c.Flags().StringVar(&id, "id", "", "only the patch of this `ID`")
	c.Flags().BoolVar(&asJSON, "json", false, "print what was done as JSON")
	return c
}

// diffText is a diff as it is, or for a terminal: in colour if that is
// wanted, with a mark for each hidden character, which a file may have put there
// to deceive.
func diffText(w io.Writer, diff string) string {
	if !isTerminal(w) {
		return diff
	}
	var b strings.Builder
	for line := range strings.Lines(diff) {
		// A line end that changes must be seen here.
		line = escape.Lines(strings.ReplaceAll(line, "\r\n", "\u240d\n"))
		code := ""
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
			code = "1"
		case strings.HasPrefix(line, "@@"):
			code = "36"
		case strings.HasPrefix(line, "+"):
			code = "32"
		case strings.HasPrefix(line, "-"):
			code = "31"
		}
		if code == "" || !colour(w) {
			b.WriteString(line)
			continue
		}
		fmt.Fprintf(&b, "\x1b[%sm%s\x1b[0m\n", code, strings.TrimSuffix(line, "\n"))
	}
	return b.String()
}
