// Package guards is the one list of guards. It stands apart from the tools in
// package kit because a hook needs the guards alone, and pays at each of its
// many starts for every package that comes along.
package guards

import (
	"context"
	"strings"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/applypatch"
	"github.com/whet-dev/whet/config"
	"github.com/whet-dev/whet/format"
	"github.com/whet-dev/whet/loop"
	"github.com/whet-dev/whet/market"
	"github.com/whet-dev/whet/search"
	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/mail"
)

// Config is the part of whet's settings that guards need.
type Config struct {
	LoopGuard  loop.Options       `json:"loopGuard,omitzero" doc:"the guard against repeated calls"`
	Formatter  format.Options     `json:"formatter,omitzero" doc:"formatting of edited files"`
	ApplyPatch applypatch.Options `json:"applyPatch,omitzero" doc:"rescue and application of patches"`
	Market     market.Options     `json:"marketplace,omitzero" doc:"packages of agents, skills and more"`
	Task       task.Options       `json:"task,omitzero" doc:"background tasks"`
}

// New returns the guards as configured. Those of a kit run top to bottom
// before a call and bottom to top after it; their order is chosen only here.
func New(c Config, r config.Report) []whet.Guard {
	if r.Inert {
		return nil
	}
	return []whet.Guard{
		mail.Guard(c.Task.Wake), // adds to what the model reads, when all others are done
		search.PathGuard(),      // cheap refusals first
		configNotice(r.Problems),
		applypatch.Guard(Patching(c)), // rewrites arguments
		format.Guard(c.Formatter),     // after edits
		// The loop guard is innermost: it must count what really ran, and see the
		// tool's own text before the others add notes that differ.
		loop.Guard(c.LoopGuard),
	}
}

// Patching returns the options of applypatch: its settings, and what the
// formatter did to a file since the model wrote it.
func Patching(c Config) applypatch.Options {
	o := c.ApplyPatch
	o.Earlier = func(s whet.Session, path string) *applypatch.Earlier {
		written, formatted, ok := format.Shadow(s, path)
		if !ok {
			return nil
		}
		return &applypatch.Earlier{Written: written, Formatted: formatted, Rebase: format.Rebase}
	}
	return o
}

// configNotice tells the agent once a session that a configuration file has
// been left out, or needs a person's trust, so that a person hears of it.
func configNotice(problems []config.Problem) whet.Guard {
	g := whet.Guard{Name: "config"}
	var lost []string
	for _, p := range problems {
		if p.Syntax || p.Untrusted {
			lost = append(lost, p.String())
		}
	}
	if lost == nil {
		return g
	}
	g.After = func(_ context.Context, c *whet.Call, r *whet.Result) error {
		return whet.Update(c.Session, "config-notice", func(told *bool) error {
			if !*told {
				r.Note("[whet] configuration problem, tell the user: %s", strings.Join(lost, "; "))
				*told = true
			}
			return nil
		})
	}
	return g
}
