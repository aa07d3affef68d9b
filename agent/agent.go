// Package agent is whet's own small coding agent: a loop in which a model
// calls the tools of a kit until it has nothing more to call.
//
// It is for people without another agent at hand, for background tasks, and
// for tests of everything else. It is not a place for features: what it offers
// comes from the kit, so that every other agent gets it too. Only the tools
// that each agent brings along by itself (read, write, edit, bash) live here.
package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/whet-dev/whet"
)

// Options says what a run is about. Model, Kit and Prompt are required.
type Options struct {
	Model    Model
	Kit      *whet.Kit // the agent adds its own tools
	Session  whet.Session
	Role     Role      // zero means the orchestrator's
	Disabled []string  // names of tools that the agent must not have either
	Also     string    // what the model is told beside the role's prompt; the same all through a session
	History  []Message // of an earlier run that this one goes on from
	Prompt   string
	// MaxSteps bounds the turns of the model; 0 means 50.
	MaxSteps int
	// Inbox, if not nil, is asked before each turn but the first for messages
	// that the model should read now. idle tells that the model has nothing more
	// to do: the run ends unless there is one, so that Inbox may wait for it.
	Inbox func(ctx context.Context, idle bool) []string
	// Event hears what happens, as it happens, one event at a time.
	Event func(Event)
	Retry Retry
}

// DefaultMaxSteps is how many turns a model gets unless told otherwise.
const DefaultMaxSteps = 50

// An Outcome is what came of a run, also of one that failed on the way.
type Outcome struct {
	Text     string    `json:"text"` // the model's last words
	Steps    int       `json:"steps"`
	Usage    Usage     `json:"usage"`
	Messages []Message `json:"-"` // the whole conversation, History included
}

// Errors of a run that its caller may want to tell apart.
var (
	ErrMaxSteps = errors.New("stopped before the end: the step limit is reached")
	ErrCut      = errors.New("the answer was cut off at the model's output limit")
	ErrDeclined = errors.New("the model declined to answer")
)

// Run lets the model work on the prompt until it has no more calls to make.
// The Outcome is never nil: it holds what was reached before an error.
func Run(ctx context.Context, o Options) (out *Outcome, err error) {
	if o.Role.Name == "" {
		o.Role = Roles()[0]
	}
	o.MaxSteps = cmp.Or(o.MaxSteps, DefaultMaxSteps)
	o.Session.Agent = o.Role.Name
	r := &run{Options: o, kit: o.Role.kit(o.Kit, o.Disabled), out: &Outcome{Messages: o.History}}
	defer func() {
		// A model's client reads what others wrote. Its panic ends this run, not
		// those beside it.
		if p := recover(); p != nil {
			out, err = r.out, fmt.Errorf("%s: internal error: %v", o.Model.Name(), p)
			if o.Kit.Log != nil {
				o.Kit.Log.Error("agent panicked", "panic", p, "stack", string(debug.Stack()))
			}
		}
		e := Event{Type: "end", Step: r.out.Steps, Outcome: r.out}
		if err != nil {
			e.Error = err.Error()
		}
		r.emit(e)
	}()
	r.emit(Event{Type: "start", Model: o.Model.Name(), Agent: o.Role.Name, Dir: o.Session.Dir})
	r.add(Message{Role: "user", Text: o.Prompt})
	r.kit.Reset(ctx, o.Session)
	for r.out.Steps < o.MaxSteps {
		m, err := r.turn(ctx)
		if err != nil {
			return r.out, err
		}
		switch {
		case m.Stop == stopDeclined:
			return r.out, ErrDeclined
		case len(m.Calls) == 0 && m.Stop == stopLength:
			return r.out, ErrCut
		case len(m.Calls) == 0 && !r.inbox(ctx, true):
			return r.out, nil
		}
		for _, result := range r.calls(ctx, m) {
			r.add(result)
		}
		if len(m.Calls) > 0 {
			r.inbox(ctx, false)
		}
		if ctx.Err() != nil {
			return r.out, context.Cause(ctx)
		}
	}
	return r.out, fmt.Errorf("%w (%d)", ErrMaxSteps, o.MaxSteps)
}

