//go:build unix

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/whet-dev/whet/internal/peer"
	"github.com/whet-dev/whet/internal/scriptmodel"
)

const password = "correct horse"

// openCodeEnv keeps OpenCode off the network.
var openCodeEnv = []string{
	"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1",
	"OPENCODE_DISABLE_DEFAULT_PLUGINS=1", "OPENCODE_DISABLE_SHARE=1", "OPENCODE_DISABLE_CLAUDE_CODE=1",
	"OPENCODE_DISABLE_EXTERNAL_SKILLS=1", "OPENCODE_DISABLE_TERMINAL_TITLE=1",
}

// openCode returns OpenCode's own executable: npm's launcher adds a second.
func openCode(t testing.TB) string {
	t.Helper()
	peer.Find(t, "opencode")
	for _, name := range []string{"opencode-linux-x64", "opencode-linux-arm64", "opencode-darwin-arm64", "opencode-darwin-x64"} {
		path := filepath.Join("..", ".peers", "node_modules", name, "bin", "opencode")
		if abs, err := filepath.Abs(path); err == nil {
			if _, err := os.Stat(abs); err == nil {
				return abs
			}
		}
	}
	return peer.Find(t, "opencode")
}

// openCodeHome makes a home in which OpenCode talks to the scripted model.
func openCodeHome(t testing.TB, dir, modelURL string) *home {
	t.Helper()
	h := newHome(t, dir)
	h.env = append(append(h.env, openCodeEnv...), "OPENCODE_TEST_HOME="+dir)
	h.write("opencode.json", fmt.Sprintf(`{
  "autoupdate": false, "share": "disabled", "model": "scripted/plain", "small_model": "scripted/plain",
  "enabled_providers": ["scripted"], "permission": {"*": "allow"},
  "provider": {"scripted": {"name": "Scripted", "npm": "@ai-sdk/openai-compatible", "options": {"baseURL": %q, "apiKey": "x"},
    "models": {
      "plain": {"name": "Plain", "tool_call": true, "limit": {"context": 200000, "output": 8192}},
      "gpt-5-scripted": {"name": "With apply_patch", "tool_call": true, "limit": {"context": 200000, "output": 8192}}}}}
}`, modelURL+"/v1"))
	seed(h, filepath.Join(dir, ".config/opencode"))
	return h
}

// seed fills a configuration directory so that OpenCode doesn't install
// @opencode-ai/plugin there, which waits for a network.
func seed(h *home, dir string) {
	h.write(filepath.Join(dir, "node_modules/.keep"), "")
	h.write(filepath.Join(dir, "package-lock.json"), `{"packages":{"":{"dependencies":{"@opencode-ai/plugin":"1.18.33"}}}}`)
	h.write(filepath.Join(dir, "package.json"), `{"dependencies":{"@opencode-ai/plugin":"1.18.33"}}`)
}

// A serve is one running `opencode serve` with whet installed by whet install.
type serve struct {
	*home
	url    string
	model  *scriptmodel.Server
	cancel func()
	done   chan struct{}
}

var (
	serveOnce   sync.Once
	sharedServe *serve
	serveErr    error
)

// theServe returns the server that all tests of the package share: starting one
// costs ten seconds of processor time.
func theServe(t *testing.T) *serve {
	t.Helper()
	bin, whet := openCode(t), whetBinary(t)
	serveOnce.Do(func() {
		page := webPage()
		dir, err := os.MkdirTemp("", "whet-e2e-opencode")
		if err != nil {
			serveErr = err
			return
		}
		sharedServe, serveErr = startServe(t, bin, dir, openCodeScript(dir, page.URL), func(h *home) {
			h.write("opencode.json", strings.Replace(h.read("opencode.json"), "{", fmt.Sprintf(
				`{"mcp": {"other": {"type": "local", "command": [%q, "mcp"], "environment": {"WHET_CONFIG_CONTENT": "{\"loopGuard\": {\"enabled\": false}}"}}},`, whet), 1))
			h.run(t, nil, whet, "install", "opencode", "--yes")
		})
		if serveErr == nil {
			stop := sharedServe.cancel
			sharedServe.cancel = func() {
				stop()
				page.Close()
				_ = os.RemoveAll(dir)
			}
		}
	})
	if serveErr != nil {
		t.Fatal(serveErr)
	}
	sharedServe.t = t
	return sharedServe
}

// webPage is a site with one page.
func webPage() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<html><head><title>The page</title></head><body><nav>MENU</nav><article><h1>The page</h1><p>%s of <b>text</b> that says something worth reading.</p></article></body></html>", r.URL.Path)
	}))
}

