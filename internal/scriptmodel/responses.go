package scriptmodel

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// responses is OpenAI's responses format.
type responses struct{}

func (responses) turns(r request) (out []turn) {
	var text string
	if json.Unmarshal(r.Input, &text) == nil {
		return []turn{{"user", text}}
	}
	var items []struct {
		Type    string          `json:"type"`
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	_ = json.Unmarshal(r.Input, &items)
	for _, it := range items {
		switch {
		case it.Type == "reasoning":
		case slices.Contains([]string{"function_call", "custom_tool_call"}, it.Type):
			out = append(out, turn{role: "assistant"})
		case it.Role == "":
			out = append(out, turn{role: "tool"})
		default:
			out = append(out, turn{it.Role, textOf(it.Content)})
		}
	}
	return out
}

func (responses) items(id string, s Step) (out []obj) {
	if s.Text != "" {
		out = append(out, obj{
			"type": "message", "id": "msg_" + id, "role": "assistant", "status": "completed",
			"content": []obj{{"type": "output_text", "text": s.Text, "annotations": []obj{}}},
		})
	}
	for i, c := range s.Calls {
		it := obj{"call_id": fmt.Sprintf("call_%s_%d", id, i), "name": c.Name, "status": "completed"}
		if c.Custom {
			it["type"], it["id"], it["input"] = "custom_tool_call", fmt.Sprintf("ctc_%s_%d", id, i), c.Raw
		} else {
			it["type"], it["id"], it["arguments"] = "function_call", fmt.Sprintf("fc_%s_%d", id, i), c.arguments()
		}
		if c.Namespace != "" {
			it["namespace"] = c.Namespace
		}
		out = append(out, it)
	}
	return out
}

func (f responses) whole(id string, r request, s Step) any {
	v := obj{
		"id": "resp_" + id, "object": "response", "created_at": 1, "model": r.Model, "status": "completed",
		"output": f.items(id, s), "parallel_tool_calls": true, "tool_choice": "auto", "tools": []obj{},
		"usage": obj{
			"input_tokens": inputTokens, "input_tokens_details": obj{"cached_tokens": 0},
			"output_tokens": outputTokens, "output_tokens_details": obj{"reasoning_tokens": 0},
			"total_tokens": inputTokens + outputTokens,
		},
	}
	if s.Finish != "" {
		v["status"], v["incomplete_details"] = "incomplete", obj{"reason": s.Finish}
	}
	return v
}

func (f responses) stream(out *sender, id string, r request, s Step) {
	event := func(kind string, data obj) {
		data["type"], data["sequence_number"] = kind, out.seq
		out.seq++
		out.event(kind, data)
	}
	base := f.whole(id, r, s).(obj)
	status := base["status"].(string)
	begun := maps.Clone(base)
	begun["status"], begun["output"], begun["usage"] = "in_progress", []obj{}, nil
	event("response.created", obj{"response": begun})
	event("response.in_progress", obj{"response": begun})
	for i, it := range base["output"].([]obj) {
		added := maps.Clone(it)
		added["status"] = "in_progress"
		at := func(d obj) obj {
			d["item_id"], d["output_index"] = it["id"], i
			return d
		}
		switch it["type"] {
		case "message":
			added["content"] = []obj{}
			event("response.output_item.added", obj{"output_index": i, "item": added})
			f.text(event, at, s.Text)
			out.fault()
		case "custom_tool_call":
			added["input"] = ""
			event("response.output_item.added", obj{"output_index": i, "item": added})
			event("response.custom_tool_call_input.delta", at(obj{"delta": it["input"]}))
			event("response.custom_tool_call_input.done", at(obj{"input": it["input"]}))
		default:
			added["arguments"] = ""
			event("response.output_item.added", obj{"output_index": i, "item": added})
			for _, p := range pieces(it["arguments"].(string), 200) {
				event("response.function_call_arguments.delta", at(obj{"delta": p}))
			}
			event("response.function_call_arguments.done", at(obj{"arguments": it["arguments"], "name": it["name"]}))
		}
		event("response.output_item.done", obj{"output_index": i, "item": it})
	}
	out.fault()
	event("response."+status, obj{"response": base})
}

func (responses) text(event func(string, obj), at func(obj) obj, text string) {
	part := func(s string) obj { return obj{"type": "output_text", "text": s, "annotations": []obj{}} }
	event("response.content_part.added", at(obj{"content_index": 0, "part": part("")}))
	for _, p := range pieces(text, 40) {
		event("response.output_text.delta", at(obj{"content_index": 0, "delta": p}))
	}
	event("response.output_text.done", at(obj{"content_index": 0, "text": text}))
	event("response.content_part.done", at(obj{"content_index": 0, "part": part(text)}))
}
