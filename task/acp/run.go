package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/whet-dev/whet/internal/proc"
	"github.com/whet-dev/whet/task"
)

const (
	// startLimit is how long an agent may take until it has a session: some
	// need many seconds on a busy machine.
	startLimit = 60 * time.Second
	// cancelLimit is how long it may take to heed a cancel before its process is
	// ended.
	cancelLimit = 5 * time.Second
	// endLimit is how long it may take to end by itself.
	endLimit = 2 * time.Second
	// silence is how long an agent that has loaded a session must say nothing
	// until what it replays is over, and replayLimit how long that may take.
	silence     = 300 * time.Millisecond
	replayLimit = 10 * time.Second
	// maxText bounds an answer, in bytes.
	maxText = 8 << 20
)

// A run is a generation, and the process that works on it.
type run struct {
	b      *backend
	task   task.Task
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	session string
	opened  time.Time // when its process had the session
	before  time.Time // when that of the run before had it
	conn    *sdk.ClientSideConnection
	notes   []task.Note
	asked   bool // to end
	over    bool // takes no more notes
	ended   bool // its process is gone
	hearing bool // what the agent says belongs to this run; what it replays doesn't
	text    strings.Builder
	tools   map[sdk.ToolCallId]bool // that it has called
	look    task.Look
}

func (x *run) sessionID() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.session
}

func (x *run) openedAt() time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.opened
}

func (x *run) done() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.ended
}

func (x *run) state() task.Look {
	x.mu.Lock()
	defer x.mu.Unlock()
	l := x.look
	l.Read, l.Session = slices.Clone(l.Read), x.session
	if !l.Ended() {
		l.Text = x.text.String()
	}
	return l
}

// work runs the agent's process from its start to its end.
func (x *run) work(ctx context.Context, path, prompt string) {
	l, err := x.contained(ctx, path, prompt)
	x.mu.Lock()
	x.over, x.ended = true, true
	l.Usage, l.Read, l.Text = x.look.Usage, x.look.Read, cmp.Or(l.Text, x.text.String())
	if err != nil && l.Live == "" {
		l.Live, l.End, l.Reason = task.LiveQuiet, task.Erred, err.Error()
		if x.asked {
			l.End, l.Reason = task.Aborted, ""
		}
	}
	x.look = l
	x.mu.Unlock()
	x.b.hear(x.task.ID, x.task.Gen, task.Progress{})
}

// contained is process; a panic ends this run, not those beside it.
func (x *run) contained(ctx context.Context, path, prompt string) (l task.Look, err error) {
	defer func() {
		if p := recover(); p != nil {
			l, err = task.Look{}, fmt.Errorf("internal error: %v", p)
		}
	}()
	return x.process(ctx, path, prompt)
}

// process returns how the run looks in the end. An error without a look means
// that nothing was prompted.
func (x *run) process(ctx context.Context, path, prompt string) (task.Look, error) {
	cmd := exec.Command(path, x.b.agent.Args...)
	cmd.Dir = x.task.Dir
	cmd.Env = os.Environ()
	for k, v := range x.b.agent.Env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	stderr := &tail{}
	cmd.Stderr = stderr
	if err := errors.Join(err1, err2); err != nil {
		return task.Look{}, err
	}
	release := x.b.alone()
	defer release()
	if ctx.Err() != nil {
		return task.Look{}, context.Cause(ctx)
	}
	child, err := proc.Start(cmd)
	if err != nil {
		return task.Look{}, fmt.Errorf("starting %s: %w", path, err)
	}
	defer child.Stop()
	out := newLines(ctx, stdout)
	conn := sdk.NewClientSideConnection(&client{x, out}, stdin, out)
	conn.SetLogger(slog.New(slog.DiscardHandler))

	if err := x.open(ctx, conn); err != nil {
		return task.Look{}, x.why(ctx, err, child, out, stderr)
	}
	x.b.hasOpened()
	release()
	l, err := x.turns(ctx, conn, prompt)
	switch {
	case err == nil:
		_ = stdin.Close() // some keep their sessions only when they may end by themselves
		select {
		case <-child.Done():
		case <-time.After(endLimit):
		}
		return l, nil
	case errors.Is(context.Cause(ctx), errClosing):
		return task.Look{Live: task.LiveGone, Reason: "the agent's process was ended with whet's task runner"}, nil
	case x.wasAsked():
		return task.Look{Live: task.LiveQuiet, End: task.Aborted}, nil
	case ctx.Err() == nil && out.bad() == "" && !gone(child, conn):
		// The agent itself says that it failed.
		return task.Look{Live: task.LiveQuiet, End: task.Erred, Reason: rpcText(err)}, nil
	}
	reason := x.why(ctx, err, child, out, stderr).Error()
	if out.bad() != "" {
		return task.Look{Live: task.LiveQuiet, End: task.Erred, Reason: reason}, nil
	}
	return task.Look{Live: task.LiveGone, Reason: reason}, nil
}

