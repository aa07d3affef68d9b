package scriptmodel

import (
	"encoding/json"
	"net/http"
	"strings"
)

// generate is Google's generateContent format.
type generate struct{}

func (generate) turns(r request) (out []turn) {
	for _, raw := range r.Contents {
		var m struct {
			Role  string `json:"role"`
			Parts []struct {
				Text     string          `json:"text"`
				Response json.RawMessage `json:"functionResponse"`
			} `json:"parts"`
		}
		if json.Unmarshal(raw, &m) != nil {
			continue
		}
		t := turn{role: m.Role}
		for _, p := range m.Parts {
			t.text += p.Text + "\n"
			if p.Response != nil {
				t.role = "tool"
			}
		}
		if t.role == "model" {
			t.role = "assistant"
		}
		out = append(out, t)
	}
	return out
}

func (generate) whole(_ string, r request, s Step) any {
	parts := []obj{}
	if s.Text != "" {
		parts = append(parts, obj{"text": s.Text})
	}
	for _, c := range s.Calls {
		parts = append(parts, obj{"functionCall": obj{"name": c.Name, "args": json.RawMessage(c.arguments())}})
	}
	finish := "STOP"
	if s.Finish != "" {
		finish = s.Finish
	}
	return obj{
		"candidates":    []obj{{"index": 0, "content": obj{"role": "model", "parts": parts}, "finishReason": finish}},
		"usageMetadata": obj{"promptTokenCount": inputTokens, "candidatesTokenCount": outputTokens, "totalTokenCount": inputTokens + outputTokens},
		"modelVersion":  r.Model,
	}
}

func (f generate) stream(out *sender, id string, r request, s Step) {
	out.fault()
	out.event("", f.whole(id, r, s))
}

// answerGoogle serves the format whose addresses say what is wanted.
func (s *Server) answerGoogle() http.HandlerFunc {
	answer := s.answer(generate{})
	return func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ":countTokens") {
			writeJSON(w, http.StatusOK, obj{"totalTokens": inputTokens})
			return
		}
		answer(w, r)
	}
}
