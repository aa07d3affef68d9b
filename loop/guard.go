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
			if slices.Contains(o.Exempt, c.Tool) && (o.Wait != "refuse" || !isWait(c.Tool)) {
				return nil
			}
			return whet.Update(c.Session, "loop", func(w *Watch) error {
				if why := w.Refusal(c.Tool, Key(c.Tool, c.Args), o); why != "" {
					return whet.Refuse("%s", why)
				}
				if !slices.Contains(o.Exempt, c.Tool) {
					w.Begin(c.ID, Key(c.Tool, c.Args), time.Now())
				}
				return nil
			})
		},
		After: func(_ context.Context, c *whet.Call, r *whet.Result) error {
			if slices.Contains(o.Exempt, c.Tool) && !o.supervises() {
				return nil
			}
			s := NewStep(c.Tool, c.Args, r.Text, r.Failed)
			return whet.Update(c.Session, "loop", func(w *Watch) error {
				if notice := w.Notice(c.ID, s, o); notice != "" {
					r.Note("%s", notice)
				}
				return nil
			})
		},
		Reset: func(_ context.Context, s whet.Session) error {
			return whet.Update(s, "loop", func(w *Watch) error { w.Reset(); return nil })
		},
	}
}
