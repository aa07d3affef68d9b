package main

import (
	"os"
	"path/filepath"
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

// What a worker that is gone has left is removed by the next one, and what one
// has that is there is not.
func TestWorkPlace(t *testing.T) {
	dir := t.TempDir()
	mine, done, err := workPlace(dir, 1)
	if err != nil {
		t.Fatal(err)
	}
	dead := filepath.Join(dir, "2")
	if err := os.MkdirAll(filepath.Join(dead, "tsk_1-1", "project"), 0o700); err != nil {
		t.Fatal(err)
	}
	next, doneNext, err := workPlace(dir, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer doneNext()
	for path, want := range map[string]bool{mine: true, dead: false, next: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	done()
	if _, err := os.Stat(mine); err == nil {
		t.Errorf("%s is left", mine)
	}
}
