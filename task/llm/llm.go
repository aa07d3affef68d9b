// Package llm is the backend that works on tasks with whet's own agent, in the
// runner's process. Each message of a conversation is written to a journal
// before anything follows from it, and a conversation is only ever made from
// its journal: a run that was killed goes on where it was.
//
// A tool that had begun when the process died is not run again. The model is
// told that its effect is unknown, and looks for itself.
package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/whet-dev/whet/agent"
	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/store"
)

// A Journal keeps the rows of conversations. [store.Store] is one.
type Journal interface {
	AddRows(task string, rows ...store.Row) error
	Rows(task string) ([]store.Row, error)
}

// Open returns how the agent works on a task: its model, kit, session and role.
// Its error is for people.
type Open func(t task.Task) (agent.Options, error)

// Name is what the backend is called.
const Name = "llm"

// New returns the backend.
func New(open Open, journal Journal, hear task.Hear) task.Backend {
	return &backend{open: open, journal: journal, hear: hear, runs: map[string]*run{}, gates: map[string]*gate{}}
}

type backend struct {
	open    Open
	journal Journal
	hear    task.Hear
	work    sync.WaitGroup

	mu     sync.Mutex
	runs   map[string]*run // the last of each task in this process
	gates  map[string]*gate
	closed bool
}

// A run is a generation in memory.
type run struct {
	b      *backend
	task   task.Task
	cancel context.CancelCauseFunc
	gate   *gate

	mu    sync.Mutex
	inbox []task.Note
	taken [][]string // ids of the notes in each of the next messages
	over  bool       // takes no more notes
	ended bool       // nothing of it runs any more
	look  task.Look
	tools map[string]string // running, by call
}

// Reasons for a run to end early.
var (
	errInterrupted = errors.New("interrupted")
	errClosing     = errors.New("whet is ending")
)

func (b *backend) Name() string { return Name }

func (b *backend) Start(_ context.Context, r task.Run) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return "", errClosing
	}
	if old := b.runs[r.Task.ID]; old != nil {
		if old.task.Gen == r.Task.Gen {
			return r.Task.ID, nil
		}
		if !old.done() {
			return "", &task.Refusal{Reason: "it is still at work"}
		}
	}
	o, err := b.open(r.Task)
	if err != nil {
		return "", &task.Refusal{Reason: err.Error()}
	}
	rows, err := b.journal.Rows(r.Task.ID)
	if err != nil {
		return "", err
	}
	c := conversationOf(rows, r.Task.Gen)
	if c.end != nil { // it has ended already: nothing to start
		return r.Task.ID, nil
	}
	x := &run{b: b, task: r.Task, tools: map[string]string{}}
	x.look = task.Look{Live: task.LiveBusy, Active: time.Now(), Usage: c.usage, Changed: c.changed, Text: c.text, Read: c.read}
	for _, n := range r.Notes {
		if !slices.Contains(c.read, n.ID) {
			x.inbox = append(x.inbox, n)
		}
	}
	if c.answered && len(x.inbox) == 0 { // it died before it could say that this was all
		return r.Task.ID, b.journal.AddRows(r.Task.ID, row(r.Task.Gen, "end", end{How: "done", Text: c.text}))
	}
	x.options(&o, c, r.Prompt)
	ctx, cancel := context.WithCancelCause(context.Background())
	x.cancel = cancel
	x.gate = b.gate(o.Model.Name())
	o.Model = &metered{o.Model, x, x.gate}
	b.runs[r.Task.ID] = x
	b.work.Go(func() { x.work(ctx, o) })
	return r.Task.ID, nil
}

