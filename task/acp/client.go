package acp

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/whet-dev/whet/task"
)

// client answers what the agent asks of us.
type client struct {
	x   *run
	out *lines
}

// SessionUpdate takes in what the agent says. It must not wait: the connection
// gives up an agent whose updates pile up.
func (c *client) SessionUpdate(_ context.Context, n sdk.SessionNotification) error {
	defer c.out.handled()
	if p, ok := c.x.heard(n.Update); ok {
		c.x.b.hear(c.x.task.ID, c.x.task.Gen, p)
	}
	return nil
}

func (x *run) heard(u sdk.SessionUpdate) (p task.Progress, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.look.Active = time.Now()
	if !x.hearing {
		return p, false
	}
	switch {
	case u.AgentMessageChunk != nil:
		if t := u.AgentMessageChunk.Content.Text; t != nil && x.text.Len() < maxText {
			x.text.WriteString(t.Text)
		}
	case u.ToolCall != nil:
		return x.tool(u.ToolCall.ToolCallId, u.ToolCall.Title)
	case u.ToolCallUpdate != nil:
		title := ""
		if u.ToolCallUpdate.Title != nil {
			title = *u.ToolCallUpdate.Title
		}
		p, ok = x.tool(u.ToolCallUpdate.ToolCallId, title) // some announce a tool that needs permission no other way
		if s := u.ToolCallUpdate.Status; s != nil && (*s == sdk.ToolCallStatusCompleted || *s == sdk.ToolCallStatusFailed) {
			x.look.Tool = ""
		}
	}
	return p, ok
}

// tool takes in that the agent calls a tool. Its text before that is not its
// answer. x.mu is held.
func (x *run) tool(id sdk.ToolCallId, title string) (p task.Progress, ok bool) {
	if x.tools[id] {
		return p, false
	}
	x.tools[id] = true
	x.text.Reset()
	x.look.Tool = title
	return task.Progress{Kind: "call", Text: brief(title)}, true
}

func brief(s string) string {
	const most = 500
	if rs := []rune(s); len(rs) > most {
		return string(rs[:most]) + "…"
	}
	return s
}

// RequestPermission answers for the person, who isn't there: what was allowed
// beforehand is, looking is, and editing is for an agent that may write.
func (c *client) RequestPermission(_ context.Context, q sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error) {
	action := "other"
	if k := q.ToolCall.Kind; k != nil {
		action = actions[*k]
	}
	allow := !c.x.wasAsked() && (action == "read" || !c.x.strays(q.ToolCall.Locations) && (c.x.task.Allows(action) || action == "edit" && c.x.task.Writes))
	wanted := []sdk.PermissionOptionKind{sdk.PermissionOptionKindRejectOnce, sdk.PermissionOptionKindRejectAlways}
	if allow {
		wanted = []sdk.PermissionOptionKind{sdk.PermissionOptionKindAllowOnce, sdk.PermissionOptionKindAllowAlways}
	}
	for _, kind := range wanted {
		for _, o := range q.Options {
			if o.Kind == kind {
				return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeSelected(o.OptionId)}, nil
			}
		}
	}
	return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeCancelled()}, nil
}

// strays reports whether one of the places is in the checkout that the task's
// worktree was made from, which it must leave alone.
func (x *run) strays(places []sdk.ToolCallLocation) bool {
	c := x.task.Checkout
	return c != nil && slices.ContainsFunc(places, func(l sdk.ToolCallLocation) bool {
		_, main := task.Inside(c.Root, l.Path)
		_, own := task.Inside(c.Dir, l.Path)
		return main && !own
	})
}

// actions are our words for what the agent wants to do.
var actions = map[sdk.ToolKind]string{
	sdk.ToolKindRead: "read", sdk.ToolKindSearch: "read", sdk.ToolKindThink: "read",
	sdk.ToolKindEdit: "edit", sdk.ToolKindDelete: "edit", sdk.ToolKindMove: "edit",
	sdk.ToolKindExecute: "bash", sdk.ToolKindFetch: "webfetch",
}

// We said that we offer neither files nor terminals; an agent that asks all the
// same hears that again.

