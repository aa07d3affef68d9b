package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/whet-dev/whet/cmd/internal/cli"
	"github.com/whet-dev/whet/internal/project"
	"github.com/whet-dev/whet/kit"
	"github.com/whet-dev/whet/market"
)

func marketCommand() *cobra.Command {
	var f marketFlags
	c := &cobra.Command{
		Use: "market", Short: "Packages of agents, skills, commands and more, from this machine", GroupID: "people",
		Long: `Packages of agents, skills, commands, instructions, MCP servers, hooks and
formatters, from a directory or an archive on this machine. Nothing is ever
fetched, and nothing takes effect before you enable it. What a package would
run stays off until you have looked at it with whet market trust.`,
		Example: `  whet market import ~/Downloads/reviewer.zip
  whet market show acme/reviewer
  whet market enable acme/reviewer
  whet market status`,
		Args: noSuchCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.PersistentFlags().StringVar(&f.dir, "dir", "", "project `directory` (default the working directory)")
	c.PersistentFlags().BoolVar(&f.json, "json", false, "print JSON")
	c.AddCommand(
		f.take("install PATH", "Keep a package of whet's own format", (*market.Market).Install),
		f.importCommand(),
		f.list(),
		f.show(),
		f.verify(),
		f.take("update PATH", "Replace an installed package by a newer version", (*market.Market).Update),
		f.activate("enable ID", "Put a package into force", (*market.Market).Enable),
		f.activate("disable ID", "Take a package out of force", (*market.Market).Disable),
		f.remove(),
		f.status(),
		f.trust(),
		f.rollback(),
		f.gc(),
		f.repair(),
	)
	for _, sub := range c.Commands() {
		sub.Args = usageArgs(sub.Args)
	}
	return c
}

type marketFlags struct {
	dir  string
	json bool
}

// marketWait is how long a person waits for another process that changes the store.
const marketWait = 30 * time.Second

func (f *marketFlags) open() (*market.Market, error) {
	dir, err := directory(f.dir)
	if err != nil {
		return nil, err
	}
	m := kit.Market(dir, project.Worktree(dir))
	m.Version, m.Wait = cli.Version(), marketWait
	return &m, nil
}

// command makes a subcommand of one action. A change is followed by the line on
// reloading: no command knows the sessions that run.
func (f *marketFlags) command(use, short string, args cobra.PositionalArgs, changes bool, do func(context.Context, *market.Market, []string) (market.Outcome, error)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: func(c *cobra.Command, args []string) error {
			m, err := f.open()
			if err != nil {
				return err
			}
			o, err := do(c.Context(), m, args)
			if err == nil && changes && o.ReloadRequired != "" {
				o.Text += "\nreload_required: unknown"
			}
			return f.print(c, o, err)
		},
	}
}

func (f *marketFlags) print(c *cobra.Command, o market.Outcome, err error) error {
	var e *market.Error
	if f.json && (err == nil || errors.As(err, &e)) {
		if e != nil {
			o = market.Outcome{Action: e.Action, Error: e}
		}
		if err := printJSON(c.OutOrStdout(), o); err != nil {
			return err
		}
		if e != nil {
			return exit(marketExit(e.Code))
		}
	} else if err != nil {
		return err
	} else if err := printMarket(c.OutOrStdout(), o); err != nil {
		return err
	}
	if !o.OK {
		return exit(exitFailed)
	}
	return nil
}

// printMarket writes the text, of a list on a terminal a table.
func printMarket(w io.Writer, o market.Outcome) error {
	if o.Action != "list" || len(o.Packages) == 0 || !isTerminal(w) {
		_, err := fmt.Fprintln(w, o.Text)
		return err
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "PACKAGE\tSTATE\tBRINGS\tTITLE")
	for _, p := range o.Packages {
		fmt.Fprintln(tw, strings.Join(p.Columns(), "\t"))
	}
	return tw.Flush()
}

