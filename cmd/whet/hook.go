package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/whet-dev/whet/cmd/internal/cli"
	"github.com/whet-dev/whet/host/hook"
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
not be read. 2 means "block this call" to hosts, and is for nothing else: only
for a host that hears no other answer. One that takes any failure for a refusal
gets 0.

The program whet-hook beside whet answers the same way in half of the time;
whet install gives hosts that one if it is there.

HOST is one of: ` + strings.Join(hosts[:5], ", ") + ",\n" + strings.Join(hosts[5:], ", ") + ".",
		ValidArgs: hosts,
		// Not cobra's own checks and flags: their errors would exit with 2.
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 && (args[0] == "--help" || args[0] == "-h") {
				return c.Help()
			}
			if code := cli.HookExit(cli.Hook(c.Context(), args, c.InOrStdin(), c.OutOrStdout())); code != exitDone {
				return exit(code)
			}
			return nil
		},
	}
}
