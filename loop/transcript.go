package loop

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxLine bounds one line of a transcript, in bytes.
const maxLine = 64 << 20

// ErrFormat says that a file is no transcript of a kind that is known.
var ErrFormat = errors.New("not a transcript that whet knows: want the JSON lines of Claude Code or Codex, an export of OpenCode, or hashed sessions")

// Read reads the recorded sessions in r: a transcript of Claude Code or Codex
// (JSON lines), an export of OpenCode (one JSON object), or sessions as hashes
// (a line each). name is for a session that doesn't name itself.
func Read(r io.Reader, name string) ([]Recording, error) {
	br := bufio.NewReaderSize(r, 1<<20)
	for {
		c, err := br.Peek(1)
		if err != nil {
			return nil, ErrFormat
		}
		if !bytes.ContainsRune([]byte(" \t\r\n"), rune(c[0])) {
			break
		}
		_, _ = br.Discard(1) // just peeked
	}
	t := transcript{open: map[string]call{}, rec: Recording{Name: name}}
	d := json.NewDecoder(io.LimitReader(br, maxLine*16))
	for n := 1; ; n++ {
		var v item
		err := d.Decode(&v)
		if err == io.EOF {
			break
		}
		if err != nil {
			if n == 1 {
				return nil, ErrFormat
			}
			if errors.Is(err, io.ErrUnexpectedEOF) {
				break // the host was cut off while it wrote
			}
			return nil, fmt.Errorf("entry %d: %w", n, err)
		}
		t.take(v)
	}
	if len(t.rec.Events) > 0 || t.known {
		t.done = append(t.done, t.rec)
	}
	if len(t.done) == 0 {
		return nil, ErrFormat
	}
	return t.done, nil
}

// An item is an entry of any of the formats.
type item struct {
	Type      string          `json:"type"`
	SessionID string          `json:"sessionId"`
	IsMeta    bool            `json:"isMeta"`
	Sidechain bool            `json:"isSidechain"`
	Subtype   string          `json:"subtype"`
	Message   message         `json:"message"`  // Claude Code
	Payload   payload         `json:"payload"`  // Codex
	Messages  []exported      `json:"messages"` // OpenCode
	Info      json.RawMessage `json:"info"`
	Session   string          `json:"session"` // hashed
	Corpus    string          `json:"corpus"`
	Steps     [][]any         `json:"steps"`
}

type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// A block is a part of a message's content.
type block struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
	Text      string          `json:"text"`
}

type payload struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	CallID    string          `json:"call_id"`
	Arguments string          `json:"arguments"`
	Input     json.RawMessage `json:"input"`
	Action    json.RawMessage `json:"action"`
	Output    json.RawMessage `json:"output"`
	Content   json.RawMessage `json:"content"`
}

type exported struct {
	Info struct {
		Role string `json:"role"`
	} `json:"info"`
	Parts []struct {
		Type      string `json:"type"`
		Tool      string `json:"tool"`
		Synthetic bool   `json:"synthetic"`
		State     struct {
			Status string          `json:"status"`
			Input  json.RawMessage `json:"input"`
			Output string          `json:"output"`
			Error  string          `json:"error"`
		} `json:"state"`
	} `json:"parts"`
}

type call struct {
	tool string
	args json.RawMessage
}

type transcript struct {
	rec   Recording
	open  map[string]call // by the host's id
	known bool            // something of a known format was read
	done  []Recording
}

func (t *transcript) take(v item) {
	switch {
	case v.Steps != nil:
		t.done = append(t.done, hashed(v))
	case v.Messages != nil:
		t.known = true
		t.openCode(v.Messages)
	case v.Type == "response_item" || v.Type == "compacted" || v.Type == "session_meta":
		t.known = true
		t.codex(v)
	case v.Type == "assistant" || v.Type == "user":
		t.known = true
		if v.SessionID != "" {
			t.rec.Name = v.SessionID
		}
		if !v.Sidechain { // a sub-agent has a session of its own
			t.claude(v)
		}
	case v.Type == "system" && strings.HasPrefix(v.Subtype, "compact"):
		t.reset()
	}
}

func (t *transcript) reset() { t.rec.Events = append(t.rec.Events, Event{Reset: true}) }

func (t *transcript) begin(id, tool string, args json.RawMessage) {
	t.open[id] = call{canonicalTool(tool), args}
}

func (t *transcript) end(id, text string, failed bool) {
	c, ok := t.open[id]
	if !ok {
		return
	}
	delete(t.open, id)
	t.rec.Events = append(t.rec.Events, Event{Step: NewStep(c.tool, c.args, text, failed), Bytes: len(c.args) + len(text)})
}

