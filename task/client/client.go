// Package client is how whet's faces reach the task runner: over its socket,
// starting it if it isn't there, and for hooks, which don't wait for anybody,
// through the files that the runner keeps.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/whet-dev/whet/internal/state"
	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/mail"
)

// A Client asks the runner of one user. The zero value is for the user's own.
type Client struct {
	// Dir is where the runner keeps its state; "" means the user's.
	Dir string
	// Start starts a runner that outlives us; nil means that one must be there.
	Start func(dir string) error

	once sync.Once
	http *http.Client
}

// startLimit is how long a runner that was just started may take to listen.
const startLimit = 10 * time.Second

func (c *Client) dir() (string, error) {
	if c.Dir != "" {
		return c.Dir, nil
	}
	return mail.Dir()
}

func (c *Client) setup(dir string) {
	c.once.Do(func() {
		c.http = &http.Client{Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "unix", state.Socket(dir))
			},
			DisableCompression: true,
		}}
	})
}

// Do asks the runner. Its error is a [*task.Error] if the runner refused, and
// ErrNone if there is no runner and none is to be started.
func (c *Client) Do(ctx context.Context, path string, q task.Request) (*task.Reply, error) {
	dir, err := c.dir()
	if err != nil {
		return nil, err
	}
	c.setup(dir)
	body, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	reply, err := c.ask(ctx, path, body)
	if !absent(err) {
		return reply, err
	}
	if c.Start == nil {
		return nil, ErrNone
	}
	if err := c.Start(dir); errors.Is(err, ErrNone) {
		return nil, err
	} else if err != nil {
		return nil, fmt.Errorf("starting whet's task runner: %w", err)
	}
	for limit := time.Now().Add(startLimit); time.Now().Before(limit); {
		if reply, err = c.ask(ctx, path, body); !absent(err) {
			return reply, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return nil, fmt.Errorf("whet's task runner was started and doesn't answer after %v; its log is %s", startLimit, LogFile(dir))
}

// ErrNone says that no runner is there.
var ErrNone = errors.New("whet's task runner is not running: nothing has been started in the background")

// LogFile is where a runner that was started on demand writes what went wrong.
func LogFile(dir string) string { return filepath.Join(dir, "serve.log") }

// absent reports whether nobody listens.
func absent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// maxReply bounds an answer, in bytes.
const maxReply = 64 << 20

func (c *Client) ask(ctx context.Context, path string, body []byte) (*task.Reply, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://whet"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	defer resp.Body.Close()
	if p := resp.Header.Get(task.ProtocolHeader); p != strconv.Itoa(task.Protocol) {
		return nil, fmt.Errorf("the task runner is of another version of whet; end it with whet serve --stop, its tasks go on afterwards")
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if err != nil {
		return nil, fmt.Errorf("reading the task runner's answer: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		e := &task.Error{}
		if err := json.Unmarshal(b, e); err != nil || e.Text == "" {
			return nil, fmt.Errorf("the task runner answered %s", resp.Status)
		}
		return nil, e
	}
	reply := &task.Reply{}
	return reply, json.Unmarshal(b, reply)
}

// openLog opens the log of a runner that is started on demand. One that has
// grown large begins anew.
func openLog(dir string) (*os.File, error) {
	const most = 1 << 20
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	if info, err := os.Stat(LogFile(dir)); err == nil && info.Size() > most {
		flags |= os.O_TRUNC
	}
	return os.OpenFile(LogFile(dir), flags, 0o600)
}
