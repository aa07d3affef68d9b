// Package hookfirst answers a hook event before the rest of the program is
// initialised.
//
// A hook is a new process for each event. Of its time, most goes to packages
// that only other commands need (model clients, the MCP SDK) setting
// themselves up. Go initialises packages in the order of their import paths as
// soon as what they import is ready; this one imports little, so its turn
// comes before theirs. It is the one place in whet with an init function, and
// is worth a seventh of the whole process (bench/hook measures it).
//
// Invariant: it imports no package that reaches net/http. Its test holds it.
package hookfirst

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/config"
	"github.com/whet-dev/whet/host/hook"
	"github.com/whet-dev/whet/internal/proc"
	"github.com/whet-dev/whet/internal/state"
	"github.com/whet-dev/whet/kit/guards"
	"github.com/whet-dev/whet/market"
)

func init() {
	if len(os.Args) != 3 || os.Args[1] != "hook" {
		return
	}
	if d, err := hook.Lookup(os.Args[2]); err == nil {
		os.Exit(exitCode(answer(context.Background(), d, newImpatient(d, os.Stdin), os.Stdout)))
	}
}

// exitCode is 2, which hosts read as "block this call", for that alone.
func exitCode(err error) int {
	var blocked *hook.Blocked
	switch {
	case err == nil:
		return 0
	case errors.As(err, &blocked):
		fmt.Fprintln(os.Stderr, blocked.Reason)
		return 2
	}
	fmt.Fprintln(os.Stderr, "whet:", err)
	return 1
}

// idle is how long the host may be silent before its event is complete.
const idle = 2 * time.Second

// impatient ends the process when a read has brought nothing for too long.
// A reading goroutine and a select would be the usual way, and would cost a
// thread at each start.
type impatient struct {
	r     io.Reader
	timer *time.Timer
}

func newImpatient(d *hook.Dialect, r io.Reader) impatient {
	return impatient{r, time.AfterFunc(idle, func() {
		os.Exit(exitCode(failOpen(d, fmt.Errorf("hook: no complete JSON on standard input after %v of silence", idle))))
	})}
}

func (i impatient) Read(p []byte) (int, error) {
	i.timer.Reset(idle)
	n, err := i.r.Read(p)
	i.timer.Stop()
	return n, err
}

// Run is the command "whet hook" for whatever init has not answered.
func Run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("usage: whet hook HOST")
	}
	d, err := hook.Lookup(args[0])
	if err != nil {
		return err
	}
	return answer(ctx, d, in, out)
}

func answer(ctx context.Context, d *hook.Dialect, in io.Reader, out io.Writer) (err error) {
	defer func() {
		if p := recover(); p != nil { // a panic would exit with 2
			err = fmt.Errorf("hook: internal error: %v", p)
		}
		err = failOpen(d, err)
	}()
	proc.LeaveTerminal()
	return hook.Run(ctx, d, setup, in, out)
}

// failOpen keeps trouble from a host that would take it for a refusal.
func failOpen(d *hook.Dialect, err error) error {
	if err == nil || !d.Strict || errors.As(err, new(*hook.Blocked)) {
		return err
	}
	Logger(io.Discard).Error("hook failed open", "host", d.Name, "err", err)
	return nil
}

func setup(dir, worktree string) (*whet.Kit, func(string) whet.Store) {
	l := config.Load[guards.Config](dir, worktree, os.Environ())
	where := market.Where{Dir: dir, Worktree: worktree, Environ: os.Environ()}
	return &whet.Kit{Guards: guards.WithPackages(guards.New(l.Config, l.Report), l.Config, where), Log: Logger(io.Discard)}, state.Default
}

// Logger writes to the file that $WHET_LOG names, or else warnings to w. A hook
// gives it nowhere: hosts show what a hook writes to standard error.
func Logger(w io.Writer) *slog.Logger {
	level := slog.LevelWarn
	if path := os.Getenv("WHET_LOG"); path != "" {
		if f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err == nil {
			w, level = f, slog.LevelDebug
		}
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}
