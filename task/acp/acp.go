// Package acp is the backend that gives tasks to any agent that speaks the
// Agent Client Protocol over its standard input and output: a process for each
// run, which ends with it. A task's conversation is kept by the agent itself,
// and goes on if that agent can load its sessions.
package acp

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/whet-dev/whet/task"
)

// Prefix begins the names of these backends: acp:NAME.
const Prefix = "acp:"

// New returns the backend of one agent. brief is what a specialist is told
// before its first prompt; it may be nil.
func New(name string, a task.ACPAgent, brief func(task.Task) string, hear task.Hear) task.Backend {
	return &backend{name: Prefix + name, agent: a, brief: brief, hear: hear, made: time.Now(), runs: map[string]*run{}}
}

type backend struct {
	name  string
	agent task.ACPAgent
	brief func(task.Task) string
	hear  task.Hear
	made  time.Time
	work  sync.WaitGroup

	// first is held by the first process until it has a session: some agents set
	// up their own state then, and fail when two of them do.
	first sync.Mutex

	mu     sync.Mutex
	runs   map[string]*run // the last of each task in this process
	opened bool            // a process got as far as a session
	closed bool
}

var errClosing = errors.New("whet is ending")

func (b *backend) Name() string { return b.name }

func (b *backend) Start(_ context.Context, r task.Run) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return "", errClosing
	}
	session := r.Task.Session
	var used task.Usage
	before := b.made // whoever had the session before us had it before that
	if old := b.runs[r.Task.ID]; old != nil {
		if old.task.Gen == r.Task.Gen {
			return old.sessionID(), nil
		}
		if !old.done() {
			return "", &task.Refusal{Reason: "it is still at work"}
		}
		session, used = old.sessionID(), old.state().Usage
		before = old.openedAt()
	}
	path, err := exec.LookPath(b.agent.Command)
	if err != nil {
		return "", &task.Refusal{Reason: fmt.Sprintf("the agent's program %q is not there (%v); install it, or set task.acp.%s.command", b.agent.Command, errors.Unwrap(err), b.name[len(Prefix):])}
	}
	if r.Task.Gen > 1 && session == "" {
		return "", &task.Refusal{Reason: "it never had a session that could go on; launch a new task"}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	x := &run{b: b, task: r.Task, session: session, before: before, cancel: cancel, notes: slices.Clone(r.Notes), tools: map[sdk.ToolCallId]bool{}}
	x.look = task.Look{Live: task.LiveBusy, Usage: used}
	prompt := r.Prompt
	if b.brief != nil && r.Task.Gen == 1 {
		prompt = b.brief(r.Task) + "\n\n" + prompt
	}
	b.runs[r.Task.ID] = x
	b.work.Go(func() { x.work(ctx, path, prompt) })
	return session, nil
}

func (b *backend) find(r task.Run) *run {
	b.mu.Lock()
	defer b.mu.Unlock()
	if x := b.runs[r.Task.ID]; x != nil && x.task.Gen == r.Task.Gen {
		return x
	}
	return nil
}

// alone waits until this process may start, and returns what to call when it
// has a session, or never will.
func (b *backend) alone() (release func()) {
	b.first.Lock()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.opened {
		b.first.Unlock()
		return func() {}
	}
	return sync.OnceFunc(b.first.Unlock)
}

func (b *backend) hasOpened() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opened = true
}

// Note queues the message: the protocol has no way to give a running turn one,
// so that it begins the next turn of the same run.
func (b *backend) Note(_ context.Context, r task.Run, n task.Note) error {
	x := b.find(r)
	if x == nil {
		return &task.Refusal{Reason: "it is not at work"}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		return &task.Refusal{Reason: "it has just ended"}
	}
	if !slices.Contains(x.look.Read, n.ID) && !slices.ContainsFunc(x.notes, func(o task.Note) bool { return o.ID == n.ID }) {
		x.notes = append(x.notes, n)
	}
	return nil
}

func (b *backend) Interrupt(ctx context.Context, r task.Run) error {
	if x := b.find(r); x != nil {
		x.interrupt(ctx)
	}
	return nil
}

func (b *backend) Look(_ context.Context, r task.Run) (task.Look, error) {
	if x := b.find(r); x != nil {
		return x.state(), nil
	}
	l := task.Look{Live: task.LiveGone, Reason: "the agent's process ended with whet's task runner", Session: r.Task.Session}
	if r.Task.Phase == task.Queued {
		l.Live = task.LiveQuiet
	}
	return l, nil
}

// Close ends every run and its process.
func (b *backend) Close() error {
	b.mu.Lock()
	b.closed = true
	for _, x := range b.runs {
		x.cancel(errClosing)
	}
	b.mu.Unlock()
	b.work.Wait()
	return nil
}