// canonicalTool gives the hosts' own tools the names that guards know them by.
func canonicalTool(name string) string {
	switch name {
	case "exec_command", "shell", "local_shell", "container.exec", "Bash":
		return "bash"
	case "Agent", "Task", "spawn_agent":
		return "task"
	case "TaskOutput":
		return "task_result"
	case "NotebookEdit", "MultiEdit":
		return "edit"
	}
	return strings.ToLower(name)
}

func (t *transcript) claude(v item) {
	var blocks []block
	if json.Unmarshal(v.Message.Content, &blocks) != nil {
		blocks = []block{{Type: "text"}} // a person's message can be a plain string
	}
	for _, b := range blocks {
		switch {
		case b.Type == "tool_use":
			t.begin(b.ID, b.Name, b.Input)
		case b.Type == "tool_result":
			t.end(b.ToolUseID, plainText(b.Content), b.IsError)
		case b.Type == "text" && v.Type == "user" && !v.IsMeta:
			t.reset()
		}
	}
}

// plainText returns content, which is a string or a list of blocks, as text.
func plainText(content json.RawMessage) string {
	var s string
	if json.Unmarshal(content, &s) == nil {
		return s
	}
	var blocks []block
	if json.Unmarshal(content, &blocks) != nil {
		return string(content)
	}
	var texts []string
	for _, b := range blocks {
		if b.Type != "text" && b.Type != "input_text" {
			raw, _ := json.Marshal(b) // of a type that marshals
			b.Text = string(raw)
		}
		texts = append(texts, b.Text)
	}
	return strings.Join(texts, "\n")
}

func (t *transcript) codex(v item) {
	p := v.Payload
	switch {
	case v.Type == "compacted" || p.Type == "message" && p.Role == "user":
		t.reset()
	case v.Type == "session_meta" && p.ID != "":
		t.rec.Name = p.ID
	case p.Type == "function_call":
		t.begin(p.CallID, p.Name, json.RawMessage(p.Arguments))
	case p.Type == "custom_tool_call":
		t.begin(p.CallID, p.Name, p.Input)
	case p.Type == "local_shell_call":
		t.begin(p.CallID, "bash", p.Action)
	case p.Type == "function_call_output" || p.Type == "custom_tool_call_output":
		text, failed := codexOutput(p.Output)
		t.end(p.CallID, text, failed)
	}
}

// codexOutput reads an output: a text, blocks, an object with content and
// success, or a text that is JSON with an exit code.
func codexOutput(raw json.RawMessage) (text string, failed bool) {
	var o struct {
		Content  json.RawMessage `json:"content"`
		Success  *bool           `json:"success"`
		Output   string          `json:"output"`
		Metadata struct {
			ExitCode int `json:"exit_code"`
		} `json:"metadata"`
	}
	if json.Unmarshal(raw, &o) == nil && o.Content != nil {
		return plainText(o.Content), o.Success != nil && !*o.Success
	}
	text = plainText(raw)
	if json.Unmarshal([]byte(text), &o) == nil && o.Output != "" {
		return o.Output, o.Metadata.ExitCode != 0
	}
	return text, false
}

func (t *transcript) openCode(ms []exported) {
	for _, m := range ms {
		for _, p := range m.Parts {
			switch {
			case p.Type == "compaction" || p.Type == "text" && m.Info.Role == "user" && !p.Synthetic:
				t.reset()
			case p.Type == "tool" && (p.State.Status == "completed" || p.State.Status == "error"):
				t.begin("", p.Tool, p.State.Input)
				t.end("", cmp.Or(p.State.Error, p.State.Output), p.State.Status == "error")
			}
		}
	}
}

// hashed reads a session of steps [tool, call, result, normal result, mutating,
// bytes of the result]. The three in the middle are digests, or numbers that
// stand for them in this session.
func hashed(v item) Recording {
	r := Recording{Name: strings.TrimPrefix(v.Corpus+"/"+v.Session, "/")}
	for _, s := range v.Steps {
		if len(s) < 6 {
			continue
		}
		text := func(i int) string { return fmt.Sprint(s[i]) }
		number := func(i int) float64 { x, _ := s[i].(float64); return x }
		r.Events = append(r.Events, Event{
			Step:  Step{Tool: text(0), Call: text(1), Loose: text(1), Result: text(2), Normal: text(3), Mutates: number(4) != 0, Shell: text(0) == "bash"},
			Bytes: int(number(5)),
		})
	}
	return r
}
