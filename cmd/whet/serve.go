package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/agent"
	"github.com/whet-dev/whet/cmd/internal/cli"
	"github.com/whet-dev/whet/config"
	"github.com/whet-dev/whet/internal/proc"
	"github.com/whet-dev/whet/internal/project"
	"github.com/whet-dev/whet/internal/state"
	"github.com/whet-dev/whet/kit"
	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/acp"
	"github.com/whet-dev/whet/task/client"
	"github.com/whet-dev/whet/task/llm"
	"github.com/whet-dev/whet/task/mail"
	"github.com/whet-dev/whet/task/opencode"
	"github.com/whet-dev/whet/task/remote"
	taskrun "github.com/whet-dev/whet/task/run"
	"github.com/whet-dev/whet/task/store"
)

// idleExit is how long a runner that was started on demand stays without work,
// unless told otherwise.
const idleExit = 30 * time.Minute

func serveCommand() *cobra.Command {
	var dir, listen string
	var stop, onDemand, guardian, page, worker, server bool
	c := &cobra.Command{
		Use: "serve", Short: "Run the background tasks of all sessions", GroupID: "hosts",
		Args: func(c *cobra.Command, args []string) error {
			if guardian {
				return cobra.ExactArgs(1)(c, args)
			}
			return cobra.NoArgs(c, args)
		},
		Long: `Run the background tasks of all sessions. There is no need to start it: whoever
launches a task does, and it ends itself when there has been nothing to do for
half an hour (task.idleExitS). There is one for each user.

If it is killed, or the machine is, nothing is lost: started again, it finds every
task, message and answer where it was, and goes on.

  whet serve --stop ends it; tasks that are at work go on with the next one.
  whet serve --web shows this project's tasks on a page of this machine's own, and
  lets whoever has its address steer them. It is not the runner: ending it ends
  the page and nothing else.
  whet serve --worker works on the tasks of other machines, which share the NATS
  server in task.nats.url with this one. It isn't the runner either.
  whet serve --nats is such a server, in a whet that was built with one.`,
		RunE: func(c *cobra.Command, args []string) error {
			if guardian {
				proc.Watch(os.Stdin, args[0])
				return nil
			}
			if page {
				return servePage(c, listen)
			}
			if dir == "" {
				var err error
				if dir, err = mail.Dir(); err != nil {
					return err
				}
			}
			switch {
			case stop:
				return stopRunner(c, dir)
			case worker:
				return serveWorker(c, dir)
			case server:
				return serveNATS(c, dir)
			}
			return serveTasks(c, dir, onDemand)
		},
	}
	c.Flags().BoolVar(&stop, "stop", false, "end the runner that is there")
	c.Flags().BoolVar(&worker, "worker", false, "work on tasks of other machines")
	c.Flags().BoolVar(&server, "nats", false, "be the NATS server that runners and workers share")
	c.Flags().BoolVar(&page, "web", false, "show the tasks on a web page")
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "`address` of the page; only this machine's own are taken")
	c.Flags().BoolVar(&onDemand, "on-demand", false, "end when there is nothing to do")
	c.Flags().BoolVar(&guardian, "guardian", false, "end what a killed runner has left")
	c.Flags().StringVar(&dir, "state", "", "`directory` of its state")
	c.MarkFlagsMutuallyExclusive("stop", "web", "worker", "nats", "on-demand")
	_ = c.Flags().MarkHidden("on-demand")
	_ = c.Flags().MarkHidden("guardian")
	_ = c.Flags().MarkHidden("state")
	return c
}

// stopRunner ends the runner and waits until it is gone.
func stopRunner(c *cobra.Command, dir string) error {
	cl := &client.Client{Dir: dir}
	reply, err := cl.Do(c.Context(), "/stop", task.Request{})
	if errors.Is(err, client.ErrNone) {
		_, err := fmt.Fprintln(c.OutOrStdout(), "no task runner is running")
		return err
	}
	if err != nil {
		return err
	}
	for limit := time.Now().Add(10 * time.Second); time.Now().Before(limit); time.Sleep(20 * time.Millisecond) {
		unlock, err := taskrun.Lock(dir)
		if err == nil {
			unlock()
			what := "no task was at work"
			if reply.Open > 0 {
				what = fmt.Sprintf("%d of its tasks go on when it is started again", reply.Open)
			}
			_, err := fmt.Fprintf(c.OutOrStdout(), "ended; %s\n", what)
			return err
		}
	}
	return fmt.Errorf("the task runner (process %d) was asked to end and still runs", reply.PID)
}

