package opencode

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/whet-dev/whet/internal/proc"
	"github.com/whet-dev/whet/task"
)

// A server is the OpenCode that tasks are given to.
type server struct {
	options task.OpenCode
	env     []string // of our own server
	via     string   // socket at which a host lends itself; "" for none
	http    *http.Client

	mu       sync.Mutex
	url      string
	password string
	child    *proc.Child // our own, nil if it is somebody else's
	lost     time.Time   // first of the requests in a row that didn't reach it
	listens  bool        // its events are read; guarded by the backend
}

func newServer(o task.OpenCode, env []string, via string) *server {
	s := &server{options: o, env: env, via: via, http: http.DefaultClient}
	if via != "" {
		s.url = "http://opencode"
		s.http = &http.Client{Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "unix", via)
			},
		}}
	}
	return s
}

// goneLimit is how long a host may not be reached until it counts as ended.
// whet in it may be starting anew.
const goneLimit = 30 * time.Second

// gone reports whether a host that lent itself has ended.
func (s *server) gone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.via != "" && !s.lost.IsZero() && time.Since(s.lost) >= goneLimit
}

// reached keeps whether a request got there.
func (s *server) reached(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.lost = time.Time{}
	case s.lost.IsZero():
		s.lost = time.Now()
	}
}

// startLimit is how long our own server may take until it listens.
const startLimit = 60 * time.Second

// ready makes sure that there is a server.
func (s *server) ready(ctx, life context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child != nil {
		select {
		case <-s.child.Done(): // it died: its sessions are on disk
			s.child.Stop()
			s.child, s.url = nil, ""
		default:
		}
	}
	switch {
	case life.Err() != nil:
		return context.Cause(life)
	case s.url != "":
		return nil
	case s.options.URL != "":
		s.url = strings.TrimSuffix(s.options.URL, "/")
		s.password = os.Getenv(cmp.Or(s.options.PasswordEnv, "OPENCODE_SERVER_PASSWORD"))
		return nil
	}
	return s.start(ctx)
}

// start starts a server of our own, on a free port of this machine and behind a
// password that nobody else knows.
func (s *server) start(ctx context.Context) error {
	path, err := exec.LookPath(cmp.Or(s.options.Command, "opencode"))
	if err != nil {
		return fmt.Errorf("OpenCode is not there (%w); install it, or set task.opencode.command or task.opencode.url", err)
	}
	s.password = rand.Text()
	cmd := exec.Command(path, "serve", "--hostname", "127.0.0.1", "--port", "0")
	cmd.Env = append(append(os.Environ(), s.env...), "OPENCODE_SERVER_PASSWORD="+s.password)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	child, err := proc.Start(cmd)
	if err != nil {
		return fmt.Errorf("starting %s: %w", path, err)
	}
	found := make(chan string, 1)
	go func() { // ends with the child
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if _, u, ok := strings.Cut(lines.Text(), "listening on "); ok {
				found <- strings.TrimSpace(u)
				break
			}
		}
		_, _ = io.Copy(io.Discard, out)
	}()
	select {
	case s.url = <-found:
		s.child = child
		return nil
	case <-child.Done():
		err = fmt.Errorf("%s serve ended at once (%v)", path, child.Err())
	case <-time.After(startLimit):
		err = fmt.Errorf("%s serve did not say where it listens within %v", path, startLimit)
	case <-ctx.Done():
		// Slow, not broken: the next look finds it ready.
		go s.arrive(child, found)
		return fmt.Errorf("OpenCode is starting: %w", context.Cause(ctx))
	}
	child.Stop()
	return err
}

// arrive takes in a server that took longer than its caller could wait.
func (s *server) arrive(child *proc.Child, found <-chan string) {
	select {
	case u := <-found:
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.child == nil && s.url == "" {
			s.url, s.child = u, child
			return
		}
	case <-time.After(startLimit):
	case <-child.Done():
	}
	child.Stop()
}

