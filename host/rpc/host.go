package rpc

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/whet-dev/whet"
)

// A Host is the API of the host around the plugin, reached through the shim:
// hosts without a listening server, or with a secret one, can be called by no
// other way.
type Host struct {
	Name string
	// Brief says that the host ends, or shows nothing more, as soon as its model
	// rests, so that nothing can go on in its background.
	Brief bool
	// Heard, if Setup sets it, is told of the events of the host's sessions.
	Heard func(event, session string)

	conn *jsonrpc2.Conn
}

// HTTP makes a request of the host's own API. body is JSON or nil.
func (h *Host) HTTP(ctx context.Context, method, path string, body json.RawMessage) (status int, reply json.RawMessage, err error) {
	var r struct {
		Status int             `json:"status"`
		Body   json.RawMessage `json:"body"`
	}
	p := struct {
		Method string          `json:"method"`
		Path   string          `json:"path"`
		Body   json.RawMessage `json:"body,omitempty"`
	}{method, path, body}
	if err := h.conn.Call(ctx, "host.http", p, &r); err != nil {
		return 0, nil, fmt.Errorf("asking the host for %s %s: %w", method, path, err)
	}
	return r.Status, r.Body, nil
}

// ask puts the question to the person through the host's own permission system.
func (h *Host) ask(ctx context.Context, callID string, p whet.Permission) error {
	var r struct {
		Refuse string `json:"refuse"`
	}
	q := map[string]string{"callID": callID, "permission": p.Action, "pattern": p.Subject, "reason": p.Reason}
	if err := h.conn.Call(ctx, "tool.ask", q, &r); err != nil {
		return fmt.Errorf("asking for permission: %w", err)
	}
	if r.Refuse != "" {
		return whet.Refuse("%s", r.Refuse)
	}
	return nil
}