// options completes o for a conversation that begins or goes on.
func (x *run) options(o *agent.Options, c conversation, prompt string) {
	o.History, o.Prompt = c.messages, prompt
	switch n := len(c.messages); {
	case c.begun && n > 0 && c.messages[n-1].Role == "user":
		o.History, o.Prompt = c.messages[:n-1], c.messages[n-1].Text // said, and not answered yet
	case c.begun:
		o.Prompt = "(You were interrupted by a restart. Go on where you were.)"
	case prompt == "":
		o.Prompt = x.task.Prompt
	}
	if !c.begun && len(x.inbox) > 0 {
		for _, n := range x.inbox {
			o.Prompt = n.Text + "\n\n" + o.Prompt
		}
		x.taken = append(x.taken, ids(x.inbox))
		x.inbox = nil
	}
	o.Inbox, o.Event = x.mail, x.event
}

func (x *run) work(ctx context.Context, o agent.Options) {
	out, err := agent.Run(ctx, o)
	end := endOf(out, err)
	if errors.Is(err, errClosing) {
		end = nil
	}
	if end != nil {
		x.keep(EndRow, end)
	}
	x.mu.Lock()
	x.over, x.ended, x.tools = true, true, nil
	x.look.Tool = ""
	if end != nil {
		x.look.End, x.look.Reason = end.kind(), end.Reason
		x.look.Text = end.Text
	} else {
		x.look.Live = task.LiveParked
	}
	x.mu.Unlock()
	x.b.hear(x.task.ID, x.task.Gen, task.Progress{})
}

// mail hands over the messages that came in. A run that has nothing more to do
// and got none takes no more.
func (x *run) mail(_ context.Context, idle bool) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var texts []string
	for _, n := range x.inbox {
		texts, x.taken = append(texts, n.Text), append(x.taken, []string{n.ID})
	}
	x.over = idle && len(texts) == 0
	x.inbox = nil
	return texts
}

func ids(notes []task.Note) (out []string) {
	for _, n := range notes {
		out = append(out, n.ID)
	}
	return out
}

// said writes a message down, and that the notes in it have been read: both or
// neither.
func (x *run) said(m *agent.Message) {
	rows := []store.Row{row(x.task.Gen, "message", m)}
	var notes []string
	x.mu.Lock()
	if m.Role == "user" && len(x.taken) > 0 {
		notes, x.taken = x.taken[0], x.taken[1:]
	}
	x.mu.Unlock()
	for _, id := range notes {
		rows = append(rows, row(x.task.Gen, "note", id))
	}
	x.keepRows(rows...)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.look.Read = append(x.look.Read, notes...)
}

func row(gen uint32, kind string, body any) store.Row {
	b, _ := json.Marshal(body) // of our own types: can't fail
	return store.Row{Gen: gen, Kind: kind, Body: b}
}

func (x *run) keep(kind string, body any) { x.keepRows(row(x.task.Gen, kind, body)) }

// keepRows writes rows, all or none. A conversation that can't be written down
// must not go on: after a crash nobody would know what it did.
func (x *run) keepRows(rows ...store.Row) {
	err := x.b.journal.AddRows(x.task.ID, rows...)
	if err != nil && x.cancel != nil {
		x.cancel(fmt.Errorf("its conversation can't be written down: %w", err))
	}
}

// event takes in what the agent does, before anything follows from it.
func (x *run) event(e agent.Event) {
	switch e.Type {
	case "message":
		x.said(e.Message)
	case "call":
		x.keep("begin", e.Call.ID)
	case "result":
		changed := x.relative(e.Result.Changed)
		x.keep(ResultRow, result{e.Call.ID, e.Result.Text, e.Result.Failed, changed})
	}
	p := x.seen(e)
	if p.Kind != "" || e.Type == "message" {
		x.b.hear(x.task.ID, x.task.Gen, p)
	}
}