// marketExit is the exit status of each code.
func marketExit(code market.Code) int {
	switch code {
	case market.InvalidArguments, market.NotALocalPath:
		return exitUsage
	case market.NotOrchestrator, market.Denied:
		return 3
	case market.Busy:
		return 4
	case market.Lockfile, market.IO:
		return 5
	}
	return exitFailed
}

type takeFunc = func(*market.Market, context.Context, string) (market.Outcome, error)

func (f *marketFlags) take(use, short string, do takeFunc) *cobra.Command {
	return f.command(use, short, cobra.ExactArgs(1), true, func(ctx context.Context, m *market.Market, args []string) (market.Outcome, error) {
		return do(m, ctx, args[0])
	})
}

func (f *marketFlags) importCommand() *cobra.Command {
	var plugins []string
	var all bool
	c := f.command("import PATH[#PLUGIN]", "Keep a package of any format that is known", cobra.ExactArgs(1), true,
		func(ctx context.Context, m *market.Market, args []string) (market.Outcome, error) {
			if all || len(plugins) > 0 {
				return m.ImportSome(ctx, args[0], plugins)
			}
			return m.Import(ctx, args[0])
		})
	c.Long = `Keep a package of any format that is known: whet's own (Agent Plugins), plugins
and catalogues of Claude Code, Codex plugins, Gemini extensions, MCP bundles,
Agent Skills, OpenCode directories, from a directory, a .zip, a .tar.gz or a git
.bundle.

Of a catalogue it lists the plugins, unless you choose some.`
	c.Flags().StringSliceVar(&plugins, "plugin", nil, "`NAMES` of a catalogue's plugins, separated by commas")
	c.Flags().BoolVar(&all, "all", false, "every plugin of a catalogue that is in it")
	c.MarkFlagsMutuallyExclusive("plugin", "all")
	return c
}

func (f *marketFlags) list() *cobra.Command {
	return f.command("list", "List the installed packages", cobra.NoArgs, false, func(_ context.Context, m *market.Market, _ []string) (market.Outcome, error) {
		return m.List()
	})
}

func (f *marketFlags) show() *cobra.Command {
	var content bool
	c := f.command("show ID", "Show all that a package brings along", cobra.ExactArgs(1), false, func(_ context.Context, m *market.Market, args []string) (market.Outcome, error) {
		return m.Show(args[0], content)
	})
	c.Flags().BoolVar(&content, "content", false, "also the texts that enter prompts")
	return c
}

func (f *marketFlags) verify() *cobra.Command {
	return f.command("verify [ID]", "Check that packages are as they were installed; exit status 1 if not", cobra.MaximumNArgs(1), false,
		func(ctx context.Context, m *market.Market, args []string) (market.Outcome, error) {
			return m.Verify(ctx, strings.Join(args, ""))
		})
}

func (f *marketFlags) activate(use, short string, do func(*market.Market, context.Context, string, string) (market.Outcome, error)) *cobra.Command {
	var user, proj bool
	c := f.command(use, short, cobra.ExactArgs(1), true, func(ctx context.Context, m *market.Market, args []string) (market.Outcome, error) {
		scope := ""
		if user {
			scope = "user"
		} else if proj {
			scope = "project"
		}
		return do(m, ctx, args[0], scope)
	})
	c.Flags().BoolVar(&user, "user", false, "for you, in every project (default if there is no project here)")
	c.Flags().BoolVar(&proj, "project", false, "for this project (default)")
	c.MarkFlagsMutuallyExclusive("user", "project")
	return c
}

func (f *marketFlags) remove() *cobra.Command {
	var force, purge bool
	c := f.command("remove ID", "Forget a package", cobra.ExactArgs(1), true, func(ctx context.Context, m *market.Market, args []string) (market.Outcome, error) {
		return m.Remove(ctx, args[0], force, purge)
	})
	c.Flags().BoolVar(&force, "force", false, "also take out what the configuration says of it")
	c.Flags().BoolVar(&purge, "purge", false, "also remove the data that it has written")
	return c
}

