package task

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/whet-dev/whet/internal/escape"
)

// The board's fixed parts. They are the same bytes in every request.
const (
	boardHead = `<system-reminder>
### Background Job Board
SENTINEL: whet-board-1
You are told of each end; do not poll. A quiet task is no reason to cancel it.
"unreconciled" means that you have not used that end yet: task_result reads it.
Sessions under Reusable and Retained keep their context: task_revive goes on with them.
`
	boardFoot = "</system-reminder>"
)

// maxValue is how much of a text the board shows, in characters.
const maxValue = 160

// retained is how many acknowledged stops the board offers for revival.
const retained = 2

// reused is how many finished sessions of each agent are offered again.
const reused = 2

// Board returns what the orchestrator sees of its tasks, "" if there are none.
// For equal tasks of equal [Task.Class] it is the same bytes: it tells no time,
// and of the budget only how near its end is.
func Board(tasks []*Task, now time.Time, budget Budget) string {
	if len(tasks) == 0 {
		return ""
	}
	var active, reusable, stopped []*Task
	for _, t := range tasks {
		switch {
		case !t.Acked || t.Checkout.Waits():
			active = append(active, t)
		case t.Phase == Stopped:
			stopped = append(stopped, t)
		case !t.Uncertain:
			reusable = append(reusable, t)
		}
	}
	byAlias := func(a, b *Task) int { return strings.Compare(natural(a.Alias), natural(b.Alias)) }
	slices.SortFunc(active, byAlias)
	b := board{now: now, queue: queue(tasks)}
	b.WriteString(boardHead)
	b.WriteString(budget.line(Spent(tasks)))
	b.section("Active / Unreconciled", active)
	if len(active) == 0 {
		b.WriteString("- none\n")
	}
	b.section("Reusable Sessions", latest(reusable, func(t *Task) string { return t.Agent }, reused, byAlias))
	b.section("Retained / Recovery", latest(stopped, func(*Task) string { return "" }, retained, byAlias))
	b.WriteString(boardFoot)
	return b.String()
}

// latest returns the most recently used tasks, at most n for each key.
func latest(tasks []*Task, key func(*Task) string, n int, order func(a, b *Task) int) []*Task {
	slices.SortFunc(tasks, func(a, b *Task) int { return cmp.Or(b.Used.Compare(a.Used), strings.Compare(b.ID, a.ID)) })
	count := map[string]int{}
	tasks = slices.DeleteFunc(tasks, func(t *Task) bool {
		count[key(t)]++
		return count[key(t)] > n
	})
	slices.SortFunc(tasks, order)
	return tasks
}

// natural makes fix-2 sort before fix-10.
func natural(alias string) string {
	i := strings.LastIndexByte(alias, '-')
	return fmt.Sprintf("%s-%9s", alias[:max(i, 0)], alias[i+1:])
}

// queue returns the places of the tasks that wait for a slot, by id.
func queue(tasks []*Task) map[string]int {
	var waiting []*Task
	for _, t := range tasks {
		if t.Phase == Queued && !t.Slot {
			waiting = append(waiting, t)
		}
	}
	slices.SortFunc(waiting, Older)
	places := map[string]int{}
	for i, t := range waiting {
		places[t.ID] = i + 1
	}
	return places
}

type board struct {
	strings.Builder
	now   time.Time
	queue map[string]int
}

func (b *board) section(title string, tasks []*Task) {
	if len(tasks) == 0 && title != "Active / Unreconciled" {
		return
	}
	fmt.Fprintf(b, "\n#### %s\n", title)
	for _, t := range tasks {
		fmt.Fprintf(b, "- %s / %s / %s / %s\n", t.Alias, t.ID, Line(t.Agent), b.state(t))
		fmt.Fprintf(b, "  Objective: %s\n", Line(t.Title))
		if len(t.Files) > 0 {
			fmt.Fprintf(b, "  Owns: %s\n", Line(strings.Join(t.Files, ", ")))
		}
		if t.Phase.Closed() && !t.Acked {
			if result := Line(t.brief()); result != "" {
				fmt.Fprintf(b, "  Result: %s\n", result)
			}
		}
	}
}

// state is the task's state with all that lies beside it.
func (b *board) state(t *Task) string {
	words := []string{t.State()}
	add := func(when bool, word string) {
		if when {
			words = append(words, word)
		}
	}
	if n := b.queue[t.ID]; n > 0 {
		words[0] = fmt.Sprintf("queued (#%d)", n)
		add(t.Waits != "", "waiting: "+Line(t.Waits))
	}
	if t.Phase == Running && t.Gen > 1 {
		words[0] = "running [resumed]"
	}
	add(t.Phase.Closed() && !t.Acked, "unreconciled")
	add(t.Phase == Stopped && t.Acked, "acknowledged")
	add(t.Deadline, "timed out")
	add(t.Uncertain, "status uncertain")
	class := t.Class(b.now)
	add(class != "", class)
	add(t.Phase == Running && t.CancelReq && !t.Deadline, "cancelling")
	add(t.Waiting > 0, fmt.Sprintf("msgs %d", t.Waiting))
	if c := t.Checkout; c != nil {
		add(c.Fate == "", "worktree")
		add(c.Fate == Unmerged, "waits for task_merge")
		add(c.Fate == Clashing, fmt.Sprintf("merge conflict (%d files)", len(c.Conflicts)))
	}
	return strings.Join(words, ", ")
}

// brief is how the task ended, in few words.
func (t *Task) brief() string {
	if t.Phase == Completed {
		return t.Text
	}
	return t.Reason
}

// Line returns s as a value of the board: one line, at most 160 characters,
// nothing in it that could be taken for markup.
func Line(s string) string {
	s = strings.Map(func(r rune) rune {
		if escape.Hidden(r) {
			return ' '
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if rs := []rune(s); len(rs) > maxValue {
		s = string(rs[:maxValue-3]) + "..."
	}
	return strings.NewReplacer(`\`, "/", "&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}
