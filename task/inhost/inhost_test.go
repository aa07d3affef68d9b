package inhost_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/internal/state"
	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/inhost"
	"github.com/whet-dev/whet/task/mail"
)

// A host stands for OpenCode's API, as far as tellers of ends need it; the real
// one is in e2e.
type host struct {
	*testing.T
	house  *inhost.House
	stores func(string) whet.Store
	tasks  string // the runner's directory

	mu       sync.Mutex
	busy     bool
	todos    []map[string]string
	messages []map[string]any
	sent     []string // prompts, as they came
	refuse   bool     // prompts
}

const session = "ses_1"

func newHost(t *testing.T, wake task.Wake) *host {
	root := t.TempDir()
	t.Setenv("WHET_STATE", root)
	h := &host{T: t, stores: state.Memories(), tasks: filepath.Join(root, "tasks")}
	h.house = h.open(wake)
	return h
}

func (h *host) open(wake task.Wake) *inhost.House {
	h.Helper()
	house, err := inhost.Open(inhost.Options{Dir: "/project", State: h.tasks, API: h.api, Stores: h.stores, Wake: wake, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(house.Close)
	return house
}

func (h *host) api(_ context.Context, method, path string, body json.RawMessage) (int, json.RawMessage, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	path, query, _ := strings.Cut(path, "?")
	if query != "directory=%2Fproject" && query != "" {
		return 0, nil, fmt.Errorf("asked about %q", query)
	}
	answer := func(v any) (int, json.RawMessage, error) {
		b, err := json.Marshal(v)
		return 200, b, err
	}
	switch method + " " + path {
	case "GET /session":
		return answer([]any{map[string]any{"id": session, "time": map[string]int64{"updated": time.Now().UnixMilli()}}})
	case "GET /session/status":
		if h.busy {
			return answer(map[string]any{session: map[string]string{"type": "busy"}})
		}
		return answer(map[string]any{})
	case "GET /session/" + session + "/message":
		return answer(h.messages)
	case "GET /session/" + session + "/todo":
		return answer(h.todos)
	case "POST /session/" + session + "/prompt_async":
		if h.refuse {
			return 0, nil, errors.New("the connection broke")
		}
		h.sent = append(h.sent, string(body))
		var p struct{ Parts []any }
		if err := json.Unmarshal(body, &p); err != nil {
			return 0, nil, err
		}
		h.say("user", p.Parts...)
		h.say("assistant", map[string]string{"type": "text", "text": "I see."})
		return 204, json.RawMessage(`""`), nil
	}
	if path == "/strange" { // no status at all
		return 0, nil, nil
	}
	return 404, json.RawMessage(`{"name":"NotFoundError"}`), nil
}

func (h *host) say(role string, parts ...any) {
	info := map[string]any{"id": fmt.Sprint("msg_", len(h.messages)), "role": role}
	if role == "user" {
		info["agent"], info["model"] = "plan", map[string]string{"providerID": "p", "modelID": "m"}
	} else {
		info["time"] = map[string]int64{"completed": 1}
	}
	h.messages = append(h.messages, map[string]any{"info": info, "parts": parts})
}

func (h *host) with(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
}

func (h *host) prompts() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.sent)
}

// mail writes the session's, as the runner does.
func (h *host) mail(m task.Mail) {
	h.Helper()
	b, err := json.Marshal(m)
	if err != nil {
		h.Fatal(err)
	}
	path := task.MailFile(h.tasks, "opencode/"+session)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path+".new", b, 0o600), os.Rename(path+".new", path)); err != nil {
		h.Fatal(err)
	}
}

func notice(n int) task.Notice {
	id := fmt.Sprintf("tsk_%d/1/1", n)
	return task.Notice{ID: id, Text: fmt.Sprintf("<task id=\"tsk_%d\" notice=%q>\nEnd %d.\n</task>", n, id, n)}
}

