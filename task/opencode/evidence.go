package opencode

import (
	"slices"
	"strings"
	"time"

	"github.com/whet-dev/whet/task"
)

// A message is one of a session, as far as it matters.
type message struct {
	Info struct {
		ID       string `json:"id"`
		Role     string `json:"role"`
		ParentID string `json:"parentID"` // of an assistant's: the message that it answers
		Finish   string `json:"finish"`
		Model    struct {
			ProviderID string `json:"providerID"`
			ModelID    string `json:"modelID"`
		} `json:"model"` // of a user's
		Time struct {
			Created   int64 `json:"created"`
			Completed int64 `json:"completed"`
		} `json:"time"`
		Error *struct {
			Name string `json:"name"`
			Data struct {
				Message string `json:"message"`
			} `json:"data"`
		} `json:"error"`
		Cost   float64 `json:"cost"`
		Tokens struct {
			Input  int64 `json:"input"`
			Output int64 `json:"output"`
			Cache  struct {
				Read  int64 `json:"read"`
				Write int64 `json:"write"`
			} `json:"cache"`
		} `json:"tokens"`
	} `json:"info"`
	Parts []part `json:"parts"`
}

type part struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	Synthetic bool   `json:"synthetic"`
	Tool      string `json:"tool"`
	State     struct {
		Status string `json:"status"`
	} `json:"state"`
}

// findUser returns where the message with the key is, or -1.
func findUser(ms []message, k string) int {
	return slices.IndexFunc(ms, func(m message) bool { return m.Info.Role == "user" && strings.HasSuffix(m.Info.ID, k) })
}

// evidence is what the conversation says of a run: everything from its prompt
// on. It has ended when the last turn has, and no message is unanswered.
func evidence(ms []message, r task.Run) (l task.Look) {
	for _, m := range ms {
		if m.Info.Role == "assistant" {
			in := m.Info.Tokens
			l.Usage = l.Usage.Add(task.Usage{Steps: 1, Input: in.Input + in.Cache.Read + in.Cache.Write, Output: in.Output, Cost: m.Info.Cost})
		}
	}
	begin := findUser(ms, runKey(r.Task))
	if begin < 0 {
		return l
	}
	last, asked := -1, ms[begin].Info.ID
	for i, m := range ms[begin:] {
		l.Active = time.UnixMilli(max(m.Info.Time.Completed, m.Info.Time.Created))
		switch m.Info.Role {
		case "assistant":
			last = begin + i
		case "user":
			asked = max(asked, m.Info.ID)
		}
	}
	if last < 0 {
		return l
	}
	a := ms[last]
	l.Text, l.Tool = textOf(a), running(a)
	for _, n := range r.Notes {
		if i := findUser(ms, noteKey(r.Task, n.ID)); i >= 0 && a.Info.ParentID >= ms[i].Info.ID {
			l.Read = append(l.Read, n.ID)
		}
	}
	switch e := a.Info.Error; {
	case e != nil && e.Name == "MessageAbortedError":
		l.End = task.Aborted
	case e != nil:
		l.End, l.Reason = task.Erred, strings.TrimSpace(e.Name+": "+e.Data.Message)
	case a.Info.Time.Completed == 0, a.Info.ParentID < asked, slices.Contains([]string{"", "tool-calls", "unknown"}, a.Info.Finish):
	case a.Info.Finish == "length":
		l.End, l.Reason = task.Erred, "the answer was cut off at the model's output limit"
	default:
		l.End = task.Done
	}
	return l
}

// textOf is what a turn says.
func textOf(m message) string {
	var texts []string
	for _, p := range m.Parts {
		if p.Type == "text" && !p.Synthetic && p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// running is the tool that a turn runs right now.
func running(m message) string {
	for _, p := range m.Parts {
		if p.Type == "tool" && (p.State.Status == "running" || p.State.Status == "pending") {
			return p.Tool
		}
	}
	return ""
}
