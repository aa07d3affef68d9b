package task

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// These are words for people. They may hold whatever a model or a page wrote:
// who shows them makes them harmless for the place where they appear.

// Condition is t's state in a few words, with what a person should know of it.
func (t *Task) Condition(now time.Time) string {
	words := []string{t.Phase.String()}
	for _, more := range []string{t.Class(now), t.Tool} {
		if more != "" {
			words = append(words, more)
		}
	}
	if t.Uncertain {
		words = append(words, "uncertain")
	}
	if t.Unread() {
		words = append(words, "unread")
	}
	if t.Checkout.Waits() {
		words = append(words, "to merge")
	}
	return strings.Join(words, ", ")
}

// Unread reports an end that the orchestrator has not used yet.
func (t *Task) Unread() bool { return t.Phase.Closed() && !t.Acked }

// Doing is what t does, or what came of it, without its state.
func (t *Task) Doing() string {
	switch {
	case t.Phase == Queued && t.Waits != "":
		return "waits for " + t.Waits
	case t.Phase == Completed, t.Text != "" && !t.Phase.Closed():
		return t.Text
	case t.Phase.Closed():
		return t.Reason
	}
	return ""
}

// String is the cost as people read it: in money if a price is known.
func (u Usage) String() string {
	if u.Cost > 0 {
		return fmt.Sprintf("$%.2f", u.Cost)
	}
	if n := u.Input + u.Output; n > 0 {
		return fmt.Sprintf("%d tok", n)
	}
	return "-"
}

// Words is what a line of the log says, without its kind.
func (l Entry) Words() string {
	var text string
	var ev Event
	switch {
	case l.Body == "null":
		return ""
	case l.Kind == "state" && json.Unmarshal([]byte(l.Body), &ev) == nil:
		return ev.Kind.String()
	case json.Unmarshal([]byte(l.Body), &text) == nil:
		return text
	}
	return l.Body
}

// SortForPeople puts tasks at work first, then ends that nobody has read
// and changes that nobody has merged, then the others, the newest first.
func SortForPeople(tasks []*Task) {
	rank := func(t *Task) int {
		switch {
		case !t.Phase.Closed():
			return 0
		case t.Unread() || t.Checkout.Waits():
			return 1
		}
		return 2
	}
	slices.SortStableFunc(tasks, func(a, b *Task) int { return cmp.Or(rank(a)-rank(b), Older(b, a)) })
}