type run struct {
	Options
	kit *whet.Kit
	out *Outcome
	mu  sync.Mutex // guards Event: tools run side by side
}

func (r *run) emit(e Event) {
	if r.Event == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Event(e)
}

func (r *run) add(m Message) {
	r.out.Messages = append(r.out.Messages, m)
	r.emit(Event{Type: "message", Step: r.out.Steps, Message: &m})
}

// inbox adds the messages that have come in, and reports whether there were any.
func (r *run) inbox(ctx context.Context, idle bool) bool {
	if r.Inbox == nil {
		return false
	}
	texts := r.Inbox(ctx, idle)
	for _, text := range texts {
		r.add(Message{Role: "user", Text: text})
	}
	return len(texts) > 0
}

// turn asks the model for its next turn, again if that may help.
func (r *run) turn(ctx context.Context) (Message, error) {
	r.out.Steps++
	req := Request{
		System:   systemPrompt(r.Role, r.Session, r.Also),
		Messages: r.out.Messages,
		Tools:    r.kit.Tools,
	}
	var m Message
	err := r.Retry.do(ctx, r.out.Steps > 1, func() (err error) {
		var u Usage
		m, u, err = r.Model.Turn(ctx, req, func(kind, text string) {
			r.emit(Event{Type: kind, Step: r.out.Steps, Text: text})
		})
		r.out.Usage.add(u)
		return err
	}, func(err error, wait time.Duration) {
		r.emit(Event{Type: "retry", Step: r.out.Steps, Error: err.Error(), Wait: wait.Seconds()})
	})
	if err != nil {
		return m, err
	}
	r.add(m)
	r.out.Text = m.Text
	return m, nil
}

// calls runs the turn's calls: neighbours that only read side by side, all
// others in order. There is a result for each call, whatever happens: the
// conversation can't go on without.
func (r *run) calls(ctx context.Context, m Message) []Message {
	results := make([]Message, len(m.Calls))
	slots := make(chan struct{}, runtime.GOMAXPROCS(0)*2)
	var wg sync.WaitGroup
	for i, call := range m.Calls {
		if t, err := r.kit.Tool(call.Name); err != nil || !t.ReadOnly {
			wg.Wait()
			results[i] = r.call(ctx, call, m.Stop)
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			results[i] = r.call(ctx, call, m.Stop)
		})
	}
	wg.Wait()
	return results
}

func (r *run) call(ctx context.Context, call ToolCall, stop string) Message {
	r.emit(Event{Type: "call", Step: r.out.Steps, Call: &call})
	res := r.result(ctx, call, stop)
	r.emit(Event{Type: "result", Step: r.out.Steps, Call: &call, Result: res})
	return Message{Role: "tool", CallID: call.ID, Text: cmp.Or(clip(res.Text), "(no output)"), Failed: res.Failed}
}

func (r *run) result(ctx context.Context, call ToolCall, stop string) *whet.Result {
	if ctx.Err() != nil {
		return &whet.Result{Text: "not run: the person stopped the session", Failed: true}
	}
	if err := call.valid(); err != nil {
		text := fmt.Sprintf("%s was not called: its arguments are not valid JSON: %v. Send the call again with one JSON object.", call.Name, err)
		if stop == stopLength {
			text = fmt.Sprintf("%s was not called: its arguments were cut off at your output limit. Do it in smaller parts.", call.Name)
		}
		return &whet.Result{Text: text, Failed: true}
	}
	c := &whet.Call{ID: call.ID, Tool: call.Name, Args: call.args(), Session: r.Session}
	c.Progress = func(done, total int64, msg string) {
		r.emit(Event{Type: "progress", Step: r.out.Steps, Call: &call, Text: msg, Done: done, Total: total})
	}
	res, err := r.kit.Call(ctx, c)
	if err != nil {
		return &whet.Result{Text: err.Error(), Failed: true}
	}
	return res
}

// maxResult bounds what one result may take of the model's context, in bytes.
// Tools bound themselves well below; this is for the one that doesn't.
const maxResult = 128 << 10

func clip(s string) string {
	if len(s) <= maxResult {
		return s
	}
	return fmt.Sprintf("%s\n\n[%d more bytes were left out here]", cutAt(s, maxResult), len(s)-maxResult)
}
