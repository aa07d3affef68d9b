package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// WhetHook is the program whet-hook. It returns the exit status, never 2 for
// wrong arguments: hosts read that as "block this call".
func WhetHook(args []string) int {
	switch {
	case len(args) > 0 && args[0] == "hook":
		return HookExit(Hook(context.Background(), args[1:], os.Stdin, os.Stdout))
	case len(args) == 1 && args[0] == "version":
		fmt.Println("whet-hook", Version())
		return 0
	}
	fmt.Fprintln(os.Stderr, "whet-hook: usage: whet-hook hook HOST, or whet-hook version; everything else is whet's: whet --help")
	return 1
}

// HookExit says on standard error why a hook's answer isn't on its output, and
// returns the exit status: 2, which hosts read as "block this call", for that
// alone.
func HookExit(err error) int {
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
		os.Exit(HookExit(failOpen(d, fmt.Errorf("hook: no complete JSON on standard input after %v of silence", idle))))
	})}
}

func (i impatient) Read(p []byte) (int, error) {
	i.timer.Reset(idle)
	n, err := i.r.Read(p)
	i.timer.Stop()
	return n, err
}

// Hook is the command "hook HOST": it answers one event. An input that stays
// silent ends the process.
func Hook(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("usage: whet hook HOST")
	}
	d, err := hook.Lookup(args[0])
	if err != nil {
		return err
	}
	return answer(ctx, d, newImpatient(d, in), out)
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
