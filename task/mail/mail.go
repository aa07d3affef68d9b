// Package mail brings a session what the task runner has for it, through files
// alone: a hook, which is a process for each event, has no time to ask anybody.
//
// The runner keeps a file for each session with its board and the notices that
// wait; what the session has read is left for the runner in a spool.
package mail

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/internal/state"
	"github.com/whet-dev/whet/task"
)

// Dir returns the user's own directory for tasks.
func Dir() (string, error) {
	root, err := state.Root()
	return filepath.Join(root, "tasks"), err
}

// Parent is how the runner calls a session. One without an id is its
// directory's.
func Parent(s whet.Session) string {
	if s.ID == "" {
		return s.Host + ":" + s.Dir
	}
	return s.Host + "/" + s.ID
}

// Guard tells a session of its tasks: each end once, after whatever tool it
// uses next or when a person writes, and the board when a person writes. It
// keeps a model from ending its turn only for an end that it was never told of,
// and never because tasks are still running.
//
// What was told counts as read when the session calls again: then the model has
// had it in a request.
func Guard() whet.Guard {
	return whet.Guard{
		Name: "task",
		After: func(_ context.Context, c *whet.Call, r *whet.Result) error {
			linked := link(c, r)
			text, err := news(c.Session, false)
			if text != "" {
				r.Note("%s", text)
			}
			return errors.Join(linked, err)
		},
		Prompt: func(_ context.Context, s whet.Session) (string, error) { return news(s, true) },
		Idle: func(_ context.Context, s whet.Session) (string, error) {
			if m, _ := read(s); m.Waiting {
				return "", nil
			}
			return news(s, false)
		},
	}
}

func read(s whet.Session) (m task.Mail, ok bool) {
	dir, err := Dir()
	if err != nil {
		return m, false
	}
	b, err := os.ReadFile(task.MailFile(dir, Parent(s)))
	return m, err == nil && json.Unmarshal(b, &m) == nil
}

// news returns what the session has not been told of, and reports to the runner
// what it has been told of before. person says that a person wrote.
func news(s whet.Session, person bool) (string, error) {
	m, ok := read(s)
	if !ok {
		return "", nil
	}
	fresh, known, err := Sort(s, m.Notices)
	slip := task.Slip{Parent: Parent(s), Read: known, UserWrote: person && m.Waiting}
	if len(slip.Read) > 0 || slip.UserWrote {
		err = errors.Join(err, leave(slip))
	}
	if person && m.Board != "" {
		fresh = append(fresh, m.Board)
	}
	return strings.Join(fresh, "\n\n"), err
}

// Sort returns the texts of the notices that the session has not been told of,
// which it then has, and the ids of those that it has.
func Sort(s whet.Session, notices []task.Notice) (fresh, known []string, err error) {
	err = whet.Update(s, "task-told", func(told *[]string) error {
		now := []string{}
		for _, n := range notices {
			now = append(now, n.ID)
			if slices.Contains(*told, n.ID) {
				known = append(known, n.ID)
			} else {
				fresh = append(fresh, n.Text)
			}
		}
		*told = now
		return nil
	})
	return fresh, known, err
}

// leave puts a slip where the runner finds it.
func leave(s task.Slip) error {
	dir, err := Dir()
	if err != nil {
		return err
	}
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return state.Spool(task.SlipDir(dir)).Put(b)
}

// link tells the runner that a task which this session launched through our MCP
// server, where the session has no name, is this session's.
func link(c *whet.Call, r *whet.Result) error {
	if c.Tool != "task" || c.Session.ID == "" {
		return nil
	}
	if id := launched(r.Text); id != "" {
		return leave(task.Slip{Parent: Parent(c.Session), Launched: id})
	}
	return nil
}

// launched finds the task's id in a launch's answer, however the host quoted it.
func launched(text string) string {
	_, rest, ok := strings.Cut(text, "<task id=")
	id := strings.TrimLeft(rest, `\"`)
	if end := strings.IndexAny(id, `\"`); ok && end > 0 && strings.HasPrefix(id, "tsk_") {
		return id[:end]
	}
	return ""
}
