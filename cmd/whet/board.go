package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/client"
)

// boardEvery is how often the board is drawn anew: ages count seconds.
const boardEvery = time.Second

func boardCommand() *cobra.Command {
	var all, bell bool
	c := &cobra.Command{
		Use: "board", Short: "Watch background tasks", GroupID: "people", Args: cobra.NoArgs,
		Long: `Watch the background tasks of this project, and steer them: what each one does,
for how long, at what cost, and what came of it.

  up, down, k, j   choose a task        m   message it
  Enter            look at it whole     c   cancel it
  Esc              back                 r   revive it
  q, Ctrl-C        end the watching, and nothing else

Where standard input or output is no terminal, the board is printed once.`,
		RunE: func(c *cobra.Command, _ []string) error {
			if !isTerminal(c.InOrStdin()) || !isTerminal(c.OutOrStdout()) {
				tasks, open, err := boardTasks(c.Context(), all)
				if err != nil {
					return err
				}
				return printBoard(c.OutOrStdout(), tasks, open, -1, 0)
			}
			b := &board{in: c.InOrStdin().(*os.File), out: c.OutOrStdout().(*os.File), all: all, bell: bell}
			return b.watch(c.Context())
		},
	}
	c.Flags().BoolVar(&all, "all", false, "tasks of every project")
	c.Flags().BoolVar(&bell, "bell", false, "ring the terminal's bell when a task ends")
	return c
}

// boardTasks lists the tasks in the order of the board.
func boardTasks(ctx context.Context, all bool) (tasks []*task.Task, open int, err error) {
	reply, err := askRunner(ctx, "/list", task.Request{All: all})
	if errors.Is(err, client.ErrNone) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	task.SortForPeople(reply.Tasks)
	return reply.Tasks, reply.Open, nil
}

// printBoard prints the tasks, two lines each. width 0 is unlimited.
func printBoard(w io.Writer, tasks []*task.Task, open, chosen, width int) error {
	if len(tasks) == 0 {
		_, err := fmt.Fprintln(w, "no background tasks here; agents start them with the tool \"task\"")
		return err
	}
	now := time.Now()
	var used task.Usage
	for _, t := range tasks {
		used = used.Add(t.Usage)
	}
	fmt.Fprintf(w, "%s, %d open, %s\n\n", count(len(tasks), "task"), open, used)
	for i, t := range tasks {
		pointer := ""
		switch {
		case i == chosen:
			pointer = "> "
		case chosen >= 0:
			pointer = "  "
		}
		fmt.Fprintln(w, clipped(fmt.Sprintf("%s%s %-8s %-11s %-6s %-9s %s", pointer, mark(t), t.Alias, short(t.Agent, 11), age(now.Sub(t.Created)), t.Usage, short(t.Title, 60)), width))
		doing := t.Condition(now)
		if what := t.Doing(); what != "" {
			doing += ": " + what
		}
		if _, err := fmt.Fprintln(w, clipped(strings.Repeat(" ", 11+len(pointer))+short(doing, 200), width)); err != nil {
			return err
		}
	}
	return nil
}

func mark(t *task.Task) string {
	return map[task.Phase]string{
		task.Queued: "…", task.Running: "▶", task.Stopped: "■", task.Completed: "✓", task.Failed: "✗", task.Cancelled: "✗",
	}[t.Phase]
}

func clipped(s string, width int) string {
	if rs := []rune(s); width > 1 && len(rs) > width {
		return string(rs[:width-1]) + "…"
	}
	return s
}

// A board is what a person at a terminal watches. It has no library for
// screens: those that there are initialise themselves in every whet, which
// each hook event would pay for.
type board struct {
	in, out   *os.File
	all, bell bool

	tasks  []*task.Task
	open   int
	chosen string // the task under the pointer
	whole  bool   // it is looked at whole
	said   string // what came of the last key
	ended  map[string]bool
}

// watch shows the board until the person has seen enough.
func (b *board) watch(ctx context.Context) error {
	before, err := term.MakeRaw(int(b.in.Fd()))
	if err != nil {
		return err
	}
	defer term.Restore(int(b.in.Fd()), before) //nolint:errcheck // there is nothing else to try
	// The alternate screen leaves what was there before as it was.
	fmt.Fprint(b.out, "\x1b[?1049h\x1b[?25l")
	defer fmt.Fprint(b.out, "\x1b[?25h\x1b[?1049l")
	keys, next := make(chan []byte), make(chan struct{})
	defer close(next)
	go readKeys(b.in, keys, next)
	tick := time.NewTicker(boardEvery)
	defer tick.Stop()
	for {
		if b.tasks, b.open, err = boardTasks(ctx, b.all); err != nil {
			return err
		}
		b.ring()
		b.draw()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		case key, ok := <-keys:
			if !ok || b.key(ctx, string(key)) {
				return nil
			}
			next <- struct{}{}
		}
	}
}

