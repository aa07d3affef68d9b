package proc

import (
	"errors"
	"os"
	"os/exec"
	"sync"
	"time"
)

// A Child is a process that one talks with, and everything it starts.
type Child struct {
	t    *tree
	done chan struct{}
	err  error // how it ended, once done is closed
	once sync.Once
}

// Start starts cmd as a Child, which leads a group of its own. cmd's pipes must
// have been asked for before.
func Start(cmd *exec.Cmd) (*Child, error) {
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	// What outlives the child may hold its pipes: the child's end is no later for
	// that.
	cmd.WaitDelay = drain
	t, err := startTree(cmd)
	if err != nil {
		return nil, err
	}
	c := &Child{t: t, done: make(chan struct{})}
	go func() {
		if c.err = cmd.Wait(); errors.Is(c.err, exec.ErrWaitDelay) {
			c.err = nil
		}
		close(c.done)
	}()
	return c, nil
}

// Done is closed when the process has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Err says how the process ended. Done must be closed.
func (c *Child) Err() error { return c.err }

// Stop ends the child and all that it started, politely first. Nothing of it is
// left when Stop returns.
func (c *Child) Stop() {
	c.once.Do(func() {
		c.t.terminate()
		select {
		case <-c.done:
		case <-time.After(grace):
		}
		c.t.kill()
		<-c.done
		c.t.release()
	})
}
