//go:build unix

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/host/rpc"
	"github.com/whet-dev/whet/internal/scriptmodel"
	"github.com/whet-dev/whet/internal/state"
	"github.com/whet-dev/whet/npm/opencode"
)

// serveReverse is what this test binary does as the plugin's child: the real
// protocol over a kit whose one tool uses everything that the host lends.
func serveReverse() int {
	s := rpc.Server{Version: "test", Log: slog.New(slog.DiscardHandler), Setup: func(_, _ string, h *rpc.Host) rpc.Offer {
		type in struct {
			URL string `json:"url" doc:"address"`
			Raw bool   `json:"raw,omitempty" doc:"as it is"`
		}
		tool := whet.New("webfetch", "Fetch by the test's child.", func(ctx context.Context, c *whet.Call, in in) (said, error) {
			if err := c.Session.Allow(ctx, whet.Permission{Action: "webfetch", Subject: in.URL, Reason: "to test"}); err != nil {
				return "", err
			}
			text, err := second(ctx, h, c.Session.ID)
			if err != nil {
				return "", err
			}
			return said(text + " for " + c.Session.Agent), nil
		})
		board := whet.Guard{Name: "board", Prompt: func(context.Context, whet.Session) (string, error) { return "THE BOARD", nil }}
		return rpc.Offer{Kit: &whet.Kit{Tools: []whet.Tool{tool}, Guards: []whet.Guard{board}}, Store: state.Memories()}
	}}
	if err := s.Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

type said string

func (s said) String() string { return string(s) }

// second asks a model in a session of its own, as a plugin's helper would.
func second(ctx context.Context, h *rpc.Host, parent string) (string, error) {
	var session struct{ ID string }
	if err := request(ctx, h, "POST", "/session", map[string]any{"parentID": parent, "title": "second"}, &session); err != nil {
		return "", err
	}
	var answer struct{ Parts []struct{ Text string } }
	err := request(ctx, h, "POST", "/session/"+session.ID+"/message", map[string]any{
		"model": map[string]string{"providerID": "scripted", "modelID": "plain"}, "tools": map[string]bool{"*": false},
		"parts": []any{map[string]string{"type": "text", "text": "[[script:second]] sum it up"}},
	}, &answer)
	if err != nil {
		return "", err
	}
	text := ""
	for _, p := range answer.Parts {
		text += p.Text
	}
	return text, request(ctx, h, "DELETE", "/session/"+session.ID, nil, new(bool))
}

func request(ctx context.Context, h *rpc.Host, method, path string, in, out any) error {
	var body json.RawMessage
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = b
	}
	status, reply, err := h.HTTP(ctx, method, path, body)
	if err != nil {
		return err
	}
	if status != 200 {
		return fmt.Errorf("%s %s: status %d: %s", method, path, status, reply)
	}
	return json.Unmarshal(reply, out)
}

var reverseScript = scriptmodel.Script{
	"reverse": {
		use("webfetch", args{"url": "http://example.test/"}),
		use("task", args{"description": "look", "prompt": "[[script:child]] look", "subagent_type": "general"}),
		say("done"),
	},
	"child":  {use("webfetch", args{"url": "http://example.test/child"}), say("child done")},
	"second": {say("SUMMARY")},
}

// reverseHome is a project whose plugin has this test binary as its child.
func reverseHome(t *testing.T) (*home, *scriptmodel.Server) {
	srv := model(t, reverseScript)
	h := openCodeHome(t, t.TempDir(), srv.URL)
	plugSelf(h)
	return h, srv
}

func plugSelf(h *home) {
	self, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	h.write(filepath.Join(h.dir, ".config/opencode/plugin/whet.js"), string(opencode.Plugin(self)))
}

// checkReverse: the built-in webfetch is replaced in the root session and in a
// child's, and Go reached the host's API, permissions and prompts from both.
func checkReverse(t *testing.T, srv *scriptmodel.Server) {
	t.Helper()
	for _, scenario := range []string{"reverse", "child"} {
		wants(t, asked(srv, scenario)[len(asked(srv, scenario))-1], "Fetch by the test's child.", `"required":["url"]`, "SUMMARY for ", "THE BOARD")
	}
	wants(t, last(t, srv, "reverse"), "SUMMARY for build", "child done")
	wants(t, last(t, srv, "child"), "SUMMARY for general")
	lacks(t, asked(srv, "second")[0], `"tools":[{`)
}

func TestPeerOpenCodeRun(t *testing.T) {
	bin := openCode(t)
	h, srv := reverseHome(t)
	h.run(t, nil, bin, "run", "--title", "t", "[[script:reverse]] go")
	checkReverse(t, srv)
}

func TestPeerOpenCodeACP(t *testing.T) {
	bin := openCode(t)
	h, srv := reverseHome(t)
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, "acp") // ends with its input
	cmd.Dir, cmd.Env = h.ws, h.env
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &acpClient{in: stdin, out: bufio.NewReader(stdout)}
	c.call(t, "initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}})
	session := c.call(t, "session/new", map[string]any{"cwd": h.ws, "mcpServers": []any{}})
	var made struct{ SessionID string }
	if err := json.Unmarshal(session, &made); err != nil {
		t.Fatal(err)
	}
	result := c.call(t, "session/prompt", map[string]any{
		"sessionId": made.SessionID, "prompt": []any{map[string]string{"type": "text", "text": "[[script:reverse]] go"}},
	})
	wants(t, string(result), `"end_turn"`)
	checkReverse(t, srv)
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// An acpClient speaks the little of the Agent Client Protocol that a test needs.
type acpClient struct {
	in  io.Writer
	out *bufio.Reader
	id  int
}

func (c *acpClient) call(t *testing.T, method string, params any) json.RawMessage {
	t.Helper()
	c.id++
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.id, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.in.Write(append(b, '\n')); err != nil {
		t.Fatal(err)
	}
	for {
		line, err := c.out.ReadString('\n')
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		var m struct {
			ID     *int
			Method string
			Result json.RawMessage
			Error  json.RawMessage
		}
		if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &m) != nil || m.Method != "" || m.ID == nil || *m.ID != c.id {
			continue
		}
		if m.Error != nil {
			t.Fatalf("%s: %s", method, m.Error)
		}
		return m.Result
	}
}
