// Package scriptmodel is a test double for a language model, and for nothing
// else: a server on loopback that speaks the wire formats of three vendors and
// answers from a script. Whoever talks to it, the tools that get called and the
// files that change are real. It serves the end-to-end tests, real coding
// agents under test, and `whet demo`, which says that its model is scripted.
//
// A user message that contains [[script:NAME]] picks a scenario; the last such
// message counts. The step of the scenario is the number of turns that the
// model has taken since. A script is therefore stateless: a client may retry,
// resume or interleave conversations.
package scriptmodel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// A Script is scenarios by name.
type Script map[string][]Step

// A Step is one turn of the model, and how its delivery goes wrong.
type Step struct {
	Text      string `json:"text,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
	Calls     []Call `json:"calls,omitempty"`
	// Finish replaces the reason for the end of the turn, in the vendor's word.
	Finish string `json:"finish,omitempty"`
	// DelayMS is the pause before each chunk, in milliseconds.
	DelayMS int `json:"delay_ms,omitempty"`

	// Status answers with this HTTP status in place of the turn, and Body (or a
	// vendor-like error) as its content.
	Status     int    `json:"status,omitempty"`
	RetryAfter string `json:"retry_after,omitempty"`
	Body       string `json:"body,omitempty"`
	// Hang sends nothing, or nothing more after the text, until the client goes.
	Hang bool `json:"hang,omitempty"`
	// Cut breaks the connection after the text.
	Cut bool `json:"cut,omitempty"`
	// Times bounds the faults above to the first requests for this step; 0
	// means always.
	Times int `json:"times,omitempty"`
}

func (s Step) faulty() bool { return s.Status != 0 || s.Hang || s.Cut }

// A Call is one tool call of a turn.
type Call struct {
	Name string `json:"name"`
	// Args are the arguments; Raw replaces them by text that need not be JSON.
	Args json.RawMessage `json:"args,omitempty"`
	Raw  string          `json:"raw,omitempty"`
	// Namespace and Custom are for the responses format: a tool in a namespace,
	// and a tool whose input is Raw itself, not JSON.
	Namespace string `json:"namespace,omitempty"`
	Custom    bool   `json:"custom,omitempty"`
}

func (c Call) arguments() string {
	switch {
	case c.Raw != "":
		return c.Raw
	case len(c.Args) == 0:
		return "{}"
	}
	return string(c.Args)
}

// Load reads a script from a JSON file. Unknown keys are an error: a misspelt
// fault would make a test pass for nothing.
func Load(file string) (Script, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return Parse(b)
}

// Parse reads a script from JSON.
func Parse(b []byte) (Script, error) {
	var s Script
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return nil, fmt.Errorf("reading the model's script: %w", err)
	}
	return s, nil
}
