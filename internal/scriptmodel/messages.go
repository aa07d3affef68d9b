package scriptmodel

import (
	"encoding/json"
	"fmt"
)

// messages is Anthropic's messages format.
type messages struct{}

func (messages) turns(r request) []turn { return roles(r.Messages) }

func (messages) content(id string, s Step) (out []obj) {
	if s.Text != "" {
		out = append(out, obj{"type": "text", "text": s.Text})
	}
	for i, c := range s.Calls {
		out = append(out, obj{"type": "tool_use", "id": fmt.Sprintf("toolu_%s_%d", id, i), "name": c.Name, "input": c.arguments()})
	}
	return out
}

func (messages) finish(s Step) string {
	switch {
	case s.Finish != "":
		return s.Finish
	case len(s.Calls) > 0:
		return "tool_use"
	}
	return "end_turn"
}

func (f messages) message(id string, r request) obj {
	return obj{
		"id": id, "type": "message", "role": "assistant", "model": r.Model, "content": []obj{},
		"stop_reason": nil, "stop_sequence": nil, "usage": obj{"input_tokens": inputTokens, "output_tokens": 1},
	}
}

func (f messages) whole(id string, r request, s Step) any {
	m := f.message(id, r)
	content := f.content(id, s)
	for _, c := range content {
		// Without streaming, text that isn't JSON has no place in this format.
		if args, ok := c["input"].(string); ok && json.Valid([]byte(args)) {
			c["input"] = json.RawMessage(args)
		}
	}
	m["content"], m["stop_reason"] = content, f.finish(s)
	m["usage"] = obj{"input_tokens": inputTokens, "output_tokens": outputTokens}
	return m
}

func (f messages) stream(out *sender, id string, r request, s Step) {
	event := func(kind string, data obj) {
		data["type"] = kind
		out.event(kind, data)
	}
	event("message_start", obj{"message": f.message(id, r)})
	for i, c := range f.content(id, s) {
		if c["type"] == "text" {
			event("content_block_start", obj{"index": i, "content_block": obj{"type": "text", "text": ""}})
			for _, p := range pieces(s.Text, 40) {
				event("content_block_delta", obj{"index": i, "delta": obj{"type": "text_delta", "text": p}})
			}
			out.fault()
		} else {
			args := c["input"].(string)
			c["input"] = obj{}
			event("content_block_start", obj{"index": i, "content_block": c})
			for _, p := range pieces(args, 200) {
				event("content_block_delta", obj{"index": i, "delta": obj{"type": "input_json_delta", "partial_json": p}})
			}
		}
		event("content_block_stop", obj{"index": i})
	}
	out.fault()
	event("message_delta", obj{
		"delta": obj{"stop_reason": f.finish(s), "stop_sequence": nil},
		"usage": obj{"output_tokens": outputTokens},
	})
	event("message_stop", obj{})
}
