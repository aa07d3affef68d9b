package client

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/mail"
)

// Said is what a session's person has said once for all its tasks. A face puts
// it into the session's store.
type Said struct {
	Allow   []string `json:"allow,omitempty"` // actions that need no permission; "*" is all
	Model   string   `json:"model,omitempty"` // the session's own
	BaseURL string   `json:"base_url,omitempty"`
	Via     string   `json:"via,omitempty"` // socket at which the session's host lends itself
}

const saidName = "task-said"

// Say keeps what the person of a session has said.
func Say(s whet.Session, v Said) error {
	return whet.Update(s, saidName, func(old *Said) error { *old = v; return nil })
}

// caller returns who asks.
func caller(s whet.Session) task.Caller {
	q := task.Caller{Parent: mail.Parent(s), Agent: s.Agent, Dir: s.Dir, Tree: s.Worktree}
	_ = whet.Update(s, saidName, func(v *Said) error { // no state is worth an error
		q.Allow, q.Model, q.BaseURL, q.Via = v.Allow, v.Model, v.BaseURL, v.Via
		return nil
	})
	return q
}

// An answer is what the runner said to a tool.
type answer struct{ *task.Reply }

func (a answer) String() string { return a.Text }
func (a answer) Failed() bool   { return a.Reply.Failed }

// MarshalJSON gives machines the main facts.
func (a answer) MarshalJSON() ([]byte, error) {
	t := a.Task
	if t == nil {
		return json.Marshal(map[string]any{"text": a.Text})
	}
	return json.Marshal(map[string]any{
		"task_id": t.ID, "alias": t.Alias, "generation": t.Gen, "state": t.Phase, "agent": t.Agent, "backend": t.Backend,
		"session": t.Session, "owns": t.Files, "isolation": where(t), "queued_position": a.Place, "uncertain": t.Uncertain,
	})
}

// where is the isolation that a task has in the end.
func where(t *task.Task) task.Isolation {
	if t.Checkout != nil {
		return task.Isolated
	}
	return task.Shared
}

// tool makes a tool that is one question to the runner.
func tool[In any](c *Client, name, doc, path string, fill func(In, *task.Request)) whet.Tool {
	return whet.New(name, doc, func(ctx context.Context, call *whet.Call, in In) (answer, error) {
		q := task.Request{Caller: caller(call.Session)}
		fill(in, &q)
		return c.answer(ctx, path, q)
	})
}

func (c *Client) answer(ctx context.Context, path string, q task.Request) (answer, error) {
	reply, err := c.Do(ctx, path, q)
	var e *task.Error
	if errors.As(err, &e) {
		return answer{&task.Reply{Failed: true, Text: fmt.Sprintf("%s (%s)", e.Text, e.Code)}}, nil
	}
	return answer{reply}, err
}

type launchIn struct {
	Title  string   `json:"description" doc:"what the task is called, in 3 to 8 words" alias:"title,name"`
	Prompt string   `json:"prompt" doc:"everything the specialist needs: objective, constraints, files, what to answer and in what form, what not to do; it knows nothing of this conversation"`
	Agent  string   `json:"subagent_type" doc:"who does it: explorer, librarian, oracle, designer, fixer, observer, council, or an agent of your own" alias:"agent,specialist"`
	Behind *bool    `json:"background,omitempty" doc:"false waits for the end, at most 45 seconds; default true"`
	ID     string   `json:"task_id,omitempty" doc:"go on with this ended task and its context" alias:"id,alias"`
	Files  []string `json:"files,omitempty" doc:"globs of the files that it alone may change" eg:"internal/auth/**"`
	After  []string `json:"after,omitempty" doc:"start only when these tasks have completed"`
	Where  string   `json:"isolation,omitempty" doc:"worktree: it works in a git worktree of its own and task_merge brings its changes back; shared: never; default: only if its files belong to another task at work" enum:"auto,shared,worktree"`
	MaxRun int      `json:"max_run_s,omitempty" doc:"end it after this many seconds" min:"0"`
}

type idIn struct {
	ID string `json:"task_id" doc:"ID or alias of the task" alias:"id,alias"`
}

type resultIn struct {
	ID     string `json:"task_id" doc:"ID or alias of the task" alias:"id,alias"`
	Offset int    `json:"offset,omitempty" doc:"byte to begin at, for a long answer" min:"0"`
	Limit  int    `json:"limit,omitempty" doc:"bytes to return; default 16000" min:"0" max:"16000"`
}

type messageIn struct {
	ID   string `json:"task_id" doc:"ID or alias of the running task" alias:"id,alias"`
	Text string `json:"message" doc:"1 to 2000 characters" alias:"text"`
}

type cancelIn struct {
	ID     string `json:"task_id" doc:"ID or alias of the task" alias:"id,alias"`
	Reason string `json:"reason,omitempty" doc:"why; required for a task that is at work right now"`
}

type reviveIn struct {
	ID     string `json:"task_id" doc:"ID or alias of the task" alias:"id,alias"`
	Prompt string `json:"prompt" doc:"how it goes on"`
}

type mergeIn struct {
	ID   string `json:"task_id" doc:"ID or alias of a task that worked in a worktree of its own" alias:"id,alias"`
	Mode string `json:"mode" doc:"apply brings the changes in, check says whether they fit, discard drops them" enum:"apply,check,discard"`
}