func (c *client) ReadTextFile(context.Context, sdk.ReadTextFileRequest) (r sdk.ReadTextFileResponse, err error) {
	return r, sdk.NewMethodNotFound("fs/read_text_file")
}

func (c *client) WriteTextFile(context.Context, sdk.WriteTextFileRequest) (r sdk.WriteTextFileResponse, err error) {
	return r, sdk.NewMethodNotFound("fs/write_text_file")
}

func (c *client) CreateTerminal(context.Context, sdk.CreateTerminalRequest) (r sdk.CreateTerminalResponse, err error) {
	return r, sdk.NewMethodNotFound("terminal/create")
}

func (c *client) KillTerminal(context.Context, sdk.KillTerminalRequest) (r sdk.KillTerminalResponse, err error) {
	return r, sdk.NewMethodNotFound("terminal/kill")
}

func (c *client) ReleaseTerminal(context.Context, sdk.ReleaseTerminalRequest) (r sdk.ReleaseTerminalResponse, err error) {
	return r, sdk.NewMethodNotFound("terminal/release")
}

func (c *client) TerminalOutput(context.Context, sdk.TerminalOutputRequest) (r sdk.TerminalOutputResponse, err error) {
	return r, sdk.NewMethodNotFound("terminal/output")
}

func (c *client) WaitForTerminalExit(context.Context, sdk.WaitForTerminalExitRequest) (r sdk.WaitForTerminalExitResponse, err error) {
	return r, sdk.NewMethodNotFound("terminal/wait_for_exit")
}

// maxLine bounds a message of the agent, in bytes.
const maxLine = 9 << 20

// lines is the agent's output. At the first line that can't be a message it
// ends, and remembers that line.
//
// It lets the connection read no further than maxAhead updates ahead of those
// that are handled: the SDK cuts a connection that has more in its queue, and
// an agent with a long answer easily does.
type lines struct {
	r     io.Reader
	ahead chan struct{}   // holds one for each update that is read and not handled
	done  <-chan struct{} // the run is over

	mu     sync.Mutex
	fresh  bool // inside a line that looks right
	update bool // it is an update
	n      int  // bytes of that line
	wrong  string
}

const (
	maxAhead  = 512
	readChunk = 16 << 10 // far fewer updates than maxAhead fit
)

func newLines(ctx context.Context, r io.Reader) *lines {
	return &lines{r: r, ahead: make(chan struct{}, maxAhead), done: ctx.Done()}
}

func (l *lines) handled() {
	select {
	case <-l.ahead:
	default:
	}
}

func (l *lines) bad() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wrong
}

func (l *lines) Read(p []byte) (int, error) {
	n, err := l.r.Read(p[:min(len(p), readChunk)])
	updates, ok := l.look(p[:n])
	if !ok {
		return 0, io.EOF
	}
	for range updates {
		select {
		case l.ahead <- struct{}{}:
		case <-l.done:
		}
	}
	return n, err
}

// look counts the updates that end in p, and reports whether all is well.
func (l *lines) look(p []byte) (updates int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		text := bytes.TrimSpace(line)
		if !l.fresh && len(text) > 0 && text[0] != '{' {
			l.wrong = string(text)
			return 0, false
		}
		l.fresh, l.n = l.fresh || len(text) > 0, l.n+len(line)
		if l.n > maxLine {
			l.wrong = "a line of more than 9 MiB"
			return 0, false
		}
		l.update = l.update || bytes.Contains(line, []byte(`"session/update"`))
		if ended {
			if l.update {
				updates++
			}
			l.fresh, l.update, l.n = false, false, 0
		}
		rest = after
	}
	return updates, true
}

// tail keeps the last of what the agent writes to its standard error.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	const most = 2 << 10
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if len(t.b) > most {
		t.b = t.b[len(t.b)-most:]
	}
	return len(p), nil
}

// said is what was written, as the end of a sentence.
func (t *tail) said() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := strings.Join(strings.Fields(string(t.b)), " "); s != "" {
		return "; it said: " + s
	}
	return ""
}
