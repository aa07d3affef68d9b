// Package inhost is what whet does for background tasks from inside OpenCode,
// where its plugin is: it lends the host's API to the task runner, so that
// specialists are sessions of that very host, and it tells the host's sessions
// of the ends of their tasks, waking those that rest.
//
// It isn't the only one to tell: a guard adds what a session hasn't heard to
// the results of its tools. Both claim a notice in the session's store first,
// and what counts in the end is the conversation that the host keeps: a notice
// that is in it has been told, by whomever and before whatever restart.
package inhost

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/run"
)

// Options say where we are. All fields but Wake are required.
type Options struct {
	Dir   string // the project that the host works in
	State string // the runner's directory
	// API makes a request of the host's own API.
	API func(ctx context.Context, method, path string, body json.RawMessage) (status int, reply json.RawMessage, err error)
	// Stores keep what the guards of a session keep.
	Stores func(session string) whet.Store
	Wake   task.Wake
	Log    *slog.Logger
}

// A House is a host that lends itself.
type House struct {
	Options
	via    string
	unlock func()
	server *http.Server
	ctx    context.Context // ends with Close
	stop   context.CancelFunc
	work   sync.WaitGroup

	mu       sync.Mutex
	events   map[chan string]bool // readers of the host's events
	sessions map[string]*session  // that may have tasks
	poked    chan struct{}        // something happened
}

// places is how many hosts may work in one project at once.
const places = 16

// Open begins to lend the host and to tell its sessions. A host that is started
// anew in the same project is reached where the last one was.
func Open(o Options) (*House, error) {
	h := &House{Options: o, events: map[chan string]bool{}, sessions: map[string]*session{}, poked: make(chan struct{}, 1)}
	h.ctx, h.stop = context.WithCancel(context.Background())
	l, err := h.listen()
	if err != nil {
		h.stop()
		return nil, fmt.Errorf("lending the host to whet's task runner: %w", err)
	}
	h.server = &http.Server{Handler: http.HandlerFunc(h.lend), ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return h.ctx }}
	h.work.Go(func() { _ = h.server.Serve(l) }) // until Close
	h.work.Go(h.watch)
	return h, nil
}

func (h *House) listen() (net.Listener, error) {
	sum := sha256.Sum256([]byte(h.Dir))
	for i := range places {
		dir := filepath.Join(h.State, "hosts", fmt.Sprintf("%s-%d", hex.EncodeToString(sum[:6]), i))
		unlock, err := run.Lock(dir)
		if errors.Is(err, run.ErrRunning) {
			continue
		}
		if err != nil {
			return nil, err
		}
		l, err := run.Listen(h.ctx, dir)
		if err != nil {
			unlock()
			return nil, err
		}
		h.via, h.unlock = l.Addr().String(), unlock
		return l, nil
	}
	return nil, fmt.Errorf("there are %d hosts in %s already", places, h.Dir)
}

// Via is the socket at which the host is reached.
func (h *House) Via() string { return h.via }

// Close ends it all. The host's sessions go on.
func (h *House) Close() {
	h.stop()
	_ = h.server.Close()
	h.work.Wait()
	h.unlock()
}

// maxBody bounds a request to the host, in bytes.
const maxBody = 4 << 20

// lend passes a request on to the host.
func (h *House) lend(w http.ResponseWriter, q *http.Request) {
	if q.URL.Path == "/global/event" {
		h.stream(w, q)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, q.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	if len(body) == 0 {
		body = nil
	}
	status, reply, err := h.API(q.Context(), q.Method, q.URL.RequestURI(), body)
	if err == nil && (status < 200 || status > 599) { // net/http panics at some
		err = fmt.Errorf("the host answered with status %d", status)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if status == http.StatusNoContent {
		w.WriteHeader(status)
		return
	}
	w.WriteHeader(status)
	_, _ = w.Write(reply) // a reader that went away needs no answer
}

// stream passes the host's events on, as the host itself would.
func (h *House) stream(w http.ResponseWriter, q *http.Request) {
	const behind = 100 // events that a slow reader may be; it looks by itself at what it misses
	c := make(chan string, behind)
	h.mu.Lock()
	h.events[c] = true
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.events, c)
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	for line := `{"payload":{"type":"server.connected","properties":{}}}`; ; {
		if _, err := fmt.Fprintf(w, "data: %s\n\n", line); err != nil || out.Flush() != nil {
			return
		}
		select {
		case line = <-c:
		case <-q.Context().Done():
			return
		}
	}
}

// Heard takes in an event of one of the host's sessions.
func (h *House) Heard(event, id string) {
	line, err := json.Marshal(map[string]any{"payload": map[string]any{"type": event, "properties": map[string]string{"sessionID": id}}})
	if err != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.events {
		select {
		case c <- string(line):
		default:
		}
	}
	if s := h.sessions[id]; s != nil {
		s.due = time.Time{}
		h.poke()
	}
}

func (h *House) poke() {
	select {
	case h.poked <- struct{}{}:
	default:
	}
}

// ask makes a request about the project, and decodes the answer into out.
func (h *House) ask(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	var body json.RawMessage
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = b
	}
	status, reply, err := h.API(ctx, method, path+"?directory="+url.QueryEscape(h.Dir), body)
	switch {
	case err != nil:
		return err
	case status >= 300:
		return fmt.Errorf("the host answered %s %s with %d: %.300s", method, path, status, reply)
	case out == nil:
		return nil
	}
	return json.Unmarshal(reply, out)
}

// askLimit is how long the host may take to answer: while it starts it may not
// answer at all.
const askLimit = 10 * time.Second
