package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/agent"
	"github.com/whet-dev/whet/internal/scriptmodel"
)

// The model is the scripted one, over the loopback, through the real clients.

func serve(t *testing.T, script string) *scriptmodel.Server {
	t.Helper()
	s, err := scriptmodel.Parse([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	srv, err := scriptmodel.Start(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	return srv
}

// endpoints are the same model over both wire formats.
func endpoints(url string) []agent.Endpoint {
	return []agent.Endpoint{
		{Provider: "openai", Model: "m", API: "openai", BaseURL: url + "/v1", Key: "k", KeyEnv: "OPENAI_API_KEY", Idle: time.Second},
		{Provider: "anthropic", Model: "m", API: "anthropic", BaseURL: url, Key: "k", KeyEnv: "ANTHROPIC_API_KEY", Idle: time.Second},
	}
}

// quick retries at once.
var quick = agent.Retry{Tries: 3, Base: time.Millisecond}

func options(e agent.Endpoint, dir string) agent.Options {
	return agent.Options{
		Model: e.Open(), Kit: &whet.Kit{}, Retry: quick, Prompt: "[[script:s]] go",
		Session: whet.Session{Dir: dir, Ask: func(context.Context, whet.Permission) error { return nil }},
	}
}

func TestRun(t *testing.T) {
	srv := serve(t, `{"s": [
		{"text": "I look first.", "calls": [{"name": "read", "args": {"path": "a.txt"}}, {"name": "read", "args": {"path": "b.txt"}}]},
		{"calls": [
			{"name": "edit", "args": {"path": "a.txt", "old_string": "one", "new_string": "two"}},
			{"name": "edit", "args": {"path": "a.txt", "old_string": "two", "new_string": "three"}},
			{"name": "bash", "args": {"command": "cat a.txt"}}]},
		{"calls": [{"name": "bash", "raw": "{\"command\": \"ec"}, {"name": "launch_missiles"}, {"name": "bash", "raw": "[1]"}]},
		{"text": "Done: 世界."}]}`)
	for _, e := range endpoints(srv.URL) {
		t.Run(e.API, func(t *testing.T) {
			e.Price = &agent.Price{Input: 3, Output: 15}
			dir := project(t, map[string]string{"a.txt": "one\n", "b.txt": "b\n"})
			o := options(e, dir)
			var kinds, said string
			o.Event = func(ev agent.Event) {
				if ev.Type == "text" {
					said += ev.Text
				} else {
					kinds += ev.Type + " "
				}
			}
			out, err := agent.Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if out.Text != "Done: 世界." || said != "I look first.Done: 世界." || out.Steps != 4 {
				t.Errorf("text %q, said %q, %d steps", out.Text, said, out.Steps)
			}
			if b, _ := os.ReadFile(filepath.Join(dir, "a.txt")); string(b) != "three\n" {
				t.Errorf("a.txt holds %q: calls of one turn that write must run in order", b)
			}
			if u := out.Usage; u.Input != 400 || u.Output != 40 || u.Cost == nil || *u.Cost < 0.00179 || *u.Cost > 0.00181 {
				t.Errorf("usage %+v", u)
			}
			checkResults(t, out.Messages)
			if want := "start message message "; !strings.HasPrefix(kinds, want) || !strings.HasSuffix(kinds, "message end ") {
				t.Errorf("events: %s", kinds)
			}
			roundTrip(t, out.Messages)
		})
	}
	checkRequests(t, srv)
}

func checkResults(t *testing.T, ms []agent.Message) {
	t.Helper()
	var got []string
	for _, m := range ms {
		if m.Role == "tool" {
			text, _, _ := strings.Cut(m.Text, "\n")
			got = append(got, text)
		}
	}
	want := []string{
		"     1\tone", "     1\tb",
		"edited a.txt at line 1", "edited a.txt at line 1", "three",
		"bash was not called: its arguments are not valid JSON: unexpected end of JSON input. Send the call again with one JSON object.",
		`no such tool: "launch_missiles"; there are: read, write, edit, bash`,
		`bash: bad arguments: want a JSON object, got [1]; parameters: command, timeout_s`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("results -want +got:\n%s", d)
	}
}

// roundTrip checks that a conversation can be written down and read back.
func roundTrip(t *testing.T, ms []agent.Message) {
	t.Helper()
	b, err := json.Marshal(ms)
	if err != nil {
		t.Fatal(err)
	}
	var back []agent.Message
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(ms, back); d != "" {
		t.Error(d)
	}
}

func checkRequests(t *testing.T, srv *scriptmodel.Server) {
	t.Helper()
	for i, r := range srv.Requests() {
		var body struct {
			Stream bool              `json:"stream"`
			Tools  []json.RawMessage `json:"tools"`
			Model  string            `json:"model"`
		}
		if err := json.Unmarshal(r.Body, &body); err != nil {
			t.Fatal(err)
		}
		if !body.Stream || len(body.Tools) != 4 || body.Model != "m" || r.Scenario != "s" || r.Step != i%4 {
			t.Errorf("request %d: stream %v, %d tools, model %s, script %s step %d", i, body.Stream, len(body.Tools), body.Model, r.Scenario, r.Step)
		}
		if key := r.Header.Get("Authorization") + r.Header.Get("X-Api-Key"); key != "Bearer k" && key != "k" {
			t.Errorf("request %d came with the key %q", i, key)
		}
	}
}

func TestReasoningIsSentBack(t *testing.T) {
	srv := serve(t, `{"s": [{"reasoning": "hm", "calls": [{"name": "read", "args": {"path": "x"}}]}, {"text": "ok"}]}`)
	if _, err := agent.Run(t.Context(), options(endpoints(srv.URL)[0], t.TempDir())); err != nil {
		t.Fatal(err)
	}
	if got := string(srv.Requests()[1].Body); !strings.Contains(got, `"reasoning_content":"hm"`) {
		t.Errorf("second request: %s", got)
	}
}

// Bad endpoints: each gives one sentence in bounded time.
func TestBadModel(t *testing.T) {
	for _, tt := range []struct {
		name, step string
		want       string // in the error; URL stands for the address, NAME for the model
		requests   int
	}{
		{"wrong key", `{"status": 401, "body": "{\"error\":{\"message\":\"Incorrect key\"}}"}`, "NAME at URL answered 401: Incorrect key; is the key right? it came from KEY", 1},
		{"no such model", `{"status": 404}`, "NAME at URL answered 404: scripted not found; is the model's name (m) right, and the address?", 1},
		{"bad request", `{"status": 400, "body": "no JSON <html>"}`, "NAME at URL answered 400: no JSON <html>", 1},
		{"redirect", `{"status": 307}`, "NAME at URL answered 307: scripted temporary redirect", 1},
		{"overload", `{"status": 529}`, "NAME at URL answered 529: scripted (tried 3 times)", 3},
		{"fault that passes", `{"status": 500, "times": 2, "text": "fine"}`, "", 3},
		{"limit that passes", `{"status": 429, "retry_after": "0.01", "times": 1, "text": "fine"}`, "", 2},
		{"limit for too long", `{"status": 429, "retry_after": "3600"}`, "NAME at URL answered 429: scripted too many requests; it asks to wait 1h0m0s, which is too long: try again then", 1},
		{"silence", `{"hang": true}`, "NAME at URL sent nothing for 1s (tried 2 times)", 2},
		{"silence after some text", `{"text": "so far", "hang": true}`, "NAME at URL sent nothing for 1s (tried 2 times)", 2},
		{"cut", `{"text": "so far", "cut": true}`, "NAME: the connection to URL broke in the middle of the answer (tried 3 times)", 3},
		{"cut once", `{"text": "so far", "cut": true, "times": 1}`, "", 2},
		{"slow drip", `{"text": "one two three four five six seven eight nine ten one two three four five six seven eight nine ten", "delay_ms": 250}`, "", 1},
	} {
		srv := serve(t, `{"s": [`+tt.step+`]}`)
		for i, e := range endpoints(srv.URL) {
			t.Run(tt.name+" "+e.API, func(t *testing.T) {
				srv := srv
				if i > 0 { // faults are counted by server
					srv = serve(t, `{"s": [`+tt.step+`]}`)
					e = endpoints(srv.URL)[i]
				}
				t.Parallel()
				out, err := agent.Run(t.Context(), options(e, t.TempDir()))
				want := strings.NewReplacer("URL", e.BaseURL, "NAME", e.Name(), "KEY", e.KeyEnv).Replace(tt.want)
				switch {
				case want == "" && (err != nil || out.Text == ""):
					t.Errorf("text %q, error %v", out.Text, err)
				case want != "" && (err == nil || err.Error() != want):
					t.Errorf("error\n got %v\nwant %s", err, want)
				}
				if n := len(srv.Requests()); n != tt.requests {
					t.Errorf("%d requests, want %d", n, tt.requests)
				}
			})
		}
	}
}

func TestNobodyThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String()
	l.Close()
	for _, e := range endpoints(url) {
		_, err := agent.Run(t.Context(), options(e, t.TempDir()))
		want := e.Name() + ": no connection to " + e.BaseURL + " (connection refused); is the server running, is the address right?"
		if err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

func TestEnds(t *testing.T) {
	srv := serve(t, `{"cut": [{"text": "and so", "finish": "length"}], "cut-a": [{"text": "and so", "finish": "max_tokens"}],
		"no": [{"text": "I won't", "finish": "content_filter"}], "no-a": [{"text": "I won't", "finish": "refusal"}],
		"loop": [{"calls": [{"name": "read", "args": {"path": "x"}}]}, {"calls": [{"name": "read", "args": {"path": "x"}}]}, {"text": "never"}]}`)
	es := endpoints(srv.URL)
	for _, tt := range []struct {
		e      agent.Endpoint
		script string
		want   error
	}{
		{es[0], "cut", agent.ErrCut},
		{es[1], "cut-a", agent.ErrCut},
		{es[0], "no", agent.ErrDeclined},
		{es[1], "no-a", agent.ErrDeclined},
		{es[0], "loop", agent.ErrMaxSteps},
	} {
		o := options(tt.e, t.TempDir())
		o.Prompt, o.MaxSteps = "[[script:"+tt.script+"]]", 2
		out, err := agent.Run(t.Context(), o)
		if !errors.Is(err, tt.want) || out.Steps == 0 {
			t.Errorf("%s: %v after %d steps", tt.script, err, out.Steps)
		}
	}
}

func TestCancel(t *testing.T) {
	srv := serve(t, `{"s": [{"calls": [{"name": "bash", "args": {"command": "sleep 60"}}, {"name": "bash", "args": {"command": "echo two"}}]}],
		"hang": [{"text": "wait", "hang": true}], "busy": [{"status": 503, "retry_after": "60"}]}`)
	for _, script := range []string{"s", "hang", "busy"} {
		o := options(endpoints(srv.URL)[0], t.TempDir())
		o.Prompt = "[[script:" + script + "]]"
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(300*time.Millisecond, func() { cancel(why) })
		start := time.Now()
		out, err := agent.Run(ctx, o)
		if !errors.Is(err, why) || time.Since(start) > 5*time.Second {
			t.Errorf("%s: %v after %v", script, err, time.Since(start))
		}
		// Each call has its result, so that the conversation can go on.
		if last := out.Messages[len(out.Messages)-1]; script == "s" && last.Text != "not run: the person stopped the session" {
			t.Errorf("last message: %+v", last)
		}
	}
}

func TestHistory(t *testing.T) {
	srv := serve(t, `{"s": [{"text": "one"}], "t": [{"text": "two"}]}`)
	o := options(endpoints(srv.URL)[1], t.TempDir())
	first, err := agent.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	o.History, o.Prompt = first.Messages, "[[script:t]]"
	second, err := agent.Run(t.Context(), o)
	if err != nil || second.Text != "two" || len(second.Messages) != 4 {
		t.Errorf("%+v, %v", second, err)
	}
}

func TestRoles(t *testing.T) {
	srv := serve(t, `{"s": [{"calls": [{"name": "write", "args": {"path": "x", "content": "x"}}, {"name": "bash", "args": {"command": "touch y"}}]}, {"text": "ok"}]}`)
	for _, role := range agent.Roles() {
		if role.About == "" || len(role.Prompt) < 100 {
			t.Errorf("%s has no description", role.Name)
		}
	}
	role, err := agent.FindRole("explorer")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	o := options(endpoints(srv.URL)[0], dir)
	o.Role = role
	out, err := agent.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range out.Messages {
		if m.Role == "tool" && (!m.Failed || !strings.Contains(m.Text, "no such tool")) {
			t.Errorf("out of its lane: %+v", m)
		}
	}
	if es, _ := os.ReadDir(dir); len(es) > 0 {
		t.Errorf("the explorer wrote %v", es)
	}
	if _, err := agent.FindRole("boss"); err == nil {
		t.Error("found a boss")
	}
}

func TestProjectInstructions(t *testing.T) {
	srv := serve(t, `{"s": [{"text": "ok"}]}`)
	dir := project(t, map[string]string{"AGENTS.md": "Use tabs, always."})
	if _, err := agent.Run(t.Context(), options(endpoints(srv.URL)[1], dir)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(srv.Requests()[0].Body), "Use tabs, always.") {
		t.Error("AGENTS.md was not sent")
	}
}

func TestInbox(t *testing.T) {
	srv := serve(t, `{"s": [{"calls": [{"name": "read", "args": {"path": "x"}}]}, {"text": "one"}, {"text": "two"}]}`)
	for _, e := range endpoints(srv.URL) {
		o := options(e, t.TempDir())
		var asked []bool
		o.Inbox = func(_ context.Context, idle bool) []string {
			asked = append(asked, idle)
			return [][]string{{"first note", "second note"}, {"last note"}, nil}[len(asked)-1]
		}
		out, err := agent.Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		var said string
		for _, m := range out.Messages {
			if m.Role != "tool" {
				said += m.Role + " " + m.Text + "|"
			}
		}
		if want := "user [[script:s]] go|assistant |user first note|user second note|assistant one|user last note|assistant two|"; said != want || out.Text != "two" {
			t.Errorf("\n got %s\nwant %s", said, want)
		}
		if d := cmp.Diff([]bool{false, true, true}, asked); d != "" {
			t.Error(d)
		}
	}
}

// A panicking model's client ends its run alone, with a reason and what came
// before.
func TestPanickingModel(t *testing.T) {
	var last agent.Event
	o := options(agent.Endpoint{}, t.TempDir())
	o.Model, o.Event = broken{}, func(e agent.Event) { last = e }
	out, err := agent.Run(t.Context(), o)
	if err == nil || err.Error() != "broken/model: internal error: index out of range" {
		t.Errorf("error %v", err)
	}
	if out == nil || len(out.Messages) != 1 || last.Type != "end" || last.Error != err.Error() {
		t.Errorf("outcome %+v, last event %+v", out, last)
	}
}

type broken struct{}

func (broken) Name() string { return "broken/model" }

func (broken) Turn(context.Context, agent.Request, func(kind, text string)) (agent.Message, agent.Usage, error) {
	panic("index out of range")
}
