// Package web shows background tasks on a page of this machine's own, and lets
// the person who has its address steer them. It keeps nothing: it asks the
// runner.
package web

import (
	"context"
	"crypto/subtle"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/whet-dev/whet/internal/escape"
	"github.com/whet-dev/whet/task"
)

//go:embed page
var page embed.FS

// A Board is what the page needs.
type Board struct {
	// Ask asks the runner, as the person whose page this is.
	Ask func(ctx context.Context, path string, q task.Request) (*task.Reply, error)
	// Token is the secret that the page's address begins with.
	Token string
	// Project is what the page's title names.
	Project string
}

const (
	cookie   = "whet"
	longPoll = 15 * time.Second       // how long one question to the runner may take
	beat     = 250 * time.Millisecond // at most one picture of the board in this time
	maxRows  = 500
	maxBody  = 64 << 10
)

// Serve answers on l, which must be of this machine alone, until ctx ends.
func (b *Board) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler: b.Handler(), ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	end := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer end()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Handler returns the page. Whoever lacks the token gets nothing, nor does a
// page of another site: neither by a name that leads here, nor by a form.
func (b *Board) Handler() http.Handler {
	files, err := fs.Sub(page, "page")
	if err != nil {
		panic(err) // the directory is in the program
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(files))
	mux.HandleFunc("GET /events", b.board)
	mux.HandleFunc("GET /log", b.log)
	mux.HandleFunc("GET /task", b.task)
	for _, path := range []string{"/message", "/cancel", "/revive"} {
		mux.HandleFunc("POST "+path, b.steer)
	}
	return b.guard(http.NewCrossOriginProtection().Handler(mux))
}

