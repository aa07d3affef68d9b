package packages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/whet-dev/whet/internal/proc"
	"github.com/whet-dev/whet/market"
	"github.com/whet-dev/whet/market/plugin"
)

// serving are the arguments by which whet serves a package's MCP server, named
// PACKAGE/SERVER. Hosts
// start it by them rather than by itself: the package's directory changes with
// each version, its trust may be taken back, and no key of a person's has to
// stand in a configuration.
func serving(name string) []string { return []string{"mcp", "--server", name} }

// A Served is a server that whet serves: by which id, and how serving names it.
type Served struct{ ID, Name string }

// Servers lists the servers that may run.
func (s Set) Servers() (all []Served) {
	for _, p := range s {
		for _, x := range p.Plugin.Servers {
			if id := p.Servers[x.Name]; p.Trusted && id != "" {
				all = append(all, Served{id, p.ID + "/" + x.Name})
			}
		}
	}
	return all
}

// Server finds what serving names, of a package in force.
func (s Set) Server(name string) (market.Package, plugin.Server, error) {
	for _, p := range s {
		rest, ok := strings.CutPrefix(name, p.ID+"/")
		i := slices.IndexFunc(p.Plugin.Servers, func(x plugin.Server) bool { return x.Name == rest })
		switch {
		case !ok:
		case !p.Trusted:
			return p, plugin.Server{}, fmt.Errorf("%s: %w; look at it and run: whet market trust %s", name, errUntrusted, p.ID)
		case i < 0:
			return p, plugin.Server{}, fmt.Errorf("package %s has no MCP server %q", p.ID, rest)
		default:
			return p, p.Plugin.Servers[i], nil
		}
	}
	return market.Package{}, plugin.Server{}, fmt.Errorf("no package with the MCP server %s is enabled here; see: whet market list", name)
}

// Serve connects a host with a server until one of them ends.
func Serve(ctx context.Context, p market.Package, s plugin.Server, dir string, in io.ReadCloser, out io.WriteCloser) error {
	e := environ{p, dir, os.Environ()}
	if s.Type == "stdio" {
		return e.pipe(ctx, s, in, out)
	}
	transport, err := e.remote(s)
	if err != nil {
		return err
	}
	far, err := transport.Connect(ctx)
	if err != nil {
		return err
	}
	defer far.Close()
	near, err := (&mcp.IOTransport{Reader: in, Writer: out, MaxLineLength: maxMessage}).Connect(ctx)
	if err != nil {
		return err
	}
	defer near.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 2)
	go func() { ended <- pump(ctx, near, far) }()
	go func() { ended <- pump(ctx, far, near) }()
	if err := <-ended; err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil {
		return err
	}
	return nil
}

func pump(ctx context.Context, from, to mcp.Connection) error {
	for {
		m, err := from.Read(ctx)
		if err != nil {
			return err
		}
		if err := to.Write(ctx, m); err != nil {
			return err
		}
	}
}

// pipe runs a server as our child, with our input and output as its own.
func (e environ) pipe(ctx context.Context, s plugin.Server, in io.Reader, out io.Writer) error {
	cmd, err := e.command(s)
	if err != nil {
		return err
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	child, err := proc.Start(cmd)
	if err != nil {
		return err
	}
	defer child.Stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(stdin, in) // the host has gone, or the server has
		stdin.Close()
		time.AfterFunc(leave, cancel)
	}()
	select {
	case <-child.Done():
		return child.Err()
	case <-ctx.Done():
		return nil
	}
}

// leave is how long a server may stay when its host has gone.
const leave = 5 * time.Second
