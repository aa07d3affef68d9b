// Package mcp serves a kit's tools over the Model Context Protocol, on standard
// input and output or over HTTP. Clients of every revision of the protocol are
// served, the sessionless ones of 2026-07-28 too.
package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/whet-dev/whet"
)

// A Server holds what is served. Kit and Session are required.
type Server struct {
	Kit     *whet.Kit
	Session whet.Session                    // of every call, except for Store; its ID where the client has none
	Stores  func(session string) whet.Store // by session id
	Version string
	Log     *slog.Logger
}

// sdkServer makes the SDK's server. Tools are added below the SDK's typed
// layer: that one refuses what models really send ("5" for 5, one string for
// a list), and its schemas use unions that some vendors reject.
func (s *Server) sdkServer() *sdk.Server {
	srv := sdk.NewServer(&sdk.Implementation{Name: "whet", Title: "whet", Version: s.Version}, &sdk.ServerOptions{
		Logger:       s.Log,
		Capabilities: &sdk.ServerCapabilities{}, // the default would promise logging
	})
	for _, t := range s.Kit.Tools {
		srv.AddTool(description(t), func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return s.call(ctx, t, req)
		})
	}
	return srv
}

func description(t whet.Tool) *sdk.Tool {
	open, destructive := t.OpenWorld, t.Destructive
	return &sdk.Tool{
		Name: t.Name, Title: t.Title(), Description: t.Doc, InputSchema: t.Input(),
		Annotations: &sdk.ToolAnnotations{
			Title: t.Title(), ReadOnlyHint: t.ReadOnly, IdempotentHint: t.Idempotent,
			DestructiveHint: &destructive, OpenWorldHint: &open,
		},
	}
}

func (s *Server) call(ctx context.Context, t whet.Tool, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	c := &whet.Call{Tool: t.Name, Args: req.Params.Arguments, Session: s.Session}
	c.Session.ID = cmp.Or(s.Session.ID, "mcp")
	if id := req.Session.ID(); id != "" {
		c.Session.ID = id
	}
	c.Session.Store = s.Stores(c.Session.ID)
	c.Progress = progress(ctx, req)
	if c.Session.Dir == "" && !t.OpenWorld {
		return failed("whet does not know the project directory: it was started in a home or root directory. Start it with --dir DIR, or set CLAUDE_PROJECT_DIR."), nil
	}
	r, err := s.Kit.Call(ctx, c)
	if err != nil {
		return nil, err
	}
	out := &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: r.Text}}, IsError: r.Failed}
	if r.Data != nil {
		out.StructuredContent, err = object(r.Data)
	}
	return out, err
}

func failed(text string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}, IsError: true}
}

// object returns data as a JSON object: older clients take nothing else.
func object(data any) (json.RawMessage, error) {
	b, err := json.Marshal(data)
	if err != nil || len(b) > 0 && b[0] == '{' {
		return b, err
	}
	return json.Marshal(map[string]json.RawMessage{"result": b})
}

// progressEvery keeps a fast tool from flooding its client.
const progressEvery = 500 * time.Millisecond

// progress returns how the call's progress reaches the client; nil if the
// client didn't ask for it.
func progress(ctx context.Context, req *sdk.CallToolRequest) func(done, total int64, msg string) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	var mu sync.Mutex
	var last time.Time
	return func(done, total int64, msg string) {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); now.Sub(last) >= progressEvery {
			last = now
			_ = req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
				ProgressToken: token, Progress: float64(done), Total: float64(total), Message: msg,
			}) // a client that went away is noticed by the call itself
		}
	}
}
