package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/whet-dev/whet/internal/escape"
	"github.com/whet-dev/whet/internal/project"
	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/client"
)

func taskCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "task", Short: "See and steer background tasks", GroupID: "people",
		Long: `See and steer the tasks that agents run in the background.

A task is named by its ID, or by its alias if only one session of this project
has such a task.`,
		Example: `  whet task list
  whet task show fix-1
  whet task log fix-1 --follow
  whet task cancel fix-1 "wrong branch"`,
		Args: noSuchCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(
		taskList(), taskShow(), taskLog(),
		taskDo("message TASK TEXT...", "Give a running task a message for its next step", "/message", 2),
		taskDo("cancel TASK [REASON...]", "End a task; its conversation and its changes are kept", "/cancel", 1),
		taskDo("revive TASK PROMPT...", "Go on with a task that has ended or stopped", "/revive", 2),
		taskMerge(), taskAdopt(), taskGC(),
	)
	for _, sub := range c.Commands() {
		sub.Args = usageArgs(sub.Args)
	}
	return c
}

// askRunner asks the runner for a person in the working directory.
func askRunner(ctx context.Context, path string, q task.Request) (*task.Reply, error) {
	dir, err := filepath.Abs(".")
	if err != nil {
		return nil, err
	}
	q.Caller.Person, q.Dir, q.Tree = true, dir, project.Worktree(dir)
	return (&client.Client{Start: startIfKept}).Do(ctx, path, q)
}

// startIfKept starts a runner only if there ever were tasks: to look at nothing,
// none is needed.
func startIfKept(dir string) error {
	if _, err := filepath.EvalSymlinks(filepath.Join(dir, "tasks.db")); err != nil {
		return client.ErrNone
	}
	return client.Spawn(dir)
}

// taskJSON adds --json, which prints the reply's tasks as they are.
func taskJSON(c *cobra.Command) *bool {
	return c.Flags().Bool("json", false, "print JSON")
}

func taskList() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List the tasks of this project", Args: cobra.NoArgs}
	all := c.Flags().Bool("all", false, "of every project")
	asJSON := taskJSON(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		reply, err := askRunner(c.Context(), "/list", task.Request{All: *all})
		if errors.Is(err, client.ErrNone) {
			reply, err = &task.Reply{}, nil
		}
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(c.OutOrStdout(), append([]*task.Task{}, reply.Tasks...))
		}
		if len(reply.Tasks) == 0 {
			_, err := fmt.Fprintln(c.OutOrStdout(), "no background tasks here; agents start them with the tool \"task\" (--all shows those of other projects)")
			return err
		}
		return listTasks(c.OutOrStdout(), reply.Tasks, time.Now())
	}
	return c
}

func listTasks(w io.Writer, tasks []*task.Task, now time.Time) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "TASK\tAGENT\tSTATE\tAGE\tCOST\tTITLE\tID")
	for _, t := range tasks {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", t.Alias, t.Agent, short(t.Condition(now), 40), age(now.Sub(t.Created)), t.Usage, short(t.Title, 50), t.ID)
	}
	return tw.Flush()
}

func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// short is s on one line, for a terminal, at most n characters.
func short(s string, n int) string {
	s = escape.Lines(strings.Join(strings.Fields(s), " "))
	if rs := []rune(s); len(rs) > n {
		return string(rs[:n-1]) + "…"
	}
	return s
}

func taskShow() *cobra.Command {
	c := &cobra.Command{Use: "show TASK", Short: "Show a task: its state, its prompt, its answer", Args: cobra.ExactArgs(1)}
	asJSON := taskJSON(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		reply, err := askRunner(c.Context(), "/status", task.Request{ID: args[0]})
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(c.OutOrStdout(), reply.Task)
		}
		t := reply.Task
		fmt.Fprintf(c.OutOrStdout(), "%s\nsession: %s\n\n%s\n", reply.Text, escape.Lines(t.Parent), heading("Prompt", t.Prompt))
		if t.Text != "" || t.Reason != "" {
			fmt.Fprint(c.OutOrStdout(), heading("Answer", strings.TrimSpace(t.Reason+"\n"+t.Text)))
		}
		if len(t.Changed) > 0 {
			fmt.Fprint(c.OutOrStdout(), heading("Changed", strings.Join(t.Changed, "\n")))
		}
		return nil
	}
	return c
}