func (h *host) until(what string, ok func() bool) {
	h.Helper()
	for limit := time.Now().Add(10 * time.Second); time.Now().Before(limit); time.Sleep(10 * time.Millisecond) {
		if ok() {
			return
		}
	}
	h.Fatalf("never %s; prompts: %q", what, h.prompts())
}

// read takes what was left for the runner.
func (h *host) read() (ids []string) {
	h.Helper()
	err := state.Spool(task.SlipDir(h.tasks)).Take(func(b []byte) error {
		var s task.Slip
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		ids = append(ids, s.Read...)
		return nil
	})
	if err != nil {
		h.Fatal(err)
	}
	return ids
}

// pause is long enough for anything to be told that is going to be.
const pause = time.Second

// A session that rests is woken with the end of its task, as the person has set
// it up, once; when its model has answered, the end has been read.
func TestTellsOnce(t *testing.T) {
	h := newHost(t, task.Wake{MinGapS: 1})
	h.busy = true
	h.house.Saw(session)
	h.say("user", map[string]string{"type": "text", "text": "go"})
	h.mail(task.Mail{Open: 1})
	h.mail(task.Mail{Notices: []task.Notice{notice(1)}})
	time.Sleep(pause)
	if got := h.prompts(); len(got) > 0 {
		t.Fatalf("at work it was sent %q", got)
	}
	h.with(func() { h.busy = false })
	h.house.Heard("session.idle", session)
	h.until("told", func() bool { return len(h.prompts()) == 1 })
	for _, want := range []string{"End 1.", `"synthetic":true`, `"agent":"plan"`, `"modelID":"m"`, `"messageID":"msg_`} {
		if !strings.Contains(h.prompts()[0], want) {
			t.Errorf("no %s in %s", want, h.prompts()[0])
		}
	}
	h.house.Heard("session.idle", session)
	h.until("read", func() bool { return slices.Contains(h.read(), "tsk_1/1/1") })
	h.mail(task.Mail{Notices: []task.Notice{notice(1), notice(2)}}) // the runner is slow to hear of it
	h.until("told of the second", func() bool { return len(h.prompts()) == 2 })
	if p := h.prompts()[1]; strings.Contains(p, "End 1.") || !strings.Contains(p, "End 2.") {
		t.Errorf("told %s", p)
	}
	time.Sleep(pause)
	if got := h.prompts(); len(got) != 2 {
		t.Errorf("told again: %q", got)
	}
}

// What the conversation holds has been told, before whatever restart.
func TestRemembersByTheConversation(t *testing.T) {
	h := newHost(t, task.Wake{})
	h.say("assistant", map[string]any{"type": "tool", "state": map[string]string{"output": "done\n\n" + notice(1).Text}})
	h.mail(task.Mail{Notices: []task.Notice{notice(1)}})
	store := h.house.Saw(session)
	var told []string
	if err := mail.Told(whet.Session{Store: store}, func(old []string) []string { told = old; return old }); err != nil || !slices.Equal(told, []string{"tsk_1/1/1"}) {
		t.Errorf("%q, %v", told, err)
	}
	time.Sleep(pause)
	if got := h.prompts(); len(got) > 0 {
		t.Errorf("told again: %q", got)
	}
	h.with(func() { h.say("assistant") })
	h.house.Heard("session.idle", session)
	h.until("read", func() bool { return slices.Contains(h.read(), "tsk_1/1/1") })
}

// A host that is started anew finds its sessions by itself.
func TestFindsSessions(t *testing.T) {
	h := newHost(t, task.Wake{})
	h.mail(task.Mail{Notices: []task.Notice{notice(1)}})
	h.until("told", func() bool { return len(h.prompts()) == 1 })
}

