package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/cmd/whet/hookfirst"
	"github.com/whet-dev/whet/config"
	"github.com/whet-dev/whet/host/rpc"
	"github.com/whet-dev/whet/internal/proc"
	"github.com/whet-dev/whet/internal/state"
	"github.com/whet-dev/whet/kit"
	"github.com/whet-dev/whet/kit/packages"
	"github.com/whet-dev/whet/market"
)

// openCode is what packages add to the configuration of OpenCode.
func openCode(set packages.Set) (map[string]any, error) {
	if len(set) == 0 {
		return nil, nil
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := state.Root()
	if err != nil {
		return nil, err
	}
	return set.OpenCode(packages.Host{Exe: exe, Dir: filepath.Join(dir, "opencode")})
}

func rpcCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rpc", Short: "Serve a plugin inside its host on standard input and output", GroupID: "hosts", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			proc.LeaveTerminal()
			log := hookfirst.Logger(c.ErrOrStderr())
			stores := state.Memories()
			setup := func(dir, worktree string, _ *rpc.Host) rpc.Offer {
				l := config.Load[kit.Config](dir, worktree, os.Environ())
				set, problems := packagesOf(c.Context(), l, dir, worktree)
				o := rpc.Offer{Kit: kit.New(l, log), Store: began(stores, kit.Where(dir, worktree))}
				o.Kit.Guards = append([]whet.Guard{set.Guard(log)}, o.Kit.Guards...)
				var err error
				if o.Config, err = openCode(set); err != nil {
					problems = append(problems, err.Error())
				}
				for _, p := range problems {
					log.Warn("marketplace", "problem", p)
				}
				return o
			}
			s := rpc.Server{Version: version, Setup: setup, Log: log}
			return s.Serve(c.Context(), os.Stdin, os.Stdout)
		},
	}
}

// began gives every session what of packages is in force now: the host reads
// them when it starts.
func began(stores func(string) whet.Store, w market.Where) func(string) whet.Store {
	was, err := market.Snapshot(w)
	if err != nil {
		return stores
	}
	return func(id string) whet.Store {
		s := stores(id)
		_ = market.Remember(whet.Session{Store: s}, was) // only the marketplace's word on reloading needs it
		return s
	}
}
