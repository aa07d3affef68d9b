package rpc_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/host/rpc"
	"github.com/whet-dev/whet/internal/state"
)

type text string

func (t text) String() string { return string(t) }

// testKit has tools that do what the tests need of the host, and a guard.
func testKit(host *rpc.Host, started chan<- struct{}) *whet.Kit {
	heard := make(chan string, 1)
	host.Heard = func(event, session string) { heard <- event + " " + session }
	type say struct {
		Say string `json:"say" doc:"what"`
	}
	return &whet.Kit{
		Tools: []whet.Tool{
			whet.New("echo", "Say it.", func(_ context.Context, c *whet.Call, in say) (text, error) {
				return text(in.Say + " in " + c.Session.Dir + " of " + c.Session.Worktree + " to " + c.Session.Agent), nil
			}),
			whet.New("ask", "Ask.", func(ctx context.Context, c *whet.Call, in say) (text, error) {
				if err := c.Session.Allow(ctx, whet.Permission{Action: "webfetch", Subject: in.Say, Reason: "to see"}); err != nil {
					return "", err
				}
				return "allowed", nil
			}),
			whet.New("api", "Use the host's API.", func(ctx context.Context, c *whet.Call, in say) (text, error) {
				status, body, err := host.HTTP(ctx, "POST", "/session", json.RawMessage(`{"title":"x"}`))
				if err != nil {
					return "", err
				}
				b, err := json.Marshal(status)
				return text(string(b) + string(body)), err
			}),
			whet.New("heard", "Say what was heard.", func(context.Context, *whet.Call, struct{}) (text, error) {
				return text(<-heard), nil
			}),
			whet.New("wait", "Wait.", func(ctx context.Context, _ *whet.Call, _ struct{}) (text, error) {
				started <- struct{}{}
				<-ctx.Done()
				return "", ctx.Err()
			}),
		},
		Guards: []whet.Guard{{
			Name: "g",
			Before: func(_ context.Context, c *whet.Call) error {
				if strings.Contains(string(c.Args), "BAD") {
					return whet.Refuse("no")
				}
				c.Args = []byte(strings.ReplaceAll(string(c.Args), "OLD", "NEW"))
				return nil
			},
			After: func(_ context.Context, c *whet.Call, r *whet.Result) error {
				return whet.Update(c.Session, "n", func(n *int) error {
					*n++
					r.Note("call %d", *n)
					return nil
				})
			},
			Prompt: func(_ context.Context, s whet.Session) (string, error) { return "a board for " + s.ID, nil },
			Reset: func(_ context.Context, s whet.Session) error {
				return whet.Update(s, "n", func(n *int) error { *n = 0; return nil })
			},
		}},
		Log: slog.New(slog.DiscardHandler),
	}
}

// A shim is the other end, line by line.
type shim struct {
	t       *testing.T
	in      io.WriteCloser
	out     *bufio.Reader
	done    chan error
	started chan struct{}
}

func dial(t *testing.T) *shim {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	s := &shim{t: t, in: inW, out: bufio.NewReader(outR), done: make(chan error, 1), started: make(chan struct{}, 1)}
	stores := state.Memories()
	srv := rpc.Server{Version: "1.2.3", Log: slog.New(slog.DiscardHandler), Setup: func(_, _ string, h *rpc.Host) rpc.Offer {
		return rpc.Offer{Kit: testKit(h, s.started), Store: stores}
	}}
	go func() { s.done <- srv.Serve(t.Context(), inR, outW); outW.Close() }()
	t.Cleanup(func() { inW.Close(); <-s.done })
	return s
}

func (s *shim) send(line string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shim) want(line string) {
	s.t.Helper()
	got, err := s.out.ReadString('\n')
	if err != nil {
		s.t.Fatal(err)
	}
	if compact(s.t, got) != compact(s.t, line) {
		s.t.Fatalf("\n got %s\nwant %s", compact(s.t, got), compact(s.t, line))
	}
}

