package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/host/mcp"
	"github.com/whet-dev/whet/internal/state"
)

type list []string

func (l list) String() string { return strings.Join(l, " ") }

type greeting struct {
	Who string `json:"who"`
	N   int    `json:"n"`
}

func (g greeting) String() string { return "hello " + g.Who }

func server(dir string) *mcp.Server {
	greet := whet.New("greet", "Greet someone.\n\nPolitely.", func(_ context.Context, c *whet.Call, in struct {
		Who string   `json:"who" doc:"whom"`
		N   int      `json:"n,omitempty" doc:"how often"`
		All []string `json:"all,omitempty" doc:"others"`
	},
	) (greeting, error) {
		if in.Who == "nobody" {
			return greeting{}, errors.New("there is nobody")
		}
		return greeting{in.Who, in.N}, nil
	})
	greet.ReadOnly, greet.Idempotent = true, true
	names := whet.New("names", "List names.", func(context.Context, *whet.Call, struct{}) (list, error) { return list{"a", "b"}, nil })
	names.OpenWorld, names.Destructive = true, true
	slow := whet.New("slow", "Take long.", func(ctx context.Context, c *whet.Call, _ struct{}) (list, error) {
		for i := range 1000 { // a flood, which must be thinned
			c.Report(int64(i), 1000, "step")
		}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	count := whet.Guard{Name: "count", After: func(_ context.Context, c *whet.Call, r *whet.Result) error {
		return whet.Update(c.Session, "n", func(n *int) error { *n++; r.Note("call %d", *n); return nil })
	}}
	return &mcp.Server{
		Kit:     &whet.Kit{Tools: []whet.Tool{greet, names, slow}, Guards: []whet.Guard{count}},
		Session: whet.Session{Host: "mcp", Dir: dir}, Stores: state.Memories(), Version: "1.2.3", Log: slog.New(slog.DiscardHandler),
	}
}

// connect returns a client of s over pipes, as over standard input and output.
func connect(t *testing.T, s *mcp.Server, o *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.ServeStdio(t.Context(), inR, outW) }()
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, o).Connect(t.Context(), &sdk.IOTransport{Reader: outR, Writer: inW}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		if err := <-done; err != nil {
			t.Errorf("server: %v", err)
		}
	})
	return c
}

func TestTools(t *testing.T) {
	c := connect(t, server("/p"), nil)
	r, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tool := range r.Tools {
		a := tool.Annotations
		b, err := json.Marshal([]any{tool.Name, tool.Title, tool.Description, a.ReadOnlyHint, a.IdempotentHint, *a.DestructiveHint, *a.OpenWorldHint, tool.OutputSchema})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(b))
	}
	want := []string{
		`["greet","Greet someone.","Greet someone.\n\nPolitely.",true,true,false,false,null]`,
		`["names","List names.","List names.",false,false,true,true,null]`,
		`["slow","Take long.","Take long.",false,false,false,false,null]`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if caps := fmt.Sprintf("%+v", c.InitializeResult().Capabilities); strings.Contains(strings.ToLower(caps), "logging:0x") {
		t.Errorf("the server promises logging: %s", caps)
	}
}

func TestCalls(t *testing.T) {
	c := connect(t, server("/p"), nil)
	for _, x := range []struct {
		tool, args, text, data string
		failed                 bool
	}{
		{"greet", `{"who":"ann","n":"5","all":"x","extra":1}`, "hello ann\n\nnote: ignored unknown parameter \"extra\"; known: who, n, all\n\ncall 1", `{"n":5,"who":"ann"}`, false},
		{"greet", `{"Who":"bob"}`, "hello bob\n\ncall 2", `{"n":0,"who":"bob"}`, false},
		{"greet", `null`, "greet: missing parameter \"who\" (whom); example: {\"who\":\"...\"}\n\ncall 3", "null", true},
		{"greet", `{"who":"nobody"}`, "there is nobody\n\ncall 4", "null", true},
		{"names", `{}`, "a b\n\ncall 5", `{"result":["a","b"]}`, false},
	} {
		r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: x.tool, Arguments: json.RawMessage(x.args)})
		if err != nil {
			t.Fatalf("%s %s: %v", x.tool, x.args, err)
		}
		data, err := json.Marshal(r.StructuredContent)
		if err != nil {
			t.Fatal(err)
		}
		if text := r.Content[0].(*sdk.TextContent).Text; text != x.text || string(data) != x.data || r.IsError != x.failed {
			t.Errorf("%s %s: got %q %s %v, want %q %s %v", x.tool, x.args, text, data, r.IsError, x.text, x.data, x.failed)
		}
	}
	if _, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "nosuch"}); err == nil {
		t.Error("an unknown tool is no protocol error")
	}
}

