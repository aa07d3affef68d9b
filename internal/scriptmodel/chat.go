package scriptmodel

import "fmt"

// chat is OpenAI's chat completions format.
type chat struct{}

func (chat) turns(r request) []turn { return roles(r.Messages) }

func (chat) calls(id string, s Step) (out []obj) {
	for i, c := range s.Calls {
		out = append(out, obj{
			"id": fmt.Sprintf("call_%s_%d", id, i), "type": "function",
			"function": obj{"name": c.Name, "arguments": c.arguments()},
		})
	}
	return out
}

func (chat) finish(s Step) string {
	switch {
	case s.Finish != "":
		return s.Finish
	case len(s.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

var chatUsage = obj{"prompt_tokens": inputTokens, "completion_tokens": outputTokens, "total_tokens": inputTokens + outputTokens}

func (f chat) whole(id string, r request, s Step) any {
	m := obj{"role": "assistant", "content": s.Text}
	if calls := f.calls(id, s); calls != nil {
		m["tool_calls"] = calls
	}
	return obj{
		"id": id, "object": "chat.completion", "created": 1, "model": r.Model, "usage": chatUsage,
		"choices": []obj{{"index": 0, "message": m, "finish_reason": f.finish(s)}},
	}
}

func (f chat) stream(out *sender, id string, r request, s Step) {
	chunk := func(choices []obj, usage any) {
		out.event("", obj{"id": id, "object": "chat.completion.chunk", "created": 1, "model": r.Model, "choices": choices, "usage": usage})
	}
	delta := func(d obj, finish any) {
		chunk([]obj{{"index": 0, "delta": d, "finish_reason": finish}}, nil)
	}
	delta(obj{"role": "assistant", "content": ""}, nil)
	for _, p := range pieces(s.Reasoning, 40) {
		delta(obj{"reasoning_content": p}, nil)
	}
	for _, p := range pieces(s.Text, 40) {
		delta(obj{"content": p}, nil)
	}
	out.fault()
	for i, c := range f.calls(id, s) {
		fn := c["function"].(obj)
		args := fn["arguments"].(string)
		c["index"], c["function"] = i, obj{"name": fn["name"], "arguments": ""}
		delta(obj{"tool_calls": []obj{c}}, nil)
		for _, p := range pieces(args, 200) {
			delta(obj{"tool_calls": []obj{{"index": i, "function": obj{"arguments": p}}}}, nil)
		}
	}
	delta(obj{}, f.finish(s))
	chunk([]obj{}, chatUsage)
	out.event("", "[DONE]")
}
