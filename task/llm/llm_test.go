package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/agent"
	"github.com/whet-dev/whet/internal/scriptmodel"
	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/llm"
	"github.com/whet-dev/whet/task/store"
	"github.com/whet-dev/whet/task/tasktest"
)

// opener lets the fixer work with the scripted model.
func opener(model string) llm.Open {
	return func(t task.Task) (agent.Options, error) {
		role, err := agent.FindRole(t.Agent)
		return agent.Options{
			Model: agent.Endpoint{Provider: "p", Model: "m", API: "openai", BaseURL: model + "/v1", Idle: 20 * time.Second}.Open(),
			Kit:   &whet.Kit{}, Role: role, Retry: agent.Retry{Base: 10 * time.Millisecond},
			Session: whet.Session{ID: t.ID, Dir: t.Dir, Ask: func(context.Context, whet.Permission) error { return nil }},
		}, err
	}
}

func open(t *testing.T, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestBackend(t *testing.T) {
	journals := map[*testing.T]*store.Store{}
	tasktest.Run(t, tasktest.Peer{
		Open: func(t *testing.T, model *scriptmodel.Server, hear task.Hear) task.Backend {
			if journals[t] == nil {
				journals[t] = open(t, t.TempDir())
			}
			return llm.New(opener(model.URL), journals[t], hear)
		},
		Write: func(path, content string) scriptmodel.Call {
			args, err := json.Marshal(map[string]string{"path": path, "content": content})
			if err != nil {
				t.Fatal(err)
			}
			return scriptmodel.Call{Name: "write", Args: args}
		},
		Agent: "fixer", Notes: true, Parks: true, Changes: true,
	})
}

// dying is a journal whose process dies: after so many rows nothing is written.
type dying struct {
	*store.Store
	left int
	dead chan struct{}
}

var errDead = errors.New("the process is dead")

func (d *dying) AddRows(id string, rows ...store.Row) error {
	if d.left == 0 {
		select {
		case <-d.dead:
		default:
			close(d.dead)
		}
		return errDead
	}
	d.left--
	return d.Store.AddRows(id, rows...)
}

// Whichever row was the last, the run goes on to its end, and the tool that
// adds a line is never run again by itself.
func TestDeathAtEveryRow(t *testing.T) {
	script := scriptmodel.Script{"s": {
		{Text: "I append.", Calls: []scriptmodel.Call{{Name: "bash", Args: json.RawMessage(`{"command": "echo x >> log"}`)}}},
		{Text: "Done."},
	}}
	for rows := 0; ; rows++ {
		model, err := scriptmodel.Start(script)
		if err != nil {
			t.Fatal(err)
		}
		s := open(t, t.TempDir())
		d := &dying{s, rows, make(chan struct{})}
		r := task.Run{Prompt: "[[script:s]] go", Task: task.Task{ID: "tsk_1", Agent: "fixer", Dir: t.TempDir(), Prompt: "[[script:s]] go", Job: task.New()}}
		first := llm.New(opener(model.URL), d, func(string, uint32, task.Progress) {})
		if _, err := first.Start(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		finished := false
		select {
		case <-d.dead:
		case <-time.After(time.Duration(1+rows/20) * 500 * time.Millisecond):
			finished = true
		}
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		second := llm.New(opener(model.URL), s, func(string, uint32, task.Progress) {})
		r.Prompt = ""
		if _, err := second.Start(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		look := ended(t, second, r)
		if look.End != task.Done || look.Text != "Done." {
			t.Errorf("after %d rows: %+v", rows, look)
		}
		if err := second.Close(); err != nil {
			t.Fatal(err)
		}
		roundTrip(t, s, fmt.Sprintf("after %d rows", rows))
		model.Close()
		if finished {
			if rows < 8 {
				t.Errorf("the run had only %d rows", rows)
			}
			return
		}
	}
}

func ended(t *testing.T, b task.Backend, r task.Run) task.Look {
	t.Helper()
	for range 1000 {
		l, err := b.Look(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if l.Ended() {
			return l
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("it never ended")
	return task.Look{}
}

// roundTrip checks that each call in the conversation was begun at most once
// and has exactly one answer.
func roundTrip(t *testing.T, s *store.Store, when string) {
	t.Helper()
	rows, err := s.Rows("tsk_1")
	if err != nil {
		t.Fatal(err)
	}
	begun, ends := map[string]int{}, 0
	for _, row := range rows {
		switch row.Kind {
		case "begin":
			begun[string(row.Body)]++
		case "end":
			ends++
		}
	}
	for id, n := range begun {
		if n > 1 {
			t.Errorf("%s: call %s was run %d times", when, id, n)
		}
	}
	if ends != 1 {
		t.Errorf("%s: %d ends", when, ends)
	}
}

func TestUnknownAgent(t *testing.T) {
	b := llm.New(opener("http://127.0.0.1:1"), open(t, t.TempDir()), func(string, uint32, task.Progress) {})
	_, err := b.Start(t.Context(), task.Run{Task: task.Task{ID: "tsk_1", Agent: "boss", Job: task.New()}})
	if r := task.RefusalOf(err); r == nil || !strings.Contains(r.Reason, `no agent is called "boss"`) {
		t.Errorf("got %v", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}