func TestProgressAndCancellation(t *testing.T) {
	heard := make(chan string, 1000)
	c := connect(t, server("/p"), &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
		heard <- r.Params.Message
	}})
	ctx, cancel := context.WithCancel(t.Context())
	p := &sdk.CallToolParams{Name: "slow"}
	p.SetProgressToken("token")
	done := make(chan error, 1)
	go func() { _, err := c.CallTool(ctx, p); done <- err }()
	select {
	case msg := <-heard:
		if msg != "step" {
			t.Errorf("progress says %q", msg)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("no progress in ten seconds")
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if n := len(heard); n > 5 {
		t.Errorf("%d more notices in a moment; they should be half a second apart", n)
	}
}

// Without a project, only tools that have no business with files work.
func TestNoProject(t *testing.T) {
	c := connect(t, server(""), nil)
	for tool, want := range map[string]bool{"greet": true, "names": false} {
		r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(`{"who":"x"}`)})
		if err != nil || r.IsError != want {
			t.Errorf("%s: %+v, %v; want refused %v", tool, r, err, want)
		}
	}
}

const initializeBody = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

func TestHTTPDefences(t *testing.T) {
	srv := httptest.NewServer(server("/p").Handler("secret"))
	defer srv.Close()
	host := strings.TrimPrefix(srv.URL, "http://")
	for _, c := range []struct {
		name, method, body string
		header             map[string]string
		want               int
	}{
		{"good", "POST", initializeBody, nil, 200},
		{"own origin", "POST", initializeBody, map[string]string{"Origin": srv.URL}, 200},
		{"evil origin", "POST", initializeBody, map[string]string{"Origin": "http://evil.example"}, 403},
		{"null origin", "POST", initializeBody, map[string]string{"Origin": "null"}, 403},
		{"evil origin reading", "GET", "", map[string]string{"Origin": "http://evil.example", "Accept": "text/event-stream"}, 403},
		{"evil origin deleting", "DELETE", "", map[string]string{"Origin": "http://evil.example"}, 403},
		{"cross-site", "POST", initializeBody, map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		{"evil host", "POST", initializeBody, map[string]string{"Host": "evil.example"}, 403},
		{"preflight", "OPTIONS", "", map[string]string{"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}, 403},
		{"no token", "POST", initializeBody, map[string]string{"Authorization": ""}, 401},
		{"wrong token", "POST", initializeBody, map[string]string{"Authorization": "Bearer secre"}, 401},
		{"wrong scheme", "POST", initializeBody, map[string]string{"Authorization": "secret"}, 401},
		{"form", "POST", initializeBody, map[string]string{"Content-Type": "text/plain"}, 415},
		{"huge", "POST", `{"x":"` + strings.Repeat("x", 9<<20) + `"}`, nil, 413},
	} {
		t.Run(c.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), c.method, srv.URL, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer secret")
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			for k, v := range c.header {
				req.Header.Set(k, v)
			}
			if h := c.header["Host"]; h != "" {
				req.Host = h
			} else {
				req.Host = host
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != c.want {
				b, _ := io.ReadAll(io.LimitReader(resp.Body, 200))
				t.Errorf("status %d, want %d: %s", resp.StatusCode, c.want, b)
			}
			if v := resp.Header.Get("Access-Control-Allow-Origin"); v != "" {
				t.Errorf("another origin %q is let in", v)
			}
		})
	}
}