func (s *server) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child != nil {
		s.child.Stop()
		s.child = nil
	}
	if s.via != "" {
		s.http.CloseIdleConnections()
	}
}

func (s *server) at() (url, password string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url, s.password
}

// maxBody bounds an answer, in bytes.
const maxBody = 64 << 20

// do makes a request about the directory. An answer of 4xx is a refusal.
func (s *server) do(ctx context.Context, method, path, dir string, in, out any) error {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	resp, err := s.request(ctx, method, path, dir, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return fmt.Errorf("reading OpenCode's answer to %s: %w", path, err)
	}
	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		return &task.Refusal{Reason: "OpenCode wants another password; set it in $" + cmp.Or(s.options.PasswordEnv, "OPENCODE_SERVER_PASSWORD")}
	case resp.StatusCode >= 400 && resp.StatusCode < 500:
		return &task.Refusal{Reason: fmt.Sprintf("OpenCode answered %s: %.300s", resp.Status, b)}
	case resp.StatusCode >= 300:
		return fmt.Errorf("OpenCode answered %s: %.300s", resp.Status, b)
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(b, out); err != nil {
		return fmt.Errorf("OpenCode's answer to %s is not as expected: %w", path, err)
	}
	return nil
}

func (s *server) request(ctx context.Context, method, path, dir string, body io.Reader) (*http.Response, error) {
	at, password := s.at()
	req, err := http.NewRequestWithContext(ctx, method, at+path+"?directory="+url.QueryEscape(dir), body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if password != "" {
		req.SetBasicAuth("opencode", password)
	}
	resp, err := s.http.Do(req)
	if err == nil || ctx.Err() == nil {
		s.reached(err)
	}
	switch {
	case err == nil || ctx.Err() != nil:
		return resp, err
	case s.via != "":
		return nil, fmt.Errorf("the OpenCode that it works in can't be reached: %w", err)
	}
	return nil, fmt.Errorf("OpenCode at %s can't be reached: %w", at, err)
}

// listen makes the server's events ask for looks at the session's run. It
// returns the run with every message that is known to be for it.
func (b *backend) listen(session string, r task.Run) task.Run {
	b.mu.Lock()
	defer b.mu.Unlock()
	if old := b.known[session]; old.Task.Gen == r.Task.Gen {
		r.Notes = slices.Clone(r.Notes)
		for _, n := range old.Notes {
			if !slices.Contains(r.Notes, n) {
				r.Notes = append(r.Notes, n)
			}
		}
	}
	b.known[session] = r
	if s := b.servers[r.Task.Via]; s != nil && !s.listens {
		s.listens = true
		b.work.Go(func() { b.events(s) })
	}
	return r
}

// events reads the server's events, again and again. They are hints: whatever
// gets lost is found by the next look.
func (b *backend) events(s *server) {
	for wait := 500 * time.Millisecond; ; wait = min(2*wait, 30*time.Second) {
		if resp, err := s.request(b.ctx, "GET", "/global/event", "", nil); err == nil {
			lines := bufio.NewScanner(resp.Body)
			lines.Buffer(nil, 16<<20)
			for lines.Scan() {
				wait = 500 * time.Millisecond
				b.event(lines.Bytes())
			}
			resp.Body.Close()
		}
		select {
		case <-b.ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

func (b *backend) event(line []byte) {
	var e struct {
		Payload struct {
			Type       string `json:"type"`
			Properties struct {
				SessionID string `json:"sessionID"`
				Info      struct {
					SessionID string `json:"sessionID"`
				} `json:"info"`
			} `json:"properties"`
		} `json:"payload"`
	}
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	if !ok || json.Unmarshal(data, &e) != nil {
		return
	}
	p := e.Payload.Properties
	b.mu.Lock()
	r, ok := b.known[cmp.Or(p.SessionID, p.Info.SessionID)]
	b.mu.Unlock()
	if ok && !strings.HasSuffix(e.Payload.Type, ".delta") {
		b.hear(r.Task.ID, r.Task.Gen, task.Progress{})
	}
}