func gone(child *proc.Child, conn *sdk.ClientSideConnection) bool {
	select {
	case <-conn.Done():
		return true
	case <-child.Done():
		return true
	default:
		return false
	}
}

// why says what went wrong with a process, in one sentence.
func (x *run) why(ctx context.Context, err error, child *proc.Child, out *lines, stderr *tail) error {
	if errors.Is(context.Cause(ctx), errClosing) {
		return errClosing
	}
	name := x.b.agent.Command
	if bad := out.bad(); bad != "" {
		return fmt.Errorf("%s printed something that is no ACP message: %.200q; does it need an argument to speak ACP?", name, bad)
	}
	select { // it may be about to end
	case <-child.Done():
		how := "exited (status 0)"
		if child.Err() != nil {
			how = "exited (" + child.Err().Error() + ")"
		}
		return fmt.Errorf("agent %s%s", how, stderr.said())
	case <-time.After(300 * time.Millisecond):
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s did not begin a session within %v%s", name, startLimit, stderr.said())
	}
	return fmt.Errorf("%s: %s%s", name, rpcText(err), stderr.said())
}

// rpcText is an error of the agent in one line.
func rpcText(err error) string {
	if e := (*sdk.RequestError)(nil); errors.As(err, &e) && err == error(e) {
		s := e.Message
		if e.Data != nil {
			s += fmt.Sprintf(" (%v)", e.Data)
		}
		return s
	}
	return err.Error()
}

