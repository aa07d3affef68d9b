package tasktest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/whet-dev/whet/internal/scriptmodel"
	"github.com/whet-dev/whet/task"
)

// A Bench is a backend at work on tasks.
type Bench struct {
	*testing.T
	task.Backend
	peer  Peer
	model *scriptmodel.Server
	dir   string
	heard chan string
	n     int

	sessions map[string]string // by task, as looks tell
}

func (b *Bench) open() {
	b.Backend = b.peer.Open(b.T, b.model, func(id string, gen uint32, _ task.Progress) {
		select {
		case b.heard <- fmt.Sprint(id, "/", gen):
		default:
		}
	})
}

// restart closes the backend and makes a new one.
func (b *Bench) restart() {
	b.Helper()
	if err := b.Backend.Close(); err != nil {
		b.Fatal(err)
	}
	b.open()
}

// new is a run of a task that nobody has started.
func (b *Bench) new(script string) task.Run {
	b.n++
	return task.Run{
		Prompt: "[[script:" + script + "]] go on",
		Task: task.Task{
			ID: fmt.Sprintf("tsk_%026d", b.n), Alias: fmt.Sprint("fix-", b.n), Parent: "p", Agent: b.peer.Agent,
			Dir: b.dir, Title: script, Prompt: "[[script:" + script + "]] go on", Allow: []string{"*"}, Writes: true, Job: task.New(),
		},
	}
}

func (b *Bench) start(r task.Run) task.Run {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	if r.Task.Session == "" {
		r.Task.Session = b.sessions[r.Task.ID]
	}
	session, err := b.Start(ctx, r)
	if err != nil {
		b.Fatalf("starting: %v", err)
	}
	r.Task.Session = session
	return r
}

// next is the run that goes on with r by another script.
func next(r task.Run, script string) task.Run {
	r.Task.Gen++
	r.Prompt = "[[script:" + script + "]] and now"
	return r
}

func (b *Bench) look(r task.Run) task.Look {
	b.Helper()
	limit := 5 * time.Second
	if b.peer.Patient {
		limit = time.Minute
	}
	ctx, cancel := context.WithTimeout(b.Context(), limit)
	defer cancel()
	l, err := b.Look(ctx, r)
	if err != nil {
		b.Fatalf("looking: %v", err)
	}
	if l.Session != "" {
		b.sessions[r.Task.ID] = l.Session
	}
	return l
}

func (b *Bench) until(r task.Run, what string, ok func(task.Look) bool) task.Look {
	b.Helper()
	var l task.Look
	patience := time.Minute
	if b.peer.Patient { // some wait for the next minute before they go on
		patience *= 2
	}
	for limit := time.Now().Add(patience); time.Now().Before(limit); time.Sleep(10 * time.Millisecond) {
		if l = b.look(r); ok(l) {
			return l
		}
	}
	b.Fatalf("never %s: %+v", what, l)
	return l
}

func (b *Bench) end(r task.Run, k task.Kind, text string) task.Look {
	b.Helper()
	l := b.until(r, "ended", task.Look.Ended)
	if l.End != k || l.Text != text {
		b.Errorf("ended as %v %.200q (%s), want %v %.200q", l.End, l.Text, l.Reason, k, text)
	}
	return l
}

func (b *Bench) rests(r task.Run) task.Look {
	b.Helper()
	return b.until(r, "at rest", func(l task.Look) bool { return l.Live == task.LiveQuiet || l.Live == task.LiveGone || l.Ended() })
}

// asked counts the requests for a scenario, without those for a title, which
// offer no tools.
func (b *Bench) asked(script string) (n int) {
	for _, r := range b.model.Requests() {
		if r.Scenario == script && strings.Contains(string(r.Body), `"tools":[{`) {
			n++
		}
	}
	return n
}

func (b *Bench) busy(r task.Run, script string) {
	b.Helper()
	b.until(r, "at work", func(l task.Look) bool { return l.Live == task.LiveBusy && b.asked(script) > 0 })
}

func (b *Bench) note(r task.Run, id, text string) {
	b.Helper()
	if err := b.Note(b.Context(), r, task.Note{ID: id, Text: text}); err != nil {
		b.Fatalf("note: %v", err)
	}
}

// was reports whether the model has been told text.
func (b *Bench) was(text string) bool {
	want, err := json.Marshal(text)
	if err != nil {
		return false
	}
	inside := strings.Trim(string(want), `"`)
	return slices.ContainsFunc(b.model.Requests(), func(q scriptmodel.Request) bool { return strings.Contains(string(q.Body), inside) })
}
