// Package proc runs one child process to its end: with a time limit, a cap on
// what it may print, and nothing of it left running afterwards.
//
// The child has no terminal, leads a group of its own, and reads only what
// it is given, so that it can neither wait for a person nor be reached by the
// terminal's Ctrl-C: whoever calls [Run] ends it by its context. It is
// not a way to start daemons: what the child leaves behind is ended too.
package proc

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// A Command says what to run.
type Command struct {
	Path      string   // program, looked up in PATH if it has no separator
	Args      []string // without the program's name
	Dir       string
	Env       []string      // nil means this process's own
	Timeout   time.Duration // 0 means none but the context's
	MaxOutput int           // bytes of output kept; 0 means 64 KiB

	Stdin  io.Reader // what the child reads; nil means nothing
	Stdout io.Writer // where its standard output goes; nil means into Output, mixed with standard error
	// Grace is how long a child that was asked to end may take to do so; 0
	// means 2 s.
	Grace time.Duration
}

// A Result is how a child ended.
type Result struct {
	Output   []byte // standard output and error as they came, the middle cut out if there was too much
	Cut      int64  // bytes that were cut out of Output
	Code     int    // exit code; -1 if it was killed
	TimedOut bool
	Left     int // processes that outlived the child and were ended
	Took     time.Duration
}

const (
	defaultMaxOutput = 64 << 10
	// grace is how long a child that was asked to end may take to do so, and
	// drain how long output may still arrive after the child's own end.
	grace = 2 * time.Second
	drain = 200 * time.Millisecond
)

// Run starts c and waits for its end. The error says that it couldn't be
// started, or that ctx ended first (then it is ctx's cause, and the Result
// holds what was printed so far). A child that fails or runs out of time is
// not an error: see the Result.
func Run(ctx context.Context, c Command) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, context.Cause(ctx)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return Result{}, err
	}
	defer r.Close()
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Dir, c.Stdin, w, w
	if c.Stdout != nil {
		cmd.Stdout = c.Stdout
	}
	// What outlives the child may hold the streams: they are not waited for.
	cmd.WaitDelay = drain
	cmd.Env = c.Env
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	start := time.Now()
	t, err := startTree(cmd)
	w.Close()
	if err != nil {
		return Result{}, err
	}
	defer t.release()

	out := capture{max: c.MaxOutput}
	if out.max <= 0 {
		out.max = defaultMaxOutput
	}
	var wg sync.WaitGroup
	eof := make(chan struct{})
	wg.Go(func() { out.readFrom(r); close(eof) })

	res, err := wait(ctx, cmd, t, c.Timeout, cmp.Or(c.Grace, grace))
	select {
	case <-eof:
	case <-time.After(drain):
	}
	res.Left = t.kill()
	select {
	case <-eof:
	case <-time.After(drain): // something unreachable still holds the pipe
		r.Close()
	}
	wg.Wait()
	res.Output, res.Cut, res.Took = out.bytes(), out.cut, time.Since(start)
	return res, err
}

// wait waits for the child, and ends it when time is up: politely first.
func wait(ctx context.Context, cmd *exec.Cmd, t *tree, timeout, grace time.Duration) (res Result, err error) {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var limit <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		limit = timer.C
	}
	var waitErr error
	select {
	case waitErr = <-ended:
	case <-ctx.Done():
		err = context.Cause(ctx)
		waitErr = stop(t, ended, grace)
	case <-limit:
		res.TimedOut = true
		waitErr = stop(t, ended, grace)
	}
	res.Code = cmd.ProcessState.ExitCode()
	if exit := (*exec.ExitError)(nil); err == nil && waitErr != nil && !errors.As(waitErr, &exit) && !errors.Is(waitErr, exec.ErrWaitDelay) {
		err = waitErr
	}
	return res, err
}

func stop(t *tree, ended <-chan error, grace time.Duration) error {
	t.terminate()
	select {
	case err := <-ended:
		return err
	case <-time.After(grace):
	}
	t.kill()
	return <-ended
}
