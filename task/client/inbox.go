package client

import (
	"context"
	"time"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/mail"
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
		q := task.Request{Caller: caller(s)}
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
func (c *Client) fresh(ctx context.Context, s whet.Session, q task.Request, reply *task.Reply) []string {
	texts, read, _ := mail.Sort(s, reply.Notices) // in memory: can't fail
	if len(read) > 0 {
		q.Notices = read
		_, _ = c.Do(ctx, "/acknowledge", q) // told again then, under the same id
	}
	return texts
}