func serveTasks(c *cobra.Command, dir string, onDemand bool) error {
	ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	unlock, err := lockTasks(ctx, dir)
	if errors.Is(err, taskrun.ErrRunning) && onDemand {
		return nil // started twice at once: the other one serves
	}
	if err != nil {
		return err
	}
	defer unlock()
	log := cli.Logger(c.ErrOrStderr())
	if line, err := lifeLine(); err != nil {
		log.Warn("commands of tasks may outlive a killed runner", "err", err)
	} else {
		defer line.Close()
	}
	l := config.Load[kit.Config]("", "", os.Environ())
	for _, p := range l.Problems {
		log.Warn("configuration", "problem", p.String())
	}
	r, err := taskrun.Open(taskrun.Config{
		Dir: dir, Options: l.Config.Task, Worker: findWorker, Seats: councilSeats, Version: cli.Version(), Log: log,
		Backends: func(hear task.Hear, s *store.Store) []task.Backend {
			all := []task.Backend{llm.New(openAgent(log), s, hear), opencode.New(l.Config.Task.OpenCode, nil, brief, hear)}
			for name, a := range l.Config.Task.ACP {
				all = append(all, acp.New(name, a, brief, hear))
			}
			if o := l.Config.Task.NATS; o.URL != "" {
				b, err := remote.New(o, log, hear)
				if err != nil {
					log.Error("no task can be given to workers on other machines", "err", err)
				} else {
					all = append(all, b)
				}
			}
			return all
		},
	})
	if err != nil {
		return err
	}
	idle := time.Duration(0)
	if onDemand {
		idle = cmp.Or(time.Duration(l.Config.Task.IdleExitS)*time.Second, idleExit)
	}
	listener, err := taskrun.Listen(ctx, dir)
	if err == nil {
		if !onDemand {
			fmt.Fprintln(c.ErrOrStderr(), "whet: serving background tasks; Ctrl-C ends it, and they go on next time")
		}
		err = r.Serve(ctx, listener, idle)
	}
	return errors.Join(err, r.Close())
}

// lockTasks takes the state of the tasks for this process, unless a runner that
// answers has it. What a killed one was just about to start may hold it a moment
// longer.
func lockTasks(ctx context.Context, dir string) (unlock func(), err error) {
	for limit := time.Now().Add(2 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		unlock, err = taskrun.Lock(dir)
		if !errors.Is(err, taskrun.ErrRunning) || time.Now().After(limit) {
			return unlock, err
		}
		if _, there := (&client.Client{Dir: dir}).Do(ctx, "/hello", task.Request{}); there == nil {
			return nil, err
		}
	}
}

// lifeLine starts the process that ends what this one's tasks have started, if
// this one is killed.
func lifeLine() (io.Closer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return proc.LifeLine(exec.Command(self, "serve", "--guardian"))
}

// taskConfig reads the configuration of a task's project.
func taskConfig(dir string) *config.Loaded[kit.Config] {
	return config.Load[kit.Config](dir, project.Worktree(dir), os.Environ())
}

// findWorker says who works as a specialist in a project.
func findWorker(name, dir string) (taskrun.Worker, error) {
	role, err := specialist(name, dir)
	if err != nil {
		return taskrun.Worker{}, err
	}
	l := taskConfig(dir)
	a := l.Config.Task.Agents[name]
	writes := slices.ContainsFunc(role.Tools, func(t string) bool { return slices.Contains([]string{"write", "edit", "bash"}, t) })
	backend := llm.Name
	if o := l.Config.Task.NATS; o.URL != "" {
		backend = remote.Name
		if err := remote.Check(o); err != nil {
			return taskrun.Worker{}, err
		}
	}
	return taskrun.Worker{
		Backend: cmp.Or(a.Backend, backend), Model: cmp.Or(a.Model, role.Model, l.Config.Agent.Model),
		Writes: writes, Own: a == task.Agent{} && backend == llm.Name,
	}, nil
}

// seat is how the names of the council's seats begin in task.agents.
const seat = "councillor-"

