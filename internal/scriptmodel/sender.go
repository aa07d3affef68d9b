package scriptmodel

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// A sender writes server-sent events, slowly if the step wants it so.
type sender struct {
	w    http.ResponseWriter
	r    *http.Request
	step Step
	seq  int
}

// event sends one event; an empty name leaves the event line out.
func (s *sender) event(name string, data any) {
	pause(s.r, s.step)
	b, ok := data.(string)
	if !ok {
		j, _ := json.Marshal(data) // our own maps always marshal
		b = string(j)
	}
	if name != "" {
		fmt.Fprintf(s.w, "event: %s\n", name)
	}
	fmt.Fprintf(s.w, "data: %s\n\n", b)
	_ = http.NewResponseController(s.w).Flush()
}

// fault delivers the step's fault, if it has one, at this place in the stream.
func (s *sender) fault() {
	if s.step.Hang {
		_ = http.NewResponseController(s.w).Flush()
		<-s.r.Context().Done()
	}
	if s.step.Cut {
		panic(http.ErrAbortHandler) // breaks the connection without an end
	}
}

// pieces cuts s into parts of at most n bytes, between characters.
func pieces(s string, n int) (out []string) {
	for len(s) > n {
		i := n
		for i > 1 && s[i]&0xC0 == 0x80 {
			i--
		}
		out, s = append(out, s[:i]), s[i:]
	}
	if s != "" {
		out = append(out, s)
	}
	return out
}

// textOf reads a message's content, a string or a list of parts.
func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &parts)
	for _, p := range parts {
		s += p.Text + "\n"
	}
	return s
}

// roles reads the messages of the two formats that have them.
func roles(messages []json.RawMessage) (out []turn) {
	for _, raw := range messages {
		var m struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		}
		if json.Unmarshal(raw, &m) == nil {
			out = append(out, turn{m.Role, textOf(m.Content)})
		}
	}
	return out
}
