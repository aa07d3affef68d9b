package agent

import (
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/whet-dev/whet"
)

// A Message is one entry of a conversation, in no vendor's format: a plain
// value that can be written down and read back.
type Message struct {
	Role   string     `json:"role"` // "user", "assistant" or "tool"
	Text   string     `json:"text,omitempty"`
	Calls  []ToolCall `json:"calls,omitempty"`   // of an assistant
	Stop   string     `json:"stop,omitempty"`    // why an assistant's turn ended, if not by itself
	CallID string     `json:"call_id,omitempty"` // of a tool: the call that this answers
	Failed bool       `json:"failed,omitempty"`

	// Thinking is what the model wrote before its answer. Some vendors want it
	// back, exactly as it was.
	Thinking []Thinking `json:"thinking,omitempty"`
}

// Thinking is a piece of a model's reasoning.
type Thinking struct {
	Text      string `json:"text,omitempty"`
	Signature string `json:"signature,omitempty"`
	Redacted  string `json:"redacted,omitempty"`
}

// Reasons for the end of a turn.
const (
	stopLength   = "length"
	stopDeclined = "declined"
)

// A ToolCall is a model's wish to use a tool. Args is what it wrote, which need
// not be JSON.
type ToolCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Args string `json:"args"`
}

func (c ToolCall) args() json.RawMessage {
	if strings.TrimSpace(c.Args) == "" {
		return json.RawMessage("{}")
	}
	return json.RawMessage(c.Args)
}

func (c ToolCall) valid() error {
	var v any
	return json.Unmarshal(c.args(), &v)
}

// object returns the arguments as the JSON object that vendors want to see in
// a history, also where the model wrote something else.
func (c ToolCall) object() json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(c.args(), &m) == nil && m != nil {
		return c.args()
	}
	b, err := json.Marshal(map[string]string{"not_a_json_object": c.Args})
	if err != nil {
		return json.RawMessage("{}")
	}
	return b
}

// Usage is tokens, and what they cost where a price is known.
type Usage struct {
	Input      int64    `json:"input_tokens"`       // without those below
	CacheRead  int64    `json:"cache_read_tokens"`  // read from the vendor's cache
	CacheWrite int64    `json:"cache_write_tokens"` // written to it
	Output     int64    `json:"output_tokens"`      //
	Cost       *float64 `json:"cost_usd,omitempty"` // in US dollars; nil if no price is known
}

func (u *Usage) add(v Usage) {
	u.Input += v.Input
	u.CacheRead += v.CacheRead
	u.CacheWrite += v.CacheWrite
	u.Output += v.Output
	if v.Cost != nil {
		sum := *v.Cost
		if u.Cost != nil {
			sum += *u.Cost
		}
		u.Cost = &sum
	}
}

// An Event is something that happened in a run. Which fields are set depends
// on its Type:
//
//	start      Model, Agent, Dir
//	text       Text, the next piece of what the model says
//	reasoning  Text, the next piece of what it thinks
//	retry      Error, Wait: the turn starts again, pieces of it are void
//	message    Message, complete: these alone make the conversation
//	call       Call, about to run
//	progress   Call, Done, Total, Text
//	result     Call, Result
//	end        Outcome, and Error if the run failed
type Event struct {
	Type    string       `json:"type"`
	Step    int          `json:"step"`
	Model   string       `json:"model,omitempty"`
	Agent   string       `json:"agent,omitempty"`
	Dir     string       `json:"dir,omitempty"`
	Text    string       `json:"text,omitempty"`
	Error   string       `json:"error,omitempty"`
	Wait    float64      `json:"wait_seconds,omitempty"`
	Done    int64        `json:"done,omitempty"`
	Total   int64        `json:"total,omitempty"`
	Message *Message     `json:"message,omitempty"`
	Call    *ToolCall    `json:"call,omitempty"`
	Result  *whet.Result `json:"result,omitempty"`
	Outcome *Outcome     `json:"outcome,omitempty"`
}

// cutAt returns the first n bytes of s, less if that would split a character.
func cutAt(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

var errIdle = errors.New("the model sent nothing")
