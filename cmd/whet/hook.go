package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/config"
	"github.com/whet-dev/whet/host/hook"
	"github.com/whet-dev/whet/kit"
)

func hookCommand() *cobra.Command {
	var hosts []string
	for _, d := range hook.Dialects() {
		hosts = append(hosts, d.Name)
	}
	return &cobra.Command{
		Use:     "hook HOST",
		Short:   "Answer one hook event of a coding agent",
		GroupID: "hosts",
		Long: `Answer one hook event of a coding agent: its JSON on standard input, the reply
on standard output. No output means "go on".

The exit status is 0, or 1 with a sentence on standard error if the event could
not be read. 2 means "block this call" to hosts, and is used for nothing else:
only for those that hear no other answer. Hosts that take any failure for a
refusal get 0.`,
		ValidArgs: hosts,
		// Not cobra's own checks and flags: their errors would exit with 2.
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 && (args[0] == "--help" || args[0] == "-h") {
				return c.Help()
			}
			return runHook(c.Context(), args, c.InOrStdin(), c.OutOrStdout())
		},
	}
}

func runHook(ctx context.Context, args []string, in io.Reader, out io.Writer) (err error) {
	defer func() {
		if p := recover(); p != nil { // a panic would exit with 2
			err = fmt.Errorf("hook: internal error: %v", p)
		}
	}()
	if len(args) != 1 {
		return errors.New("usage: whet hook HOST")
	}
	d, err := hook.Lookup(args[0])
	if err != nil {
		return err
	}
	err = hook.Run(ctx, d, hookSetup, in, out)
	var blocked *hook.Blocked
	switch {
	case errors.As(err, &blocked):
		fmt.Fprintln(os.Stderr, blocked.Reason)
		return exit(exitUsage)
	case err != nil && d.Strict:
		logger(io.Discard).Error("hook failed open", "host", d.Name, "err", err)
		return nil
	}
	return err
}

// hookSetup makes the kit of one event. Its log goes nowhere but to $WHET_LOG:
// hosts show what a hook writes to standard error.
func hookSetup(dir, worktree string) (*whet.Kit, func(string) whet.Store) {
	return kit.New(config.Load(dir, worktree, os.Environ()), logger(io.Discard)), fileStore
}
