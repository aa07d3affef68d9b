package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/agent"
	"github.com/whet-dev/whet/cmd/internal/cli"
	"github.com/whet-dev/whet/config"
	"github.com/whet-dev/whet/internal/escape"
	"github.com/whet-dev/whet/internal/scriptmodel"
	"github.com/whet-dev/whet/internal/state"
	"github.com/whet-dev/whet/kit"
	"github.com/whet-dev/whet/market"
)

// A demoStep shows one thing that whet does. Each step is a conversation of
// its own in a project that all share.
type demoStep struct {
	title string
	files map[string]string           // written before, by slash-separated path
	pages map[string]http.HandlerFunc // served before, by path, at the address that site stands for
	turns []scriptmodel.Step          // what the model plays; the loop runs what it calls
	// others is what specialists play, by the marker in their prompts.
	others scriptmodel.Script
	heard  func(agent.Event) // is told what happens; may be nil
	check  func(demoResult) error
	right  string // what whet did about it, said if check agrees
}

// A demoResult is what came of a step.
type demoResult struct {
	dir     string
	results []*whet.Result // of each call, in order
	model   *scriptmodel.Server
	out     *agent.Outcome
}

// asked returns what was asked of the model in a scenario.
func (r demoResult) asked(scenario string) (bodies []string) {
	for _, q := range r.model.Requests() {
		if q.Scenario == scenario {
			bodies = append(bodies, string(q.Body))
		}
	}
	return bodies
}

// file returns a file of the project, or "" if there is none.
func (r demoResult) file(name string) string {
	b, _ := os.ReadFile(filepath.Join(r.dir, filepath.FromSlash(name)))
	return string(b)
}