// seen updates what a look finds, and returns what a person may want to see.
func (x *run) seen(e agent.Event) (p task.Progress) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.look.Active = time.Now()
	if e.Type != "retry" && e.Type != "progress" {
		x.look.Live, x.look.Reason = task.LiveBusy, ""
	}
	switch e.Type {
	case "message":
		if e.Message.Role == "assistant" && e.Message.Text != "" {
			x.look.Text = e.Message.Text
			p = task.Progress{Kind: "text", Text: e.Message.Text}
		}
	case "retry":
		x.gate.shut(time.Now().Add(time.Duration(e.Wait * float64(time.Second))))
		x.look.Live, x.look.Reason = task.LiveRetry, e.Error
		p = task.Progress{Kind: "retry", Text: e.Error}
	case "call":
		x.tools[e.Call.ID] = e.Call.Name
		p = task.Progress{Kind: "call", Text: brief(e.Call.Name + " " + e.Call.Args)}
	case "result":
		delete(x.tools, e.Call.ID)
		for _, path := range x.relative(e.Result.Changed) {
			if !slices.Contains(x.look.Changed, path) {
				x.look.Changed = append(slices.Clone(x.look.Changed), path)
			}
		}
		p = task.Progress{Kind: "result", Text: brief(e.Result.Text)}
		if e.Result.Failed {
			p.Kind = "failed result"
		}
	}
	x.look.Tool = strings.Join(slices.Sorted(maps.Values(x.tools)), ", ")
	return p
}

// brief cuts what goes into the log.
func brief(s string) string {
	const most = 500
	if rs := []rune(s); len(rs) > most {
		return string(rs[:most]) + "…"
	}
	return s
}

func (x *run) relative(paths []string) (out []string) {
	for _, p := range paths {
		if rel, err := filepath.Rel(x.task.Dir, p); err == nil {
			p = filepath.ToSlash(rel)
		}
		out = append(out, p)
	}
	return out
}

func (x *run) done() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.ended
}

// find returns the run in memory, nil if there is none.
func (b *backend) find(r task.Run) *run {
	b.mu.Lock()
	defer b.mu.Unlock()
	if x := b.runs[r.Task.ID]; x != nil && x.task.Gen == r.Task.Gen {
		return x
	}
	return nil
}

func (b *backend) Note(_ context.Context, r task.Run, n task.Note) error {
	x := b.find(r)
	if x == nil {
		return &task.Refusal{Reason: "it is not at work"}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		return &task.Refusal{Reason: "it has just ended"}
	}
	known := func(o task.Note) bool { return o.ID == n.ID }
	if !slices.ContainsFunc(x.inbox, known) && !slices.Contains(x.look.Read, n.ID) {
		x.inbox = append(x.inbox, n)
	}
	return nil
}

func (b *backend) Interrupt(_ context.Context, r task.Run) error {
	if x := b.find(r); x != nil {
		x.cancel(errInterrupted)
	}
	return nil
}

func (b *backend) Look(_ context.Context, r task.Run) (task.Look, error) {
	if x := b.find(r); x != nil {
		x.mu.Lock()
		defer x.mu.Unlock()
		l := x.look
		l.Read, l.Changed = slices.Clone(l.Read), slices.Clone(l.Changed)
		return l, nil
	}
	rows, err := b.journal.Rows(r.Task.ID)
	if err != nil {
		return task.Look{}, err
	}
	return LookOf(rows, r.Task.Gen), nil
}

// LookOf is how a generation is that no process works on, as its journal tells.
func LookOf(rows []store.Row, gen uint32) task.Look {
	c := conversationOf(rows, gen)
	l := task.Look{Live: task.LiveParked, Text: c.text, Usage: c.usage, Read: c.read, Changed: c.changed}
	if c.end != nil {
		l.Live, l.End, l.Reason, l.Text = task.LiveQuiet, c.end.kind(), c.end.Reason, c.end.Text
	}
	return l
}

// Close parks every run.
func (b *backend) Close() error {
	b.mu.Lock()
	b.closed = true
	for _, x := range b.runs {
		x.cancel(errClosing)
	}
	b.mu.Unlock()
	b.work.Wait()
	return nil
}
