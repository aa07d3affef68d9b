package inhost

import (
	"encoding/json"
	"strings"

	"github.com/whet-dev/whet/task"
)

// A message is one of the host's, as far as it matters.
type message struct {
	Info struct {
		ID    string `json:"id"`
		Role  string `json:"role"`
		Agent string `json:"agent"`
		Model struct {
			ProviderID string `json:"providerID"`
			ModelID    string `json:"modelID"`
		} `json:"model"`
		Time struct {
			Completed int64 `json:"completed"`
		} `json:"time"`
		Error json.RawMessage `json:"error"`
	} `json:"info"`
	Parts json.RawMessage `json:"parts"`
}

// A history is what a session's conversation says of notices.
type history struct {
	told, read []string // ids
	last       message  // the last that a person or we wrote
}

// look finds the notices in a conversation. One was read if the model has ended
// a turn after it was told.
func look(ms []message, notices []task.Notice) (h history) {
	answered := -1
	for i, m := range ms {
		switch {
		case m.Info.Role == "user":
			h.last = m
		case m.Info.Role == "assistant" && m.Info.Time.Completed > 0 && len(m.Info.Error) == 0:
			answered = i
		}
	}
	for _, n := range notices {
		for i, m := range ms {
			if !strings.Contains(string(m.Parts), mark(n.ID)) {
				continue
			}
			h.told = append(h.told, n.ID)
			if answered > i {
				h.read = append(h.read, n.ID)
			}
			break
		}
	}
	return h
}

// mark is how a notice looks in JSON.
func mark(id string) string { return `notice=\"` + id + `\"` }
