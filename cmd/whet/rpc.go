package main

import (
	"context"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/cmd/whet/hookfirst"
	"github.com/whet-dev/whet/config"
	"github.com/whet-dev/whet/host/rpc"
	"github.com/whet-dev/whet/internal/state"
	"github.com/whet-dev/whet/kit"
	"github.com/whet-dev/whet/task/client"
	"github.com/whet-dev/whet/task/inhost"
	"github.com/whet-dev/whet/task/mail"
)

func rpcCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rpc", Short: "Serve a plugin inside its host on standard input and output", GroupID: "hosts", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			log := hookfirst.Logger(c.ErrOrStderr())
			stores := state.Memories()
			var house *inhost.House
			setup := func(dir, worktree string, host *rpc.Host) (*whet.Kit, func(string) whet.Store) {
				l := config.Load[kit.Config](dir, worktree, os.Environ())
				k := kit.New(l, log)
				if host.Brief || host.Name != "opencode" {
					// A host that ends when its model rests would end every task with it.
					if host.Brief {
						k.Tools = slices.DeleteFunc(k.Tools, isTaskTool)
					}
					return k, stores
				}
				tasks, err := mail.Dir()
				if err == nil {
					house, err = inhost.Open(inhost.Options{Dir: dir, State: tasks, API: host.HTTP, Stores: stores, Wake: l.Config.Task.Wake, Log: log})
				}
				if err != nil {
					log.Warn("tasks are whet's own agent's, and sessions at rest are not woken", "err", err)
					return k, stores
				}
				host.Heard = house.Heard
				k.Guards = append(k.Guards, whet.Guard{Name: "inhost", Prompt: func(_ context.Context, s whet.Session) (string, error) {
					house.Wrote(s.ID)
					return "", nil
				}})
				return k, func(session string) whet.Store {
					s := house.Saw(session)
					_ = client.Say(whet.Session{Store: s}, client.Said{Via: house.Via()}) // in memory: can't fail
					return s
				}
			}
			s := rpc.Server{Version: version, Setup: setup, Log: log}
			err := s.Serve(c.Context(), os.Stdin, os.Stdout)
			if house != nil {
				house.Close()
			}
			return err
		},
	}
}

// isTaskTool reports whether a tool is about background tasks.
func isTaskTool(t whet.Tool) bool {
	return slices.ContainsFunc(client.Tools(nil), func(o whet.Tool) bool { return o.Name == t.Name })
}
