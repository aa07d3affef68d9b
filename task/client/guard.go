package client

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/internal/state"
	"github.com/whet-dev/whet/task"
)

// Guard tells a session of its tasks: each end once, after whatever tool it
// uses next or when a person writes, and the board when a person writes. It
// keeps a model from ending its turn only for an end that it was never told of,
// and never because tasks are still running.
//
// It reads the file that the runner keeps for the session and never asks the
// runner. What was told counts as read when the session calls again: then the
// model has had it in a request.
func Guard(c *Client) whet.Guard {
	return whet.Guard{
		Name: "task",
		After: func(_ context.Context, call *whet.Call, r *whet.Result) error {
			c.linkTo(call, r)
			text, err := c.news(call.Session, false)
			if text != "" {
				r.Note("%s", text)
			}
			return err
		},
		Prompt: func(_ context.Context, s whet.Session) (string, error) { return c.news(s, true) },
		Idle: func(_ context.Context, s whet.Session) (string, error) {
			if m, _ := c.mail(s); m.Waiting {
				return "", nil
			}
			return c.news(s, false)
		},
	}
}

func (c *Client) mail(s whet.Session) (m task.Mail, ok bool) {
	dir, err := c.dir()
	if err != nil {
		return m, false
	}
	b, err := os.ReadFile(task.MailFile(dir, c.caller(s).Parent))
	return m, err == nil && json.Unmarshal(b, &m) == nil
}

// told are the notices that a session has been given and that the runner may
// not know of as read.
type told struct {
	IDs []string `json:"ids"`
}

const toldName = "task-told"

// news returns what the session has not been told of, and reports to the runner
// what it has been told of before. person says that a person wrote.
func (c *Client) news(s whet.Session, person bool) (string, error) {
	m, ok := c.mail(s)
	if !ok {
		return "", nil
	}
	var texts []string
	slip := task.Slip{Parent: c.caller(s).Parent, UserWrote: person && m.Waiting}
	err := whet.Update(s, toldName, func(t *told) error {
		var now []string
		for _, n := range m.Notices {
			now = append(now, n.ID)
			if slices.Contains(t.IDs, n.ID) {
				slip.Read = append(slip.Read, n.ID)
			} else {
				texts = append(texts, n.Text)
			}
		}
		t.IDs = now
		return nil
	})
	if len(slip.Read) > 0 || slip.UserWrote {
		err = errors.Join(err, c.leave(slip))
	}
	if person && m.Board != "" {
		texts = append(texts, m.Board)
	}
	return strings.Join(texts, "\n\n"), err
}

// leave puts a slip where the runner finds it.
func (c *Client) leave(s task.Slip) error {
	dir, err := c.dir()
	if err != nil {
		return err
	}
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return state.Spool(task.SlipDir(dir)).Put(b)
}

// linkTo tells the runner that a task which this session launched through our
// MCP server, where it has no name, is this session's.
func (c *Client) linkTo(call *whet.Call, r *whet.Result) {
	if call.Tool != "task" || call.Session.ID == "" || call.Session.Host == "mcp" {
		return
	}
	if id := launchedID(r.Text); id != "" && !strings.HasPrefix(call.Session.Host, "whet") {
		_ = c.leave(task.Slip{Parent: c.caller(call.Session).Parent, Launched: id}) // no state is worth an error
	}
}

// launchedID finds the task's id in a launch's answer, however a host quoted it.
func launchedID(text string) string {
	m := regexp.MustCompile(`<task id=\\*"(tsk_[0-9A-Z]{26})`).FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return m[1]
}
