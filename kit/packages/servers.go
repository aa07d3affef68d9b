package packages

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/market"
	"github.com/whet-dev/whet/market/plugin"
)

// Starting says how the servers of packages are started.
type Starting struct {
	Version string        // whet's
	Dir     string        // the project
	Limit   time.Duration // for each server; 0 is 20 s
}

const (
	startTime = 20 * time.Second
	callTime  = 5 * time.Minute
	maxTools  = 128 // of a server
	// maxName is what the strictest vendor takes for a tool's name.
	maxName = 64
)

// Servers are the MCP servers that are running, and their tools.
type Servers struct {
	Tools    []whet.Tool
	Problems []string // a line for each server or tool that is left out
	links    []*link
}

// Close ends the servers and all that they started.
func (s *Servers) Close() {
	var wg sync.WaitGroup
	for _, l := range s.links {
		wg.Go(l.close)
	}
	wg.Wait()
}

// Start starts the servers of trusted packages side by side. One that doesn't
// start in time is a problem and costs nothing else.
func (s Set) Start(ctx context.Context, o Starting) *Servers {
	type started struct {
		link  *link
		tools []*mcp.Tool
		err   error
	}
	var wanted []serverOf
	for _, p := range s {
		for _, x := range p.Plugin.Servers {
			if id := p.Servers[x.Name]; p.Trusted && id != "" {
				wanted = append(wanted, serverOf{p, x, id})
			}
		}
	}
	all := make([]started, len(wanted))
	var wg sync.WaitGroup
	for i, w := range wanted {
		wg.Go(func() {
			all[i].link, all[i].tools, all[i].err = w.start(ctx, o)
		})
	}
	wg.Wait()
	out := &Servers{}
	names := map[string]bool{}
	for i, w := range wanted {
		if all[i].err != nil {
			out.problem(w, "is left out: %v", all[i].err)
			continue
		}
		out.links = append(out.links, all[i].link)
		for n, t := range all[i].tools {
			name := toolName(w.id, t.Name)
			switch {
			case n == maxTools:
				out.problem(w, "has %d tools; those after the first %d are left out", len(all[i].tools), maxTools)
			case n > maxTools:
			case names[name]:
				out.problem(w, "tool %q is left out: another would be called %s too", t.Name, name)
			default:
				names[name] = true
				out.Tools = append(out.Tools, w.tool(name, t, all[i].link))
			}
		}
	}
	return out
}

func (s *Servers) problem(w serverOf, format string, a ...any) {
	s.Problems = append(s.Problems, fmt.Sprintf("%s: MCP server %s "+format, append([]any{w.p.ID, w.server.Name}, a...)...))
}

// A serverOf is a server and whose it is.
type serverOf struct {
	p      market.Package
	server plugin.Server
	id     string
}

func (w serverOf) start(ctx context.Context, o Starting) (l *link, tools []*mcp.Tool, err error) {
	limit := cmp.Or(o.Limit, startTime)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it didn't answer within %v", limit))
	defer cancel()
	e := environ{w.p, o.Dir, os.Environ()}
	client := mcp.NewClient(&mcp.Implementation{Name: "whet", Version: o.Version}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	if l, err = e.connect(ctx, w.server, client); err != nil {
		return nil, nil, err
	}
	for t, err := range l.session.Tools(ctx, nil) {
		if err != nil {
			err = l.why(ctx, err)
			l.close()
			return nil, nil, err
		}
		if tools = append(tools, t); len(tools) > maxTools {
			break
		}
	}
	return l, tools, nil
}

var notInName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9_-]+`) })

// toolName is SERVER__TOOL, which every vendor takes. One that is too long ends
// with a digest in place of its own end.
func toolName(server, tool string) string {
	name := server + "__" + notInName().ReplaceAllString(tool, "_")
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(server + "__" + tool))
	return name[:maxName-9] + "_" + hex.EncodeToString(sum[:4])
}

// tool is a server's tool as ours. Its hints are the server's word, which a
// person trusted with more.
func (w serverOf) tool(name string, t *mcp.Tool, l *link) whet.Tool {
	title := cut(oneLine(cmp.Or(t.Title, t.Name)), 60)
	out := whet.Tool{
		Name: name, Doc: cut(title+"\n"+w.p.Provenance()+": "+strings.TrimSpace(t.Description), 1024),
		Destructive: true, OpenWorld: true,
		Input: sync.OnceValue(func() *whet.Schema { return schemaOf(t.InputSchema) }),
		Run: func(ctx context.Context, c *whet.Call) (*whet.Result, error) {
			return w.call(ctx, l, t.Name, c.Args)
		},
	}
	if a := t.Annotations; a != nil {
		out.ReadOnly, out.Idempotent = a.ReadOnlyHint, a.IdempotentHint
		out.Destructive = !a.ReadOnlyHint && (a.DestructiveHint == nil || *a.DestructiveHint)
		out.OpenWorld = a.OpenWorldHint == nil || *a.OpenWorldHint
	}
	return out
}

func (w serverOf) call(ctx context.Context, l *link, tool string, args json.RawMessage) (*whet.Result, error) {
	object := map[string]json.RawMessage{}
	if err := json.Unmarshal(args, &object); err != nil || object == nil {
		return nil, errors.New("the arguments are not a JSON object; send the call again with one")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, callTime, fmt.Errorf("no answer within %v", callTime))
	defer cancel()
	r, err := l.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: object})
	if err != nil {
		return nil, fmt.Errorf("the MCP server %s of package %s: %w; do without it, or try other arguments", w.server.Name, w.p.ID, l.why(ctx, err))
	}
	return &whet.Result{Text: textOf(r), Data: r.StructuredContent, Failed: r.IsError}, nil
}

// textOf is what a model can read of a result.
func textOf(r *mcp.CallToolResult) string {
	var parts []string
	for _, c := range r.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			parts = append(parts, c.Text)
		case *mcp.ImageContent:
			parts = append(parts, fmt.Sprintf("[an image, %s, %d bytes]", c.MIMEType, len(c.Data)))
		case *mcp.AudioContent:
			parts = append(parts, fmt.Sprintf("[a sound, %s, %d bytes]", c.MIMEType, len(c.Data)))
		case *mcp.ResourceLink:
			parts = append(parts, fmt.Sprintf("[a resource: %s]", c.URI))
		case *mcp.EmbeddedResource:
			if c.Resource != nil {
				parts = append(parts, cmp.Or(c.Resource.Text, fmt.Sprintf("[a resource: %s, %d bytes]", c.Resource.URI, len(c.Resource.Blob))))
			}
		}
	}
	if len(parts) == 0 && r.StructuredContent != nil {
		if b, err := json.Marshal(r.StructuredContent); err == nil {
			parts = append(parts, string(b))
		}
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n\n")
}
