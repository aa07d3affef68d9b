// Package kit is the one list of every tool and guard, and the only place
// where their order is chosen.
package kit

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/config"
	"github.com/whet-dev/whet/format"
	"github.com/whet-dev/whet/loop"
	"github.com/whet-dev/whet/search"
	"github.com/whet-dev/whet/task/client"
)

// New returns the kit as configured.
func New(l *config.Loaded, log *slog.Logger) *whet.Kit {
	k := &whet.Kit{Log: log}
	if l.Inert {
		return k
	}
	cfg := l.Config
	tasks := &client.Client{Start: client.Spawn}
	k.Tools = slices.DeleteFunc(tools(tasks), func(t whet.Tool) bool { return slices.Contains(cfg.Tools.Disabled, t.Name) })
	k.Guards = []whet.Guard{ // top to bottom before a call, bottom to top after it
		client.Guard(tasks), // what it adds to a result is for the model alone
		search.PathGuard(),  // cheap refusals first
		configNotice(l.Problems),
		format.Guard(cfg.Formatter), // after edits
		// The loop guard is innermost: it must count what really ran, and see the
		// tool's own text before the others add notes that differ.
		loop.Guard(cfg.LoopGuard),
	}
	return k
}

// tools lists every tool.
func tools(tasks *client.Client) []whet.Tool {
	return client.Tools(tasks)
}

// configNotice tells the agent once a session that a configuration file has
// been left out, so that a person hears of it.
func configNotice(problems []config.Problem) whet.Guard {
	g := whet.Guard{Name: "config"}
	var lost []string
	for _, p := range problems {
		if p.Syntax {
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
