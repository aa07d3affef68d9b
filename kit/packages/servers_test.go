package packages

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/market"
	"github.com/whet-dev/whet/market/plugin"
)

// The test binary is also the MCP server of the test package.
func TestMain(m *testing.M) {
	switch os.Getenv("TEST_SERVER") {
	case "":
		os.Exit(m.Run())
	case "silent":
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "broken":
		fmt.Fprintln(os.Stderr, "no licence found")
		os.Exit(3)
	default:
		if err := lintServer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			os.Exit(1)
		}
	}
}

func lintServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "lint", Version: "1"}, nil)
	type in struct {
		Text string `json:"text" jsonschema:"what to look at"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "check.text", Description: "Checks a text", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *mcp.CallToolRequest, in in) (*mcp.CallToolResult, any, error) {
			dir, _ := os.Getwd()
			text := fmt.Sprintf("%s from %s, key %q, token %q, root %s", in.Text, filepath.Base(dir), os.Getenv("LINT_KEY"), os.Getenv("SOME_TOKEN"), os.Getenv("ROOT_AS_GIVEN"))
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: strings.Repeat("long", 30)}, func(context.Context, *mcp.CallToolRequest, in) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no good"}}}, nil, nil
	})
	return s
}

// withServer gives the package the test's server.
func withServer(t *testing.T, p market.Package, mode string) market.Package {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p.Plugin.Servers = []plugin.Server{{Name: "lint", Type: "stdio", Command: self, Args: []string{"-root", "${PLUGIN_ROOT}"}, Env: map[string]string{"TEST_SERVER": mode, "ROOT_AS_GIVEN": "${PLUGIN_ROOT}"}}}
	return p
}

func TestServers(t *testing.T) {
	t.Setenv("LINT_KEY", "k1")
	t.Setenv("SOME_TOKEN", "of the person")
	p := withServer(t, reviewer(t, true), "good")
	dir := t.TempDir()
	servers := Set{p}.Start(t.Context(), Starting{Dir: dir})
	defer servers.Close()
	if len(servers.Problems) > 0 {
		t.Fatal(servers.Problems)
	}
	k := &whet.Kit{Tools: servers.Tools, Log: slog.New(slog.DiscardHandler)}
	check, err := k.Tool("reviewer__lint__check_text")
	if err != nil {
		t.Fatal(err)
	}
	if check.Doc != "check.text\n"+provenance+": Checks a text" || !check.ReadOnly || check.Destructive {
		t.Errorf("got %+v", check)
	}
	if b, err := json.Marshal(check.Input()); string(b) != `{"type":"object","properties":{"text":{"type":"string","description":"what to look at"}},"required":["text"]}` {
		t.Errorf("schema %s, %v", b, err)
	}
	r, err := k.Call(t.Context(), &whet.Call{Tool: check.Name, Args: json.RawMessage(`{"text": "hello"}`)})
	if err != nil {
		t.Fatal(err)
	}
	// The key is a setting of the package, the token the person's own.
	if want := fmt.Sprintf("hello from %s, key %q, token %q, root %s", filepath.Base(dir), "k1", "", p.Root); r.Text != want || r.Failed {
		t.Errorf("got %+v, want %s", r, want)
	}
	if _, err := os.Stat(p.Data); err != nil {
		t.Errorf("the package has no directory of its own: %v", err)
	}
	long := "reviewer__lint__longlonglonglonglonglonglonglonglonglon"
	for _, tool := range k.Tools {
		if strings.HasPrefix(tool.Name, long) {
			if r, err := k.Call(t.Context(), &whet.Call{Tool: tool.Name, Args: json.RawMessage(`{"text": ""}`)}); err != nil || !r.Failed || r.Text != "no good" || len(tool.Name) != 64 {
				t.Errorf("%s: %+v, %v", tool.Name, r, err)
			}
		}
	}
	if len(k.Tools) != 2 {
		t.Errorf("%d tools, want 2", len(k.Tools))
	}
	servers.Close()
	if r, err = k.Call(t.Context(), &whet.Call{Tool: check.Name, Args: json.RawMessage(`{"text": "x"}`)}); err != nil || !r.Failed || !strings.HasPrefix(r.Text, "the MCP server lint of package acme/reviewer: ") {
		t.Errorf("after its end: %+v, %v", r, err)
	}
}

// A server that doesn't start is one line and costs nothing else.
func TestServersInTrouble(t *testing.T) {
	t.Setenv("LINT_KEY", "k1")
	good, broken, silent := withServer(t, reviewer(t, true), "good"), withServer(t, reviewer(t, true), "broken"), withServer(t, reviewer(t, true), "silent")
	absent := withServer(t, reviewer(t, true), "good")
	absent.Plugin.Servers[0].Command = "./bin/none"
	keyless := withServer(t, reviewer(t, true), "good")
	keyless.Plugin.Settings = []plugin.Setting{{Name: "key", Title: "the licence", Env: "LICENCE_VALUE", Required: true}}
	broken.Servers = map[string]string{"lint": "broken__lint"}
	unknown := withServer(t, reviewer(t, true), "good")
	unknown.Plugin.Servers[0].Args = []string{"${user_config.other}"}
	late := Set{silent}.Start(t.Context(), Starting{Dir: t.TempDir(), Limit: time.Second})
	defer late.Close()
	if want := "acme/reviewer: MCP server lint is left out: it didn't answer within 1s"; len(late.Problems) != 1 || late.Problems[0] != want {
		t.Errorf("problems %q, want %q", late.Problems, want)
	}
	servers := Set{good, broken, absent, keyless, unknown}.Start(t.Context(), Starting{Dir: t.TempDir(), Limit: time.Minute})
	defer servers.Close()
	if len(servers.Tools) != 2 {
		t.Errorf("%d tools, want the good server's two", len(servers.Tools))
	}
	want := []string{
		"acme/reviewer: MCP server lint is left out: it ended: exit status 3: no licence found",
		"acme/reviewer: MCP server lint is left out: ", // in the system's words
		"acme/reviewer: MCP server lint is left out: it needs a value for the licence; set the environment variable LICENCE_VALUE",
		"acme/reviewer: MCP server lint is left out: ${user_config.other}: the package has no such setting",
	}
	if len(servers.Problems) != len(want) {
		t.Fatalf("problems %q", servers.Problems)
	}
	for i, w := range want {
		if got := servers.Problems[i]; got != w && !(i == 1 && strings.HasPrefix(got, w)) {
			t.Errorf("problem %d:\n got %q\nwant %q", i, got, w)
		}
	}
}

// A server elsewhere gets its headers, with what the person set in them, and
// nobody that it redirects to does.
func TestRemoteServer(t *testing.T) {
	t.Setenv("LINT_KEY", "k1")
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return lintServer() }, nil)
	var seen string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "/mcp", http.StatusTemporaryRedirect)
			return
		}
		if r.Method == http.MethodPost {
			seen = r.Header.Get("X-Key")
		}
		h.ServeHTTP(w, r)
	}))
	defer srv.Close()
	p := reviewer(t, true)
	p.Plugin.Servers = []plugin.Server{{Name: "lint", Type: "streamable-http", URL: srv.URL + "/mcp", Headers: map[string]string{"X-Key": "v-${user_config.key}"}}}
	servers := Set{p}.Start(t.Context(), Starting{Dir: t.TempDir()})
	if len(servers.Tools) != 2 || len(servers.Problems) > 0 {
		t.Errorf("got %d tools, %q", len(servers.Tools), servers.Problems)
	}
	servers.Close()
	if seen != "v-k1" {
		t.Errorf("the header was %q", seen)
	}
	seen = ""
	p.Plugin.Servers[0].URL = srv.URL + "/away"
	servers = Set{p}.Start(t.Context(), Starting{Dir: t.TempDir()})
	defer servers.Close()
	if len(servers.Tools) > 0 || len(servers.Problems) != 1 || seen != "" {
		t.Errorf("followed a redirect: %d tools, %q, header %q", len(servers.Tools), servers.Problems, seen)
	}
}

// A host that starts whet for a package's server has that server, wherever it
// runs.
func TestServe(t *testing.T) {
	t.Setenv("LINT_KEY", "k1")
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return lintServer() }, nil)
	srv := httptest.NewServer(h)
	defer srv.Close()
	local, remote := withServer(t, reviewer(t, true), "good"), reviewer(t, true)
	remote.ID = "acme/remote"
	remote.Plugin.Servers = []plugin.Server{{Name: "lint", Type: "streamable-http", URL: srv.URL}}
	s := Set{local, remote}
	for _, name := range []string{"acme/reviewer/lint", "acme/remote/lint"} {
		p, server, err := s.Server(name)
		if err != nil {
			t.Fatal(err)
		}
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		done := make(chan error, 1)
		go func() { done <- Serve(t.Context(), p, server, t.TempDir(), inR, outW) }()
		client, err := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, nil).Connect(t.Context(), &mcp.IOTransport{Reader: outR, Writer: inW}, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "check.text", Arguments: map[string]string{"text": "hello"}})
		if err != nil || !strings.HasPrefix(textOf(r), "hello from ") {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		_ = client.Close()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(30 * time.Second):
			t.Errorf("%s: it serves on when its host has gone", name)
		}
	}
	local.Trusted = false
	for name, want := range map[string]string{
		"acme/reviewer/lint": "acme/reviewer/lint: no person has agreed to it yet; look at it and run: whet market trust acme/reviewer",
		"acme/remote/other":  `package acme/remote has no MCP server "other"`,
		"acme/none/lint":     "no package with the MCP server acme/none/lint is enabled here; see: whet market list",
	} {
		if _, _, err := (Set{local, remote}).Server(name); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}

func TestSchemas(t *testing.T) {
	for in, want := range map[string]string{
		`null`:               `{"type":"object","properties":{}}`,
		`{"type": "string"}`: `{"type":"object","properties":{}}`,
		`{"type":"object","properties":{"a":{"type":["null","integer"]},"b":{"anyOf":[{"type":"null"},{"type":"array","items":{"$ref":"#/$defs/x"}}]},"c":{"enum":["x",1]},"$d":{"type":"string"}},"required":["a","$d"],"$defs":{"x":{"type":"object","properties":{"y":{"type":"boolean"}}}}}`: `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"array","items":{"type":"object","properties":{"y":{"type":"boolean"}}}},"c":{"type":"string","enum":["x"]}},"required":["a"]}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"$ref":"#/$defs/x"}}}`: `{"type":"object","properties":{"a":{"type":"string"}}}`,
	} {
		var v any
		if err := json.Unmarshal([]byte(in), &v); err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(schemaOf(v))
		if err != nil || string(b) != want {
			t.Errorf("%s:\n got %s, %v\nwant %s", in, b, err, want)
		}
	}
}

// Whatever a server sends, vendors take what is made of it.
func FuzzSchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/a"}]}},"$defs":{"a":{"allOf":[{"$ref":"#/$defs/a"}],"items":{"enum":[1,"x"]}}},"required":["a",1]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var v any
		if json.Unmarshal([]byte(text), &v) != nil {
			return
		}
		s := schemaOf(v)
		if s.Type != "object" || s.Properties == nil {
			t.Fatalf("the top is %+v", s)
		}
		portable(t, s, 0)
	})
}

func portable(t *testing.T, s *whet.Schema, depth int) {
	t.Helper()
	known := slices.Contains([]string{"string", "number", "integer", "boolean", "array", "object"}, s.Type)
	if !known || depth > maxNesting+1 || s.Enum != nil && s.Type != "string" || (s.Items != nil) != (s.Type == "array") || len(s.Description) > 1024 {
		t.Fatalf("not portable at depth %d: %+v", depth, s)
	}
	for _, p := range s.Properties {
		portable(t, p.Schema, depth+1)
	}
	if s.Items != nil {
		portable(t, s.Items, depth+1)
	}
}
