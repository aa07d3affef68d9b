package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/agent"
	"github.com/whet-dev/whet/cmd/internal/cli"
	"github.com/whet-dev/whet/internal/scriptmodel"
	"github.com/whet-dev/whet/internal/state"
	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/llm"
	taskrun "github.com/whet-dev/whet/task/run"
	"github.com/whet-dev/whet/task/store"
)

// orchestration is the step with background tasks. What one specialist fetches
// comes only when it has been sent a message, so that nothing depends on who is
// faster.
func orchestration() demoStep {
	told := make(chan struct{})
	tell := sync.OnceFunc(func() { close(told) })
	return demoStep{
		title: "The model hands work to two specialists, and changes its mind",
		pages: map[string]http.HandlerFunc{"/slow": func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-told:
			case <-r.Context().Done():
			}
			_, _ = io.WriteString(w, demoPage)
		}},
		turns: []scriptmodel.Step{
			{Calls: []scriptmodel.Call{
				{Name: "task", Args: json.RawMessage(`{"subagent_type": "librarian", "description": "Read the guide", "prompt": "[[script:read]] How often is a request sent again?"}`)},
				{Name: "task", Args: json.RawMessage(`{"subagent_type": "fixer", "description": "Set the limit", "prompt": "[[script:stuck]] Set the limit in limit.txt."}`)},
			}},
			play("task_message", `{"task_id": "lib-1", "message": "only the default, please"}`),
			play("task_cancel", `{"task_id": "fix-1", "reason": "the limit is 3, not 5"}`),
			play("task_revive", `{"task_id": "fix-1", "prompt": "[[script:mend]] The limit is 3."}`),
			play("wait_for_background_tasks", `{"task_ids": ["lib-1"]}`),
			play("wait_for_background_tasks", `{"task_ids": ["fix-1"]}`),
			play("task_result", `{"task_id": "lib-1"}`),
			play("task_result", `{"task_id": "fix-1"}`),
			play("wait_for_user", `{"reason": "is 3 what you want?"}`),
		},
		others: scriptmodel.Script{
			"read":  {play("webfetch", `{"url": "`+site+`/slow"}`), {Text: "Three times by default."}},
			"stuck": {{Text: "I think of 5.", Hang: true}},
			"mend":  {play("write", `{"path": "limit.txt", "content": "3\n"}`), {Text: "It is 3 now."}},
		},
		heard: func(e agent.Event) {
			if e.Type == "result" && strings.Contains(e.Result.Text, "Message queued for lib-1") {
				tell()
			}
		},
		check: func(r demoResult) error {
			got := func(i int) string { return r.results[i].Text }
			all := make([]string, len(r.results))
			for i := range r.results {
				all[i] = got(i)
			}
			return cmp.Or(
				want(strings.Contains(got(0), `alias="lib-1"`) && strings.Contains(got(1), `alias="fix-1"`), "two tasks, both at work", got(0)+got(1)),
				want(strings.Contains(got(2), "Message queued"), "the message on its way", got(2)),
				want(slices.ContainsFunc(r.asked("read"), func(q string) bool { return strings.Contains(q, "only the default, please") }), "the message read by the librarian", strings.Join(r.asked("read"), "\n")),
				want(strings.Contains(got(3), "state: cancelled"), "the fixer at rest", got(3)),
				want(strings.Contains(got(4), "generation: 2"), "the fixer at work again", got(4)),
				want(slices.ContainsFunc(r.asked("mend"), func(q string) bool { return strings.Contains(q, "Set the limit in limit.txt.") }), "all that it knew before", strings.Join(r.asked("mend"), "\n")),
				want(strings.Contains(got(7), "Three times by default."), "the librarian's answer", got(7)),
				want(strings.Contains(got(8), "It is 3 now.") && r.file("limit.txt") == "3\n", "the fixer's answer and its file", got(8)+r.file("limit.txt")),
				want(strings.Contains(got(9), "state: waiting_for_user\n"), "a pause until a person writes", got(9)),
				once(all),
			)
		},
		right: "Both worked at once; the message was read, the cancelled one went on with all that it knew, and nothing was told twice.",
	}
}

// once checks that no end was told twice.
func once(texts []string) error {
	told := map[string]bool{}
	for _, rest := range texts {
		for {
			_, after, ok := strings.Cut(rest, `notice="`)
			if !ok {
				break
			}
			id, _, _ := strings.Cut(after, `"`)
			if told[id] {
				return fmt.Errorf("want each end told once, got %s again", id)
			}
			told[id], rest = true, after
		}
	}
	return nil
}

// serveTasks is the demo's own task runner, with its state in dir. Everything
// that asks for the person's state from now on gets that of the demo.
func (d demonstration) serveTasks(ctx context.Context, dir string) (stop func() error, err error) {
	old, was := os.LookupEnv("WHET_STATE")
	if err := os.Setenv("WHET_STATE", dir); err != nil {
		return nil, err
	}
	restore := func() error {
		if was {
			return os.Setenv("WHET_STATE", old)
		}
		return os.Unsetenv("WHET_STATE")
	}
	tasks := filepath.Join(dir, "tasks")
	r, err := taskrun.Open(taskrun.Config{
		Dir: tasks, Version: cli.Version(), Worker: demoWorker, Options: task.Options{Allow: []string{"webfetch"}},
		Backends: func(hear task.Hear, s *store.Store) []task.Backend {
			return []task.Backend{llm.New(d.specialist(), s, hear)}
		},
	})
	if err != nil {
		return nil, errors.Join(err, restore())
	}
	l, err := taskrun.Listen(ctx, tasks)
	if err != nil {
		return nil, errors.Join(err, r.Close(), restore())
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- r.Serve(ctx, l, 0) }()
	return func() error {
		cancel()
		return errors.Join(<-done, r.Close(), restore())
	}, nil
}

func demoWorker(name, _ string) (taskrun.Worker, error) {
	role, err := agent.FindRole(name)
	return taskrun.Worker{Backend: llm.Name, Model: "scripted/model", Writes: slices.Contains(role.Tools, "write")}, err
}

// specialist returns how the demo's specialists work: with its model and kit.
func (d demonstration) specialist() llm.Open {
	stores := state.Memories()
	return func(t task.Task) (agent.Options, error) {
		role, err := agent.FindRole(t.Agent)
		return agent.Options{
			Model: d.model, Kit: d.kit, Role: role, MaxSteps: role.MaxSteps,
			Session: whet.Session{ID: t.ID, Host: "whet-task", Dir: t.Dir, Store: stores(t.ID), Ask: permit(t)},
		}, err
	}
}
