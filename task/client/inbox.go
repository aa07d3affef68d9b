package client

import (
	"context"
	"slices"
	"time"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/task"
)

// Inbox returns what an agent of our own asks for before each turn: while it
// works, the guard tells it of ends; once it rests, Inbox waits for the next end
// of a task that is still open.
func Inbox(s whet.Session) func(ctx context.Context, idle bool) []string {
	c := &Client{} // starts nothing: without a runner there are no tasks
	return func(ctx context.Context, idle bool) []string {
		if !idle {
			return nil
		}
		q := task.Request{Caller: c.caller(s)}
		for ctx.Err() == nil {
			reply, err := c.Do(ctx, "/notices", q)
			if err != nil {
				return nil
			}
			if texts := c.fresh(ctx, s, q, reply); len(texts) > 0 {
				return append(texts, reply.Text)
			}
			if reply.Open == 0 {
				return nil
			}
			q.Wait = time.Minute
		}
		return nil
	}
}

// fresh returns the notices that the session was not given yet, and
// acknowledges the others: the agent has taken a turn since.
func (c *Client) fresh(ctx context.Context, s whet.Session, q task.Request, reply *task.Reply) (texts []string) {
	var read []string
	_ = whet.Update(s, toldName, func(t *told) error { // in memory: can't fail
		var now []string
		for _, n := range reply.Notices {
			if slices.Contains(t.IDs, n.ID) {
				read = append(read, n.ID)
			} else {
				texts = append(texts, n.Text)
			}
			now = append(now, n.ID)
		}
		t.IDs = now
		return nil
	})
	if len(read) > 0 {
		q.Notices = read
		_, _ = c.Do(ctx, "/acknowledge", q) // told again then, under the same id
	}
	return texts
}
