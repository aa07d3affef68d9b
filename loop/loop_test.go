package loop_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/internal/state"
	"github.com/whet-dev/whet/loop"
)

// session drives the guard as a host would.
type session struct {
	t     *testing.T
	kit   whet.Kit
	s     whet.Session
	calls int
}

func open(t *testing.T, o loop.Options) *session {
	return &session{
		t:   t,
		kit: whet.Kit{Guards: []whet.Guard{loop.Guard(o)}},
		s:   whet.Session{ID: "s", Store: state.Session(t.TempDir(), "s")},
	}
}

// call makes one call and says what the guard did: "" (nothing), "notice" or
// "refused".
func (s *session) call(tool, args, result string) string {
	c := s.begin(tool, args)
	if c == nil {
		return "refused"
	}
	return s.end(c, result)
}

func (s *session) begin(tool, args string) *whet.Call {
	s.calls++
	c := &whet.Call{ID: fmt.Sprint(s.calls), Tool: tool, Args: []byte(args), Session: s.s}
	if s.kit.Before(s.t.Context(), c) != nil {
		return nil
	}
	return c
}

func (s *session) end(c *whet.Call, result string) string {
	text, failed := strings.CutPrefix(result, "error: ")
	r := &whet.Result{Text: text, Failed: failed}
	s.kit.After(s.t.Context(), c, r)
	switch n := strings.Count(r.Text, "[LOOP GUARD]"); {
	case n > 1:
		s.t.Errorf("%d notices on one result", n)
	case n == 1 && !strings.HasPrefix(r.Text, text):
		s.t.Errorf("the notice changed the result: %q", r.Text)
	case n == 1:
		return "notice"
	}
	return ""
}

func TestGuard(t *testing.T) {
	type step struct{ tool, args, result, want string }
	times := func(n int, st step) (out []step) {
		for range n {
			out = append(out, st)
		}
		return out
	}
	join := func(ss ...[]step) (out []step) {
		for _, s := range ss {
			out = append(out, s...)
		}
		return out
	}
	read := step{"read", `{"path":"a"}`, "text", ""}
	noticed := func(s step) step { s.want = "notice"; return s }
	refused := func(s step) step { s.want = "refused"; return s }
	bash := step{"bash", `{"command":"make"}`, "ok", ""}

	for _, c := range []struct {
		name  string
		steps []step
	}{
		{"two silent, three noticed, the sixth and seventh refused", join(times(2, read), times(3, noticed(read)), times(2, refused(read)))},
		{"other tools are noticed each time and never refused", join(times(2, bash), times(8, noticed(bash)))},
		{"grep and glob are refused too", join(
			times(2, step{"grep", `{}`, "x", ""}), times(3, step{"grep", `{}`, "x", "notice"}), times(1, step{"grep", `{}`, "x", "refused"}),
			times(2, step{"glob", `{}`, "x", ""}), times(3, step{"glob", `{}`, "x", "notice"}), times(1, step{"glob", `{}`, "x", "refused"}),
		)},
		{"a changed result starts again", join(times(2, read), times(2, step{"read", `{"path":"a"}`, "new", ""}), times(1, step{"read", `{"path":"a"}`, "new", "notice"}))},
		{"another call starts again and lifts the refusal", join(
			times(2, read), times(3, noticed(read)), times(1, refused(read)), times(1, bash), times(2, read), times(1, noticed(read)))},
		{"an edit between reads starts again", join(times(2, read), times(1, step{"edit", `{"path":"a"}`, "done", ""}), times(2, read))},
		{"key order and number spelling don't matter", join(
			times(1, step{"read", `{"path":"a","limit":10}`, "t", ""}),
			times(1, step{"READ", `{ "limit": 1e1, "path": "a" }`, "t", ""}),
			times(1, step{"read", `{"limit":10.0,"path":"a"}`, "t", "notice"}))},
		{"string values and list order do matter", join(
			times(2, step{"read", `{"path":"a"}`, "t", ""}), times(1, step{"read", `{"path":"A"}`, "t", ""}),
			times(2, step{"read", `{"paths":["a","b"]}`, "t", ""}), times(1, step{"read", `{"paths":["b","a"]}`, "t", ""}))},
		{"long ids are not rounded together", join(
			times(2, step{"read", `{"id":9007199254740993}`, "t", ""}), times(1, step{"read", `{"id":9007199254740992}`, "t", ""}))},
		{"the error flag is part of the result", join(
			times(2, step{"bash", `{}`, "boom", ""}), times(1, step{"bash", `{}`, "error: boom", ""}))},
		{"failing calls count", join(times(2, step{"bash", `{}`, "error: boom", ""}), times(1, step{"bash", `{}`, "error: boom", "notice"}))},
		{"arguments that are not JSON are compared as they are", join(times(2, step{"read", `{oops`, "t", ""}), times(1, step{"read", `{oops`, "t", "notice"}))},
		{"exempt calls neither count nor break a streak", join(
			times(10, step{"task_status", `{}`, "running", ""}),
			times(2, read), times(1, step{"wait_for_user", `{}`, "waiting", ""}), times(1, noticed(read)))},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, loop.Options{})
			for i, st := range c.steps {
				if got := s.call(st.tool, st.args, st.result); got != st.want {
					t.Fatalf("call %d (%s %s → %s): got %q, want %q", i+1, st.tool, st.args, st.result, got, st.want)
				}
			}
		})
	}
}

