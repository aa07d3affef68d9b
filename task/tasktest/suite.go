package tasktest

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/whet-dev/whet/internal/scriptmodel"
	"github.com/whet-dev/whet/task"
)

// A Peer is a backend under test, working with the scripted model.
type Peer struct {
	// Open makes the backend, as a new process would that finds what the last one
	// left. The model answers by [Script].
	Open func(t *testing.T, model *scriptmodel.Server, hear task.Hear) task.Backend
	// Write is how its agent calls the tool that writes a file: path and content.
	Write func(path, content string) scriptmodel.Call
	Agent string // whose task it is; it must be allowed to write

	Notes   bool // a running task reads messages before its end
	Parks   bool // runs go on after the process was closed and opened again
	Lasts   bool // runs go on while the process is closed: they are elsewhere
	Changes bool // says which files were written
	Patient bool // takes seconds to start

	Only []string // names of the cases to run; none means all
	Not  []string // names of cases that the agent itself can't do
}

// long is more than any buffer on the way holds.
var long = strings.Repeat("0123456789 äöü ", 20000)

// Script is what the model plays.
func (p Peer) Script() scriptmodel.Script {
	slow, delay := strings.Repeat("so slow ", 200), 20
	if p.Patient { // a look takes long, too
		delay = 150
	}
	return scriptmodel.Script{
		"hi":     {{Text: "Hello."}},
		"again":  {{Text: "Again."}},
		"world":  {{Text: "Grüße, 世界 🌍."}},
		"long":   {{Text: long}},
		"empty":  {{Text: ""}},
		"write":  {{Text: "I write.", Calls: []scriptmodel.Call{p.Write("made.txt", "made\n")}}, {Text: "Written."}},
		"hang":   {{Text: "Begun.", Hang: true}},
		"once":   {{Text: "First.", Hang: true, Times: 1}},
		"slow":   {{Text: slow, DelayMS: delay}, {Text: "After the note."}, {Text: "After the second note."}},
		"key":    {{Status: 401, Body: `{"error":{"message":"Incorrect key"}}`}},
		"busy":   {{Status: 503, Times: 1, RetryAfter: "0.1", Text: "At last."}},
		"cut":    {{Text: "Half of", Cut: true, Times: 1}},
		"retold": {{Text: "Both."}},
	}
}

// Run holds the backend to what [task.Backend] promises.
func Run(t *testing.T, p Peer) {
	for _, c := range cases {
		if len(p.Only) > 0 && !slices.Contains(p.Only, c.name) || slices.Contains(p.Not, c.name) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			if c.needs != nil && !c.needs(p) {
				t.Skip("not a thing that this backend does")
			}
			model, err := scriptmodel.Start(p.Script())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { model.Close() })
			b := &Bench{T: t, peer: p, model: model, dir: filepath.Join(t.TempDir(), "a project"), heard: make(chan string, 10000), sessions: map[string]string{}}
			if err := os.MkdirAll(b.dir, 0o700); err != nil {
				t.Fatal(err)
			}
			b.open()
			t.Cleanup(func() {
				if err := b.Backend.Close(); err != nil {
					t.Error(err)
				}
			})
			c.run(b)
		})
	}
}

type testCase struct {
	name  string
	needs func(Peer) bool
	run   func(*Bench)
}

func notes(p Peer) bool   { return p.Notes }
func parks(p Peer) bool   { return p.Parks }
func changes(p Peer) bool { return p.Changes }
func ends(p Peer) bool    { return !p.Lasts }
func lasts(p Peer) bool   { return p.Lasts }
func keeps(p Peer) bool   { return p.Parks || p.Lasts }

