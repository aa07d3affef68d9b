package hook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/host/hook"
	"github.com/whet-dev/whet/internal/state"
)

// A recorder is a kit whose guards write down what reaches them and do as the
// call's arguments say.
type recorder struct {
	seen   []seen
	stores map[string]bool
}

type seen struct {
	Phase, Tool, Path, ID, Session, Agent, Dir, Text string
	Failed                                           bool     `json:",omitempty"`
	Changed                                          []string `json:",omitempty"`
}

func (r *recorder) setup(string, string) (*whet.Kit, func(string) whet.Store) {
	note := func(phase string, c *whet.Call, res whet.Result) {
		r.seen = append(r.seen, seen{phase, c.Tool, c.Path, c.ID, c.Session.ID, c.Session.Agent, c.Session.Dir, res.Text, res.Failed, res.Changed})
	}
	return &whet.Kit{Guards: []whet.Guard{{
		Name: "recorder",
		Before: func(_ context.Context, c *whet.Call) error {
			note("before", c, whet.Result{})
			switch {
			case bytes.Contains(c.Args, []byte("REFUSE")):
				return whet.Refuse("no: <because>")
			case bytes.Contains(c.Args, []byte("REWRITE")):
				c.Args = bytes.ReplaceAll(c.Args, []byte("REWRITE"), []byte("rewritten"))
			case bytes.Contains(c.Args, []byte("PANIC")):
				panic("guard")
			}
			return nil
		},
		After: func(_ context.Context, c *whet.Call, res *whet.Result) error {
			note("after", c, *res)
			if bytes.Contains(c.Args, []byte("NOTE")) {
				res.Note("a note")
			}
			return nil
		},
		Reset: func(_ context.Context, s whet.Session) error {
			note("reset", &whet.Call{Session: s}, whet.Result{})
			return nil
		},
		Prompt: func(_ context.Context, s whet.Session) (string, error) {
			note("prompt", &whet.Call{Session: s}, whet.Result{})
			return "a board", nil
		},
		Idle: func(_ context.Context, s whet.Session) (string, error) {
			note("idle", &whet.Call{Session: s}, whet.Result{})
			return map[string]string{"s1": "", "s2": "an end"}[s.ID], nil
		},
	}}}, func(session string) whet.Store { r.stores[session] = true; return state.Memory() }
}

