package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/cmd/whet/hookfirst"
	"github.com/whet-dev/whet/config"
	"github.com/whet-dev/whet/host/rpc"
	"github.com/whet-dev/whet/internal/proc"
	"github.com/whet-dev/whet/internal/state"
	"github.com/whet-dev/whet/kit"
)

func rpcCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rpc", Short: "Serve a plugin inside its host on standard input and output", GroupID: "hosts", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			proc.LeaveTerminal()
			log := hookfirst.Logger(c.ErrOrStderr())
			stores := state.Memories()
			setup := func(dir, worktree string, _ *rpc.Host) (*whet.Kit, func(string) whet.Store) {
				return kit.New(config.Load[kit.Config](dir, worktree, os.Environ()), log), stores
			}
			s := rpc.Server{Version: version, Setup: setup, Log: log}
			return s.Serve(c.Context(), os.Stdin, os.Stdout)
		},
	}
}
