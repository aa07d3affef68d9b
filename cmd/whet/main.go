// Whet sharpens the tools that a coding agent already has.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/whet-dev/whet/cmd/internal/cli"
	"github.com/whet-dev/whet/market"
)

// Exit codes of every command but hook, whose 2 hosts read as "block this call".
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// From the second Ctrl-C on, the signal does what it does by default.
	context.AfterFunc(ctx, stop)
	return exitCode(root().ExecuteContext(ctx))
}

// An exit is the error of a command that has said already what went wrong.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// A usageError is a mistake in the command line.
type usageError struct{ error }

func exitCode(err error) int {
	var code exit
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &code):
		return int(code)
	case errors.Is(err, context.Canceled):
		return 128 + int(syscall.SIGINT)
	}
	fmt.Fprintln(os.Stderr, "whet:", err)
	var e *market.Error
	if errors.As(err, &e) {
		return marketExit(e.Code)
	}
	if errors.As(err, new(usageError)) {
		return exitUsage
	}
	return exitFailed
}

func root() *cobra.Command {
	c := &cobra.Command{
		Use:   "whet",
		Short: "Whet sharpens the tools that a coding agent already has",
		Long: `Whet sharpens the tools that a coding agent already has.

Start here:
  whet demo       watch it work: a real session with a scripted model
  whet install    put it into the coding agents on this machine
  whet doctor     prove that they go through it

Or without an agent:
  whet run        whet's own, with any model
  whet tools      what an agent gets; whet call TOOL JSON uses it exactly so`,
		Version:       cli.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noSuchCommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.SuggestionsMinimumDistance = 2
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return wrongUse(c, err.Error()) })
	c.AddGroup(&cobra.Group{ID: "people", Title: "For people:"}, &cobra.Group{ID: "hosts", Title: "For agents and their hosts:"})
	c.AddCommand(commands()...)
	if man := manCommand(); man != nil {
		c.AddCommand(man)
	}
	for _, sub := range c.Commands() {
		sub.Args = usageArgs(sub.Args)
	}
	return c
}

// noSuchCommand reports the argument of a command that has only subcommands.
func noSuchCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := "there are: "
	names := c.SuggestionsFor(args[0])
	if len(names) > 0 {
		hint = "did you mean "
	} else {
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				names = append(names, sub.Name())
			}
		}
	}
	return usageError{fmt.Errorf("unknown command %q; %s%s", args[0], hint, strings.Join(names, ", "))}
}

// commands lists the subcommands, a file each.
func commands() []*cobra.Command {
	return []*cobra.Command{
		toolsCommand(),
		callCommand(),
		fetchCommand(),
		grepCommand(),
		globCommand(),
		patchCommand(),
		fmtCommand(),
		loopCommand(),
		trustCommand(),
		astCommand(),
		marketCommand(),
		configCommand(),
		versionCommand(),
		setupCommand(),
		demoCommand(),
		runCommand(),
		taskCommand(),
		boardCommand(),
		serveCommand(),
		mcpCommand(),
		hookCommand(),
		rpcCommand(),
		installCommand(),
		uninstallCommand(),
		doctorCommand(),
	}
}

// usageArgs makes wrong arguments a usage error.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	if check == nil {
		return nil
	}
	return func(c *cobra.Command, args []string) error {
		err := check(c, args)
		if errors.As(err, new(usageError)) {
			return err
		}
		if err != nil {
			return wrongUse(c, fmt.Sprintf("want %s, not %d arguments", strings.TrimSuffix(c.UseLine(), " [flags]"), len(args)))
		}
		return nil
	}
}

func wrongUse(c *cobra.Command, what string) error {
	return usageError{fmt.Errorf("%s\nTry: %s --help", what, c.CommandPath())}
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", GroupID: "people", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(c.OutOrStdout(), "whet", cli.Version())
			return err
		},
	}
}