// councilSeats lists the seats that are set up for a project.
func councilSeats(dir string) (seats []string) {
	for name := range taskConfig(dir).Config.Task.Agents {
		if strings.HasPrefix(name, seat) {
			seats = append(seats, name)
		}
	}
	slices.Sort(seats)
	return seats
}

// specialist returns a role that tasks can be given to: one of whet's own, a
// seat of the council, or an agent from a file.
func specialist(name, dir string) (agent.Role, error) {
	if strings.HasPrefix(name, seat) && slices.Contains(councilSeats(dir), name) {
		role, err := agent.FindRole("councillor")
		role.Name = name
		return role, err
	}
	var names []string
	custom, problems := customAgents(dir)
	guests, more := packageAgents(dir)
	custom, problems = append(custom, guests...), append(problems, more...)
	for _, r := range slices.Concat(agent.Roles()[1:], custom) { // the first hands tasks out
		if r.Name == name {
			return r, nil
		}
		if r.Name != "councillor" {
			names = append(names, r.Name)
		}
	}
	err := fmt.Errorf("no specialist is called %q; there are %s", name, strings.Join(names, ", "))
	for _, p := range problems {
		if strings.HasSuffix(strings.SplitN(p, ": ", 2)[0], string(os.PathSeparator)+name+".md") {
			err = fmt.Errorf("no specialist is called %q: %s", name, p)
		}
	}
	return agent.Role{}, err
}

// packageAgents reads the agents that packages bring. What is wrong with the
// packages themselves is told where a session begins.
func packageAgents(dir string) ([]agent.Role, []string) {
	set, _ := packagesOf(context.Background(), taskConfig(dir), dir, project.Worktree(dir))
	return set.Roles()
}

// customAgents reads the agents that the person and the project have in files.
func customAgents(dir string) ([]agent.Role, []string) {
	home, _ := os.UserHomeDir() // "" has no agents
	return agent.Custom(agent.Places(config.UserDir(os.Getenv), home, project.Worktree(dir)))
}

// openAgent returns how whet's own agent works on a task.
func openAgent(log *slog.Logger) llm.Open {
	stores := state.Memories()
	return func(t task.Task) (o agent.Options, err error) {
		l := taskConfig(t.Home())
		set, problems := packagesOf(context.Background(), l, t.Home(), project.Worktree(t.Home()))
		for _, p := range problems {
			log.Warn("marketplace", "problem", p)
		}
		if o.Role, err = specialist(t.Agent, t.Home()); err != nil {
			return o, err
		}
		e, err := l.Config.Agent.Resolve(agent.Wish{Model: t.Model, BaseURL: t.BaseURL}, os.Getenv)
		if errors.Is(err, agent.ErrNoModel) {
			err = fmt.Errorf("no model is set for background tasks; set agent.model, or task.agents.%s.model, to PROVIDER/NAME in your configuration", t.Agent)
		}
		if err != nil {
			return o, err
		}
		o.Model, o.Kit, o.Disabled = e.Open(), kit.New(l, log), l.Config.Tools.Disabled
		o.MaxSteps = o.Role.MaxSteps
		bring(set, &o, log)
		o.Session = whet.Session{ID: t.ID, Host: "whet-task", Dir: t.Dir, Worktree: project.Worktree(t.Dir), Store: stores(t.ID), Ask: permit(t)}
		return o, nil
	}
}

// brief is what an agent of another vendor is told of its part.
func brief(t task.Task) string {
	if t.Via != "" && fromPackage(t.Agent, t.Home()) {
		return "" // the host has it, and holds it to its tools
	}
	role, err := specialist(t.Agent, t.Home())
	if err != nil {
		return ""
	}
	return role.Prompt
}

func fromPackage(name, dir string) bool {
	guests, _ := packageAgents(dir)
	return slices.ContainsFunc(guests, func(r agent.Role) bool { return r.Name == name })
}

// permit answers for the person, who is not there: what was allowed beforehand
// is, everything else isn't.
func permit(t task.Task) func(context.Context, whet.Permission) error {
	return func(_ context.Context, p whet.Permission) error {
		if t.Allows(p.Action) {
			return nil
		}
		return whet.Refuse("refused: %s %q needs a person's permission, and a background task has nobody to ask; do without it, or say in your answer what is needed (task.allow in the configuration permits it beforehand)", p.Action, p.Subject)
	}
}