// readKeys hands on what is typed, a press at a time. It reads on only when it
// is told to: in between, a line may be asked for.
func readKeys(in io.Reader, keys chan<- []byte, next <-chan struct{}) {
	defer close(keys)
	buf := make([]byte, 32)
	for {
		n, err := in.Read(buf)
		if err != nil {
			return
		}
		select {
		case keys <- bytes.Clone(buf[:n]):
		case <-next:
			return
		}
		if _, ok := <-next; !ok {
			return
		}
	}
}

// ring rings for tasks that have ended since the last look.
func (b *board) ring() {
	first := b.ended == nil
	if first {
		b.ended = map[string]bool{}
	}
	for _, t := range b.tasks {
		closed := t.Phase.Closed()
		if b.bell && !first && closed && !b.ended[t.ID] {
			fmt.Fprint(b.out, "\a")
		}
		b.ended[t.ID] = closed
	}
}

// at is where the pointer is. The first task has it if its own is gone.
func (b *board) at() int {
	return max(0, slices.IndexFunc(b.tasks, func(t *task.Task) bool { return t.ID == b.chosen }))
}

func (b *board) draw() {
	width, height, err := term.GetSize(int(b.out.Fd()))
	if err != nil {
		width, height = 80, 24
	}
	var text strings.Builder
	foot := "q end  ↑↓ choose  Enter look  m message  c cancel  r revive" // a narrow terminal shows its beginning
	if len(b.tasks) > 0 && b.whole {
		t := b.tasks[b.at()]
		fmt.Fprintf(&text, "%s %s: %s\n%s · %s · %s\n\n", mark(t), t.Alias, short(t.Title, 200), short(t.Condition(time.Now()), 80), short(t.Agent, 40), t.Usage)
		for _, part := range []struct{ title, body string }{
			{"Answer", strings.TrimSpace(t.Reason + "\n" + t.Text)}, {"Changed", strings.Join(t.Changed, "\n")}, {"Prompt", t.Prompt},
		} {
			if part.body != "" {
				text.WriteString(heading(part.title, part.body))
			}
		}
		foot = "q end  Esc back  m message  c cancel  r revive    whet task log " + t.Alias + " --follow"
	} else {
		_ = printBoard(&text, b.tasks, b.open, b.at(), width) // to memory
	}
	fmt.Fprint(b.out, "\x1b[H\x1b[J", fitting(text.String(), height-2, width, b.whole, 2*b.at()+2), "\r\n", clipped(b.said, width), "\r\n", clipped(foot, width))
}

// fitting is as much of the text as fits, with the line at want in view.
func fitting(text string, height, width int, wrap bool, want int) string {
	var lines []string
	for l := range strings.Lines(text) {
		l = strings.TrimSuffix(l, "\n")
		for rs := []rune(l); wrap && width > 1 && len(rs) > width; rs = []rune(l) {
			lines, l = append(lines, string(rs[:width])), string(rs[width:])
		}
		lines = append(lines, l)
	}
	if height < 1 || len(lines) <= height {
		return strings.Join(lines, "\r\n")
	}
	from := 0
	if !wrap {
		from = min(max(0, want-height/2), len(lines)-height)
	}
	return strings.Join(lines[from:from+height], "\r\n")
}

// key does what a key is for, and reports whether it ends the watching.
func (b *board) key(ctx context.Context, key string) (end bool) {
	b.said = ""
	move := 0
	switch key {
	case "q", "\x03", "\x04":
		return true
	case "\x1b":
		b.whole = false
	case "\r", "\n":
		b.whole = !b.whole
	case "\x1b[A", "\x1bOA", "k":
		move = -1
	case "\x1b[B", "\x1bOB", "j":
		move = 1
	case "m":
		b.ask(ctx, "/message", "message")
	case "c":
		b.ask(ctx, "/cancel", "reason")
	case "r":
		b.ask(ctx, "/revive", "go on with")
	}
	if len(b.tasks) > 0 {
		b.chosen = b.tasks[min(max(0, b.at()+move), len(b.tasks)-1)].ID
	}
	return false
}

// ask asks the person for words, and the runner for what they are for.
func (b *board) ask(ctx context.Context, path, what string) {
	if len(b.tasks) == 0 {
		return
	}
	t := b.tasks[b.at()]
	line := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{b.in, b.out}, fmt.Sprintf("%s for %s (Ctrl-D: not after all): ", what, t.Alias))
	fmt.Fprint(b.out, "\r\x1b[J\x1b[?25h")
	words, err := line.ReadLine()
	fmt.Fprint(b.out, "\x1b[?25l")
	if err != nil {
		b.said = "nothing done"
		return
	}
	reply, err := askRunner(ctx, path, task.Request{ID: t.ID, Text: words})
	if err != nil {
		b.said = short(err.Error(), 300)
		return
	}
	b.said = short(reply.Text, 300)
}