func heading(title, body string) string {
	return fmt.Sprintf("── %s\n%s\n", title, escape.Lines(strings.TrimSpace(body)))
}

// followStep is how long a request for the next lines of a log may take.
const followStep = 30 * time.Second

func taskLog() *cobra.Command {
	c := &cobra.Command{Use: "log TASK", Short: "Show what a task has done", Args: cobra.ExactArgs(1)}
	follow := c.Flags().BoolP("follow", "f", false, "go on until the task ends")
	asJSON := c.Flags().Bool("json", false, "print lines of JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		q := task.Request{ID: args[0]}
		e := jsonLines(c.OutOrStdout())
		for {
			reply, err := askRunner(c.Context(), "/log", q)
			if err != nil {
				return err
			}
			for _, l := range reply.Log {
				q.Seq = l.Seq
				if *asJSON {
					err = e.Encode(l)
				} else {
					_, err = fmt.Fprintln(c.OutOrStdout(), logLine(l))
				}
				if err != nil {
					return err
				}
			}
			if len(reply.Log) == 0 && (!*follow || reply.Task.Phase.Closed()) {
				return nil
			}
			if *follow {
				q.Wait = followStep
			}
		}
	}
	return c
}

func logLine(l task.Entry) string {
	return strings.TrimRight(fmt.Sprintf("%s %-13s %s", l.At.Local().Format("15:04:05"), l.Kind, short(l.Words(), 300)), " ")
}

// taskDo is a command that asks one thing about a task.
func taskDo(use, about, path string, least int) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: about, Args: cobra.MinimumNArgs(least),
		RunE: func(c *cobra.Command, args []string) error {
			return tell(c, path, task.Request{ID: args[0], Text: strings.Join(args[1:], " ")})
		},
	}
}

// tell asks the runner for one thing and prints what it says.
func tell(c *cobra.Command, path string, q task.Request) error {
	reply, err := askRunner(c.Context(), path, q)
	if err != nil {
		return err
	}
	fmt.Fprintln(c.OutOrStdout(), escape.Lines(reply.Text))
	if reply.Failed {
		return exit(exitFailed)
	}
	return nil
}

func taskMerge() *cobra.Command {
	c := &cobra.Command{
		Use: "merge TASK", Short: "Bring what a task did in its own worktree into the project", Args: cobra.ExactArgs(1),
		Long: `Bring what a task did in its own worktree into the project, without committing it.
What doesn't fit is listed, and then nothing is changed.`,
	}
	check := c.Flags().Bool("check", false, "only say whether it fits")
	discard := c.Flags().Bool("discard", false, "drop the changes and the worktree instead")
	c.MarkFlagsMutuallyExclusive("check", "discard")
	c.RunE = func(c *cobra.Command, args []string) error {
		mode := "apply"
		switch {
		case *check:
			mode = "check"
		case *discard:
			mode = "discard"
		}
		return tell(c, "/merge", task.Request{ID: args[0], Text: mode})
	}
	return c
}

func taskAdopt() *cobra.Command {
	c := &cobra.Command{
		Use: "adopt TASK --session SESSION", Short: "Give a task to another session, whose agent then hears of it", Args: cobra.ExactArgs(1),
		Long: `Give a task to another session, whose agent then hears of it. A session is named
as whet task show does: HOST/ID, such as claude-code/5f0c….`,
	}
	session := c.Flags().String("session", "", "`HOST/ID` of the session")
	_ = c.MarkFlagRequired("session")
	c.RunE = func(c *cobra.Command, args []string) error {
		reply, err := askRunner(c.Context(), "/adopt", task.Request{ID: args[0], Caller: task.Caller{Parent: *session}})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "%s is now %s of %s\n", reply.Task.ID, reply.Task.Alias, reply.Task.Parent)
		return err
	}
	return c
}

func taskGC() *cobra.Command {
	c := &cobra.Command{Use: "gc", Short: "Forget the tasks that have ended and were read", Args: cobra.NoArgs}
	all := c.Flags().Bool("all", false, "also those that nobody has read")
	c.RunE = func(c *cobra.Command, _ []string) error {
		reply, err := askRunner(c.Context(), "/collect", task.Request{All: *all})
		if errors.Is(err, client.ErrNone) {
			reply, err = &task.Reply{}, nil
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "forgot %s\n", count(reply.Open, "task"))
		return err
	}
	return c
}
