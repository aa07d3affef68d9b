package llm

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/whet-dev/whet/agent"
	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/store"
)

// Rows of the journal, by kind:
//
//	message  an agent.Message that became part of the conversation
//	begin    the id of a call that is about to run
//	result   a result, as soon as its call has ended
//	note     the id of a message that was taken in
//	usage    a task.Usage of one turn
//	end      an end
//
// Whoever keeps a journal may add rows of other kinds; they are left out here.
const (
	ResultRow = "result"
	EndRow    = "end"
)

type result struct {
	ID      string   `json:"id"`
	Text    string   `json:"text"`
	Failed  bool     `json:"failed,omitempty"`
	Changed []string `json:"changed,omitempty"`
}

// An end is how a generation ended.
type end struct {
	How    string `json:"how"` // "done", "failed" or "aborted"
	Text   string `json:"text,omitempty"`
	Reason string `json:"reason,omitempty"`
}

func (e *end) kind() task.Kind {
	switch e.How {
	case "done":
		return task.Done
	case "aborted":
		return task.Aborted
	}
	return task.Erred
}

// Failed is the row that ends a generation which couldn't be worked on.
func Failed(gen uint32, reason string) store.Row {
	return endRow(gen, end{How: "failed", Reason: reason})
}

// Aborted is the row that ends a generation which nobody works on any more.
func Aborted(gen uint32) store.Row { return endRow(gen, end{How: "aborted"}) }

func endRow(gen uint32, e end) store.Row {
	b, _ := json.Marshal(e) // strings always can be
	return store.Row{Gen: gen, Kind: EndRow, Body: b}
}

func endOf(out *agent.Outcome, err error) *end {
	switch {
	case err == nil:
		return &end{How: "done", Text: out.Text}
	case errors.Is(err, errInterrupted):
		return &end{How: "aborted", Text: out.Text}
	}
	return &end{How: "failed", Text: out.Text, Reason: err.Error()}
}

// A conversation is what a task's journal tells.
type conversation struct {
	messages []agent.Message
	begun    bool // the generation asked for has rows
	answered bool // the last of them is an answer that nothing follows
	end      *end // of that generation
	text     string
	read     []string
	changed  []string
	usage    task.Usage
}

// conversationOf makes the conversation from its journal. What can't be read is
// left out: rows are written whole or not at all.
func conversationOf(rows []store.Row, gen uint32) (c conversation) {
	began, results := map[string]bool{}, map[string]result{}
	for _, row := range rows {
		c.begun = c.begun || row.Gen == gen && row.Kind == "message"
		switch row.Kind {
		case "message":
			var m agent.Message
			if json.Unmarshal(row.Body, &m) == nil {
				c.answered = row.Gen == gen && m.Role == "assistant" && len(m.Calls) == 0 && m.Stop == ""
				if m.Role != "tool" {
					c.repair(began, results)
				}
				c.messages = append(c.messages, m)
				if m.Role == "assistant" && m.Text != "" {
					c.text = m.Text
				}
			}
		case "begin":
			var id string
			if json.Unmarshal(row.Body, &id) == nil {
				began[id] = true
			}
		case ResultRow:
			var res result
			if json.Unmarshal(row.Body, &res) == nil {
				results[res.ID] = res
				for _, path := range res.Changed {
					if !slices.Contains(c.changed, path) {
						c.changed = append(c.changed, path)
					}
				}
			}
		case "note":
			var id string
			if json.Unmarshal(row.Body, &id) == nil {
				c.read = append(c.read, id)
			}
		case "usage":
			var u task.Usage
			if json.Unmarshal(row.Body, &u) == nil {
				c.usage = c.usage.Add(u)
			}
		case EndRow:
			if e := new(end); row.Gen == gen && json.Unmarshal(row.Body, e) == nil {
				c.end = e
			}
		}
	}
	c.repair(began, results)
	return c
}

const (
	unknownEffect = "interrupted: whet was restarted while this ran, so its effect is unknown. Look what it has done before you do it again."
	neverBegun    = "not run: whet was restarted before this began. Call it again if you still want it."
)

// repair gives each call of the last turn that has no result one: what it
// returned, or what is known of it. No vendor takes a conversation without.
func (c *conversation) repair(began map[string]bool, results map[string]result) {
	last := len(c.messages) - 1
	answered := map[string]bool{}
	for last >= 0 && c.messages[last].Role == "tool" {
		answered[c.messages[last].CallID] = true
		last--
	}
	if last < 0 {
		return
	}
	for _, call := range c.messages[last].Calls {
		if answered[call.ID] {
			continue
		}
		m := agent.Message{Role: "tool", CallID: call.ID, Text: neverBegun, Failed: true}
		if res, ok := results[call.ID]; ok {
			m.Text, m.Failed = res.Text, res.Failed
		} else if began[call.ID] {
			m.Text = unknownEffect
		}
		if m.Text == "" {
			m.Text = "(no output)"
		}
		c.messages = append(c.messages, m)
	}
}

// A gate keeps all runs at one provider back after one of them was told to
// wait, so that they don't run into the same limit one after another.
type gate struct {
	mu   sync.Mutex
	open time.Time
}

func (b *backend) gate(model string) *gate {
	provider, _, _ := strings.Cut(model, "/")
	if b.gates[provider] == nil {
		b.gates[provider] = &gate{}
	}
	return b.gates[provider]
}

func (g *gate) shut(until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if until.After(g.open) {
		g.open = until
	}
}

func (g *gate) pass(ctx context.Context) error {
	g.mu.Lock()
	wait := time.Until(g.open)
	g.mu.Unlock()
	if wait <= 0 {
		return nil
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// metered is a model whose turns are counted and wait at the gate.
type metered struct {
	agent.Model
	x    *run
	gate *gate
}

func (m *metered) Turn(ctx context.Context, r agent.Request, piece func(kind, text string)) (agent.Message, agent.Usage, error) {
	if err := m.gate.pass(ctx); err != nil {
		return agent.Message{}, agent.Usage{}, err
	}
	msg, u, err := m.Model.Turn(ctx, r, piece)
	used := task.Usage{Steps: 1, Input: u.Input + u.CacheRead + u.CacheWrite, Output: u.Output}
	if u.Cost != nil {
		used.Cost = *u.Cost
	}
	m.x.keep("usage", used)
	m.x.mu.Lock()
	m.x.look.Usage = m.x.look.Usage.Add(used)
	m.x.mu.Unlock()
	return msg, u, err
}