func TestDoesNotWake(t *testing.T) {
	off := false
	for name, tt := range map[string]struct {
		wake task.Wake
		mail task.Mail
	}{
		"waits for a person": {task.Wake{}, task.Mail{Waiting: true, Notices: []task.Notice{notice(1)}}},
		"tasks run":          {task.Wake{IdleS: 1}, task.Mail{Open: 1, Board: "the board"}},
		"not for ends":       {task.Wake{OnEnd: &off, IdleS: 600}, task.Mail{Notices: []task.Notice{notice(1)}}},
		"never":              {task.Wake{Enabled: &off, IdleS: 1}, task.Mail{Notices: []task.Notice{notice(1)}}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, tt.wake)
			h.todos = []map[string]string{{"content": "roof", "status": "pending"}}
			h.house.Saw(session)
			h.mail(tt.mail)
			time.Sleep(2 * pause)
			if got := h.prompts(); len(got) > 0 {
				t.Errorf("woken by %q", got)
			}
		})
	}
}

// What could not be sent may be told by whoever comes next.
func TestTroubleSending(t *testing.T) {
	h := newHost(t, task.Wake{})
	h.refuse = true
	store := h.house.Saw(session)
	h.mail(task.Mail{Notices: []task.Notice{notice(1)}})
	time.Sleep(pause)
	fresh, _, err := mail.Sort(whet.Session{Store: store}, []task.Notice{notice(1)})
	if err != nil || len(fresh) != 1 {
		t.Errorf("it counts as told: %q, %v", fresh, err)
	}
}

// Unfinished work wakes as often as it may, and again when a person has written.
func TestUnfinishedWork(t *testing.T) {
	h := newHost(t, task.Wake{IdleS: 1, Cap: 1})
	h.todos = []map[string]string{{"content": "roof", "status": "in_progress"}, {"content": "door", "status": "completed"}}
	h.house.Saw(session)
	h.mail(task.Mail{Board: "the board"})
	h.until("woken", func() bool { return len(h.prompts()) == 1 })
	if p := h.prompts()[0]; !strings.Contains(p, "at rest for a while") || !strings.Contains(p, "the board") {
		t.Errorf("woken by %s", p)
	}
	time.Sleep(2 * pause)
	if n := len(h.prompts()); n != 1 {
		t.Errorf("woken %d times", n)
	}
	h.house.Wrote(session)
	h.house.Heard("session.idle", session)
	h.until("woken once more", func() bool { return len(h.prompts()) == 2 })
}

// The host is lent: its API, its refusals, and its events.
func TestLends(t *testing.T) {
	h := newHost(t, task.Wake{})
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", h.house.Via())
	}}}
	get := func(path string) (int, string) {
		t.Helper()
		resp, err := client.Get("http://host" + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	if code, body := get("/session/status?directory=%2Fproject"); code != 200 || body != "{}" {
		t.Errorf("%d %s", code, body)
	}
	if code, body := get("/nothing"); code != 404 || !strings.Contains(body, "NotFound") {
		t.Errorf("%d %s", code, body)
	}
	if code, body := get("/strange"); code != 502 || !strings.Contains(body, "status 0") {
		t.Errorf("%d %s", code, body)
	}
	if code, body := get("/session?directory=elsewhere"); code != 502 || !strings.Contains(body, "elsewhere") {
		t.Errorf("%d %s", code, body)
	}
	resp, err := client.Get("http://host/global/event")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Scan() // it is connected
	h.house.Heard("session.idle", "ses_2")
	want := `data: {"payload":{"properties":{"sessionID":"ses_2"},"type":"session.idle"}}`
	for lines.Scan() && lines.Text() != want {
		if lines.Text() != "" {
			t.Errorf("got %s", lines.Text())
		}
	}
	info, err := os.Stat(h.house.Via())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}

	// A second host in the project has a place of its own; the next one has the
	// first one's.
	if second := h.open(task.Wake{}); second.Via() == h.house.Via() {
		t.Error("two hosts at one place")
	}
	h.house.Close()
	if third := h.open(task.Wake{}); third.Via() != h.house.Via() {
		t.Errorf("started anew it is at %s, was at %s", third.Via(), h.house.Via())
	}
}
