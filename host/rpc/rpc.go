// Package rpc serves a kit to a plugin that runs inside its host: JSON-RPC 2.0,
// one message a line, on standard input and output. The plugin is a thin shim:
// it forwards what its host tells it, and lends its host's API by the calls of
// [Host], which go the other way.
//
// The first line out is the notification "hello" with whet's version and the
// number of the protocol, so that a shim of another version is noticed before
// anything is asked of it. The connection ends with its input: a host that
// dies takes this process along.
package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/internal/hosttool"
	"github.com/whet-dev/whet/internal/project"
)

// Protocol is the number of the protocol. A shim that speaks another is refused.
const Protocol = 1

// Setup makes what a session in dir needs. host lends the host's own API.
type Setup func(dir, worktree string, host *Host) Offer

// An Offer is what a connection has for its host.
type Offer struct {
	Kit   *whet.Kit
	Store func(session string) whet.Store
	// Config is added to the host's own configuration, in its words, by section;
	// what a person has there under the same name stays.
	Config map[string]any
}

// Server holds what a connection needs. All fields are required.
type Server struct {
	Version string
	Setup   Setup
	Log     *slog.Logger
}

// Serve answers until in ends or ctx is done.
func (s Server) Serve(ctx context.Context, in io.ReadCloser, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &connection{Server: s, running: map[string]context.CancelFunc{}, ready: make(chan struct{})}
	stream := &lines{in: in, dec: json.NewDecoder(in), enc: json.NewEncoder(out)}
	logger := slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug)
	conn := jsonrpc2.NewConn(ctx, stream, c, jsonrpc2.SetLogger(logger))
	c.host = &Host{conn: conn}
	close(c.ready)
	hello := map[string]any{"whet": s.Version, "protocol": Protocol}
	if err := conn.Notify(ctx, "hello", hello); err != nil {
		return fmt.Errorf("rpc: saying hello: %w", err)
	}
	select {
	case <-conn.DisconnectNotify():
	case <-ctx.Done():
		_ = conn.Close()
	}
	cancel()
	c.calls.Wait()
	return stream.trouble()
}

// lines is a stream of one JSON value a line.
type lines struct {
	in  io.Closer
	dec *json.Decoder
	enc *json.Encoder
	mu  sync.Mutex
	err error
}

func (l *lines) ReadObject(v any) error {
	err := l.dec.Decode(v)
	if err != nil && !errors.Is(err, io.EOF) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.err = err
	}
	return err
}

func (l *lines) WriteObject(v any) error { return l.enc.Encode(v) } // jsonrpc2 writes one at a time
func (l *lines) Close() error            { return l.in.Close() }

func (l *lines) trouble() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var syntax *json.SyntaxError
	if errors.As(l.err, &syntax) || errors.Is(l.err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("rpc: standard input is not JSON-RPC: %w", l.err)
	}
	return nil
}

type connection struct {
	Server
	host  *Host
	ready chan struct{} // closed when host is set
	calls sync.WaitGroup

	mu      sync.Mutex
	kit     *whet.Kit // nil until initialize
	store   func(string) whet.Store
	own     hosttool.Table
	session whet.Session // what all sessions of the connection share
	running map[string]context.CancelFunc
}

type initialize struct {
	Protocol  int    `json:"protocol"`
	Host      string `json:"host"`
	Brief     bool   `json:"brief"`
	Directory string `json:"directory"`
	Worktree  string `json:"worktree"`
}

// call is one use of a tool, before, after or instead of the host's own.
type call struct {
	ID        string          `json:"callID"`
	Tool      string          `json:"tool"`
	Args      json.RawMessage `json:"args"`
	SessionID string          `json:"sessionID"`
	Agent     string          `json:"agent"`
	Result    whet.Result     `json:"result"` // tool.after
	Event     string          `json:"event"`  // event
}

type toolInfo struct {
	Name        string       `json:"name"`
	Title       string       `json:"title"`
	Description string       `json:"description"`
	ReadOnly    bool         `json:"readOnly"`
	Input       *whet.Schema `json:"input"`
}

// Handle implements [jsonrpc2.Handler]: requests run side by
// side.
func (c *connection) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	serve := func() {
		<-c.ready
		jsonrpc2.HandlerWithError(c.handle).SuppressErrClosed().Handle(ctx, conn, req)
	}
	if req.Method == "initialize" { // what comes after it relies on it
		serve()
		return
	}
	c.calls.Go(serve)
}

