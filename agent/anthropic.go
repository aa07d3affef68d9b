package agent

import (
	"context"
	"io"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

// messagesModel speaks Anthropic's messages.
type messagesModel struct {
	Endpoint
	service anthropic.MessageService
}

func newMessagesModel(e Endpoint) Model {
	opts := []option.RequestOption{
		option.WithoutEnvironmentDefaults(), // what counts is in the Endpoint
		option.WithBaseURL(e.BaseURL),
		option.WithHTTPClient(e.client()),
		option.WithMaxRetries(0), // the loop retries
	}
	switch {
	case e.Key == "":
	case e.Bearer:
		opts = append(opts, option.WithAuthToken(e.Key))
	default:
		opts = append(opts, option.WithAPIKey(e.Key))
	}
	return &messagesModel{e, anthropic.NewMessageService(opts...)}
}

// maxOutput is the longest turn asked for, in tokens: the protocol wants a
// number, and today's models all take this one.
const maxOutput = 16000

func (m *messagesModel) Turn(ctx context.Context, r Request, piece func(kind, text string)) (Message, Usage, error) {
	cache := anthropic.NewCacheControlEphemeralParam()
	req := anthropic.MessageNewParams{
		Model: anthropic.Model(m.Model), MaxTokens: maxOutput,
		System:   []anthropic.TextBlockParam{{Text: r.System, CacheControl: cache}},
		Messages: anthropicMessages(r.Messages),
	}
	for _, t := range r.Tools {
		s := t.Input()
		p := &anthropic.ToolParam{Name: t.Name, InputSchema: anthropic.ToolInputSchemaParam{Properties: s.Properties, Required: s.Required}}
		p.Description = anthropic.String(t.Doc)
		req.Tools = append(req.Tools, anthropic.ToolUnionParam{OfTool: p})
	}
	// The conversation so far is read from the vendor's cache at the next turn.
	last := req.Messages[len(req.Messages)-1].Content
	if c := last[len(last)-1].GetCacheControl(); c != nil {
		*c = cache
	}
	stream := m.service.NewStreaming(ctx, req)
	defer stream.Close()
	t := messagesTurn{piece: piece, msg: Message{Role: "assistant"}, calls: map[int64]int{}}
	for stream.Next() {
		t.add(stream.Current())
	}
	err := stream.Err()
	if err == nil && t.stop == "" {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return Message{}, m.priced(t.usage), m.explain(ctx, err)
	}
	switch t.stop {
	case anthropic.StopReasonMaxTokens:
		t.msg.Stop = stopLength
	case anthropic.StopReasonRefusal:
		t.msg.Stop = stopDeclined
	}
	return t.msg, m.priced(t.usage), nil
}

// anthropicMessages gathers the results of a turn into one message, as the
// protocol has it.
func anthropicMessages(ms []Message) (out []anthropic.MessageParam) {
	for i, m := range ms {
		blocks := anthropicBlocks(m)
		switch {
		case len(blocks) == 0:
		case m.Role == "assistant":
			out = append(out, anthropic.NewAssistantMessage(blocks...))
		case m.Role == "tool" && i > 0 && ms[i-1].Role == "tool":
			out[len(out)-1].Content = append(out[len(out)-1].Content, blocks...)
		default:
			out = append(out, anthropic.NewUserMessage(blocks...))
		}
	}
	return out
}

func anthropicBlocks(m Message) (blocks []anthropic.ContentBlockParamUnion) {
	if m.Role == "tool" {
		return append(blocks, anthropic.NewToolResultBlock(m.CallID, m.Text, m.Failed))
	}
	for _, t := range m.Thinking {
		switch {
		case t.Redacted != "":
			blocks = append(blocks, anthropic.NewRedactedThinkingBlock(t.Redacted))
		case t.Signature != "":
			blocks = append(blocks, anthropic.NewThinkingBlock(t.Signature, t.Text))
		}
	}
	if m.Text != "" {
		blocks = append(blocks, anthropic.NewTextBlock(m.Text))
	}
	for _, c := range m.Calls {
		blocks = append(blocks, anthropic.NewToolUseBlock(c.ID, c.object(), c.Name))
	}
	return blocks
}

// messagesTurn puts the events of a turn together. The client's own
// accumulator fails on arguments that aren't JSON; the model must hear of them.
type messagesTurn struct {
	piece func(kind, text string)
	msg   Message
	calls map[int64]int // index of a block to index of a call
	stop  anthropic.StopReason
	usage Usage
}

func (t *messagesTurn) add(e anthropic.MessageStreamEventUnion) {
	switch e.Type {
	case "message_start":
		u := e.Message.Usage
		t.usage = Usage{Input: u.InputTokens, CacheRead: u.CacheReadInputTokens, CacheWrite: u.CacheCreationInputTokens, Output: u.OutputTokens}
	case "content_block_start":
		b := e.ContentBlock
		switch b.Type {
		case "tool_use":
			t.calls[e.Index] = len(t.msg.Calls)
			t.msg.Calls = append(t.msg.Calls, ToolCall{ID: b.ID, Name: b.Name})
		case "thinking":
			t.msg.Thinking = append(t.msg.Thinking, Thinking{Text: b.Thinking, Signature: b.Signature})
		case "redacted_thinking":
			t.msg.Thinking = append(t.msg.Thinking, Thinking{Redacted: b.Data})
		case "text":
			t.text(b.Text)
		}
	case "content_block_delta":
		t.delta(e)
	case "message_delta":
		t.stop = e.Delta.StopReason
		t.usage.Output = e.Usage.OutputTokens
	}
}

func (t *messagesTurn) delta(e anthropic.MessageStreamEventUnion) {
	d := e.Delta
	last := len(t.msg.Thinking) - 1
	switch {
	case d.Type == "text_delta":
		t.text(d.Text)
	case d.Type == "input_json_delta":
		if i, ok := t.calls[e.Index]; ok {
			t.msg.Calls[i].Args += d.PartialJSON
		}
	case d.Type == "thinking_delta" && last >= 0:
		t.msg.Thinking[last].Text += d.Thinking
		t.piece("reasoning", d.Thinking)
	case d.Type == "signature_delta" && last >= 0:
		t.msg.Thinking[last].Signature += d.Signature
	}
}

func (t *messagesTurn) text(s string) {
	if s != "" {
		t.msg.Text += s
		t.piece("text", s)
	}
}
