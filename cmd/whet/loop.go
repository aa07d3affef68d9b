package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/whet-dev/whet/internal/plainfile"
	"github.com/whet-dev/whet/loop"
)

func loopCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "loop", Short: "Look at the guard against repeated calls", GroupID: "people", Args: noSuchCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	var asJSON bool
	replay := &cobra.Command{
		Use:   "replay TRANSCRIPT...",
		Short: "Say what the loop guard would have said in recorded sessions",
		Long: `Say what the loop guard would have said in recorded sessions, call by call, and
how much went into calls after that. It reads transcripts of Claude Code and
Codex (JSON lines), exports of OpenCode, and sessions that are recorded as hashes;
- is standard input. Nothing is sent anywhere.`,
		Example: `  whet loop replay ~/.claude/projects/*/*.jsonl
  opencode export SESSION | whet loop replay -`,
		Args: usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			p, err := open(c, "")
			if err != nil {
				return err
			}
			var sum loop.Summary
			for _, name := range args {
				recs, err := recordings(c, name)
				if c.Context().Err() != nil {
					return c.Context().Err()
				}
				if err != nil {
					return fmt.Errorf("reading %s: %w", name, plainfile.Cause(err))
				}
				for _, rec := range recs {
					r := rec.Run(p.config.Config.LoopGuard)
					sum.Add(r)
					if asJSON {
						err = json.NewEncoder(c.OutOrStdout()).Encode(r)
					} else {
						err = r.Print(c.OutOrStdout())
					}
					if err != nil {
						return err
					}
				}
			}
			if !asJSON {
				fmt.Fprintln(c.OutOrStdout(), sum)
			}
			return nil
		},
	}
	replay.Flags().BoolVar(&asJSON, "json", false, "print an object for each session")
	c.AddCommand(replay)
	return c
}

func recordings(c *cobra.Command, name string) ([]loop.Recording, error) {
	if name == "-" {
		return loop.Read(input(c, "the transcript"), "stdin")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return loop.Read(f, name)
}