// open gets the agent ready: a new session, or the task's own.
func (x *run) open(ctx context.Context, conn *sdk.ClientSideConnection) error {
	life := ctx
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	hello, err := conn.Initialize(ctx, sdk.InitializeRequest{
		ProtocolVersion: sdk.ProtocolVersionNumber,
		ClientInfo:      &sdk.Implementation{Name: "whet", Version: "1"},
	})
	if err != nil {
		return err
	}
	if id := x.sessionID(); id != "" {
		if !hello.AgentCapabilities.LoadSession {
			return errors.New("it can't go on with an earlier session; launch a new task")
		}
		if hello.AgentInfo != nil && hello.AgentInfo.Name == "gemini-cli" {
			// It calls a session's file by the minute: one that is loaded in the minute
			// in which it was opened last is overwritten, and lost.
			wait(life, time.Until(x.before.Truncate(time.Minute).Add(time.Minute+time.Second)))
			ctx, cancel = context.WithTimeout(life, startLimit)
			defer cancel()
		}
		// What it says until this returns is the old conversation.
		_, err := conn.LoadSession(ctx, sdk.LoadSessionRequest{SessionId: sdk.SessionId(id), Cwd: x.task.Dir, McpServers: []sdk.McpServer{}})
		if err != nil {
			return fmt.Errorf("it could not load the session %s: %s", id, rpcText(err))
		}
		x.replayed(life)
	} else {
		s, err := x.newSession(ctx, conn, hello)
		if err != nil {
			return err
		}
		x.mu.Lock()
		x.session = string(s.SessionId)
		x.mu.Unlock()
	}
	x.mu.Lock()
	x.conn, x.hearing, x.look.Active, x.opened = conn, true, time.Now(), time.Now()
	x.mu.Unlock()
	x.b.hear(x.task.ID, x.task.Gen, task.Progress{})
	return nil
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// replayed waits until an agent has said its old conversation again: not all do
// that before they say that it is loaded.
func (x *run) replayed(ctx context.Context) {
	for begin := time.Now(); time.Since(begin) < replayLimit && ctx.Err() == nil; wait(ctx, silence/10) {
		x.mu.Lock()
		last := x.look.Active
		x.mu.Unlock()
		if time.Since(last) >= silence && time.Since(begin) >= silence {
			return
		}
	}
}

// authRequired is the protocol's code for "log in first".
const authRequired = -32000

func (x *run) newSession(ctx context.Context, conn *sdk.ClientSideConnection, hello sdk.InitializeResponse) (sdk.NewSessionResponse, error) {
	q := sdk.NewSessionRequest{Cwd: x.task.Dir, McpServers: []sdk.McpServer{}}
	s, err := conn.NewSession(ctx, q)
	var e *sdk.RequestError
	if errors.As(err, &e) && e.Code == authRequired {
		return s, fmt.Errorf("it wants a person to log in first: run %s once by hand (%s)", x.b.agent.Command, e.Message)
	}
	return s, err
}

// turns prompts, and prompts again for messages that came in meanwhile. Only
// the last turn's text is the answer.
func (x *run) turns(ctx context.Context, conn *sdk.ClientSideConnection, prompt string) (task.Look, error) {
	first := x.take()
	if first != "" {
		prompt = first + "\n\n" + prompt
	}
	for {
		x.mu.Lock()
		x.text.Reset()
		x.mu.Unlock()
		r, err := conn.Prompt(ctx, sdk.PromptRequest{SessionId: sdk.SessionId(x.sessionID()), Prompt: []sdk.ContentBlock{sdk.TextBlock(prompt)}})
		if err != nil {
			return task.Look{}, err
		}
		x.count(r)
		if r.StopReason != sdk.StopReasonEndTurn || x.wasAsked() {
			return endOf(r.StopReason), nil
		}
		if prompt = x.take(); prompt == "" {
			return endOf(r.StopReason), nil
		}
	}
}

func endOf(s sdk.StopReason) task.Look {
	l := task.Look{Live: task.LiveQuiet, End: task.Erred}
	switch s {
	case sdk.StopReasonEndTurn:
		l.End = task.Done
	case sdk.StopReasonCancelled:
		l.End = task.Aborted
	case sdk.StopReasonRefusal:
		l.Reason = "the model declined to answer"
	case sdk.StopReasonMaxTokens:
		l.Reason = "the answer was cut off at the model's output limit"
	default:
		l.Reason = "it stopped before the end: " + string(s)
	}
	return l
}

// take returns the messages that wait, which are then read. If there are none,
// the run takes no more.
func (x *run) take() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var texts []string
	for _, n := range x.notes {
		texts = append(texts, n.Text)
		x.look.Read = append(x.look.Read, n.ID)
	}
	x.notes = nil
	x.over = len(texts) == 0 && x.text.Len() > 0
	return strings.Join(texts, "\n\n")
}

// count adds what a turn has cost, as the protocol or Gemini CLI says it.
func (x *run) count(r sdk.PromptResponse) {
	var more task.Usage
	if u := r.Usage; u != nil {
		more = task.Usage{Steps: 1, Input: int64(u.InputTokens), Output: int64(u.OutputTokens)}
		for _, n := range []*int{u.CachedReadTokens, u.CachedWriteTokens} {
			if n != nil {
				more.Input += int64(*n)
			}
		}
	} else {
		var meta struct {
			Quota struct {
				Tokens struct {
					Input  int64 `json:"input_tokens"`
					Output int64 `json:"output_tokens"`
				} `json:"token_count"`
			} `json:"quota"`
		}
		if b, err := json.Marshal(r.Meta); err == nil && json.Unmarshal(b, &meta) == nil && meta.Quota.Tokens.Output > 0 {
			more = task.Usage{Steps: 1, Input: meta.Quota.Tokens.Input, Output: meta.Quota.Tokens.Output}
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.look.Usage = x.look.Usage.Add(more)
}

func (x *run) wasAsked() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.asked
}

// interrupt asks the agent to end the turn, and ends its process if it doesn't.
func (x *run) interrupt(ctx context.Context) {
	x.mu.Lock()
	conn, session, first := x.conn, x.session, !x.asked
	x.asked = true
	x.mu.Unlock()
	if conn == nil {
		x.cancel(errors.New("interrupted"))
		return
	}
	_ = conn.Cancel(ctx, sdk.CancelNotification{SessionId: sdk.SessionId(session)}) // what it does is seen
	if first {
		time.AfterFunc(cancelLimit, func() { x.cancel(errors.New("interrupted")) })
	}
}
