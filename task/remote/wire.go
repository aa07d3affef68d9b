package remote

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/whet-dev/whet/task"
)

// Limits of what is taken from the server, in bytes. Whoever may write to it can
// send anything.
const (
	maxOrder = 4 << 20
	maxLive  = 64 << 10
	maxLog   = 256 << 20 // one journal
	maxTree  = 4 << 30   // one bundle
)

// An order is a message of the work queue: a generation to be worked on.
type order struct {
	Task   task.Task   `json:"task"` // what of it a worker needs
	Prompt string      `json:"prompt,omitempty"`
	Notes  []task.Note `json:"notes,omitempty"`
	Tree   base        `json:"tree"`
}

// A base is the state of the project that a task begins with.
type base struct {
	Commit string `json:"commit"`         // everything, also what isn't committed
	Head   string `json:"head,omitempty"` // what HEAD was; empty if its history isn't sent
	Sub    string `json:"sub"`            // the task's directory within the repository
}

// A letter is a message to a run.
type letter struct {
	Note      *task.Note `json:"note,omitempty"`
	Interrupt bool       `json:"interrupt,omitempty"`
}

// A live message says how a run is.
type live struct {
	Gen    uint32        `json:"gen"`
	Claim  uint64        `json:"claim"` // by which row of the journal the worker has it
	Worker string        `json:"worker"`
	Look   task.Look     `json:"look"`
	Said   task.Progress `json:"said,omitzero"`
	heard  time.Time
}

// A claim is the row by which a worker takes a run.
type claim struct {
	Worker string `json:"worker"`
}

// A tree is the row by which the state of the project is kept: a commit on top
// of the base.
type tree struct {
	Commit string `json:"commit"`
}

// Kinds of rows beside those of package llm.
const (
	claimRow = "claim"
	treeRow  = "tree"
)

var (
	taskID = regexp.MustCompile(`^tsk_[0-9A-Z]{26}$`)
	commit = regexp.MustCompile(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`)
)

// runSubject names a generation in the queue, and mailSubject where its mail is.
func runSubject(t *task.Task) string  { return fmt.Sprintf("%s%s.%d", runSubjects, t.ID, t.Gen) }
func mailSubject(t *task.Task) string { return fmt.Sprintf("%s%s.%d", mailSubjects, t.ID, t.Gen) }

// orderOf is what a worker is told of a run: nothing of this machine.
func orderOf(r task.Run, b base) ([]byte, error) {
	t := r.Task
	o := order{Prompt: r.Prompt, Notes: r.Notes, Tree: b, Task: task.Task{
		ID: t.ID, Alias: t.Alias, Agent: t.Agent, Model: t.Model, Title: t.Title, Allow: t.Allow, Writes: t.Writes, Job: task.Job{Gen: t.Gen},
	}}
	if r.Prompt == "" {
		o.Prompt = t.Prompt
	}
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	err := e.Encode(o)
	return buf.Bytes(), err
}

// parseOrder checks a message of the work queue.
func parseOrder(subject string, data []byte) (o order, err error) {
	if len(data) > maxOrder {
		return o, fmt.Errorf("it has %d bytes", len(data))
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return o, err
	}
	switch t := &o.Task; {
	case !taskID.MatchString(t.ID):
		return o, fmt.Errorf("%.60q is no task ID", t.ID)
	case t.Gen == 0:
		return o, fmt.Errorf("generation 0 of %s", t.ID)
	case subject != runSubject(t):
		return o, fmt.Errorf("it is about generation %d of %s", t.Gen, t.ID)
	}
	return o, o.Tree.check()
}

func (b base) check() error {
	switch {
	case !commit.MatchString(b.Commit), b.Head != "" && !commit.MatchString(b.Head):
		return fmt.Errorf("%.80q, %.80q are no commits", b.Commit, b.Head)
	case !filepath.IsLocal(b.Sub):
		return fmt.Errorf("%.200q leads out of the repository", b.Sub)
	}
	return nil
}

// parseLive checks a live message. The runner knows whether there is such a task.
func parseLive(subject string, data []byte) (id string, l live, err error) {
	id = strings.TrimPrefix(subject, liveSubjects)
	if len(data) > maxLive {
		return id, l, fmt.Errorf("it has %d bytes", len(data))
	}
	if !taskID.MatchString(id) {
		return id, l, fmt.Errorf("%.60q is no task ID", id)
	}
	err = json.Unmarshal(data, &l)
	l.Look.End = 0 // only a journal tells of an end
	return id, l, err
}