// startServe starts OpenCode in a home whose plugin install has put there.
func startServe(t *testing.T, bin, dir string, script scriptmodel.Script, install func(*home)) (*serve, error) {
	srv, err := scriptmodel.Start(script)
	if err != nil {
		return nil, err
	}
	s := &serve{home: openCodeHome(t, dir, srv.URL), model: srv, done: make(chan struct{})}
	install(s.home)
	ctx, cancel := context.WithCancel(context.Background())
	// The shell ends OpenCode when its own input ends: with this process.
	cmd := exec.CommandContext(ctx, "sh", "-c", `"$@" </dev/null & p=$!; cat >/dev/null; kill -9 $p`, "sh",
		bin, "serve", "--hostname", "127.0.0.1", "--port", "0", "--print-logs", "--log-level", "INFO")
	cmd.Dir, cmd.Env = s.ws, s.env
	stdin, err := cmd.StdinPipe()
	if err != nil {
		cancel()
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		cancel()
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "opencode.log"))
	if err != nil {
		cancel()
		return nil, err
	}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	s.cancel = func() {
		_ = stdin.Close()
		select {
		case <-s.done:
		case <-time.After(5 * time.Second):
			cancel()
		}
		log.Close()
		_ = srv.Close()
	}
	address := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			if _, u, ok := strings.Cut(lines.Text(), "listening on "); ok {
				address <- u
			}
		}
		_ = cmd.Wait()
		close(s.done)
	}()
	select {
	case s.url = <-address:
	case <-time.After(90 * time.Second):
	}
	if s.url == "" || !until(ctx, 60*time.Second, func() bool { return s.callWithin(2*time.Second, "GET", "/global/health", nil, nil) == nil }) {
		b, _ := os.ReadFile(log.Name())
		s.cancel()
		return nil, fmt.Errorf("opencode serve did not come up:\n%s", tail(string(b), 4000))
	}
	return s, nil
}

func stopServe() {
	if sharedServe != nil {
		sharedServe.cancel()
	}
}

// in returns the same server with another project.
func (s *serve) in(t *testing.T, project string) *serve {
	other, h := *s, *s.home
	h.t, h.ws = t, filepath.Join(s.dir, project)
	other.home = &h
	for _, name := range []string{"opencode.json", ".git/HEAD", ".git/config"} {
		h.write(name, s.read(name))
	}
	return &other
}

// call makes a request of OpenCode's API in the project's directory.
func (s *serve) call(method, path string, in, out any) error {
	return s.callWithin(time.Minute, method, path, in, out)
}

func (s *serve) callWithin(limit time.Duration, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.url+path+"?directory="+url.QueryEscape(s.ws), body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.SetBasicAuth("opencode", password) // for the server that wants one
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, b)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(b, out)
}

// A part is one tool call as OpenCode keeps it.
type part struct {
	Type  string
	Tool  string
	State struct {
		Status, Output, Error string
		Metadata              map[string]any
	}
}

// prompt sends a person's message to a session, "" for a new one, waits until
// the session is idle, and returns its id and its tool calls.
func (s *serve) prompt(t *testing.T, session, modelID, scenario string) (string, []part) {
	t.Helper()
	before := 0
	if session != "" {
		before = s.turns(t, session)
	}
	session = s.send(t, session, modelID, scenario)
	idle := until(t.Context(), busyMachine, func() bool {
		var status map[string]struct{ Type string }
		return s.turns(t, session) > before && s.call("GET", "/session/status", nil, &status) == nil && status[session].Type == ""
	})
	if !idle {
		t.Fatalf("session %s (%s) is not idle after %v", session, scenario, busyMachine)
	}
	return session, s.parts(t, session)
}

// busyMachine is how long anything may take that takes a second otherwise.
const busyMachine = 3 * time.Minute

// send is prompt without the wait. It returns the session's id.
func (s *serve) send(t *testing.T, session, modelID, scenario string) string {
	t.Helper()
	if session == "" {
		var made struct{ ID string }
		if err := s.call("POST", "/session", map[string]any{"title": scenario}, &made); err != nil {
			t.Fatal(err)
		}
		session = made.ID
	}
	err := s.call("POST", "/session/"+session+"/prompt_async", map[string]any{
		"model": map[string]string{"providerID": "scripted", "modelID": modelID}, "agent": "build",
		"parts": []any{map[string]string{"type": "text", "text": "[[script:" + scenario + "]] go"}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

type message struct {
	Info struct {
		Role string
		Time struct{ Completed float64 }
	}
	Parts []part
}

// messages asks again if there is no answer: a busy machine's host may be late.
func (s *serve) messages(t *testing.T, session string) (out []message) {
	t.Helper()
	var err error
	asked := func() bool {
		err = s.call("GET", "/session/"+session+"/message", nil, &out)
		return err == nil
	}
	if !until(t.Context(), 60*time.Second, asked) {
		t.Fatal(err)
	}
	return out
}

// turns counts the model's finished turns.
func (s *serve) turns(t *testing.T, session string) (n int) {
	for _, m := range s.messages(t, session) {
		if m.Info.Role == "assistant" && m.Info.Time.Completed > 0 {
			n++
		}
	}
	return n
}

func (s *serve) parts(t *testing.T, session string) (out []part) {
	for _, m := range s.messages(t, session) {
		for _, p := range m.Parts {
			if p.Type == "tool" {
				out = append(out, p)
			}
		}
	}
	return out
}