func (f *marketFlags) status() *cobra.Command {
	return f.command("status", "Say what is installed, enabled and wrong", cobra.NoArgs, false, func(_ context.Context, m *market.Market, _ []string) (market.Outcome, error) {
		return m.Status()
	})
}

func (f *marketFlags) rollback() *cobra.Command {
	return f.command("rollback ID", "Go back to the version before", cobra.ExactArgs(1), true, func(ctx context.Context, m *market.Market, args []string) (market.Outcome, error) {
		return m.Rollback(ctx, args[0])
	})
}

func (f *marketFlags) gc() *cobra.Command {
	var dry bool
	c := f.command("gc", "Remove what nothing refers to any more", cobra.NoArgs, false, func(ctx context.Context, m *market.Market, _ []string) (market.Outcome, error) {
		return m.GC(ctx, dry)
	})
	c.Flags().BoolVar(&dry, "dry-run", false, "only say how much")
	return c
}

func (f *marketFlags) repair() *cobra.Command {
	return f.command("repair", "Mend the store from what is there", cobra.NoArgs, false, func(ctx context.Context, m *market.Market, _ []string) (market.Outcome, error) {
		return m.Repair(ctx)
	})
}

func (f *marketFlags) trust() *cobra.Command {
	var tree, note string
	var revoke bool
	c := &cobra.Command{
		Use: "trust ID", Short: "Let what a package brings along run as programs", Args: cobra.ExactArgs(1),
		Long: `Let what a package brings along run as programs: its hooks, its MCP servers, its
formatters. Each command line is shown, and then you are asked.

An update that changes only texts keeps the trust; one that changes anything
that runs takes it away.`,
		Example: `  whet market trust acme/reviewer
  whet market trust acme/reviewer --tree sha256:...   # without a question, if it is still that
  whet market trust acme/reviewer --revoke`,
		RunE: func(c *cobra.Command, args []string) error {
			m, err := f.open()
			if err != nil {
				return err
			}
			if revoke {
				o, err := m.Distrust(c.Context(), args[0])
				o.Text += "\nreload_required: unknown"
				return f.print(c, o, err)
			}
			return f.grant(c, m, args[0], tree, note)
		},
	}
	c.Flags().StringVar(&tree, "tree", "", "`digest` of the files that you have looked at; then there is no question")
	c.Flags().StringVar(&note, "note", "", "`text` kept with the trust")
	c.Flags().BoolVar(&revoke, "revoke", false, "trust the package no more")
	c.MarkFlagsMutuallyExclusive("tree", "revoke")
	return c
}

func (f *marketFlags) grant(c *cobra.Command, m *market.Market, id, tree, note string) error {
	d, err := m.Detail(id)
	if err != nil {
		return f.print(c, market.Outcome{}, err)
	}
	out := c.ErrOrStderr()
	if tree == "" {
		tree = d.Tree
		fmt.Fprintf(out, "%s@%s from %s would run:\n", d.ID, d.Version, d.Source.Path)
		for _, p := range d.Programs {
			fmt.Fprintln(out, strings.TrimSuffix(fmt.Sprintf("  %s %s: %s", p.Kind, short(p.Name, 60), oneLine(p.Line)), ": "))
		}
		if !isTerminal(c.InOrStdin()) {
			fmt.Fprintf(out, "whet: nothing was granted; without a terminal, say which files you have looked at: --tree %s\n", d.Tree)
			return exit(exitFailed)
		}
		fmt.Fprint(out, "Let it? [y]es, [n]o: ")
		answer, err := (&asker{in: c.InOrStdin()}).line(c.Context())
		if err != nil {
			return err
		}
		if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
			fmt.Fprintln(out, "Nothing was granted.")
			return exit(exitFailed)
		}
	}
	o, err := m.Trust(c.Context(), id, tree, note)
	o.Text += "\nreload_required: unknown"
	return f.print(c, o, err)
}

// oneLine is s for a terminal, whole.
func oneLine(s string) string { return short(s, len(s)+1) }
