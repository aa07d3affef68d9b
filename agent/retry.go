package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Retry says how often a turn is tried again after an error that may pass: an
// overloaded endpoint, a silent one, a broken connection. Nothing has been
// called yet then, so another try repeats no effect.
type Retry struct {
	Tries int           // in all; 0 means 5
	Base  time.Duration // first wait, doubled each time; 0 means 1 s
	Max   time.Duration // longest wait; 0 means 2 min
}

// idleTries bounds the tries of a silent endpoint: each one costs minutes.
const idleTries = 2

// do calls f until it succeeds or there is no sense in another try. reached
// says whether the endpoint has answered in this run: if it hasn't, and
// nothing is there at all, it won't be there a second later.
func (r Retry) do(ctx context.Context, reached bool, f func() error, hear func(err error, wait time.Duration)) error {
	tries, wait, longest := cmp.Or(r.Tries, 5), cmp.Or(r.Base, time.Second), cmp.Or(r.Max, 2*time.Minute)
	for try := 1; ; try++ {
		err := f()
		var m *modelError
		switch {
		case err == nil, !errors.As(err, &m), !m.again, m.dial && !reached:
			return err
		case try >= tries || errors.Is(err, errIdle) && try >= idleTries:
			return fmt.Errorf("%w (tried %d times)", err, try)
		case m.after > longest:
			return fmt.Errorf("%w; it asks to wait %v, which is too long: try again then", err, m.after.Round(time.Second))
		}
		// Half of the wait is random, so that several agents don't return at once.
		pause := min(wait, longest)
		pause = cmp.Or(m.after, pause/2+rand.N(pause/2+1))
		hear(err, pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		wait *= 2
	}
}
