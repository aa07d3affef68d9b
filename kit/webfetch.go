package kit

import (
	"context"
	"os"

	"github.com/whet-dev/whet/agent"
	"github.com/whet-dev/whet/webfetch"
)

// Fetching returns the options of webfetch: its settings, and the models that
// answer prompts about a page, reached by the built-in agent's clients.
func Fetching(c Config) webfetch.Options {
	o := c.Webfetch
	o.Network = c.Network
	for _, name := range o.Model {
		o.Summarizers = append(o.Summarizers, webfetch.Summarizer{
			Name: name,
			Summarize: func(ctx context.Context, prompt, text string) (string, error) {
				endpoint, err := c.Agent.Resolve(agent.Wish{Model: name}, os.Getenv)
				if err != nil {
					return "", err
				}
				request := agent.Request{System: prompt, Messages: []agent.Message{{Role: "user", Text: text}}}
				m, _, err := endpoint.Open().Turn(ctx, request, func(string, string) {})
				return m.Text, err
			},
		})
	}
	return o
}