func (c *connection) handle(ctx context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
	switch req.Method {
	case "initialize":
		var p initialize
		if err := params(req, &p); err != nil {
			return nil, err
		}
		return c.initialize(p)
	case "cancel":
		var p call
		if err := params(req, &p); err != nil {
			return nil, err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if stop := c.running[p.ID]; stop != nil {
			stop()
		}
		return nil, nil
	}
	var p call
	if err := params(req, &p); err != nil {
		return nil, err
	}
	kit, wc, err := c.call(req.Method, &p)
	if err != nil {
		return nil, err
	}
	switch req.Method {
	case "tool.before":
		return before(ctx, kit, wc), nil
	case "tool.after":
		return after(ctx, kit, wc, p.Result), nil
	case "tool.exec":
		return c.exec(ctx, kit, wc)
	case "session.reset":
		kit.Reset(ctx, wc.Session)
		return nil, nil
	case "session.prompt":
		kit.Reset(ctx, wc.Session)
		return map[string]string{"text": kit.Prompt(ctx, wc.Session)}, nil
	case "event":
		if c.host.Heard != nil {
			c.host.Heard(p.Event, p.SessionID)
		}
		return nil, nil
	}
	return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: fmt.Sprintf("unknown method %q", req.Method)}
}

func params(req *jsonrpc2.Request, v any) error {
	if req.Params == nil {
		return nil
	}
	if err := json.Unmarshal(*req.Params, v); err != nil {
		return &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: fmt.Sprintf("%s: bad params: %v", req.Method, err)}
	}
	return nil
}

func (c *connection) initialize(p initialize) (any, error) {
	if p.Protocol != Protocol {
		return nil, fmt.Errorf("the plugin speaks protocol %d, whet %s speaks %d; update the older of the two", p.Protocol, c.Version, Protocol)
	}
	if p.Worktree == "" || p.Worktree == "/" { // what hosts say outside of any repository
		p.Worktree = project.Worktree(p.Directory)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.host.Name, c.host.Brief = p.Host, p.Brief
	offer := c.Setup(p.Directory, p.Worktree, c.host)
	c.kit, c.store = offer.Kit, offer.Store
	c.session = whet.Session{Host: p.Host, Dir: p.Directory, Worktree: p.Worktree}
	c.own = own(p.Host)
	tools := []toolInfo{}
	for _, t := range offered(c.kit.Tools, c.own) {
		tools = append(tools, toolInfo{t.Name, t.Title(), t.Doc, t.ReadOnly, t.Input()})
	}
	reply := map[string]any{"version": c.Version, "tools": tools}
	if len(offer.Config) > 0 {
		reply["config"] = offer.Config
	}
	return reply, nil
}

// call turns the shim's words into ours.
func (c *connection) call(method string, p *call) (*whet.Kit, *whet.Call, error) {
	c.mu.Lock()
	kit, store, own, session := c.kit, c.store, c.own, c.session
	c.mu.Unlock()
	if kit == nil {
		return nil, nil, errors.New("initialize must come first")
	}
	wc := &whet.Call{ID: p.ID, Tool: p.Tool, Args: p.Args, Session: session}
	wc.Session.ID, wc.Session.Agent = p.SessionID, p.Agent
	if p.SessionID != "" && method != "event" {
		wc.Session.Store = store(p.SessionID)
	}
	if method == "tool.exec" {
		return kit, wc, nil // one of ours
	}
	tool := own[p.Tool]
	own.Name(wc)
	if method == "tool.after" && !p.Result.Failed {
		p.Result.Changed = tool.Edited(wc)
	}
	return kit, wc, nil
}

type verdict struct {
	Args   json.RawMessage `json:"args,omitempty"`   // run the call with these instead
	Refuse string          `json:"refuse,omitempty"` // stop the call, tell the model this
}

func before(ctx context.Context, kit *whet.Kit, wc *whet.Call) (v verdict) {
	was := string(wc.Args)
	if err := kit.Before(ctx, wc); err != nil {
		v.Refuse = err.Error()
	} else if string(wc.Args) != was {
		v.Args = wc.Args
	}
	return v
}

// A remark is what the guards add to a result. The result itself isn't sent
// back: the host has it, and a copy may differ where it isn't UTF-8.
type remark struct {
	Note string `json:"note,omitempty"` // goes behind the result's text as it is
}

func after(ctx context.Context, kit *whet.Kit, wc *whet.Call, r whet.Result) remark {
	was := r.Text
	kit.After(ctx, wc, &r)
	return remark{strings.TrimPrefix(r.Text, was)}
}

func (c *connection) exec(ctx context.Context, kit *whet.Kit, wc *whet.Call) (*whet.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	id := wc.ID
	c.mu.Lock()
	c.running[id] = cancel
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.running, id)
	}()
	wc.Session.Ask = func(ctx context.Context, p whet.Permission) error { return c.host.ask(ctx, id, p) }
	return kit.Call(ctx, wc)
}
