package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/cmd/internal/cli"
	"github.com/whet-dev/whet/config"
	"github.com/whet-dev/whet/host/rpc"
	"github.com/whet-dev/whet/internal/proc"
	"github.com/whet-dev/whet/internal/state"
	"github.com/whet-dev/whet/kit"
	"github.com/whet-dev/whet/kit/packages"
	"github.com/whet-dev/whet/market"
	"github.com/whet-dev/whet/task/client"
	"github.com/whet-dev/whet/task/inhost"
	"github.com/whet-dev/whet/task/mail"
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
		Long: `Serve a plugin inside its host on standard input and output: JSON-RPC 2.0, a
message a line. The plugin of OpenCode starts it; nobody else has to.`,
		RunE: func(c *cobra.Command, _ []string) error {
			speaks(c, "a plugin")
			proc.LeaveTerminal()
			p := &pluginChild{ctx: c.Context(), log: cli.Logger(c.ErrOrStderr()), stores: state.Memories()}
			defer p.close()
			return rpc.Server{Version: cli.Version(), Setup: p.setup, Log: p.log}.Serve(c.Context(), os.Stdin, os.Stdout)
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

// A pluginChild is what a plugin has of whet, for one project.
type pluginChild struct {
	ctx    context.Context
	log    *slog.Logger
	stores func(session string) whet.Store
	house  *inhost.House // nil if the host doesn't lend itself
}

func (p *pluginChild) setup(dir, worktree string, host *rpc.Host) rpc.Offer {
	l := config.Load[kit.Config](dir, worktree, os.Environ())
	set, problems := packagesOf(p.ctx, l, dir, worktree)
	o := rpc.Offer{Kit: kit.New(l, p.log), Store: began(p.stores, kit.Where(dir, worktree))}
	o.Kit.Guards = append([]whet.Guard{set.Guard(p.log)}, o.Kit.Guards...)
	var err error
	if o.Config, err = openCode(set); err != nil {
		problems = append(problems, err.Error())
	}
	for _, problem := range problems {
		p.log.Warn("marketplace", "problem", problem)
	}
	switch {
	case host.Brief: // a task would end with it, or unseen
		o.Kit.Tools = slices.DeleteFunc(o.Kit.Tools, isTaskTool)
	case host.Name == "opencode" && !l.Inert:
		p.lend(dir, l.Config, host, &o)
	}
	return o
}

// lend makes the host lend itself to background tasks.
func (p *pluginChild) lend(dir string, c kit.Config, host *rpc.Host, o *rpc.Offer) {
	if err := p.move(dir, c, host, o.Store); err != nil {
		p.log.Warn("tasks are whet's own agent's, and sessions at rest are not woken", "err", err)
		return
	}
	if c.Task.Wake.Ends() { // so it needs no waiting for them
		o.Kit.Tools = slices.DeleteFunc(o.Kit.Tools, func(t whet.Tool) bool { return t.Name == "wait_for_background_tasks" })
	}
	o.Kit.Guards = append(o.Kit.Guards, whet.Guard{Name: "inhost", Prompt: func(_ context.Context, s whet.Session) (string, error) {
		p.house.Wrote(s.ID)
		return "", nil
	}})
	o.Store = func(session string) whet.Store {
		s := p.house.Saw(session)
		_ = client.Say(whet.Session{Store: s}, client.Said{Via: p.house.Via()}) // in memory: can't fail
		return s
	}
}

// move makes the host lend itself.
func (p *pluginChild) move(dir string, c kit.Config, host *rpc.Host, stores func(string) whet.Store) error {
	tasks, err := mail.Dir()
	if err != nil {
		return fmt.Errorf("finding whet's state: %w", err)
	}
	p.house, err = inhost.Open(inhost.Options{Dir: dir, State: tasks, API: host.HTTP, Stores: stores, Wake: c.Task.Wake, Log: p.log})
	if err == nil {
		host.Heard = p.house.Heard
	}
	return err
}

func (p *pluginChild) close() {
	if p.house != nil {
		p.house.Close()
	}
}

// isTaskTool reports whether a tool is about background tasks.
func isTaskTool(t whet.Tool) bool {
	return slices.ContainsFunc(client.Tools(nil), func(o whet.Tool) bool { return o.Name == t.Name })
}