// Each archive in testdata/HOST holds events of that host, what guards must
// make of them, and the exact reply. The comment says where the shape is from.
func TestDialects(t *testing.T) {
	for _, d := range hook.Dialects() {
		files, err := filepath.Glob(filepath.Join("testdata", d.Name, "*.txtar"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no testdata/%s/*.txtar: %v", d.Name, d.Name, err)
		}
		for _, file := range files {
			t.Run(d.Name+"/"+filepath.Base(file), func(t *testing.T) { dialect(t, d, file) })
		}
	}
}

func dialect(t *testing.T, d *hook.Dialect, file string) {
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	section := map[string]string{}
	for _, f := range a.Files {
		section[f.Name] = string(f.Data)
	}
	for _, f := range a.Files {
		name, ok := strings.CutSuffix(f.Name, ".event")
		if !ok {
			continue
		}
		t.Run(name, func(t *testing.T) {
			r := &recorder{stores: map[string]bool{}}
			var out bytes.Buffer
			err := hook.Run(t.Context(), d, r.setup, bytes.NewReader(f.Data), &out)
			if blocked := (*hook.Blocked)(nil); errors.As(err, &blocked) {
				out.WriteString("exit status 2: " + blocked.Reason + "\n")
			} else if err != nil {
				t.Fatal(err)
			}
			cwd, err := os.Getwd()
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			for _, s := range r.seen {
				b, err := json.Marshal(s)
				if err != nil {
					t.Fatal(err)
				}
				got.WriteString(strings.ReplaceAll(string(b), cwd, "CWD") + "\n")
			}
			if os.Getenv("WHET_UPDATE") != "" {
				update(t, file, name, got.String(), out.String())
				return
			}
			if diff := cmp.Diff(section[name+".seen"], got.String()); diff != "" {
				t.Errorf("what guards saw (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(section[name+".reply"], out.String()); diff != "" {
				t.Errorf("reply (-want +got)\n%s", diff)
			}
		})
	}
}

// update writes the two outcomes of one event into its archive, for review.
func update(t *testing.T, file, name, seen, reply string) {
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var files []txtar.File
	for _, f := range a.Files {
		if f.Name == name+".seen" || f.Name == name+".reply" {
			continue
		}
		files = append(files, f)
		if f.Name == name+".event" {
			files = append(files, txtar.File{Name: name + ".seen", Data: []byte(seen)}, txtar.File{Name: name + ".reply", Data: []byte(reply)})
		}
	}
	a.Files = files
	if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
		t.Fatal(err)
	}
}

const event = `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{}}`

func TestBadInput(t *testing.T) {
	d, err := hook.Lookup("claude-code")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", "reading claude-code's event: standard input is empty; the host must send the event as JSON"},
		{"not JSON", "hello", "reading claude-code's event: not valid JSON: invalid character 'h' looking for beginning of value"},
		{"cut off", `{"session_id":"s"`, "reading claude-code's event: not valid JSON: unexpected EOF"},
		{"not an object", `[1]`, "reading claude-code's event: json: cannot unmarshal array into Go value of type hook.shape"},
		{"no event name", `{}`, "reading claude-code's event: no hook_event_name in it; is this the event of another host?"},
		{"40 MB", `{"tool_input":"` + strings.Repeat("x", 40<<20) + `"}`, "reading claude-code's event: it is larger than 32 MiB"},
	} {
		var out bytes.Buffer
		r := &recorder{stores: map[string]bool{}}
		err := hook.Run(t.Context(), d, r.setup, strings.NewReader(c.in), &out)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.name, err, c.want)
		}
		if out.Len() != 0 {
			t.Errorf("%s: replied %q", c.name, out.String())
		}
	}
}

// Some hosts leave the hook's standard input open: a complete event is enough.
func TestInputThatNeverCloses(t *testing.T) {
	d, err := hook.Lookup("claude-code")
	if err != nil {
		t.Fatal(err)
	}
	in, w := io.Pipe()
	defer w.Close()
	go func() { _, _ = io.WriteString(w, event) }()
	r := &recorder{stores: map[string]bool{}}
	if err := hook.Run(t.Context(), d, r.setup, in, io.Discard); err != nil {
		t.Fatal(err)
	}
	if len(r.seen) != 1 {
		t.Errorf("the guards saw %d events, want 1", len(r.seen))
	}
}

func TestLookup(t *testing.T) {
	_, err := hook.Lookup("emacs")
	if err == nil || err.Error() != `unknown host "emacs"; known: claude-code, codex, gemini, qwen, cursor, copilot, vscode, crush, goose, windsurf` {
		t.Errorf("got %v", err)
	}
}

// The state of two hosts, and of a sub-agent, is kept apart.
func TestStoreNames(t *testing.T) {
	for _, c := range []struct{ host, in, want string }{
		{"claude-code", event, "claude-code/s"},
		{"codex", event, "codex/s"},
		{"claude-code", strings.Replace(event, `"hook_event_name"`, `"agent_id":"a7","hook_event_name"`, 1), "claude-code/s/a7"},
	} {
		d, err := hook.Lookup(c.host)
		if err != nil {
			t.Fatal(err)
		}
		r := &recorder{stores: map[string]bool{}}
		if err := hook.Run(t.Context(), d, r.setup, strings.NewReader(c.in), io.Discard); err != nil {
			t.Fatal(err)
		}
		if !r.stores[c.want] {
			t.Errorf("%s: stores %v, want %s", c.host, r.stores, c.want)
		}
	}
}

// Whatever comes, a dialect answers with nothing or with one JSON object.
func FuzzDialects(f *testing.F) {
	f.Add([]byte(event))
	f.Add([]byte(`{"hook_event_name":"PostToolUse","tool_name":"apply_patch","tool_input":{"command":"*** Add File: x\n*** Move to: y NOTE"},"tool_response":{"a":[null]}}`))
	f.Add([]byte(`{"hook_event_name":"PreToolUse","tool_input":"REWRITE","tool_name":"REFUSE"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, d := range hook.Dialects() {
			r := &recorder{stores: map[string]bool{}}
			var out bytes.Buffer
			if hook.Run(t.Context(), d, r.setup, bytes.NewReader(in), &out) != nil && out.Len() > 0 {
				t.Errorf("%s: an error and the reply %q", d.Name, out.String())
			}
			var m map[string]any
			if out.Len() > 0 && json.Unmarshal(out.Bytes(), &m) != nil {
				t.Errorf("%s: the reply is not one object: %q", d.Name, out.String())
			}
		}
	})
}
