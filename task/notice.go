package task

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// A Notice tells a parent of an end or a stop. It is sent until its exact
// revision is acknowledged, so a parent may see it twice; the id says so.
type Notice struct {
	ID   string `json:"id"` // task/generation/revision
	Task string `json:"task"`
	Gen  uint32 `json:"gen"`
	Rev  uint32 `json:"rev"`
	Text string `json:"text"`
}

// maxNotice is how much of an answer a notice holds, in bytes. task_result has
// the rest.
const maxNotice = 6000

// NoticeOf returns the notice of t's last publication. unread are messages that
// the run did not read.
func NoticeOf(t *Task, unread []string) Notice {
	n := Notice{ID: fmt.Sprintf("%s/%d/%d", t.ID, t.Gen, t.Rev), Task: t.ID, Gen: t.Gen, Rev: t.Rev}
	var b strings.Builder
	fmt.Fprintf(&b, "<task id=%q alias=%q generation=\"%d\" state=%q notice=%q>\n", t.ID, t.Alias, t.Gen, t.Phase, n.ID)
	fmt.Fprintf(&b, "<summary>Background task %s: %s</summary>\n", ended[t.Phase], Line(t.Title))
	b.WriteString(t.body(maxNotice))
	if len(unread) > 0 {
		b.WriteString("Messages that it did not read:\n")
		for _, m := range unread {
			fmt.Fprintf(&b, "- %s\n", Line(m))
		}
	}
	b.WriteString("</task>")
	n.Text = b.String()
	return n
}

var ended = map[Phase]string{
	Stopped: "stopped without an end (task_revive goes on with it)", Completed: "completed", Failed: "failed", Cancelled: "cancelled",
}

// body is the end of a run as the model reads it, at most max bytes of text.
func (t *Task) body(max int) string {
	if t.Phase == Completed {
		text, left := page(t.Text, 0, max)
		return fmt.Sprintf("<task_result>\n%s\n</task_result>\n%s%s", inert(text), more(t.Alias, left), t.changes())
	}
	s := fmt.Sprintf("<task_error>\n%s\n</task_error>\n", inert(t.reason()))
	if t.Text != "" {
		text, left := page(t.Text, 0, max)
		s += fmt.Sprintf("<partial_result>\n%s\n</partial_result>\n%s", inert(text), more(t.Alias, left))
	}
	return s + t.changes()
}

func (t *Task) reason() string {
	if t.Reason == "" {
		return "no reason is known"
	}
	return t.Reason
}

func (t *Task) changes() string {
	lines := slices.Clone(t.Changed)
	if out := t.outside(); len(out) > 0 {
		lines = append(lines, "outside what it owns: "+strings.Join(out, ", "))
	}
	for _, a := range t.Also {
		lines = append(lines, fmt.Sprintf("also changed by %s: %s", a.By, strings.Join(a.Files, ", ")))
	}
	if c := t.Checkout; c.Waits() {
		if c.Trouble != "" {
			lines = append(lines, "its worktree could not be looked at: "+c.Trouble)
		}
		lines = append(lines, fmt.Sprintf("These changes are in its own worktree, %s, and not in the project. They wait: task_merge with task_id %q and mode apply or discard.", c.Dir, t.Alias))
	}
	if len(lines) == 0 {
		return ""
	}
	return "<changes>\n" + inert(strings.Join(lines, "\n")) + "\n</changes>\n"
}

// outside lists the files that t has changed and does not own, where it owns
// any.
func (t *Task) outside() (out []string) {
	if len(t.Files) == 0 {
		return nil
	}
	own := Claim{Dir: t.Home(), Files: t.Files}
	for _, f := range t.Changed {
		if !own.Owns(filepath.Join(t.Home(), filepath.FromSlash(f))) {
			out = append(out, f)
		}
	}
	return out
}

// more says how to read what was left out.
func more(alias string, left int) string {
	if left == 0 {
		return ""
	}
	return fmt.Sprintf("(%d more bytes: task_result with task_id %q)\n", left, alias)
}

// inert keeps a task's own text from closing the block around it.
func inert(s string) string {
	return strings.NewReplacer("</task", "<\\/task", "<task ", "<\\task ", "</partial_result", "<\\/partial_result", "</system-reminder", "<\\/system-reminder").Replace(strings.TrimSpace(s))
}

// page returns at most limit bytes of s from offset, whole characters, and how
// many bytes come after them.
func page(s string, offset, limit int) (string, int) {
	offset = min(max(offset, 0), len(s))
	for offset < len(s) && !utf8.RuneStart(s[offset]) {
		offset++
	}
	s = s[offset:]
	if len(s) <= limit {
		return s, 0
	}
	n := limit
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n], len(s) - n
}

