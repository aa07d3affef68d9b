package whet_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet"
)

type text string

func (t text) String() string { return string(t) }

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// echo is a tool that does as its argument says.
var echo = whet.New("echo", "Say it.", func(_ context.Context, c *whet.Call, in struct {
	Say  string `json:"say" doc:"what"`
	Path string `json:"path,omitempty" doc:"where"`
},
) (text, error) {
	switch in.Say {
	case "error":
		return "", errors.New("no voice")
	case "long error":
		return "", errors.New("begin " + strings.Repeat("é", 1<<20) + " end")
	case "panic":
		panic("lost voice")
	}
	return text(in.Say), nil
})

func tracing(name string, log *[]string) whet.Guard {
	return whet.Guard{
		Name: name,
		Before: func(_ context.Context, c *whet.Call) error {
			*log = append(*log, "before "+name+" "+c.Path)
			return nil
		},
		After: func(_ context.Context, c *whet.Call, r *whet.Result) error {
			*log = append(*log, "after "+name+" "+r.Text)
			return nil
		},
	}
}

func TestCallOrder(t *testing.T) {
	var log []string
	tool := echo
	tool.PathArg = "path"
	k := whet.Kit{Tools: []whet.Tool{tool}, Guards: []whet.Guard{tracing("outer", &log), {Name: "none"}, tracing("inner", &log)}, Log: quiet}
	r, err := k.Call(t.Context(), &whet.Call{Tool: "echo", Args: []byte(`{"say":"hi","Path":"a/b"}`)})
	if err != nil || r.Text != "hi" || r.Failed {
		t.Fatalf("got %+v, %v", r, err)
	}
	want := []string{"before outer a/b", "before inner a/b", "after inner hi", "after outer hi"}
	if d := cmp.Diff(want, log); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestRefusalStopsTheCall(t *testing.T) {
	var log []string
	stop := whet.Guard{Name: "stop", Before: func(context.Context, *whet.Call) error {
		return fmt.Errorf("wrapped: %w", whet.Refuse("not %s", "now"))
	}}
	k := whet.Kit{Tools: []whet.Tool{echo}, Guards: []whet.Guard{stop, tracing("inner", &log)}, Log: quiet}
	r, err := k.Call(t.Context(), &whet.Call{Tool: "echo", Args: []byte(`{"say":"hi"}`)})
	if err != nil || !r.Failed || r.Text != "not now" {
		t.Errorf("got %+v, %v", r, err)
	}
	if len(log) != 0 {
		t.Errorf("inner guard ran: %q", log)
	}
}

func TestGuardTroubleNeverCostsTheCall(t *testing.T) {
	bad := whet.Guard{
		Name:   "bad",
		Before: func(context.Context, *whet.Call) error { panic("before") },
		After:  func(context.Context, *whet.Call, *whet.Result) error { panic("after") },
		Reset:  func(context.Context, whet.Session) error { return errors.New("reset") },
	}
	failing := whet.Guard{
		Name:   "failing",
		Before: func(context.Context, *whet.Call) error { return errors.New("before") },
		After:  func(context.Context, *whet.Call, *whet.Result) error { return errors.New("after") },
	}
	var logged strings.Builder
	k := whet.Kit{Tools: []whet.Tool{echo}, Guards: []whet.Guard{bad, failing}, Log: slog.New(slog.NewTextHandler(&logged, nil))}
	r, err := k.Call(t.Context(), &whet.Call{Tool: "echo", Args: []byte(`{"say":"hi"}`)})
	if err != nil || r.Text != "hi" || r.Failed {
		t.Errorf("got %+v, %v", r, err)
	}
	k.Reset(t.Context(), whet.Session{})
	if n := strings.Count(logged.String(), "guard="); n != 5 {
		t.Errorf("logged %d of 5 troubles:\n%s", n, logged.String())
	}
}

func TestToolTroubleIsForTheModel(t *testing.T) {
	k := whet.Kit{Tools: []whet.Tool{echo}, Log: quiet}
	for _, c := range []struct{ args, want string }{
		{`{"say":"error"}`, "no voice"},
		{`{"say":"panic"}`, "echo: internal error: lost voice; the call did not finish, check what it changed before repeating it"},
		{`{}`, `echo: missing parameter "say" (what); example: {"say":"..."}`},
	} {
		r, err := k.Call(t.Context(), &whet.Call{Tool: "echo", Args: []byte(c.args)})
		if err != nil || !r.Failed || r.Text != c.want {
			t.Errorf("%s: got %+v, %v, want %q", c.args, r, err, c.want)
		}
	}
	r, err := k.Call(t.Context(), &whet.Call{Tool: "echo", Args: []byte(`{"say":"hi","loud":true}`)})
	if want := "hi\n\nnote: ignored unknown parameter \"loud\"; known: say, path"; err != nil || r.Text != want {
		t.Errorf("got %q, %v, want %q", r.Text, err, want)
	}
}

func TestNoSuchTool(t *testing.T) {
	k := whet.Kit{Tools: []whet.Tool{echo}}
	_, err := k.Call(t.Context(), &whet.Call{Tool: "ecko"})
	if !errors.Is(err, whet.ErrNoTool) || err.Error() != `no such tool: "ecko"; there are: echo` {
		t.Errorf("got %v", err)
	}
}

func TestAllowWithNobodyToAsk(t *testing.T) {
	err := whet.Session{}.Allow(t.Context(), whet.Permission{Action: "bash", Subject: "make"})
	if refusal := (*whet.Refusal)(nil); !errors.As(err, &refusal) {
		t.Errorf("got %v, want a refusal", err)
	}
}

type changing struct{ text }

func (changing) Changed() []string { return []string{"/a"} }
func (changing) Failed() bool      { return true }

func TestResultOfOut(t *testing.T) {
	tool := whet.New("c", "Change.", func(context.Context, *whet.Call, struct{}) (changing, error) { return changing{"done"}, nil })
	r, err := tool.Run(t.Context(), &whet.Call{})
	if err != nil || r.Text != "done" || !r.Failed || len(r.Changed) != 1 || r.Changed[0] != "/a" {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestStringArg(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{`{"file_path":"a"}`, "a"},
		{`{"filePath":"a"}`, "a"},
		{`{"file_path":5}`, ""},
		{`{"other":"a"}`, ""},
		{`[]`, ""},
		{``, ""},
	} {
		if got := whet.StringArg([]byte(c.args), "file_path"); got != c.want {
			t.Errorf("%s: got %q, want %q", c.args, got, c.want)
		}
	}
}

// A tool's error can repeat what the model sent: of that, the ends are enough.
func TestLongErrorIsShortened(t *testing.T) {
	k := whet.Kit{Tools: []whet.Tool{echo}, Log: quiet}
	r, err := k.Call(t.Context(), &whet.Call{Tool: "echo", Args: []byte(`{"say": "long error"}`)})
	if err != nil || !r.Failed || len(r.Text) > 50<<10 || !strings.HasPrefix(r.Text, "begin é") || !strings.HasSuffix(r.Text, "é end") || !utf8.ValidString(r.Text) || !strings.Contains(r.Text, "bytes left out") {
		t.Errorf("%d bytes, %v: %.100q", len(r.Text), err, r.Text)
	}
}
