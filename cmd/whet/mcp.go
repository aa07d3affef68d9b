package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/cmd/internal/cli"
	"github.com/whet-dev/whet/host/mcp"
	"github.com/whet-dev/whet/internal/proc"
	"github.com/whet-dev/whet/internal/state"
	"github.com/whet-dev/whet/kit/packages"
	"github.com/whet-dev/whet/market"
)

func mcpCommand() *cobra.Command {
	var dir, addr, role, server string
	c := &cobra.Command{
		Use:     "mcp",
		Short:   "Serve the tools over the Model Context Protocol",
		GroupID: "hosts",
		Long: `Serve the tools over the Model Context Protocol, on standard input and output,
or with --http on an address of this machine.

Over HTTP each request needs the bearer token in $WHET_TOKEN. If that isn't set,
a new token is made and printed on standard error.

An agent's host starts this by itself; whet install puts it into the hosts.`,
		Example: `  whet mcp --dir ~/project
  WHET_TOKEN=secret whet mcp --http 127.0.0.1:8080`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := open(c, cmp.Or(dir, os.Getenv("CLAUDE_PROJECT_DIR")))
			if err != nil {
				return err
			}
			if server != "" {
				return serveGuest(c, p, server)
			}
			if role = cmp.Or(role, os.Getenv("WHET_ROLE")); role != orchestrator {
				p.kit.Tools = slices.DeleteFunc(p.kit.Tools, func(t whet.Tool) bool { return t.Name == market.ToolName })
			}
			s := &mcp.Server{
				Kit: p.kit, Session: p.session("", role), Stores: state.Memories(),
				Version: cli.Version(), Log: cli.Logger(c.ErrOrStderr()),
			}
			s.Session.Host, s.Session.ID = "mcp", fmt.Sprintf("%d-%s", os.Getpid(), rand.Text())
			if dir == "" && noProject(p.dir) {
				s.Session.Dir, s.Session.Worktree = "", ""
			}
			if addr != "" {
				return serveHTTP(c, s, addr)
			}
			speaks(c, "an MCP client")
			proc.LeaveTerminal()
			ctx, cancel := context.WithCancel(c.Context())
			defer cancel()
			go untilOrphaned(ctx, cancel)
			return s.ServeStdio(ctx, os.Stdin, os.Stdout)
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "project `directory` (default $CLAUDE_PROJECT_DIR or the working directory)")
	c.Flags().StringVar(&server, "server", "", "serve the MCP server `PACKAGE/SERVER` of an enabled and trusted package instead")
	c.Flags().StringVar(&role, "role", "", "serve the `agent` of this name; the orchestrator alone gets the tool marketplace (default $WHET_ROLE)")
	c.Flags().StringVar(&addr, "http", "", "serve HTTP on this `address`, such as 127.0.0.1:8080; port 0 picks one")
	c.MarkFlagsMutuallyExclusive("server", "http")
	return c
}

// serveGuest stands between a host and a package's server.
func serveGuest(c *cobra.Command, p *place, name string) error {
	pkg, server, err := p.packages.Server(name)
	if err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	go untilOrphaned(ctx, cancel)
	speaks(c, "an MCP client")
	return packages.Serve(ctx, pkg, server, p.dir, os.Stdin, os.Stdout)
}

// orchestrator is the role that manages packages and hands out tasks.
const orchestrator = "orchestrator"

// noProject reports whether dir is where clients start servers that were told
// no project: letting a model loose there would be too much.
func noProject(dir string) bool {
	home, err := os.UserHomeDir()
	return err == nil && dir == home || filepath.Dir(dir) == dir
}

// untilOrphaned cancels when the parent process is gone. Standard input ends
// then too, unless a sibling holds its other end open.
func untilOrphaned(ctx context.Context, cancel context.CancelFunc) {
	parent := os.Getppid()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if os.Getppid() != parent {
				cancel()
				return
			}
		}
	}
}

func serveHTTP(c *cobra.Command, s *mcp.Server, addr string) error {
	token := os.Getenv("WHET_TOKEN")
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return usageError{fmt.Errorf("--http %s: %w; give HOST:PORT, such as 127.0.0.1:8080", addr, err)}
	}
	if ip := net.ParseIP(host); token == "" && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return usageError{fmt.Errorf("--http %s: other machines could reach this address; set WHET_TOKEN to a secret first, or use 127.0.0.1", addr)}
	}
	l, err := new(net.ListenConfig).Listen(c.Context(), "tcp", addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.ErrOrStderr(), "whet: serving MCP at http://%s/\n", l.Addr())
	if token == "" {
		token = rand.Text()
		fmt.Fprintf(c.ErrOrStderr(), "whet: Authorization: Bearer %s\n", token)
	}
	return s.ServeHTTP(c.Context(), l, token)
}