func demoCommand() *cobra.Command {
	return &cobra.Command{
		Use: "demo", Short: "Watch whet work: a real session with a scripted model", GroupID: "people",
		Long: `Watch whet work: real tools on real files in a temporary project, through the
agent of whet run. Only the model is scripted: it plays mistakes that models make.
Nothing needs to be configured and nothing outside the project is touched.

The exit status is 0 only if every step had the right outcome.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			signal.Ignore(syscall.SIGPIPE) // a reader that goes, such as head, must not leave the project behind
			return demo(c.Context(), c.OutOrStdout(), colour(c.OutOrStdout()), demoSteps())
		},
	}
}

// site stands for the address of the demo's own web server in what a step plays.
const site = "http://site.demo"

// serve starts a web server on this machine that shows the steps' pages.
func serve(ctx context.Context, steps []demoStep) (url string, stop func(), err error) {
	mux := http.NewServeMux()
	for _, s := range steps {
		for path, page := range s.pages {
			mux.HandleFunc(path, page)
		}
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(l) }() // until Close
	return "http://" + l.Addr().String(), func() { _ = srv.Close(); <-done }, nil
}

// at returns the turns with the web server's address in place of site.
func at(url string, turns []scriptmodel.Step) []scriptmodel.Step {
	out := slices.Clone(turns)
	for i := range out {
		out[i].Calls = slices.Clone(out[i].Calls)
		for j := range out[i].Calls {
			c := &out[i].Calls[j]
			c.Args = bytes.ReplaceAll(c.Args, []byte(site), []byte(url))
		}
	}
	return out
}

func demo(ctx context.Context, w io.Writer, colour bool, steps []demoStep) (err error) {
	url, stop, err := serve(ctx, steps)
	if err != nil {
		return fmt.Errorf("starting the demo's web server: %w", err)
	}
	defer stop()
	script := scriptmodel.Script{}
	for i, s := range steps {
		s.turns = at(url, s.turns)
		script[fmt.Sprintf("step-%d", i+1)] = append(s.turns, scriptmodel.Step{Text: "Done."})
		for name, turns := range s.others {
			script[name] = at(url, turns)
		}
	}
	model, err := scriptmodel.Start(script)
	if err != nil {
		return fmt.Errorf("starting the scripted model: %w", err)
	}
	defer model.Close()
	dir, err := os.MkdirTemp("", "whet-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	p := &agent.Printer{W: w, Colour: colour}
	fmt.Fprintf(w, "The model of this session is scripted: it plays mistakes that models make.\nEverything else is real: the agent, the tools, the guards, the files in %s\n", dir)
	d := demonstration{
		dir: dir, w: w, p: p, script: model,
		model: agent.Endpoint{Provider: "scripted", Model: "model", BaseURL: model.URL + "/v1", Idle: 30 * time.Second}.Open(),
		// Not the person's configuration: the demo shows what whet does by itself.
		kit: demoKit(),
	}
	private, err := os.MkdirTemp("", "whet-demo-state-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(private)
	end, err := d.serveTasks(ctx, private)
	if err != nil {
		return fmt.Errorf("starting the demo's task runner: %w", err)
	}
	defer func() { err = errors.Join(err, end()) }()
	wrong := 0
	for i, s := range steps {
		fmt.Fprintf(w, "\n%s\n", p.Paint("\x1b[1m", fmt.Sprintf("%d. %s", i+1, s.title)))
		err := d.step(ctx, i+1, s)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			wrong++
			fmt.Fprintln(w, p.Paint("\x1b[31m", "✗ "+escape.Lines(err.Error())))
		default:
			fmt.Fprintln(w, p.Paint("\x1b[32m", "✓ "+s.right))
		}
	}
	if wrong > 0 {
		fmt.Fprintf(w, "\n%d of %d steps had a wrong outcome.\n", wrong, len(steps))
		return exit(exitFailed)
	}
	fmt.Fprintf(w, "\nAll %d steps had the right outcome.\nNext: whet install puts it into the agents on this machine, whet run --help lets a real model work.\n", len(steps))
	return nil
}

// demoKit is the kit as it comes, with a marketplace of the demo's own.
func demoKit() *whet.Kit {
	k := kit.New(&config.Loaded[kit.Config]{}, cli.Logger(io.Discard))
	own := market.Tool(func(dir, worktree string) market.Market {
		m := kit.Market(dir, worktree)
		m.Environ = []string{"HOME=" + filepath.Join(dir, ".home")}
		return m
	})
	for i, t := range k.Tools {
		if t.Name == own.Name {
			k.Tools[i] = own
		}
	}
	return k
}

type demonstration struct {
	dir    string
	w      io.Writer
	p      *agent.Printer
	script *scriptmodel.Server
	model  agent.Model
	kit    *whet.Kit
}

const demoStepTime = time.Minute

func (d demonstration) step(ctx context.Context, n int, s demoStep) error {
	ctx, cancel := context.WithTimeout(ctx, demoStepTime)
	defer cancel()
	for name, content := range s.files {
		path := filepath.Join(d.dir, filepath.FromSlash(name))
		if err := cmp.Or(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
			return err
		}
	}
	r := demoResult{dir: d.dir, model: d.script}
	var err error
	r.out, err = agent.Run(ctx, agent.Options{
		Model: d.model, Kit: d.kit,
		Session: whet.Session{ID: "demo", Host: "whet", Dir: d.dir, Store: state.Memory()},
		Prompt:  fmt.Sprintf("[[script:step-%d]] %s", n, s.title),
		Event: func(e agent.Event) {
			if s.heard != nil {
				s.heard(e)
			}
			switch e.Type {
			case "result":
				r.results = append(r.results, e.Result)
				d.p.Event(e)
			case "call", "retry":
				d.p.Event(e)
			}
		},
	})
	if err != nil {
		return err
	}
	if want := calls(s.turns); len(r.results) != want {
		return fmt.Errorf("%d calls were answered, not %d", len(r.results), want)
	}
	return s.check(r)
}

func calls(turns []scriptmodel.Step) (n int) {
	for _, t := range turns {
		n += len(t.Calls)
	}
	return n
}

// want is an error that says what is wrong with got, or nil.
func want(ok bool, what, got string) error {
	if ok {
		return nil
	}
	return fmt.Errorf("want %s, got: %s", what, strings.TrimSpace(got))
}