// compact gives equal JSON one form.
func compact(t *testing.T, s string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const hello = `{"method":"hello","params":{"protocol":1,"whet":"1.2.3"},"jsonrpc":"2.0"}`

func ready(t *testing.T) *shim {
	s := dial(t)
	s.want(hello)
	s.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol":1,"host":"opencode","directory":"/p","worktree":"/"}}`)
	line, err := s.out.ReadString('\n')
	if err != nil || !strings.Contains(line, `{"name":"echo","title":"Say it.","description":"Say it.","readOnly":false,"input":{"type":"object",`) {
		t.Fatalf("got %s, %v", line, err)
	}
	return s
}

func TestDialogue(t *testing.T) {
	s := ready(t)
	for _, step := range [][2]string{
		{`{"jsonrpc":"2.0","id":2,"method":"tool.before","params":{"callID":"c","tool":"read","sessionID":"s","args":{"a":"x"}}}`, `{"id":2,"result":{},"jsonrpc":"2.0"}`},
		{`{"jsonrpc":"2.0","id":3,"method":"tool.before","params":{"callID":"c","tool":"read","sessionID":"s","args":{"a":"OLD"}}}`, `{"id":3,"result":{"args":{"a":"NEW"}},"jsonrpc":"2.0"}`},
		{`{"jsonrpc":"2.0","id":4,"method":"tool.before","params":{"callID":"c","tool":"read","sessionID":"s","args":{"a":"BAD"}}}`, `{"id":4,"result":{"refuse":"no"},"jsonrpc":"2.0"}`},
		{`{"jsonrpc":"2.0","id":5,"method":"tool.after","params":{"callID":"c","tool":"read","sessionID":"s","args":{},"result":{"text":"t"}}}`, `{"id":5,"result":{"note":"\n\ncall 1"},"jsonrpc":"2.0"}`},
		{`{"jsonrpc":"2.0","id":6,"method":"tool.after","params":{"callID":"c","tool":"read","sessionID":"other","args":{},"result":{"text":"t","failed":true}}}`, `{"id":6,"result":{"note":"\n\ncall 1"},"jsonrpc":"2.0"}`},
		{`{"jsonrpc":"2.0","id":7,"method":"tool.exec","params":{"callID":"c","tool":"echo","sessionID":"s","agent":"fixer","args":{"say":"hi"}}}`, `{"id":7,"result":{"text":"hi in /p of /p to fixer\n\ncall 2","data":"hi in /p of /p to fixer"},"jsonrpc":"2.0"}`},
		{`{"jsonrpc":"2.0","id":8,"method":"session.reset","params":{"sessionID":"s"}}`, `{"id":8,"result":null,"jsonrpc":"2.0"}`},
		{`{"jsonrpc":"2.0","id":9,"method":"tool.after","params":{"callID":"c","tool":"read","sessionID":"s","args":{},"result":{"text":""}}}`, `{"id":9,"result":{"note":"call 1"},"jsonrpc":"2.0"}`},
		{`{"jsonrpc":"2.0","id":13,"method":"session.prompt","params":{"sessionID":"s"}}`, `{"id":13,"result":{"text":"a board for s"},"jsonrpc":"2.0"}`},
		{`{"jsonrpc":"2.0","id":14,"method":"event","params":{"event":"session.idle","sessionID":"s"}}`, `{"id":14,"result":null,"jsonrpc":"2.0"}`},
		{`{"jsonrpc":"2.0","id":15,"method":"tool.exec","params":{"callID":"c","tool":"heard","sessionID":"other","args":{}}}`, `{"id":15,"result":{"text":"session.idle s\n\ncall 2","data":"session.idle s"},"jsonrpc":"2.0"}`},
		{`{"jsonrpc":"2.0","id":10,"method":"nosuch","params":{}}`, `{"id":10,"error":{"code":-32601,"message":"unknown method \"nosuch\""},"jsonrpc":"2.0"}`},
		{`{"jsonrpc":"2.0","id":11,"method":"tool.exec","params":{"tool":5}}`, `{"id":11,"error":{"code":-32602,"message":"tool.exec: bad params: json: cannot unmarshal number into Go struct field call.tool of type string"},"jsonrpc":"2.0"}`},
		{`{"jsonrpc":"2.0","id":12,"method":"tool.exec","params":{"tool":"nosuch"}}`, `{"id":12,"error":{"code":0,"message":"no such tool: \"nosuch\"; there are: echo, ask, api, heard, wait"},"jsonrpc":"2.0"}`},
	} {
		s.send(step[0])
		s.want(step[1])
	}
}

// The host's own tools reach the guards under our names, with their path and
// with the files that they wrote; where whet has a tool of the same name, the
// host keeps its own, but for the page fetcher.
func TestHostTools(t *testing.T) {
	for host, want := range map[string]string{
		"opencode":  `["webfetch","echo"]`,
		"opencode2": `["webfetch","echo"]`,
		"other":     `["grep","apply_patch","webfetch","echo"]`,
	} {
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		var seen []string
		kit := &whet.Kit{Guards: []whet.Guard{{Name: "g", After: func(_ context.Context, c *whet.Call, r *whet.Result) error {
			seen = append(seen, c.Tool+" "+c.Path+" "+strings.Join(r.Changed, ","))
			return nil
		}}}}
		for _, name := range []string{"grep", "apply_patch", "webfetch", "echo"} {
			kit.Tools = append(kit.Tools, whet.New(name, "Do.", func(context.Context, *whet.Call, struct{}) (text, error) { return "", nil }))
		}
		srv := rpc.Server{Version: "1", Log: slog.New(slog.DiscardHandler), Setup: func(_, _ string, _ *rpc.Host) rpc.Offer {
			return rpc.Offer{Kit: kit, Store: state.Memories(), Config: map[string]any{"agent": map[string]any{"critic": "x"}}}
		}}
		done := make(chan error, 1)
		go func() { done <- srv.Serve(t.Context(), inR, outW) }()
		lines := bufio.NewReader(outR)
		type reply struct {
			Tools  []struct{ Name string }
			Config map[string]map[string]string
		}
		answer := func(line string) (result reply) {
			if line != "" {
				go func() { _, _ = io.WriteString(inW, line+"\n") }()
			}
			b, err := lines.ReadBytes('\n')
			if err != nil {
				t.Fatal(err)
			}
			var m struct{ Result json.RawMessage }
			if err := json.Unmarshal(b, &m); err != nil {
				t.Fatal(err)
			}
			_ = json.Unmarshal(m.Result, &result)
			return result
		}
		answer("")
		var names []string
		first := answer(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol":1,"host":"` + host + `","directory":"/p"}}`)
		if first.Config["agent"]["critic"] != "x" {
			t.Errorf("%s: the host's configuration gets %v", host, first.Config)
		}
		for _, tool := range first.Tools {
			names = append(names, tool.Name)
		}
		if b, err := json.Marshal(names); err != nil || string(b) != want {
			t.Errorf("%s offers %s, want %s", host, b, want)
		}
		patch := map[string]string{"opencode": "apply_patch", "opencode2": "patch", "other": "apply_patch"}[host]
		answer(`{"jsonrpc":"2.0","id":2,"method":"tool.after","params":{"tool":"` + patch + `","args":{"patchText":"*** Add File: a.go"},"result":{"text":"ok"}}}`)
		answer(`{"jsonrpc":"2.0","id":3,"method":"tool.after","params":{"tool":"edit","args":{"filePath":"b.go"},"result":{"text":"ok","changed":["/etc/passwd"]}}}`)
		wantSeen := "apply_patch  /p/a.go; edit b.go /p/b.go"
		if host == "other" {
			wantSeen = "apply_patch  ; edit  "
		}
		if got := strings.Join(seen, "; "); got != wantSeen {
			t.Errorf("%s: guards saw %q, want %q", host, got, wantSeen)
		}
		inW.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestReverseCalls(t *testing.T) {
	s := ready(t)
	s.send(`{"jsonrpc":"2.0","id":2,"method":"tool.exec","params":{"callID":"c9","tool":"ask","args":{"say":"http://x"}}}`)
	s.want(`{"method":"tool.ask","params":{"callID":"c9","pattern":"http://x","permission":"webfetch","reason":"to see"},"id":0,"jsonrpc":"2.0"}`)
	s.send(`{"jsonrpc":"2.0","id":0,"result":{}}`)
	s.want(`{"id":2,"result":{"text":"allowed\n\ncall 1","data":"allowed"},"jsonrpc":"2.0"}`)

	s.send(`{"jsonrpc":"2.0","id":3,"method":"tool.exec","params":{"callID":"c9","tool":"ask","args":{"say":"http://x"}}}`)
	s.want(`{"method":"tool.ask","params":{"callID":"c9","pattern":"http://x","permission":"webfetch","reason":"to see"},"id":1,"jsonrpc":"2.0"}`)
	s.send(`{"jsonrpc":"2.0","id":1,"result":{"refuse":"the user rejected it"}}`)
	s.want(`{"id":3,"result":{"text":"the user rejected it\n\ncall 1","failed":true},"jsonrpc":"2.0"}`)

	s.send(`{"jsonrpc":"2.0","id":4,"method":"tool.exec","params":{"callID":"c9","tool":"api","sessionID":"s","args":{"say":""}}}`)
	s.want(`{"method":"host.http","params":{"method":"POST","path":"/session","body":{"title":"x"}},"id":2,"jsonrpc":"2.0"}`)
	s.send(`{"jsonrpc":"2.0","id":2,"result":{"status":200,"body":{"id":"ses_1"}}}`)
	s.want(`{"id":4,"result":{"text":"200{\"id\":\"ses_1\"}\n\ncall 1","data":"200{\"id\":\"ses_1\"}"},"jsonrpc":"2.0"}`)
}

func TestCancel(t *testing.T) {
	s := ready(t)
	s.send(`{"jsonrpc":"2.0","id":2,"method":"tool.exec","params":{"callID":"c1","tool":"wait","args":{}}}`)
	<-s.started
	s.send(`{"jsonrpc":"2.0","method":"cancel","params":{"callID":"c1"}}`)
	s.want(`{"id":2,"result":{"text":"context canceled\n\ncall 1","failed":true},"jsonrpc":"2.0"}`)
}

func TestHandshake(t *testing.T) {
	s := dial(t)
	s.want(hello)
	s.send(`{"jsonrpc":"2.0","id":1,"method":"tool.exec","params":{"tool":"echo"}}`)
	s.want(`{"id":1,"error":{"code":0,"message":"initialize must come first"},"jsonrpc":"2.0"}`)
	s.send(`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocol":7}}`)
	s.want(`{"id":2,"error":{"code":0,"message":"the plugin speaks protocol 7, whet 1.2.3 speaks 1; update the older of the two"},"jsonrpc":"2.0"}`)
}

// The end of input ends everything, also a call that would wait for ever.
func TestEndOfInput(t *testing.T) {
	s := ready(t)
	s.send(`{"jsonrpc":"2.0","id":2,"method":"tool.exec","params":{"callID":"c1","tool":"wait","args":{}}}`)
	<-s.started
	s.in.Close()
	go func() { _, _ = io.Copy(io.Discard, s.out) }()
	select {
	case err := <-s.done:
		s.done <- nil
		if err != nil {
			t.Errorf("got %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("still running ten seconds after its input ended")
	}
}

func TestGarbage(t *testing.T) {
	s := dial(t)
	s.want(hello)
	s.send(`hello there`)
	err := <-s.done
	s.done <- nil
	if err == nil || err.Error() != "rpc: standard input is not JSON-RPC: invalid character 'h' looking for beginning of value" {
		t.Errorf("got %v", err)
	}
}
