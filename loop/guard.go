package loop

import (
	"context"
	"slices"
	"time"

	"github.com/whet-dev/whet"
)

// Guard returns the loop guard. It belongs innermost in a kit: its After must
// see the tool's own text, before other guards add notes that differ.
func Guard(o Options) whet.Guard {
	o = o.withDefaults()
	if o.Enabled != nil && !*o.Enabled {
		return whet.Guard{Name: "loop"}
	}
	return whet.Guard{
		Name: "loop",
		Before: func(_ context.Context, c *whet.Call) error {
			if slices.Contains(o.Exempt, c.Tool) {
				return nil
			}
			key := Key(c.Tool, c.Args)
			return whet.Update(c.Session, "loop", func(w *Watch) error {
				if w.LastCall == key && w.Runs >= o.RefuseAt && slices.Contains(o.RefuseTools, c.Tool) {
					return whet.Refuse("refused: %s gave the same result %d times for these arguments, and that result is already in this conversation. Use it, make a different call, or give your final answer.", c.Tool, w.Runs)
				}
				w.Begin(c.ID, key, time.Now())
				return nil
			})
		},
		After: func(_ context.Context, c *whet.Call, r *whet.Result) error {
			if slices.Contains(o.Exempt, c.Tool) {
				return nil
			}
			key, sum := Key(c.Tool, c.Args), Sum(r.Text, r.Failed)
			return whet.Update(c.Session, "loop", func(w *Watch) error {
				if n := w.End(c.ID, key, sum); n >= o.WarnAt {
					r.Note("[LOOP GUARD] This %s call has now given the same result %d times. Repeating it will not help: use the result you have, change the arguments or the tool, or say what blocks you.", c.Tool, n)
				}
				return nil
			})
		},
		Reset: func(_ context.Context, s whet.Session) error {
			return whet.Update(s, "loop", func(w *Watch) error {
				w.LastCall, w.LastResult, w.Runs = "", "", 0
				return nil
			})
		},
	}
}