// Started is what the model reads when a task has been launched or revived.
func Started(t *Task, position int) string {
	state, what := t.Phase.String(), "It runs in the background. You are told when it ends: go on with other work or end your turn; do not poll."
	if t.Phase == Queued {
		state, what = "queued", "It starts by itself when its turn comes. You are told when it ends; do not poll."
		if position > 0 {
			what = fmt.Sprintf("Place %d in the queue. ", position) + what
		}
		if t.Waits != "" {
			what += "\nIt waits for: " + Line(t.Waits)
		}
	}
	if t.Uncertain {
		what = "Whether the backend took it is not known yet; that is found out without you. Do not launch it again.\nstatus: admission_unknown"
	}
	if t.Checkout != nil {
		what += "\nIt works in a git worktree of its own: its changes wait for task_merge."
	} else if len(t.Files) > 0 {
		what += "\nIt owns: " + Line(strings.Join(t.Files, ", "))
	}
	return fmt.Sprintf("<task id=%q alias=%q generation=\"%d\" state=%q>\n<summary>Background task started: %s</summary>\n<task_result>\n%s\n</task_result>\n</task>",
		t.ID, t.Alias, t.Gen, state, Line(t.Title), what)
}

// pageSize is how much of an answer task_result gives at once, in bytes.
const pageSize = 16000

// Result is what task_result says; failed tells whether it is an error.
func Result(t *Task, offset, limit int) (text string, failed bool) {
	if limit <= 0 || limit > pageSize {
		limit = pageSize
	}
	switch {
	case !t.Phase.Closed():
		return fmt.Sprintf("task_id: %s\nstate: %s\nmessage: %s has not ended\nnext: go on with other work; you are told when it ends. task_status shows what it does.", t.ID, t.Phase, t.Alias), false
	case t.Phase == Completed:
		text, left := page(t.Text, offset, limit)
		if left > 0 {
			text += fmt.Sprintf("\n(%d more bytes: offset %d)", left, len(t.Text)-left)
		}
		return text + "\n" + t.changes(), false
	}
	return fmt.Sprintf("%s (%s): %s\n%s", t.Alias, t.ID, t.Phase, t.body(limit)), true
}

// Status is what task_status says.
func Status(t *Task, position int, now time.Time) string {
	var b strings.Builder
	line := func(when bool, format string, a ...any) {
		if when {
			fmt.Fprintf(&b, format+"\n", a...)
		}
	}
	seconds := func(since time.Time) int { return int(now.Sub(since).Seconds()) }
	open := !t.Phase.Closed()
	state := t.Phase.String()
	if t.Uncertain {
		state += " (unconfirmed)"
	}
	line(true, "Task %s (%s)", t.Alias, t.ID)
	line(true, "state: %s", state)
	line(true, "agent: %s", Line(t.Agent))
	line(true, "generation: %d", t.Gen)
	line(!t.Active.IsZero(), "last_activity_at: %s", t.Active.UTC().Format(time.RFC3339))
	line(open && !t.Active.IsZero(), "idle_for_seconds: %d", seconds(t.Active))
	line(t.Phase == Running && !t.Started.IsZero(), "run_for_seconds: %d", seconds(t.Started))
	stuck := t.Phase == Running && !t.Uncertain && t.Tool == "" && t.Retry == "" && now.Sub(t.Active) >= 2*time.Minute
	line(true, "possibly_stuck: %v", stuck)
	line(t.Uncertain, "status_uncertain: true")
	line(position > 0, "queued_position: %d", position)
	line(t.Waits != "" && t.Phase == Queued, "waits_for: %s", Line(t.Waits))
	line(open && t.Retry != "", "retry: %s", Line(t.Retry))
	line(open && t.Tool != "", "tool: %s", Line(t.Tool))
	line(open, "messages_waiting: %d", t.Waiting)
	line(t.Usage.Cost > 0, "cost_usd: %.4f", t.Usage.Cost)
	line(t.Usage.Input > 0, "tokens_in: %d", t.Usage.Input)
	line(t.Usage.Output > 0, "tokens_out: %d", t.Usage.Output)
	line(t.Reason != "" && !open, "reason: %s", Line(t.Reason))
	line(true, "dir: %s", Line(t.Dir))
	line(t.Checkout != nil, "worktree: %s", t.Checkout.state())
	line(t.Phase == Running, "next: you are told when it ends; task_message reaches it meanwhile.")
	return strings.TrimSuffix(b.String(), "\n")
}
