package main

import (
	"slices"
	"testing"

	"github.com/whet-dev/whet/agent"
	"github.com/whet-dev/whet/task"
)

// A worker does what the task's own machine permits and it does itself.
func TestByOwnRules(t *testing.T) {
	for _, c := range []struct{ wanted, own, want []string }{
		{nil, nil, nil},
		{[]string{"bash"}, nil, nil},
		{[]string{"*"}, nil, nil},
		{nil, []string{"bash"}, nil},
		{nil, []string{"*"}, nil},
		{[]string{"bash", "webfetch"}, []string{"bash", "x"}, []string{"bash"}},
		{[]string{"*"}, []string{"bash"}, []string{"bash"}},
		{[]string{"bash"}, []string{"*"}, []string{"bash"}},
		{[]string{"*"}, []string{"*"}, []string{"*"}},
	} {
		var got task.Task
		open := byOwnRules(func(t task.Task) (agent.Options, error) { got = t; return agent.Options{}, nil }, c.own)
		if _, err := open(task.Task{BaseURL: "http://elsewhere", Allow: c.wanted}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Allow, c.want) || got.BaseURL != "" {
			t.Errorf("%q of a worker that allows %q: got %q, models at %q", c.wanted, c.own, got.Allow, got.BaseURL)
		}
	}
}
