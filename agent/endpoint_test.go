package agent_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet/agent"
)

func TestResolve(t *testing.T) {
	mine := agent.Settings{Model: "here/big", Providers: map[string]agent.Provider{
		"here":      {BaseURL: "http://127.0.0.1:8080/v1/", Prices: map[string]agent.Price{"big": {Input: 1}}},
		"gate":      {API: "anthropic", BaseURL: "https://gate.example", KeyEnv: "GATE_KEY"},
		"anthropic": {KeyEnv: "WORK_KEY"},
	}}
	keys := map[string]string{"OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": "a", "GATE_KEY": "g", "WORK_KEY": "w"}
	for _, tt := range []struct {
		name     string
		settings agent.Settings
		wish     agent.Wish
		env      map[string]string
		want     agent.Endpoint
	}{
		{"openai", agent.Settings{}, agent.Wish{Model: "openai/m"}, keys, agent.Endpoint{Provider: "openai", Model: "m", API: "openai", BaseURL: "https://api.openai.com/v1", Key: "o", KeyEnv: "OPENAI_API_KEY"}},
		{"anthropic", agent.Settings{}, agent.Wish{Model: "anthropic/m"}, keys, agent.Endpoint{Provider: "anthropic", Model: "m", API: "anthropic", BaseURL: "https://api.anthropic.com", Key: "a", KeyEnv: "ANTHROPIC_API_KEY"}},
		{"anthropic by token", agent.Settings{}, agent.Wish{Model: "anthropic/m"}, map[string]string{"ANTHROPIC_AUTH_TOKEN": "t"}, agent.Endpoint{Provider: "anthropic", Model: "m", API: "anthropic", BaseURL: "https://api.anthropic.com", Key: "t", KeyEnv: "ANTHROPIC_API_KEY", Bearer: true}},
		{"address from the environment", agent.Settings{}, agent.Wish{Model: "openai/m"}, map[string]string{"OPENAI_BASE_URL": "http://h:1/v1"}, agent.Endpoint{Provider: "openai", Model: "m", API: "openai", BaseURL: "http://h:1/v1", KeyEnv: "OPENAI_API_KEY"}},
		{"another address, same format", agent.Settings{}, agent.Wish{Model: "anthropic/m", BaseURL: "http://h:1"}, keys, agent.Endpoint{Provider: "anthropic", Model: "m", API: "anthropic", BaseURL: "http://h:1", Key: "a", KeyEnv: "ANTHROPIC_API_KEY"}},
		{"a name with slashes", agent.Settings{}, agent.Wish{Model: "Qwen/Qwen3-8B", BaseURL: "http://h:1/v1"}, nil, agent.Endpoint{Provider: "custom", Model: "Qwen/Qwen3-8B", API: "openai", BaseURL: "http://h:1/v1", KeyEnv: "OPENAI_API_KEY"}},
		{"a known provider's name with slashes", agent.Settings{}, agent.Wish{Model: "openai/org/m"}, keys, agent.Endpoint{Provider: "openai", Model: "org/m", API: "openai", BaseURL: "https://api.openai.com/v1", Key: "o", KeyEnv: "OPENAI_API_KEY"}},
		{"configured", mine, agent.Wish{}, keys, agent.Endpoint{Provider: "here", Model: "big", API: "openai", BaseURL: "http://127.0.0.1:8080/v1", Price: &agent.Price{Input: 1}}},
		{"configured format and key", mine, agent.Wish{Model: "gate/m"}, keys, agent.Endpoint{Provider: "gate", Model: "m", API: "anthropic", BaseURL: "https://gate.example", Key: "g", KeyEnv: "GATE_KEY"}},
		{"changed in part", mine, agent.Wish{Model: "anthropic/m"}, keys, agent.Endpoint{Provider: "anthropic", Model: "m", API: "anthropic", BaseURL: "https://api.anthropic.com", Key: "w", KeyEnv: "WORK_KEY"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.settings.Resolve(tt.wish, func(name string) string { return tt.env[name] })
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
	if _, err := (agent.Settings{}).Resolve(agent.Wish{}, func(string) string { return "" }); !errors.Is(err, agent.ErrNoModel) {
		t.Errorf("no model: %v", err)
	}
}

func TestPrinter(t *testing.T) {
	var b strings.Builder
	p := agent.Printer{W: &b}
	cost := 0.5
	for _, e := range []agent.Event{
		{Type: "reasoning", Text: "hm"},
		{Type: "text", Text: "I "},
		{Type: "text", Text: "look."},
		{Type: "message"},
		{Type: "call", Call: &agent.ToolCall{Name: "read", Args: "{\n \"path\": \"a\"}"}},
		{Type: "retry", Error: "busy", Wait: 1.26},
		{Type: "end", Outcome: &agent.Outcome{Steps: 2, Usage: agent.Usage{Input: 5, CacheRead: 10, Output: 3, Cost: &cost}}},
	} {
		p.Event(e)
	}
	want := "hm\nI look.\n› read {\"path\":\"a\"}\n! busy; trying again in 1.3s\n2 steps, 15 tokens in, 3 out (10 from the cache), $0.5000\n"
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
}