var cases = []testCase{
	{"has a name", nil, func(b *Bench) {
		if b.Name() == "" {
			b.Error("it has no name")
		}
	}},
	{"answers", nil, func(b *Bench) { b.end(b.start(b.new("hi")), task.Done, "Hello.") }},
	{"answers in any script", nil, func(b *Bench) { b.end(b.start(b.new("world")), task.Done, "Grüße, 世界 🌍.") }},
	{"a long answer comes whole", nil, func(b *Bench) { b.end(b.start(b.new("long")), task.Done, long) }},
	{"a long prompt goes whole", nil, func(b *Bench) {
		r := b.new("hi")
		r.Prompt = strings.Repeat("a long prompt ", 8000) + r.Prompt
		b.end(b.start(r), task.Done, "Hello.")
		if !slices.ContainsFunc(b.model.Requests(), func(q scriptmodel.Request) bool { return len(q.Body) > len(r.Prompt) }) {
			b.Error("the model got less")
		}
	}},
	{"no text is no answer", nil, func(b *Bench) {
		if l := b.until(b.start(b.new("empty")), "ended", task.Look.Ended); strings.TrimSpace(l.Text) != "" {
			b.Errorf("%+v", l)
		}
	}},
	{"is heard of when it ends", nil, func(b *Bench) {
		r := b.start(b.new("hi"))
		for want := r.Task.ID + "/1"; ; {
			select {
			case got := <-b.heard:
				if got != want {
					b.Errorf("heard of %s", got)
				}
				if b.look(r).Ended() {
					return
				}
			case <-time.After(30 * time.Second):
				b.Fatal("nothing was heard after the end")
			}
		}
	}},
	{"counts tokens", nil, func(b *Bench) {
		r := b.start(b.new("hi"))
		b.end(r, task.Done, "Hello.")
		if u := b.look(r).Usage; u.Input < 100 || u.Output < 10 {
			b.Errorf("%+v", u)
		}
	}},
	{"works in the task's directory", nil, func(b *Bench) {
		b.end(b.start(b.new("write")), task.Done, "Written.")
		if got, err := os.ReadFile(filepath.Join(b.dir, "made.txt")); string(got) != "made\n" {
			b.Errorf("%q, %v", got, err)
		}
	}},
	{"says what it changed", changes, func(b *Bench) {
		if l := b.end(b.start(b.new("write")), task.Done, "Written."); !slices.Equal(l.Changed, []string{"made.txt"}) {
			b.Errorf("%q", l.Changed)
		}
	}},
	{"the same start is one run", nil, func(b *Bench) {
		r := b.start(b.new("slow"))
		b.busy(r, "slow")
		b.start(r)
		b.until(r, "ended", task.Look.Ended)
		b.start(r)
		time.Sleep(200 * time.Millisecond)
		if n := b.asked("slow"); n != 1 {
			b.Errorf("the model was asked %d times", n)
		}
	}},
	{"starts at once are one run", nil, func(b *Bench) {
		r := b.new("hi")
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { _, _ = b.Start(b.Context(), r) })
		}
		wg.Wait()
		b.end(b.start(r), task.Done, "Hello.")
		if n := b.asked("hi"); n != 1 {
			b.Errorf("the model was asked %d times", n)
		}
	}},
	{"what was never started has no end", nil, func(b *Bench) {
		if l := b.look(b.new("hi")); l.Ended() || l.Live == task.LiveBusy {
			b.Errorf("%+v", l)
		}
	}},
	{"looks busy while it works", nil, func(b *Bench) {
		r := b.start(b.new("slow"))
		b.busy(r, "slow")
		if l := b.look(r); l.Ended() || l.Active.IsZero() && b.peer.Parks {
			b.Errorf("%+v", l)
		}
	}},
	{"a wrong key is an error that says so", nil, func(b *Bench) {
		l := b.until(b.start(b.new("key")), "ended", task.Look.Ended)
		if l.End != task.Erred || !strings.Contains(l.Reason, "Incorrect key") {
			b.Errorf("%+v", l)
		}
	}},
	{"an overload passes", nil, func(b *Bench) { b.end(b.start(b.new("busy")), task.Done, "At last.") }},
	{"interrupted", nil, func(b *Bench) {
		r := b.start(b.new("hang"))
		b.busy(r, "hang")
		begin := time.Now()
		if err := b.Interrupt(b.Context(), r); err != nil {
			b.Error(err)
		}
		l := b.rests(r)
		if took := time.Since(begin); took > 6*time.Second || l.Ended() && l.End != task.Aborted {
			b.Errorf("after %v: %+v", took, l)
		}
	}},
	{"interrupted twice", nil, func(b *Bench) {
		r := b.start(b.new("hang"))
		b.busy(r, "hang")
		for range 2 {
			if err := b.Interrupt(b.Context(), r); err != nil {
				b.Error(err)
			}
		}
		b.rests(r)
	}},
	{"an interrupt after the end changes nothing", nil, func(b *Bench) {
		r := b.start(b.new("hi"))
		b.end(r, task.Done, "Hello.")
		if err := b.Interrupt(b.Context(), r); err != nil {
			b.Error(err)
		}
		b.end(r, task.Done, "Hello.")
	}},
	{"an interrupt of nothing", nil, func(b *Bench) {
		if err := b.Interrupt(b.Context(), b.new("hi")); err != nil {
			b.Error(err)
		}
	}},
	{"goes on after an interrupt", nil, func(b *Bench) {
		r := b.start(b.new("hang"))
		b.busy(r, "hang")
		_ = b.Interrupt(b.Context(), r)
		b.rests(r)
		b.end(b.start(next(r, "again")), task.Done, "Again.")
	}},
	{"goes on with its context", nil, func(b *Bench) {
		r := b.start(b.new("hi"))
		b.end(r, task.Done, "Hello.")
		b.end(b.start(next(r, "again")), task.Done, "Again.")
		qs := b.model.Requests()
		if last := string(qs[len(qs)-1].Body); !slices.ContainsFunc(qs, func(q scriptmodel.Request) bool {
			return q.Scenario == "again" && strings.Contains(string(q.Body), "Hello.")
		}) {
			b.Errorf("the model was asked without it: %.2000s", last)
		}
	}},
	{"an old run's end is not the new one's", nil, func(b *Bench) {
		r := b.start(b.new("hi"))
		b.end(r, task.Done, "Hello.")
		n := b.start(next(r, "hang"))
		b.busy(n, "hang")
		if l := b.look(n); l.Ended() {
			b.Errorf("%+v", l)
		}
	}},
	{"no second run while one works", nil, func(b *Bench) {
		r := b.start(b.new("hang"))
		b.busy(r, "hang")
		if _, err := b.Start(b.Context(), next(r, "again")); task.RefusalOf(err) == nil {
			b.Errorf("got %v, want a refusal", err)
		}
	}},
	{"many at once", nil, func(b *Bench) {
		var rs []task.Run
		for range 6 {
			rs = append(rs, b.start(b.new("write")))
		}
		for _, r := range rs {
			b.end(r, task.Done, "Written.")
		}
	}},
	{"a note is read before the end", notes, func(b *Bench) {
		r := b.start(b.new("slow"))
		b.busy(r, "slow")
		b.note(r, "n1", "mind the gap")
		l := b.end(r, task.Done, "After the note.")
		if !slices.Equal(l.Read, []string{"n1"}) || !b.was("mind the gap") {
			b.Errorf("read: %q", l.Read)
		}
	}},
	{"a note sent twice is read once", notes, func(b *Bench) {
		r := b.start(b.new("slow"))
		b.busy(r, "slow")
		b.note(r, "n1", "mind the gap")
		b.note(r, "n1", "mind the gap")
		l := b.end(r, task.Done, "After the note.")
		if !slices.Equal(l.Read, []string{"n1"}) || b.asked("slow") != 2 {
			b.Errorf("read: %q, asked %d times", l.Read, b.asked("slow"))
		}
	}},
	{"two notes", notes, func(b *Bench) {
		r := b.start(b.new("slow"))
		b.busy(r, "slow")
		b.note(r, "n1", "mind the gap")
		b.note(r, "n2", "and the door")
		l := b.until(r, "ended", task.Look.Ended)
		if l.End != task.Done || len(l.Read) != 2 || !b.was("mind the gap") || !b.was("and the door") {
			b.Errorf("%+v", l)
		}
	}},
	{"a note after the end is refused", nil, func(b *Bench) {
		r := b.start(b.new("hi"))
		b.end(r, task.Done, "Hello.")
		err := b.Note(b.Context(), r, task.Note{ID: "n", Text: "late"})
		if task.RefusalOf(err) == nil || b.asked("hi") != 1 {
			b.Errorf("got %v", err)
		}
	}},
	{"notes that were not read begin the next run", nil, func(b *Bench) {
		r := b.start(b.new("hi"))
		b.end(r, task.Done, "Hello.")
		n := next(r, "retold")
		n.Notes = []task.Note{{ID: "n1", Text: "mind the gap"}}
		b.end(b.start(n), task.Done, "Both.")
		if l := b.look(n); !b.was("mind the gap") || !slices.Contains(l.Read, "n1") {
			b.Errorf("read: %q", l.Read)
		}
	}},
	{"closing ends it all in time", ends, func(b *Bench) {
		r := b.start(b.new("hang"))
		b.busy(r, "hang")
		begin := time.Now()
		b.restart()
		if took := time.Since(begin); took > 8*time.Second && !b.peer.Patient {
			b.Errorf("closing took %v", took)
		}
		if l := b.look(r); l.End == task.Done || l.Live == task.LiveBusy {
			b.Errorf("%+v", l)
		}
	}},
	{"nothing starts after closing", nil, func(b *Bench) {
		if err := b.Close(); err != nil {
			b.Error(err)
		}
		if _, err := b.Start(b.Context(), b.new("hi")); err == nil {
			b.Error("it started")
		}
		if err := b.Close(); err != nil {
			b.Errorf("closing twice: %v", err)
		}
	}},
	{"an end is known after a restart", keeps, func(b *Bench) {
		r := b.start(b.new("write"))
		want := b.end(r, task.Done, "Written.")
		b.restart()
		if got := b.end(r, task.Done, "Written."); got.Usage != want.Usage {
			b.Errorf("usage %+v, was %+v", got.Usage, want.Usage)
		}
	}},
	{"goes on after a restart", parks, func(b *Bench) {
		r := b.start(b.new("once"))
		b.busy(r, "once")
		b.restart()
		if l := b.look(r); l.Live != task.LiveParked {
			b.Errorf("%+v", l)
		}
		r.Prompt = ""
		b.end(b.start(r), task.Done, "First.")
	}},
	{"goes on during a restart", lasts, func(b *Bench) {
		r := b.start(b.new("slow"))
		b.busy(r, "slow")
		b.restart()
		b.note(r, "n1", "mind the gap")
		if l := b.end(r, task.Done, "After the note."); !slices.Equal(l.Read, []string{"n1"}) || b.asked("slow") != 2 {
			b.Errorf("read: %q, asked %d times", l.Read, b.asked("slow"))
		}
	}},
	{"is revived after a restart", nil, func(b *Bench) {
		r := b.start(b.new("hi"))
		b.end(r, task.Done, "Hello.")
		b.restart()
		b.end(b.start(next(r, "again")), task.Done, "Again.")
	}},
	{"a start that is given up returns", nil, func(b *Bench) {
		ctx, cancel := context.WithCancel(b.Context())
		cancel()
		done := make(chan bool)
		go func() { _, _ = b.Start(ctx, b.new("hi")); close(done) }()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			b.Error("it hangs")
		}
	}},
}
