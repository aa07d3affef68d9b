package task

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// These are the words between the runner and whoever asks it something.

// A Caller is the session that asks.
type Caller struct {
	Parent string   `json:"parent"`          // the session's key, unique among all hosts
	Agent  string   `json:"agent,omitempty"` // empty if the host doesn't say
	Dir    string   `json:"dir,omitempty"`
	Tree   string   `json:"worktree,omitempty"`
	Allow  []string `json:"allow,omitempty"` // permissions that the person gave to the whole session; "*" is all
	// Via is a socket at which the caller's own host can be reached, if it lends
	// itself: an OpenCode with whet's plugin.
	Via string `json:"via,omitempty"`
	// Model and BaseURL are the caller's own, for tasks that the configuration
	// names none for.
	Model   string `json:"model,omitempty"`
	BaseURL string `json:"base_url,omitempty"`
	// Person tells that somebody at a terminal asks, who may name any task.
	Person bool `json:"person,omitempty"`
}

// A Request is any question to the runner. Which fields matter depends on what
// is asked.
type Request struct {
	Caller
	ID      string        `json:"id,omitempty"` // task id or alias
	IDs     []string      `json:"ids,omitempty"`
	Title   string        `json:"title,omitempty"`
	Text    string        `json:"text,omitempty"`   // prompt, message or reason
	Worker  string        `json:"worker,omitempty"` // agent that the task is for
	Files   []string      `json:"files,omitempty"`
	After   []string      `json:"after,omitempty"`
	MaxRun  time.Duration `json:"max_run,omitempty"`
	Where   Isolation     `json:"where,omitempty"`
	Offset  int           `json:"offset,omitempty"`
	Limit   int           `json:"limit,omitempty"`
	Wait    time.Duration `json:"wait,omitempty"` // how long the answer may take
	Notices []string      `json:"notices,omitempty"`
	All     bool          `json:"all,omitempty"`
	Seq     int64         `json:"seq,omitempty"`
}

// A Reply is the runner's answer.
type Reply struct {
	Text     string   `json:"text,omitempty"` // for the model
	Failed   bool     `json:"failed,omitempty"`
	Task     *Task    `json:"task,omitempty"`
	Place    int      `json:"place,omitempty"` // in the queue, from 1
	Tasks    []*Task  `json:"tasks,omitempty"`
	Notices  []Notice `json:"notices,omitempty"`
	Open     int      `json:"open,omitempty"` // tasks of the caller that have not ended
	Log      []Entry  `json:"log,omitempty"`
	Seq      int64    `json:"seq,omitempty"` // number of the last change
	Version  string   `json:"version,omitempty"`
	PID      int      `json:"pid,omitempty"`
	Protocol int      `json:"protocol,omitempty"`
}

// An Entry is a line of a task's log.
type Entry struct {
	Seq  int64     `json:"seq"`
	At   time.Time `json:"at"`
	Gen  uint32    `json:"gen"`
	Kind string    `json:"kind"`
	Body string    `json:"body,omitempty"` // JSON
}

// Protocol numbers the words; both sides must agree. Every answer carries it.
const (
	Protocol       = 1
	ProtocolHeader = "Whet-Protocol"
)

// A Code says what is wrong with a request, for machines.
type Code string

// What can be wrong.
const (
	UnknownTask     Code = "unknown_task"
	NotOrchestrator Code = "not_orchestrator"
	LeaseBusy       Code = "lease_busy"
	NotRunning      Code = "not_running"
	NotRevivable    Code = "not_revivable"
	InDoubt         Code = "uncertain"
	Conflict        Code = "conflict"
	Capacity        Code = "capacity"
	OverBudget      Code = "budget"
	StoreFull       Code = "store_full"
	BackendDown     Code = "backend_down"
	BadRequest      Code = "bad_request"
	Internal        Code = "internal"
)

// An Error is a request that was not granted. Its text says what to do.
type Error struct {
	Code Code   `json:"code"`
	Text string `json:"text"`
}

func (e *Error) Error() string { return e.Text }

// maxText is how long an error is, in bytes: some name what the model sent.
const maxText = 4 << 10

// Errorf returns an [*Error].
func Errorf(code Code, format string, a ...any) *Error {
	text := fmt.Sprintf(format, a...)
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + " ..."
	}
	return &Error{code, text}
}

// A Mail is what a hook reads of its session's tasks without asking the runner:
// a file that the runner replaces whenever it changes.
type Mail struct {
	Board   string   `json:"board"`
	Open    int      `json:"open"`
	Notices []Notice `json:"notices,omitempty"`
	Waiting bool     `json:"waiting,omitempty"` // for a person
}

// MailFile is where the runner with its state in dir keeps a session's mail.
func MailFile(dir, parent string) string {
	h := sha256.Sum256([]byte(parent))
	return filepath.Join(dir, "mail", hex.EncodeToString(h[:12])+".json")
}

// ClaimFile is where the runner with its state in dir keeps the claims of the
// tasks at work, a list of [Claim] in JSON. No file means that there are none.
func ClaimFile(dir string) string { return filepath.Join(dir, "claims.json") }

// SlipDir is a spool in which those who don't talk to the runner leave what it
// should know, each a [Slip] in JSON.
func SlipDir(dir string) string { return filepath.Join(dir, "slips") }

// A Slip is what a hook has to say about its session.
type Slip struct {
	Parent    string   `json:"parent"`
	Read      []string `json:"read,omitempty"` // notices consumed
	UserWrote bool     `json:"userWrote,omitempty"`
	Launched  string   `json:"launched,omitempty"` // a task that was launched from here in another way
}