func TestEveryExemptTool(t *testing.T) {
	for _, tool := range []string{"task", "task_status", "task_result", "task_cancel", "task_message", "task_revive", "wait_for_user", "wait_for_background_tasks"} {
		s := open(t, loop.Options{})
		for range 8 {
			if got := s.call(tool, `{}`, "same"); got != "" {
				t.Errorf("%s: got %q", tool, got)
			}
		}
	}
}

// Six identical reads at once all run: none had a result when the next began.
func TestOverlap(t *testing.T) {
	s := open(t, loop.Options{})
	var calls []*whet.Call
	for range 6 {
		c := s.begin("read", `{}`)
		if c == nil {
			t.Fatal("a call was refused before any result was known")
		}
		calls = append(calls, c)
	}
	for i := len(calls) - 1; i >= 0; i-- { // completion order is what counts
		want := ""
		if len(calls)-i >= 3 {
			want = "notice"
		}
		if got := s.end(calls[i], "same"); got != want {
			t.Errorf("result %d: got %q, want %q", len(calls)-i, got, want)
		}
	}
	if s.begin("read", `{}`) != nil {
		t.Error("the seventh, later call was not refused")
	}
}

func TestSessionsAreApart(t *testing.T) {
	a, b := open(t, loop.Options{}), open(t, loop.Options{})
	for range 2 {
		a.call("read", `{}`, "x")
		if got := b.call("read", `{}`, "x"); got != "" {
			t.Errorf("got %q", got)
		}
	}
	if got := a.call("read", `{}`, "x"); got != "notice" {
		t.Errorf("got %q, want a notice", got)
	}
}

func TestReset(t *testing.T) {
	s := open(t, loop.Options{})
	for range 5 {
		s.call("read", `{}`, "x")
	}
	s.kit.Reset(t.Context(), s.s)
	if got := s.call("read", `{}`, "x"); got != "" {
		t.Errorf("the first call after a reset: got %q", got)
	}
}

// A result whose call the guard never let begin is not news.
func TestUnknownEndIsIgnored(t *testing.T) {
	s := open(t, loop.Options{})
	for range 8 {
		if got := s.end(&whet.Call{ID: "never begun", Tool: "read", Args: []byte(`{}`), Session: s.s}, "x"); got != "" {
			t.Fatalf("got %q", got)
		}
	}
}

// Hosts that give no call ids are counted all the same.
func TestNoIDs(t *testing.T) {
	s := open(t, loop.Options{})
	for i, want := range []string{"", "", "notice", "notice", "notice", "refused"} {
		c := &whet.Call{Tool: "read", Args: []byte(`{}`), Session: s.s}
		got := "refused"
		if s.kit.Before(t.Context(), c) == nil {
			got = s.end(c, "x")
		}
		if got != want {
			t.Errorf("call %d: got %q, want %q", i+1, got, want)
		}
	}
}

func TestPendingIsBounded(t *testing.T) {
	var w loop.Watch
	now := time.Now()
	for i := range 10_000 {
		w.Begin(fmt.Sprint(i), "k", now.Add(time.Duration(i)*time.Second))
	}
	if len(w.Pending) > 256 {
		t.Errorf("%d calls are pending, want at most 256", len(w.Pending))
	}
	if w.End("9999", loop.Step{Call: "k", Result: "r"}) != 1 {
		t.Error("the newest pending call was forgotten")
	}
	w.Begin("late", "k", now.Add(24*time.Hour))
	if len(w.Pending) != 1 {
		t.Errorf("%d calls are pending a day later, want 1", len(w.Pending))
	}
}

func TestOptions(t *testing.T) {
	off := false
	s := open(t, loop.Options{Enabled: &off})
	for range 8 {
		if got := s.call("read", `{}`, "x"); got != "" {
			t.Fatalf("switched off, got %q", got)
		}
	}
	s = open(t, loop.Options{WarnAt: 2, RefuseAt: 3, RefuseTools: []string{"bash"}, Exempt: []string{"read"}})
	for range 8 {
		if got := s.call("read", `{}`, "x"); got != "" {
			t.Fatalf("exempt, got %q", got)
		}
	}
	for i, want := range []string{"", "notice", "notice", "refused"} {
		if got := s.call("bash", `{}`, "x"); got != want {
			t.Errorf("call %d: got %q, want %q", i+1, got, want)
		}
	}
}
