package packages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/whet-dev/whet/internal/proc"
	"github.com/whet-dev/whet/market/plugin"
)

// errUntrusted is never met by a caller that asks for what a package has in
// force: it is the last bar before something runs.
var errUntrusted = errors.New("no person has agreed to it yet")

// command is how a server of the package is started.
func (e environ) command(s plugin.Server) (*exec.Cmd, error) {
	if !e.p.Trusted {
		return nil, fmt.Errorf("%w; look at it and run: whet market trust %s", errUntrusted, e.p.ID)
	}
	if err := e.ready(); err != nil {
		return nil, err
	}
	var args []string
	for _, a := range s.Args {
		a, err := e.expand(a)
		if err != nil {
			return nil, err
		}
		args = append(args, a)
	}
	cmd := exec.Command(e.program(s.Command), args...)
	cmd.Env = e.list()
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		v, err := e.expand(s.Env[name])
		if err != nil {
			return nil, err
		}
		cmd.Env = append(cmd.Env, name+"="+v)
	}
	dir, err := e.expand(s.Dir)
	switch {
	case err != nil:
		return nil, err
	case dir == "":
		dir = e.project
	case !filepath.IsAbs(dir):
		dir = filepath.Join(e.p.Root, dir)
	}
	cmd.Dir = dir
	return cmd, nil
}

// remote is how a server that runs elsewhere is reached.
func (e environ) remote(s plugin.Server) (mcp.Transport, error) {
	if !e.p.Trusted {
		return nil, fmt.Errorf("%w; look at it and run: whet market trust %s", errUntrusted, e.p.ID)
	}
	if err := e.ready(); err != nil {
		return nil, err
	}
	headers := http.Header{}
	for name, value := range s.Headers {
		v, err := e.expand(value)
		if err != nil {
			return nil, err
		}
		headers.Set(name, v)
	}
	// Headers may hold keys: they go to the server that was agreed to alone.
	client := &http.Client{
		Transport:     withHeaders{headers},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	address, err := e.expand(s.URL)
	if err != nil {
		return nil, err
	}
	if s.Type == "sse" {
		return &mcp.SSEClientTransport{Endpoint: address, HTTPClient: client}, nil
	}
	return &mcp.StreamableClientTransport{Endpoint: address, HTTPClient: client, MaxRetries: -1}, nil
}

type withHeaders struct{ headers http.Header }

func (t withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range t.headers {
		r.Header[name] = values
	}
	return http.DefaultTransport.RoundTrip(r)
}

// A link is a connection to a server of a package.
type link struct {
	session *mcp.ClientSession
	child   *proc.Child // nil if the server runs elsewhere
	stderr  *tail
}

// connect starts the server, or reaches it. ctx bounds that and no more.
func (e environ) connect(ctx context.Context, s plugin.Server, client *mcp.Client) (*link, error) {
	l := &link{stderr: &tail{}}
	var transport mcp.Transport
	if s.Type == "stdio" {
		cmd, err := e.command(s)
		if err != nil {
			return nil, err
		}
		in, err1 := cmd.StdinPipe()
		out, err2 := cmd.StdoutPipe()
		if err := cmp.Or(err1, err2); err != nil {
			return nil, err
		}
		cmd.Stderr = l.stderr
		if l.child, err = proc.Start(cmd); err != nil {
			return nil, err
		}
		transport = &mcp.IOTransport{Reader: out, Writer: in, MaxLineLength: maxMessage}
	} else {
		var err error
		if transport, err = e.remote(s); err != nil {
			return nil, err
		}
	}
	var err error
	if l.session, err = client.Connect(ctx, transport, nil); err != nil {
		err = l.why(ctx, err)
		l.close()
		return nil, err
	}
	return l, nil
}

// maxMessage bounds one message of a server, in bytes.
const maxMessage = 8 << 20

// why says what went wrong, with the last words of the server.
func (l *link) why(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	} else if l.child != nil && errors.Is(err, mcp.ErrConnectionClosed) {
		select {
		case <-l.child.Done(): // which may be told after the end of its output
			err = fmt.Errorf("it ended: %w", cmp.Or(l.child.Err(), io.EOF))
		case <-time.After(5 * time.Second):
		}
	}
	if said := l.stderr.String(); said != "" {
		return fmt.Errorf("%w: %s", err, said)
	}
	return err
}

func (l *link) close() {
	if l.session != nil {
		_ = l.session.Close() // it is going away
	}
	if l.child != nil {
		l.child.Stop()
	}
}

// tail keeps the last line that is written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

const maxTail = 2 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	t.b = t.b[max(0, len(t.b)-maxTail):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.b)), "\n")
	return cut(strings.ToValidUTF8(oneLine(lines[len(lines)-1]), "\ufffd"), 300)
}