type reasonIn struct {
	Reason string `json:"reason" doc:"what you wait for, 1 to 500 characters"`
}

type awaitIn struct {
	IDs     []string `json:"task_ids,omitempty" doc:"IDs or aliases; default all of this session"`
	Timeout int      `json:"timeout_s,omitempty" doc:"seconds; default 45" min:"1" max:"240"`
}

// foreground is how long a launch in the foreground waits for the end.
const foreground = 45 * time.Second

// Tools returns the tools of an orchestrator.
func Tools(c *Client) []whet.Tool {
	readOnly := func(t whet.Tool) whet.Tool { t.ReadOnly = true; return t }
	return []whet.Tool{
		whet.New("task", taskDoc, c.launch),
		readOnly(tool(c, "task_status", "Look how a task is\n"+statusDoc, "/status", func(in idIn, q *task.Request) { q.ID = in.ID })),
		readOnly(tool(c, "task_result", "Read a task's answer\n"+resultDoc, "/result", func(in resultIn, q *task.Request) {
			q.ID, q.Offset, q.Limit = in.ID, in.Offset, in.Limit
		})),
		tool(c, "task_message", "Give a running task a message\n"+messageDoc, "/message", func(in messageIn, q *task.Request) { q.ID, q.Text = in.ID, in.Text }),
		tool(c, "task_cancel", "End a task\n"+cancelDoc, "/cancel", func(in cancelIn, q *task.Request) { q.ID, q.Text = in.ID, in.Reason }),
		tool(c, "task_revive", "Go on with an ended task\n"+reviveDoc, "/revive", func(in reviveIn, q *task.Request) { q.ID, q.Text = in.ID, in.Prompt }),
		tool(c, "task_merge", "Bring a task's changes into the project\n"+mergeDoc, "/merge", func(in mergeIn, q *task.Request) { q.ID, q.Text = in.ID, in.Mode }),
		tool(c, "wait_for_user", "Pause until the person writes\n"+waitDoc, "/wait-for-user", func(in reasonIn, q *task.Request) { q.Text = in.Reason }),
		readOnly(whet.New("wait_for_background_tasks", "Wait for the end of background tasks\n"+awaitDoc, c.await)),
	}
}

const (
	taskDoc = `Hand a piece of work to a specialist in the background
The specialist works in a conversation of its own and sees only the prompt. Several may run at once; give those that write different
files. You are told of each end by itself: go on with other work or end your turn, and do not poll.`
	statusDoc  = `For a single look. You are told of ends by yourself; a task that says nothing for a while is no reason to cancel it.`
	resultDoc  = `Of an ended task the whole answer, which then counts as read. A task that has not ended says so.`
	messageDoc = `It reads the message at its next step, or its end says that it did not. This neither starts nor interrupts anything.`
	cancelDoc  = `Its conversation is kept, for task_revive, and so are the changes it made.`
	reviveDoc  = `The specialist keeps all that it knows. Works for every task that has ended or stopped; a running one is cancelled first.`
	mergeDoc   = `For a task that worked in a git worktree of its own, once it has ended: its end says so. Nothing is committed; if something doesn't
fit, nothing is changed and the files are listed. discard can't be undone.`
	waitDoc  = `Use it when you can't go on without an answer. Afterwards end your turn. Not while tasks run: their ends come by themselves.`
	awaitDoc = `Returns at the first end, or when the time is over. Only for agents that are not told of ends by themselves.`
)

func (c *Client) launch(ctx context.Context, call *whet.Call, in launchIn) (answer, error) {
	q := task.Request{
		Caller: caller(call.Session), Title: in.Title, Text: in.Prompt, Worker: in.Agent, ID: in.ID,
		Files: in.Files, After: in.After, MaxRun: time.Duration(in.MaxRun) * time.Second,
		Where: task.Isolation(strings.TrimPrefix(in.Where, "auto")),
	}
	a, err := c.answer(ctx, "/launch", q)
	if err != nil || a.Task == nil || a.Failed() || in.Behind == nil || *in.Behind {
		return a, err
	}
	id := a.Task.ID
	deadline := time.Now().Add(foreground)
	for time.Now().Before(deadline) {
		step := min(time.Until(deadline), 5*time.Second)
		w, err := c.answer(ctx, "/await", task.Request{Caller: q.Caller, IDs: []string{id}, Wait: step})
		if err != nil || w.Failed() {
			return w, err
		}
		if w.Open == 0 {
			return c.answer(ctx, "/result", task.Request{Caller: q.Caller, ID: id})
		}
		call.Report(0, 0, in.Agent+" is at work")
	}
	return a, nil // goes on in the background
}

func (c *Client) await(ctx context.Context, call *whet.Call, in awaitIn) (answer, error) {
	limit := time.Duration(in.Timeout) * time.Second
	if limit == 0 {
		limit = foreground
	}
	q := task.Request{Caller: caller(call.Session), IDs: in.IDs, Wait: limit}
	a, err := c.answer(ctx, "/await", q)
	if err != nil || a.Failed() {
		return a, err
	}
	var b strings.Builder
	for _, t := range a.Tasks {
		fmt.Fprintf(&b, "%s (%s): %s. Read it with task_result.\n", t.Alias, t.ID, t.Phase)
	}
	fmt.Fprintf(&b, "still open: %d", a.Open)
	a.Text = b.String()
	return a, nil
}
