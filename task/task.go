package task

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Task is a piece of work that an orchestrator has handed to a specialist.
type Task struct {
	ID      string `json:"id"`     // tsk_ and a ULID; never reused
	Alias   string `json:"alias"`  // short name, unique under its parent: fix-1
	Parent  string `json:"parent"` // the orchestrator's session
	Agent   string `json:"agent"`
	Backend string `json:"backend"`
	Model   string `json:"model,omitempty"`
	BaseURL string `json:"base_url,omitempty"` // of the model, where that isn't configured
	Session string `json:"session,omitempty"`  // the backend's own name for the conversation
	Via     string `json:"via,omitempty"`      // socket of the host that works on it, where that is the parent's own
	Dir     string `json:"dir"`
	Tree    string `json:"worktree,omitempty"`

	Title  string        `json:"title"` // what the parent called it
	Prompt string        `json:"prompt"`
	Files  []string      `json:"files,omitempty"`  // globs that it owns
	After  []string      `json:"after,omitempty"`  // tasks that must complete first, by id
	Gather []string      `json:"gather,omitempty"` // tasks whose answers it gets, however they end
	For    string        `json:"for,omitempty"`    // the task that gathers this one's answer
	MaxRun time.Duration `json:"max_run,omitempty"`
	Allow  []string      `json:"allow,omitempty"` // actions that need no person's permission

	Isolation Isolation `json:"isolation,omitempty"` // as the parent wants it
	Repo      string    `json:"repo,omitempty"`      // the one repository that holds its files; it may get a worktree of that
	NoRepo    string    `json:"no_repo,omitempty"`   // why it can't
	Checkout  *Checkout `json:"checkout,omitempty"`  // the worktree that it works in

	Job
	Created time.Time `json:"created"`
	Started time.Time `json:"started,omitzero"` // of this generation
	Ended   time.Time `json:"ended,omitzero"`   // of this generation
	Active  time.Time `json:"active,omitzero"`  // last sign of life
	Used    time.Time `json:"used,omitzero"`    // last time that the parent named it

	Tool    string   `json:"tool,omitempty"`  // what it is running right now
	Retry   string   `json:"retry,omitempty"` // why it waits for its provider
	Waits   string   `json:"waits,omitempty"` // why it is queued
	Text    string   `json:"text,omitempty"`  // its answer, or what there is of one
	Reason  string   `json:"reason,omitempty"`
	Changed []string `json:"changed,omitempty"` // files that it wrote, relative to Dir
	Also    []Also   `json:"also,omitempty"`    // who else changed some of these meanwhile
	Usage   Usage    `json:"usage,omitzero"`    // of all generations
	Writes  bool     `json:"writes,omitempty"`  // may change files
}

// An Isolation says where a task works.
type Isolation string

// Where a task works. The zero value leaves it to the configuration: with the
// others, unless its files belong to one of them.
const (
	Shared   Isolation = "shared"
	Isolated Isolation = "worktree"
)

// Older orders tasks by when they were launched.
func Older(a, b *Task) int {
	return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
}

// Allows reports whether the person has permitted an action beforehand.
func (t *Task) Allows(action string) bool {
	return slices.Contains(t.Allow, "*") || slices.Contains(t.Allow, action)
}

// Also are files that somebody else has changed during a task's run.
type Also struct {
	By    string   `json:"by"`
	Files []string `json:"files"`
}

// Usage is what a task has cost so far.
type Usage struct {
	Steps  int     `json:"steps,omitempty"`
	Input  int64   `json:"input_tokens,omitempty"` // caches included
	Output int64   `json:"output_tokens,omitempty"`
	Cost   float64 `json:"cost_usd,omitempty"` // 0 if no price is known
}

// Add returns the sum.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Steps + v.Steps, u.Input + v.Input, u.Output + v.Output, u.Cost + v.Cost}
}

// Event returns an event of the task's present generation.
func (t *Task) Event(k Kind) Event { return Event{Kind: k, Gen: t.Gen, Rev: t.Rev} }

// State is the phase as the board shows it, without what lies beside it.
func (t *Task) State() string {
	if t.Phase.Closed() && t.Acked && t.Phase != Stopped {
		return t.Phase.String() + ", reconciled"
	}
	return t.Phase.String()
}

// MCPParent is how the parents begin that are connections to our MCP server.
// The id of the server's process comes next, and a dash, if the connection
// lives as long as that.
const MCPParent = "mcp/"

// Prefix returns how aliases of an agent begin: its first three letters, but
// seat for the seats of the council.
func Prefix(agent string) string {
	if strings.HasPrefix(agent, "councillor") {
		return "seat"
	}
	short := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(agent))
	if short == "" {
		return "job"
	}
	return short[:min(3, len(short))]
}

// Alias returns the n-th alias with the prefix.
func Alias(prefix string, n int) string { return fmt.Sprintf("%s-%d", prefix, n) }

// Class says how long a running task has given no sign of life, in four steps
// that change rarely: the board's text must stay the same for prompt caches.
func (t *Task) Class(now time.Time) string {
	switch quiet := now.Sub(t.Active); {
	case t.Phase != Running:
		return ""
	case t.Retry != "":
		return "retrying"
	case t.Tool != "" && quiet < time.Hour: // a tool that runs is a sign of life
		return ""
	case quiet >= 10*time.Minute:
		return "quiet>10m"
	case quiet >= 2*time.Minute:
		return "quiet>2m"
	}
	return ""
}

// Objective identifies what a task is for: the same agent and the same words,
// whatever the spacing and case.
func (t *Task) Objective() string {
	return t.Agent + "\x00" + strings.ToLower(strings.Join(strings.Fields(t.Prompt), " "))
}
