package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	openai "github.com/sashabaranov/go-openai"
)

// chatModel speaks OpenAI's chat completions, which nearly every other vendor
// and every local server speaks too.
type chatModel struct {
	Endpoint
	client *openai.Client
}

func newChatModel(e Endpoint) Model {
	cfg := openai.DefaultConfig(e.Key)
	cfg.BaseURL, cfg.HTTPClient = e.BaseURL, e.client()
	// Keep-alive comments count as empty messages here; a slow model sends any
	// number of them.
	cfg.EmptyMessagesLimit = math.MaxInt32
	return &chatModel{e, openai.NewClientWithConfig(cfg)}
}

func (m *chatModel) Turn(ctx context.Context, r Request, piece func(kind, text string)) (Message, Usage, error) {
	req := openai.ChatCompletionRequest{
		Model: m.Model, Messages: chatMessages(r),
		StreamOptions: &openai.StreamOptions{IncludeUsage: true},
	}
	for _, t := range r.Tools {
		req.Tools = append(req.Tools, openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
			Name: t.Name, Description: t.Doc, Parameters: t.Input(),
		}})
	}
	stream, err := m.client.CreateChatCompletionStream(ctx, req)
	if err != nil {
		return Message{}, Usage{}, m.explain(ctx, err)
	}
	defer stream.Close()
	t := chatTurn{piece: piece, msg: Message{Role: "assistant"}}
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) && t.finish != "" {
			return t.message(), m.priced(t.usage), nil
		}
		if err != nil {
			return Message{}, m.priced(t.usage), m.explain(ctx, err)
		}
		t.add(chunk)
	}
}

func chatMessages(r Request) []openai.ChatCompletionMessage {
	out := []openai.ChatCompletionMessage{{Role: "system", Content: r.System}}
	for _, m := range r.Messages {
		c := openai.ChatCompletionMessage{Role: m.Role, Content: m.Text, ToolCallID: m.CallID}
		for _, t := range m.Thinking {
			c.ReasoningContent += t.Text
		}
		for _, call := range m.Calls {
			c.ToolCalls = append(c.ToolCalls, openai.ToolCall{
				ID: call.ID, Type: openai.ToolTypeFunction,
				Function: openai.FunctionCall{Name: call.Name, Arguments: string(call.object())},
			})
		}
		if c.Content == "" && len(c.ToolCalls) == 0 {
			c.Content = "(empty)" // the client would leave it out, and servers refuse that
		}
		out = append(out, c)
	}
	return out
}

// chatTurn puts the chunks of a turn together.
type chatTurn struct {
	piece  func(kind, text string)
	msg    Message
	finish string
	usage  Usage
}

func (t *chatTurn) add(chunk openai.ChatCompletionStreamResponse) {
	if u := chunk.Usage; u != nil {
		t.usage = Usage{Input: int64(u.PromptTokens), Output: int64(u.CompletionTokens)}
		if d := u.PromptTokensDetails; d != nil {
			t.usage.CacheRead = int64(d.CachedTokens)
			t.usage.Input -= t.usage.CacheRead
		}
	}
	for _, choice := range chunk.Choices {
		d := choice.Delta
		if d.ReasoningContent != "" {
			if t.msg.Thinking == nil {
				t.msg.Thinking = []Thinking{{}}
			}
			t.msg.Thinking[0].Text += d.ReasoningContent
			t.piece("reasoning", d.ReasoningContent)
		}
		if text := d.Content + d.Refusal; text != "" {
			t.msg.Text += text
			t.piece("text", text)
		}
		for _, c := range d.ToolCalls {
			t.call(c)
		}
		if choice.FinishReason != "" {
			t.finish = string(choice.FinishReason)
		}
	}
}

// call adds a piece of a call. Not every server numbers the calls; then an id
// begins a new one.
func (t *chatTurn) call(c openai.ToolCall) {
	i := len(t.msg.Calls) - 1
	if c.Index != nil {
		i = *c.Index
	} else if c.ID != "" && (i < 0 || t.msg.Calls[i].ID != c.ID) {
		i++
	}
	const maxCalls = 256
	if i < 0 || i >= maxCalls {
		return
	}
	for len(t.msg.Calls) <= i {
		t.msg.Calls = append(t.msg.Calls, ToolCall{})
	}
	call := &t.msg.Calls[i]
	if call.ID == "" {
		call.ID = c.ID
	}
	call.Name += c.Function.Name
	call.Args += c.Function.Arguments
}

func (t *chatTurn) message() Message {
	var calls []ToolCall
	for i, c := range t.msg.Calls {
		if c.Name == "" {
			continue
		}
		if c.ID == "" {
			c.ID = fmt.Sprintf("call_%d", i)
		}
		calls = append(calls, c)
	}
	t.msg.Calls = calls
	switch t.finish {
	case "length":
		t.msg.Stop = stopLength
	case "content_filter":
		t.msg.Stop = stopDeclined
	}
	return t.msg
}
