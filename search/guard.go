package search

import (
	"context"
	"os"
	"slices"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/internal/pathflavor"
)

// PathGuard stops a call of grep or glob, the host's own or ours, whose path
// can't be searched: a host's tool answers such a path with "no matches", and
// the model believes it. The refusal names the path as the host would resolve
// it and what is there instead. The argument itself is never changed.
//
// A path outside the session's roots that can't be searched gets one answer
// that doesn't tell what is there. One that can is left to the tool: our own
// refuses it with the same words, a host asks its own rules.
func PathGuard() whet.Guard {
	return whet.Guard{Name: "path", Before: func(_ context.Context, c *whet.Call) error {
		if !slices.Contains([]string{"grep", "glob"}, c.Tool) || c.Path == "" || c.Session.Dir == "" {
			return nil
		}
		home, _ := os.UserHomeDir()
		refusal, err := pathCheck{
			tool:   c.Tool,
			host:   c.Session.Host,
			dir:    c.Session.Dir,
			roots:  c.Session.Roots(),
			raw:    c.Path,
			flavor: pathflavor.Native(cwdOf),
			home:   home,
		}.check()
		if refusal != "" {
			return whet.Refuse("%s", refusal)
		}
		return err
	}}
}

// cwdOf answers for Windows, which keeps a current directory a drive in
// variables with odd names.
func cwdOf(drive string) string { return os.Getenv("=" + drive) }
