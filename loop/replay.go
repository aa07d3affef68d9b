package loop

import (
	"fmt"
	"io"
	"strings"
)

// An Event is one moment of a recorded session.
type Event struct {
	Step  Step
	Bytes int  // of arguments and result
	Reset bool // a person wrote, or the context was compacted; nothing else is set
}

// A Recording is a session as somebody wrote it down.
type Recording struct {
	Name   string
	Events []Event
}

// A Remark is what the guard would have said about one call.
type Remark struct {
	Call    int    `json:"call"` // its number in the session, from 1
	Tool    string `json:"tool"`
	Text    string `json:"text"`
	Refused bool   `json:"refused,omitempty"`
}

// A Replay is what the guard would have done in a session.
type Replay struct {
	Session string   `json:"session"`
	Calls   int      `json:"calls"`
	Remarks []Remark `json:"remarks,omitempty"`
	// Wasted estimates the tokens of the calls that repeated what the guard had
	// remarked on, a quarter of their bytes: a lower bound of what stopping
	// there would have saved, because each call also sends all that came before.
	Wasted int `json:"wastedTokens"`
}

// Run plays a recording to the guard. A call that would have been refused is
// left out, as it would have been.
func (r Recording) Run(o Options) Replay {
	out := Replay{Session: r.Name}
	var w Watch
	remarked := map[string]bool{}
	for _, e := range r.Events {
		if e.Reset {
			w.Reset()
			clear(remarked)
			continue
		}
		out.Calls++
		what := e.Step.Loose + e.Step.Normal
		if remarked[what] {
			out.Wasted += e.Bytes / 4
		}
		text, refused := w.Refusal(e.Step.Tool, e.Step.Call, o), true
		if text == "" {
			text, refused = w.Notice("", e.Step, o), false
		}
		if text != "" {
			out.Remarks = append(out.Remarks, Remark{out.Calls, e.Step.Tool, text, refused})
			remarked[what] = true
		}
	}
	return out
}

// A Summary adds up replays.
type Summary struct{ Sessions, Calls, Notices, Refusals, Wasted int }

// Add counts one more replay.
func (s *Summary) Add(r Replay) {
	s.Sessions++
	s.Calls += r.Calls
	s.Wasted += r.Wasted
	for _, m := range r.Remarks {
		if m.Refused {
			s.Refusals++
		} else {
			s.Notices++
		}
	}
}

func (s Summary) String() string {
	rate := func(n int) float64 { return 1000 * float64(n) / float64(max(s.Calls, 1)) }
	return fmt.Sprintf("%d calls in %d sessions: %d notices (%.1f in 1,000 calls), %d refusals (%.1f in 1,000); at least %d tokens went into calls after a remark",
		s.Calls, s.Sessions, s.Notices, rate(s.Notices), s.Refusals, rate(s.Refusals), s.Wasted)
}

// Print writes what the guard would have said, a line each.
func (r Replay) Print(w io.Writer) error {
	var b strings.Builder
	for _, m := range r.Remarks {
		kind := "notice"
		if m.Refused {
			kind = "refusal"
		}
		fmt.Fprintf(&b, "%s: call %d, %s: %s: %s\n", r.Session, m.Call, m.Tool, kind, strings.TrimPrefix(strings.TrimPrefix(m.Text, "[LOOP GUARD] "), "refused: "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
