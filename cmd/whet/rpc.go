package main

import (
	"context"
	"fmt"
	"log/slog"
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
			p := &pluginChild{log: hookfirst.Logger(c.ErrOrStderr())}
			defer p.close()
			return rpc.Server{Version: version, Setup: p.setup, Log: p.log}.Serve(c.Context(), os.Stdin, os.Stdout)
		},
	}
}

// A pluginChild is what a plugin has of whet, for one project.
type pluginChild struct {
	log   *slog.Logger
	house *inhost.House // nil if the host doesn't lend itself
}

func (p *pluginChild) setup(dir, worktree string, host *rpc.Host) (*whet.Kit, func(string) whet.Store) {
	l := config.Load[kit.Config](dir, worktree, os.Environ())
	k, stores := kit.New(l, p.log), state.Memories()
	switch {
	case host.Brief: // a task would end with it, or unseen
		k.Tools = slices.DeleteFunc(k.Tools, isTaskTool)
		return k, stores
	case host.Name != "opencode" || l.Inert:
		return k, stores
	}
	if err := p.move(dir, l.Config, host, stores); err != nil {
		p.log.Warn("tasks are whet's own agent's, and sessions at rest are not woken", "err", err)
		return k, stores
	}
	if l.Config.Task.Wake.Ends() { // so it needs no waiting for them
		k.Tools = slices.DeleteFunc(k.Tools, func(t whet.Tool) bool { return t.Name == "wait_for_background_tasks" })
	}
	k.Guards = append(k.Guards, whet.Guard{Name: "inhost", Prompt: func(_ context.Context, s whet.Session) (string, error) {
		p.house.Wrote(s.ID)
		return "", nil
	}})
	return k, func(session string) whet.Store {
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
