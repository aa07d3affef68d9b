package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"

	"github.com/whet-dev/whet/agent"
	"github.com/whet-dev/whet/cmd/internal/cli"
	"github.com/whet-dev/whet/config"
	"github.com/whet-dev/whet/kit"
	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/llm"
	"github.com/whet-dev/whet/task/remote"
)

// errNoNATS is what a machine is told that is to share a server and knows none.
var errNoNATS = errors.New("task.nats.url is not set: name the NATS server in your configuration, or in WHET_TASK__NATS__URL")

// workerSlots is how many tasks a worker works on at once, unless told otherwise.
const workerSlots = 8

// serveWorker works on tasks of other machines until it is ended.
func serveWorker(c *cobra.Command, dir string) error {
	ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	log := cli.Logger(c.ErrOrStderr())
	if os.Getenv("WHET_LOG") == "" { // whoever watches a worker wants to see what it does
		log = slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil))
	}
	l := config.Load[kit.Config]("", "", os.Environ())
	for _, p := range l.Problems {
		log.Warn("configuration", "problem", p.String())
	}
	o := l.Config.Task
	if o.NATS.URL == "" {
		return errNoNATS
	}
	if err := remote.Check(o.NATS); err != nil {
		return err
	}
	if _, err := exec.LookPath("git"); err != nil {
		return fmt.Errorf("a worker gets its projects by git: %w", err)
	}
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	name = fmt.Sprintf("%s/%d", name, os.Getpid())
	place, done, err := workPlace(filepath.Join(dir, "work"), os.Getpid())
	if err != nil {
		return err
	}
	defer done()
	if line, err := lifeLine(); err != nil {
		log.Warn("commands of tasks may outlive a killed worker", "err", err)
	} else {
		defer line.Close()
	}
	w := &remote.Worker{
		NATS: o.NATS, Name: name, Dir: place, Slots: cmp.Or(o.Total, workerSlots), Log: log,
		Open: byOwnRules(openAgent(log), o.Allow),
	}
	fmt.Fprintf(c.ErrOrStderr(), "whet: %s works on tasks from %s; Ctrl-C ends it, and other workers go on with them\n", name, o.NATS.URL)
	return w.Work(ctx)
}

// workPlace makes a directory for this worker's projects, and removes those of
// workers that are gone.
func workPlace(dir string, pid int) (place string, done func(), err error) {
	lock := func(place string) *flock.Flock { return flock.New(filepath.Join(place, "lock")) }
	old, _ := filepath.Glob(filepath.Join(dir, "*")) // the pattern is well-formed
	for _, d := range old {
		if l := lock(d); tryLock(l) {
			_ = l.Unlock()
			_ = os.RemoveAll(d) // the next worker tries again
		}
	}
	place = filepath.Join(dir, fmt.Sprint(pid))
	if err := os.MkdirAll(place, 0o700); err != nil {
		return "", nil, err
	}
	l := lock(place)
	if !tryLock(l) {
		return "", nil, fmt.Errorf("another worker has %s", place)
	}
	return place, func() {
		_ = l.Unlock()
		_ = os.RemoveAll(place) // the next worker does
	}, nil
}

func tryLock(l *flock.Flock) bool {
	ok, err := l.TryLock()
	return ok && err == nil
}

// byOwnRules lets the agent do what the task's own machine permits and this one
// does too. Where models are, this machine knows.
func byOwnRules(open llm.Open, allow []string) llm.Open {
	mine := task.Task{Allow: allow}
	return func(t task.Task) (agent.Options, error) {
		wanted := t.Allow
		if t.Allows("*") {
			wanted = allow
		}
		t.BaseURL = ""
		t.Allow = slices.DeleteFunc(slices.Clone(wanted), func(action string) bool { return !mine.Allows(action) })
		return open(t)
	}
}
