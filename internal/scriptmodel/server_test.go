package scriptmodel_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/google/go-cmp/cmp"
	openai "github.com/sashabaranov/go-openai"

	"github.com/whet-dev/whet/internal/scriptmodel"
)

// The double is held against the vendors' clients: what they can't read, a real
// agent can't either. Streaming chat and messages are tested by package agent.

const script = `{"s": [
	{"text": "I look. 世界", "calls": [{"name": "read", "args": {"path": "a"}}]},
	{"text": "Done."}]}`

func start(t *testing.T, script string) *scriptmodel.Server {
	t.Helper()
	s, err := scriptmodel.Parse([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	srv, err := scriptmodel.Start(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	return srv
}

func client(srv *scriptmodel.Server) *openai.Client {
	cfg := openai.DefaultConfig("k")
	cfg.BaseURL = srv.URL + "/v1"
	return openai.NewClientWithConfig(cfg)
}

func TestChat(t *testing.T) {
	c := client(start(t, script))
	req := openai.ChatCompletionRequest{
		Model:    "m",
		Messages: []openai.ChatCompletionMessage{{Role: "user", Content: "[[script:s]]"}},
		Tools:    []openai.Tool{{Type: "function", Function: &openai.FunctionDefinition{Name: "read", Parameters: map[string]any{"type": "object"}}}},
	}
	r, err := c.CreateChatCompletion(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	m := r.Choices[0].Message
	if m.Content != "I look. 世界" || m.ToolCalls[0].Function.Arguments != `{"path": "a"}` || r.Choices[0].FinishReason != "tool_calls" || r.Usage.TotalTokens != 110 {
		t.Errorf("got %+v", r)
	}
	req.Messages = append(req.Messages, m, openai.ChatCompletionMessage{Role: "tool", ToolCallID: m.ToolCalls[0].ID, Content: "x"})
	if r, err = c.CreateChatCompletion(t.Context(), req); err != nil || r.Choices[0].Message.Content != "Done." {
		t.Errorf("second turn: %+v, %v", r, err)
	}
	// Without tools it is a host that wants a title.
	req.Messages, req.Tools = req.Messages[:1], nil
	if r, err = c.CreateChatCompletion(t.Context(), req); err != nil || r.Choices[0].Message.Content != "A scripted title" {
		t.Errorf("title: %+v, %v", r, err)
	}
}

func TestMessages(t *testing.T) {
	srv := start(t, script)
	c := anthropic.NewMessageService(option.WithoutEnvironmentDefaults(), option.WithBaseURL(srv.URL), option.WithAPIKey("k"))
	r, err := c.New(t.Context(), anthropic.MessageNewParams{
		Model: "m", MaxTokens: 100,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("[[script:s]]"))},
		Tools:    []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{Name: "read"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Content[0].Text != "I look. 世界" || string(r.Content[1].Input) != `{"path":"a"}` || r.StopReason != "tool_use" || r.Usage.OutputTokens != 10 {
		t.Errorf("got %+v", r)
	}
}

func TestResponses(t *testing.T) {
	srv := start(t, script)
	c := client(srv)
	input := []any{map[string]any{"role": "user", "content": []any{map[string]any{"type": "input_text", "text": "[[script:s]]"}}}}
	req := openai.CreateResponseRequest{Model: "m", Input: input, Tools: []openai.ResponseTool{openai.NewResponseFunctionTool(openai.FunctionDefinition{Name: "read", Parameters: map[string]any{"type": "object"}})}}
	whole, err := c.CreateResponse(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if out := items(t, whole); out[0].Content[0].Text != "I look. 世界" || out[1].Arguments != `{"path": "a"}` || whole.Status != "completed" {
		t.Errorf("got %+v", whole)
	}
	stream, err := c.CreateResponseStream(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var kinds []string
	var text, args string
	for {
		e, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.SequenceNumber != len(kinds) {
			t.Errorf("event %d has number %d", len(kinds), e.SequenceNumber)
		}
		kinds = append(kinds, strings.TrimPrefix(string(e.Type), "response."))
		switch e.Type {
		case "response.output_text.delta":
			text += e.Delta
		case "response.function_call_arguments.delta":
			args += e.Delta
		}
	}
	want := strings.Fields(`created in_progress output_item.added content_part.added output_text.delta output_text.done content_part.done output_item.done
		output_item.added function_call_arguments.delta function_call_arguments.done output_item.done completed`)
	if d := cmp.Diff(want, kinds); d != "" || text != "I look. 世界" || args != `{"path": "a"}` {
		t.Errorf("text %q, args %q, events -want +got:\n%s", text, args, d)
	}
	// A turn that is split into items is one turn.
	req.Input = append(input, map[string]any{"type": "reasoning"},
		map[string]any{"type": "message", "role": "assistant", "content": "I look."},
		map[string]any{"type": "function_call", "call_id": "1", "name": "read", "arguments": "{}"},
		map[string]any{"type": "function_call_output", "call_id": "1", "output": "x"})
	if whole, err = c.CreateResponse(t.Context(), req); err != nil || items(t, whole)[0].Content[0].Text != "Done." {
		t.Errorf("second turn: %+v, %v", whole, err)
	}
	if rs := srv.Requests(); len(rs) != 3 || rs[2].Scenario != "s" || rs[2].Step != 1 || rs[2].Path != "/v1/responses" {
		t.Errorf("requests %+v", rs)
	}
}

// items reads the output, which the client leaves as it came.
func items(t *testing.T, r openai.CreateResponseResponse) (out []openai.ResponseOutputItem) {
	t.Helper()
	b, err := json.Marshal(r.Output)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestLoudMistakes(t *testing.T) {
	if _, err := scriptmodel.Parse([]byte(`{"s": [{"txet": "hello"}]}`)); err == nil {
		t.Error("a misspelt key was taken")
	}
	srv := start(t, script)
	for body, want := range map[string]string{
		`{"messages": [{"role": "user", "content": "[[script:other]]"}]}`: `no scenario "other" in the script`,
		`{"messages": `: "reading the request: unexpected end of JSON input",
	} {
		res, err := http.Post(srv.URL+"/v1/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		var v struct{ Error struct{ Message string } }
		_ = json.NewDecoder(res.Body).Decode(&v)
		res.Body.Close()
		if res.StatusCode != http.StatusBadRequest || v.Error.Message != want {
			t.Errorf("%s: %d %q", body, res.StatusCode, v.Error.Message)
		}
	}
}
