package run

import (
	"fmt"
	"strings"
	"time"

	"github.com/whet-dev/whet/task"
)

const councilName = "council"

// seatTime is how long a seat of the council may take, unless told otherwise.
const seatTime = 3 * time.Minute

// council gives the same question to every seat, and one more task all their
// answers. The parent is told of that one's end alone.
func (r *Runner) council(q task.Request, t *task.Task) (*task.Reply, error) {
	var seats []string
	if r.Seats != nil {
		seats = r.Seats(q.Dir)
	}
	if len(seats) == 0 {
		return nil, task.Errorf(task.BadRequest, "the council has no seats: name them in the configuration, as task.agents.councillor-NAME.model")
	}
	var members []*task.Task
	for _, name := range seats {
		w, err := r.Worker(name, q.Dir)
		if err != nil {
			return nil, task.Errorf(task.BadRequest, "%v", err)
		}
		s := q
		s.Worker, s.Title, s.Files = name, name+": "+t.Title, nil
		m := r.newTask(s, w)
		m.For = t.ID
		if m.MaxRun == 0 {
			m.MaxRun = seatTime
		}
		members, t.Gather = append(members, m), append(t.Gather, m.ID)
	}
	for _, m := range members {
		if _, err := r.create(m, q.After); err != nil {
			return nil, err
		}
	}
	e, err := r.create(t, nil)
	if err != nil {
		return nil, err
	}
	return r.started(e), nil
}

// gathered is a task's prompt with the answers that it gathers, whose ends have
// then been read. r.mu is held.
func (r *Runner) gathered(e *entry) string {
	var b strings.Builder
	b.WriteString(e.Prompt)
	for _, id := range e.Gather {
		m := r.tasks[id]
		if m == nil {
			continue
		}
		text := m.Text
		if m.Phase != task.Completed {
			text = fmt.Sprintf("(no answer: %s)\n%s", m.Reason, text)
		}
		fmt.Fprintf(&b, "\n\n<seat name=%q model=%q state=%q>\n%s\n</seat>", m.Agent, m.Model, m.Phase, strings.TrimSpace(text))
		if m.Phase.Closed() {
			_, _ = r.apply(m, m.Event(task.Acknowledged), nil) // logged there
		}
	}
	return b.String()
}
