package main

import (
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
	var all bool
	c := &cobra.Command{
		Use: "board", Short: "Watch background tasks", GroupID: "people", Args: cobra.NoArgs,
		Long: `Watch the background tasks of this project: what each one does, for how long, at
what cost, and what came of it. Ctrl-C ends the watching and nothing else.

Where standard output is no terminal, the board is printed once.`,
		RunE: func(c *cobra.Command, _ []string) error {
			w := c.OutOrStdout()
			f, ok := w.(*os.File)
			if !ok || !term.IsTerminal(int(f.Fd())) {
				return drawBoard(c, w, all, 0)
			}
			// The alternate screen leaves what was there before as it was.
			fmt.Fprint(w, "\x1b[?1049h\x1b[?25l")
			defer fmt.Fprint(w, "\x1b[?25h\x1b[?1049l")
			tick := time.NewTicker(boardEvery)
			defer tick.Stop()
			for {
				width, height, err := term.GetSize(int(f.Fd()))
				if err != nil {
					width, height = 80, 24
				}
				var b strings.Builder
				if err := drawBoard(c, &b, all, width); err != nil {
					return err
				}
				fmt.Fprint(w, "\x1b[H\x1b[J", fitting(b.String(), height))
				select {
				case <-tick.C:
				case <-c.Context().Done():
					return nil
				}
			}
		},
	}
	c.Flags().BoolVar(&all, "all", false, "tasks of every project")
	return c
}

// fitting is as much of the text as fits.
func fitting(text string, height int) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if height > 1 && len(lines) > height-1 {
		lines = append(lines[:height-2], fmt.Sprintf("… %d more lines; whet task list shows all", len(lines)-height+2))
	}
	return strings.Join(lines, "\r\n")
}

// drawBoard draws the tasks: those at work, then ends that nobody has read, then
// the others, the newest first.
func drawBoard(c *cobra.Command, w io.Writer, all bool, width int) error {
	reply, err := askRunner(c.Context(), "/list", task.Request{All: all})
	if errors.Is(err, client.ErrNone) {
		reply, err = &task.Reply{}, nil
	}
	if err != nil {
		return err
	}
	if len(reply.Tasks) == 0 {
		_, err := fmt.Fprintln(w, "no background tasks here; agents start them with the tool \"task\"")
		return err
	}
	rank := func(t *task.Task) int {
		switch {
		case !t.Phase.Closed():
			return 0
		case !t.Acked:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(reply.Tasks, func(a, b *task.Task) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return task.Older(b, a)
	})
	now := time.Now()
	var used task.Usage
	for _, t := range reply.Tasks {
		used = used.Add(t.Usage)
	}
	fmt.Fprintf(w, "%d tasks, %d open, %s\n\n", len(reply.Tasks), reply.Open, cost(used))
	for _, t := range reply.Tasks {
		line := fmt.Sprintf("%s %-8s %-11s %-6s %-9s %s", mark(t), t.Alias, short(t.Agent, 11), age(now.Sub(t.Created)), cost(t.Usage), short(t.Title, 60))
		fmt.Fprintln(w, clipped(line, width))
		fmt.Fprintln(w, clipped("           "+doing(t, now), width))
	}
	return nil
}

func mark(t *task.Task) string {
	return map[task.Phase]string{
		task.Queued: "…", task.Running: "▶", task.Stopped: "■", task.Completed: "✓", task.Failed: "✗", task.Cancelled: "✗",
	}[t.Phase]
}

// doing is what a task does, or what came of it.
func doing(t *task.Task, now time.Time) string {
	s := stateOf(t, now)
	switch {
	case t.Phase == task.Queued && t.Waits != "":
		s += " for " + t.Waits
	case t.Phase == task.Completed:
		s += ": " + t.Text
	case t.Phase.Closed():
		s += ": " + t.Reason
	case t.Text != "":
		s += ": " + t.Text
	}
	return short(s, 200)
}

func clipped(s string, width int) string {
	if rs := []rune(s); width > 1 && len(rs) > width {
		return string(rs[:width-1]) + "…"
	}
	return s
}
