// Task measures background tasks: many at once on the scripted model, and how
// long a look takes on a board of ten thousand.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/agent"
	"github.com/whet-dev/whet/internal/measure"
	"github.com/whet-dev/whet/internal/scriptmodel"
	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/client"
	"github.com/whet-dev/whet/task/llm"
	"github.com/whet-dev/whet/task/run"
	"github.com/whet-dev/whet/task/store"
)

func main() { measure.Main("task", bench) }

const (
	atOnce = 1000
	onDisk = 10000
	looks  = 3000
)

func bench(ctx context.Context, w io.Writer) error {
	dir, err := os.MkdirTemp("", "whet-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	model, err := scriptmodel.Start(scriptmodel.Script{"work": {
		{Text: "I look.", Calls: []scriptmodel.Call{{Name: "read", Args: []byte(`{"path": "x"}`)}}}, {Text: "Done."},
	}})
	if err != nil {
		return err
	}
	defer model.Close()
	state := filepath.Join(dir, "tasks")
	if err := fill(state, onDisk); err != nil {
		return err
	}
	r, err := run.Open(run.Config{
		Dir: state, Options: task.Options{Total: atOnce, Writers: atOnce}, Log: slog.New(slog.DiscardHandler),
		Worker: func(string, string) (run.Worker, error) { return run.Worker{Backend: llm.Name, Model: "p/m"}, nil },
		Backends: func(hear task.Hear, s *store.Store) []task.Backend {
			return []task.Backend{llm.New(opener(model.URL), s, hear)}
		},
	})
	if err != nil {
		return err
	}
	defer r.Close()
	l, err := run.Listen(ctx, state)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() { served <- r.Serve(ctx, l, 0) }()
	c := &client.Client{Dir: state}
	fmt.Fprintf(w, "%s\n\n", measure.Machine())
	if err := look(ctx, w, c, "with nothing at work"); err != nil {
		return err
	}
	err = many(ctx, w, c, dir)
	stop()
	if err := firstError(err, <-served); err != nil {
		return err
	}
	return growth(w, dir)
}

// growth shows what a look at one task and at all of them costs on boards of
// growing size.
func growth(w io.Writer, dir string) error {
	const looks = 200
	curve := measure.Curve{Title: "A look at the board against the number of its tasks", X: "tasks", Y: fmt.Sprintf("milliseconds, median of %d; the store is opened once", looks), Names: []string{"one task", "all tasks", "opening the store"}}
	for _, n := range []int{10, 100, 1000, onDisk} {
		state := filepath.Join(dir, fmt.Sprint("board", n))
		if err := fill(state, n); err != nil {
			return err
		}
		begin := time.Now()
		r, err := run.Open(run.Config{
			Dir: state, Log: slog.New(slog.DiscardHandler),
			Backends: func(task.Hear, *store.Store) []task.Backend { return nil },
		})
		if err != nil {
			return err
		}
		opened := time.Since(begin)
		one := func() error {
			_, err := r.Status(task.Request{Caller: task.Caller{Parent: "p"}, ID: fmt.Sprintf("exp-%d", n)})
			return err
		}
		all := func() error {
			_, err := r.List(task.Request{All: true})
			return err
		}
		rows, err := measure.Compare(looks, measure.Contender{Name: "one", Run: one}, measure.Contender{Name: "all", Run: all})
		if err := firstError(err, r.Close()); err != nil {
			return err
		}
		curve.Add(float64(n), rows[0].Median.Seconds()*1000, rows[1].Median.Seconds()*1000, opened.Seconds()*1000)
	}
	return curve.Write(w, "task")
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// fill makes a store with many tasks that have ended.
func fill(dir string, n int) error {
	s, err := store.Open(dir)
	if err != nil {
		return err
	}
	defer s.Close()
	for i := range n {
		t := &task.Task{ID: fmt.Sprintf("tsk_%026d", i), Parent: "p", Agent: "explorer", Backend: llm.Name, Title: fmt.Sprint("job ", i), Prompt: fmt.Sprint("job ", i), Created: time.Now(), Used: time.Now()}
		t.Job = task.Job{Gen: 1, Phase: task.Completed, Rev: 1, Acked: true}
		if err := s.Create(t, "exp"); err != nil {
			return err
		}
	}
	return nil
}

func opener(model string) llm.Open {
	return func(t task.Task) (o agent.Options, err error) {
		o.Role, err = agent.FindRole("explorer")
		o.Model = agent.Endpoint{Provider: "p", Model: "m", API: "openai", BaseURL: model + "/v1", Idle: time.Minute}.Open()
		o.Kit, o.Session = &whet.Kit{}, whet.Session{ID: t.ID, Dir: t.Dir}
		return o, err
	}
}

// look measures task_status, as a tool asks for it.
func look(ctx context.Context, w io.Writer, c *client.Client, when string) error {
	var times []time.Duration
	for i := range looks {
		q := task.Request{Caller: task.Caller{Parent: "p"}, ID: fmt.Sprintf("exp-%d", 1+i*3%onDisk)}
		start := time.Now()
		if _, err := c.Do(ctx, "/status", q); err != nil {
			return err
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	fmt.Fprintf(w, "- task_status on a board of %d, %s: median %v, 99th percentile %v\n", onDisk, when, times[looks/2].Round(time.Microsecond), times[looks*99/100].Round(time.Microsecond))
	return nil
}

// many starts many tasks at once and looks while they work.
func many(ctx context.Context, w io.Writer, c *client.Client, dir string) error {
	start := time.Now()
	caller := task.Caller{Parent: "q", Dir: dir}
	launched := make(chan error, 1)
	go func() {
		for i := range atOnce {
			if _, err := c.Do(ctx, "/launch", task.Request{Caller: caller, Worker: "explorer", Text: fmt.Sprintf("[[script:work]] job %d", i)}); err != nil {
				launched <- err
				return
			}
		}
		launched <- nil
	}()
	if err := look(ctx, w, c, fmt.Sprintf("while %d tasks are launched and work", atOnce)); err != nil {
		return err
	}
	if err := <-launched; err != nil {
		return err
	}
	took := time.Since(start)
	for {
		reply, err := c.Do(ctx, "/list", task.Request{Caller: caller})
		if err != nil {
			return err
		}
		if reply.Open == 0 {
			done := 0
			for _, t := range reply.Tasks {
				if t.Phase == task.Completed {
					done++
				}
			}
			fmt.Fprintf(w, "- %d tasks at once: launched in %v, %d completed after %v\n\n", atOnce, took.Round(time.Millisecond), done, time.Since(start).Round(time.Millisecond))
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
}
