package scriptmodel

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
)

// A Server answers from a script.
type Server struct {
	URL string // http://127.0.0.1:PORT, without a path

	http     http.Server
	script   Script
	mu       sync.Mutex
	requests []Request
	faults   map[string]int // faults delivered, by scenario and step
}

// A Request is what a client sent.
type Request struct {
	Path     string
	Header   http.Header
	Body     json.RawMessage
	Scenario string // as picked by the marker; empty if there was none
	Step     int
}

// Start serves the script on a free port of 127.0.0.1. Both /v1/... and /...
// are served, as clients differ in what they put into a base address.
func Start(s Script) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	srv := &Server{URL: "http://" + l.Addr().String(), script: s, faults: map[string]int{}}
	mux := http.NewServeMux()
	for _, base := range []string{"", "/v1"} {
		mux.HandleFunc("POST "+base+"/chat/completions", srv.answer(chat{}))
		mux.HandleFunc("POST "+base+"/responses", srv.answer(responses{}))
		mux.HandleFunc("POST "+base+"/messages", srv.answer(messages{}))
		mux.HandleFunc("POST "+base+"/messages/count_tokens", func(w http.ResponseWriter, _ *http.Request) {
			writeJSON(w, http.StatusOK, obj{"input_tokens": inputTokens})
		})
		mux.HandleFunc("GET "+base+"/models", func(w http.ResponseWriter, _ *http.Request) {
			writeJSON(w, http.StatusOK, obj{"object": "list", "data": []obj{{"id": "scripted", "object": "model"}}})
		})
	}
	mux.HandleFunc("POST /v1beta/models/{call}", srv.answerGoogle())
	srv.http = http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = srv.http.Serve(l) }() // ends by Close
	return srv, nil
}

// Close ends the server and every answer under way.
func (s *Server) Close() error { return s.http.Close() }

// Requests returns what was asked of the model so far, in order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

type obj = map[string]any

// Every turn costs the same, so that tests can state totals.
const (
	inputTokens  = 100
	outputTokens = 10
)

// A format is one vendor's wire format.
type format interface {
	// turns lists the conversation, oldest first.
	turns(request) []turn
	// stream and whole write the step as the turn that it is.
	stream(*sender, string, request, Step)
	whole(id string, r request, s Step) any
}

type turn struct{ role, text string }

// request is the part of the three formats' requests that matters here.
type request struct {
	Model    string            `json:"model"`
	Stream   bool              `json:"stream"`
	Messages []json.RawMessage `json:"messages"`
	Input    json.RawMessage   `json:"input"`
	Contents []json.RawMessage `json:"contents"`
	Tools    []json.RawMessage `json:"tools"`
}

const maxBody = 32 << 20

func (s *Server) answer(f format) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		var req request
		if err == nil {
			err = json.Unmarshal(body, &req)
		}
		if err != nil {
			writeJSON(w, http.StatusBadRequest, failure("reading the request: "+err.Error()))
			return
		}
		name, n := position(f.turns(req))
		s.mu.Lock()
		s.requests = append(s.requests, Request{r.URL.Path, r.Header.Clone(), body, name, n})
		id := fmt.Sprintf("scripted_%d", len(s.requests))
		s.mu.Unlock()
		step, err := s.step(name, n, len(req.Tools) > 0)
		switch {
		case err != nil:
			writeJSON(w, http.StatusBadRequest, failure(err.Error()))
		case step.Status != 0:
			s.refuse(w, step)
		case !req.Stream && !strings.Contains(r.URL.Path, ":stream"):
			if step.Hang {
				<-r.Context().Done()
				return
			}
			pause(r, step)
			writeJSON(w, http.StatusOK, f.whole(id, req, step))
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			f.stream(&sender{w: w, r: r, step: step}, id, req, step)
		}
	}
}

var marker = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[\[script:([\w.-]+)\]\]`) })

// position finds the scenario and how many turns the model has taken in it.
// Several assistant items in a row are one turn: one format splits them.
func position(turns []turn) (name string, step int) {
	last := ""
	for _, t := range turns {
		if t.role == "user" {
			if m := marker().FindAllStringSubmatch(t.text, -1); m != nil {
				name, step = m[len(m)-1][1], 0
			}
		}
		if t.role == "assistant" && last != "assistant" {
			step++
		}
		last = t.role
	}
	return name, step
}

// step returns the turn to take. A client that offers no tools gets a plain
// text where the script has calls: hosts ask for titles and summaries that way.
func (s *Server) step(name string, n int, tools bool) (Step, error) {
	if name == "" {
		return Step{Text: "This model is scripted, and no [[script:NAME]] picks a scenario."}, nil
	}
	steps, ok := s.script[name]
	if !ok {
		return Step{}, fmt.Errorf("no scenario %q in the script", name)
	}
	if n >= len(steps) {
		return Step{Text: fmt.Sprintf("The script %s is over.", name)}, nil
	}
	st := steps[n]
	if len(st.Calls) > 0 && !tools {
		return Step{Text: "A scripted title"}, nil
	}
	if st.faulty() && st.Times > 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		key := fmt.Sprintf("%s/%d", name, n)
		if s.faults[key] >= st.Times {
			st.Status, st.Hang, st.Cut = 0, false, false
		}
		s.faults[key]++
	}
	return st, nil
}

func (s *Server) refuse(w http.ResponseWriter, st Step) {
	if st.RetryAfter != "" {
		w.Header().Set("Retry-After", st.RetryAfter)
	}
	if st.Body != "" {
		w.WriteHeader(st.Status)
		_, _ = io.WriteString(w, st.Body)
		return
	}
	writeJSON(w, st.Status, failure("scripted "+strings.ToLower(http.StatusText(st.Status))))
}

func failure(msg string) obj {
	return obj{"type": "error", "error": obj{"type": "scripted_error", "message": msg}}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// pause waits as the step wants it, or until the client goes.
func pause(r *http.Request, st Step) {
	if st.DelayMS > 0 {
		select {
		case <-time.After(time.Duration(st.DelayMS) * time.Millisecond):
		case <-r.Context().Done():
		}
	}
}