func (b *Board) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if ip := net.ParseIP(strings.Trim(host, "[]")); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "whet: this page is for this machine alone", http.StatusForbidden)
			return
		}
		if r.URL.Path == "/" && b.is(r.URL.Query().Get("token")) {
			http.SetCookie(w, &http.Cookie{Name: b.cookie(r), Value: b.Token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			next.ServeHTTP(w, r)
			return
		}
		c, err := r.Cookie(b.cookie(r))
		if err != nil || !b.is(c.Value) {
			http.Error(w, "whet: open the address that whet serve --web has printed; it holds the key to this page", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// cookie is the cookie's name: browsers don't tell ports apart, so it does.
func (b *Board) cookie(r *http.Request) string {
	_, port, _ := net.SplitHostPort(r.Host)
	return cookie + port
}

func (b *Board) is(token string) bool {
	return b.Token != "" && subtle.ConstantTimeCompare([]byte(token), []byte(b.Token)) == 1
}

// A row is a task as the board shows it.
type row struct {
	ID      string     `json:"id"`
	Alias   string     `json:"alias"`
	Agent   string     `json:"agent"`
	Model   string     `json:"model,omitempty"`
	Phase   task.Phase `json:"phase"`
	State   string     `json:"state"`
	Unread  bool       `json:"unread,omitempty"`
	Title   string     `json:"title"`
	Doing   string     `json:"doing,omitempty"`
	Cost    string     `json:"cost"`
	Created time.Time  `json:"created"`
	Ended   time.Time  `json:"ended,omitzero"`
}

func rowOf(t *task.Task, now time.Time) row {
	return row{
		t.ID, t.Alias, t.Agent, t.Model, t.Phase, t.Condition(now), t.Unread(),
		brief(t.Title), brief(t.Doing()), t.Usage.String(), t.Created, t.Ended,
	}
}

// brief is as much of a text as a row shows.
func brief(s string) string {
	const most = 240
	if len(s) > 8*most {
		s = s[:8*most]
	}
	s = escape.Lines(strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " "))
	if rs := []rune(s); len(rs) > most {
		return string(rs[:most-1]) + "…"
	}
	return s
}

// A picture is the whole board.
type picture struct {
	Project string    `json:"project"`
	Now     time.Time `json:"now"`
	Open    int       `json:"open"`
	Total   int       `json:"total"`
	Cost    string    `json:"cost"`
	Rows    []row     `json:"rows"`
}

func (b *Board) picture(reply *task.Reply) picture {
	now := time.Now()
	p := picture{Project: b.Project, Now: now, Open: reply.Open, Total: len(reply.Tasks), Rows: []row{}}
	task.SortForPeople(reply.Tasks)
	var used task.Usage
	for i, t := range reply.Tasks {
		used = used.Add(t.Usage)
		if i < maxRows {
			p.Rows = append(p.Rows, rowOf(t, now))
		}
	}
	p.Cost = used.String()
	return p
}

// board streams pictures of the board as it changes.
func (b *Board) board(w http.ResponseWriter, r *http.Request) {
	s := newStream(w)
	q := task.Request{All: r.URL.Query().Get("all") != ""}
	for r.Context().Err() == nil {
		reply, err := b.Ask(r.Context(), "/watch", q)
		if err != nil {
			if s.send("trouble", err.Error()) != nil || !pause(r.Context(), 2*time.Second) {
				return
			}
			q.Seq, q.Wait = 0, 0
			continue
		}
		if s.send("board", b.picture(reply)) != nil || !pause(r.Context(), beat) {
			return
		}
		q.Seq, q.Wait = reply.Seq, longPoll
	}
}

// log streams what a task does, until it ends.
func (b *Board) log(w http.ResponseWriter, r *http.Request) {
	s := newStream(w)
	q := task.Request{ID: r.URL.Query().Get("id")}
	for r.Context().Err() == nil {
		reply, err := b.Ask(r.Context(), "/log", q)
		if err != nil {
			_ = s.send("trouble", err.Error())
			return
		}
		for _, l := range reply.Log {
			q.Seq = l.Seq
			if s.send("line", map[string]any{"at": l.At, "kind": l.Kind, "text": escape.Lines(l.Words())}) != nil {
				return
			}
		}
		if len(reply.Log) == 0 && reply.Task.Phase.Closed() {
			_ = s.send("end", nil)
			return
		}
		if len(reply.Log) == 0 && s.send("alive", nil) != nil {
			return
		}
		q.Wait = longPoll
	}
}

// task answers with one task, whole.
func (b *Board) task(w http.ResponseWriter, r *http.Request) {
	reply, err := b.Ask(r.Context(), "/status", task.Request{ID: r.URL.Query().Get("id")})
	if err != nil {
		refuse(w, err)
		return
	}
	t := reply.Task
	answer(w, map[string]any{
		"row": rowOf(t, time.Now()), "status": escape.Lines(reply.Text), "prompt": escape.Lines(t.Prompt), "text": escape.Lines(t.Text),
		"reason": escape.Lines(t.Reason), "changed": t.Changed, "dir": t.Dir,
	})
}

// steer does what the person asks of a task.
func (b *Board) steer(w http.ResponseWriter, r *http.Request) {
	var q struct{ ID, Text string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&q); err != nil {
		http.Error(w, "whet: the request can't be read: "+err.Error(), http.StatusBadRequest)
		return
	}
	reply, err := b.Ask(r.Context(), r.URL.Path, task.Request{ID: q.ID, Text: q.Text})
	if err != nil {
		refuse(w, err)
		return
	}
	answer(w, map[string]any{"text": escape.Lines(reply.Text), "failed": reply.Failed})
}

func refuse(w http.ResponseWriter, err error) {
	status := http.StatusBadGateway
	if errors.As(err, new(*task.Error)) {
		status = http.StatusUnprocessableEntity
	}
	http.Error(w, err.Error(), status)
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a page that was closed needs no answer
}

// pause waits, and reports whether there is still somebody to wait for.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// A stream is a response of server-sent events.
type stream struct {
	w http.ResponseWriter
	c *http.ResponseController
}

func newStream(w http.ResponseWriter) stream {
	w.Header().Set("Content-Type", "text/event-stream")
	return stream{w, http.NewResponseController(w)}
}

func (s stream) send(event string, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_ = s.c.SetWriteDeadline(time.Now().Add(10 * time.Second)) // a page that no longer reads
	if _, err := fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", event, body); err != nil {
		return err
	}
	return s.c.Flush()
}
