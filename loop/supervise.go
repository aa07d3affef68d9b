package loop

import (
	"fmt"
	"slices"
	"strings"
)

// Waits in one turn before the model is told, and before one is refused.
const (
	waitWarnAt   = 2
	waitRefuseAt = 3
	// Looks at a task that hasn't moved before the model is told.
	stateWarnAt = 3
)

func isWait(tool string) bool { return strings.HasPrefix(tool, "wait_for_") }

// Waited returns how often the model has waited by this tool since a person
// last wrote.
func (w *Watch) Waited(tool string) int {
	for _, x := range w.Waits {
		if x.Tool == tool {
			return x.N
		}
	}
	return 0
}

// Exempted looks at a finished call that the other counters leave out, and
// returns what to tell the model; "" for nothing.
func (w *Watch) Exempted(s Step, o Options) string {
	switch {
	case isWait(s.Tool) && (o.Wait == "warn" || o.Wait == "refuse"):
		i := slices.IndexFunc(w.Waits, func(x waits) bool { return x.Tool == s.Tool })
		if i < 0 {
			w.Waits = append(w.Waits, waits{Tool: s.Tool})
			i = len(w.Waits) - 1
		}
		w.Waits[i].N++
		if n := w.Waits[i].N; n >= waitWarnAt {
			return fmt.Sprintf("[LOOP GUARD] That was %s for the %d. time since the user last wrote. End your turn instead: what you wait for will start a new one.", s.Tool, n)
		}
	case (s.Tool == "task_status" || s.Tool == "task_result") && o.Detectors.Supervision == "warn":
		if w.State.Tool != s.Loose || w.State.Result != s.Normal {
			w.State = waits{Tool: s.Loose, Result: s.Normal}
		}
		w.State.N++
		if w.State.N >= stateWarnAt {
			return fmt.Sprintf("[LOOP GUARD] The task has been in the same state for %d looks. Looking does not speed it up: do something else meanwhile, or end your turn; its end will be reported.", w.State.N)
		}
	}
	return ""
}
