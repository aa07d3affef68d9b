//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/config"
	"github.com/whet-dev/whet/internal/scriptmodel"
	"github.com/whet-dev/whet/kit"
)

// A life is a run under way.
type life struct {
	settings
	world  *world
	site   *site
	tools  []whet.Tool
	ids    *ids
	pace   chan struct{} // one value is one call
	faults *faults
	counts *counts
	watch  *watch
}

// script is what the model of the background tasks does.
var script = scriptmodel.Script{
	"work":    {{Text: "I look.", DelayMS: 5, Calls: []scriptmodel.Call{{Name: "grep", Args: json.RawMessage(`{"pattern":"alpha"}`)}}}, {Text: "Done."}},
	"hostile": {{Calls: []scriptmodel.Call{{Name: "read", Args: json.RawMessage(`{"path":"../outside/secret.go"}`)}, {Name: "bash", Args: json.RawMessage(`{"command":"touch ../outside/pwned"}`)}, {Name: "write", Raw: `{"path":"out/new.go","content":`}}}, {Text: "I tried."}},
	"hang":    {{Text: "I wait", Hang: true}},
	"broken":  {{Status: 500, Times: 1}, {Text: "half", Cut: true, Times: 1}, {Text: "Done."}},
}

// soak runs until the time is over or ctx is done, and says how it was.
func soak(ctx context.Context, s settings) (*summary, error) {
	dir, err := os.MkdirTemp("", "whet-soak-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	l := &life{settings: s, ids: &ids{}, pace: make(chan struct{}), faults: newFaults(s.out), counts: newCounts()}
	if l.world, err = newWorld(dir, s.seed); err != nil {
		return nil, err
	}
	defer l.world.root.Close()
	if l.site, err = newSite(); err != nil {
		return nil, err
	}
	defer l.site.close()
	model, err := scriptmodel.Start(script)
	if err != nil {
		return nil, err
	}
	defer model.Close()
	l.world.env = append(l.world.env, "ANTHROPIC_BASE_URL="+model.URL, "ANTHROPIC_API_KEY="+l.world.canary, "WHET_AGENT__MODEL=anthropic/m", "WHET_TASK__MAXRUNS=20", "WHET_ASTGREP__TIMEOUTSECONDS=30", "WHET_TASK__STOPGRACEMS=200")
	l.tools = kit.New(&config.Loaded[kit.Config]{}, slog.New(slog.DiscardHandler)).Tools
	return l.live(ctx)
}

// live is the run.
func (l *life) live(ctx context.Context) (*summary, error) {
	began := time.Now()
	served, err := l.start("mcp", "mcp")
	if err != nil {
		return nil, err
	}
	plugin, err := l.start("rpc", "rpc")
	if err != nil {
		return nil, err
	}
	runner, err := l.start("serve", "serve")
	if err != nil {
		return nil, err
	}
	steady := []*conn{served, plugin, runner}
	l.watch = &watch{l: l, began: began, of: steady}
	l.greetMCP(served)
	l.greetRPC(plugin)
	if l.long >= judged {
		l.warm(served, plugin)
	}

	ctx, stop := context.WithTimeout(ctx, l.long)
	defer stop()
	var wg sync.WaitGroup
	n := uint64(0)
	worker := func(f func(context.Context, *gen)) {
		n++
		g := &gen{Rand: rand.New(rand.NewPCG(l.seed, n)), w: l.world, site: l.site, ids: l.ids}
		wg.Go(func() { f(ctx, g) })
	}
	for range 3 {
		worker(func(ctx context.Context, g *gen) { l.callMCP(ctx, g, served) })
	}
	for range 2 {
		worker(func(ctx context.Context, g *gen) { l.callRPC(ctx, g, plugin) })
		worker(l.callHooks)
	}
	worker(l.visit)
	worker(l.meddle)
	wg.Go(func() { l.watch.sample(ctx) })
	wg.Go(func() { l.tick(ctx) })
	wg.Wait()
	return l.finish(began, steady), nil
}

// tick lets calls through at the rate.
func (l *life) tick(ctx context.Context) {
	t := time.NewTicker(time.Duration(float64(time.Second) / l.rate))
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		select {
		case <-ctx.Done():
			return
		case l.pace <- struct{}{}:
		}
	}
}

// turn waits for one's turn; false when the run is over.
func (l *life) turn(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-l.pace:
		return true
	}
}

// meddle changes the project as long as the run lasts.
func (l *life) meddle(ctx context.Context, g *gen) {
	t := time.NewTicker(50 * time.Millisecond)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			l.world.change(g.Rand)
		}
	}
}

// finish lets everything come to rest, and judges.
func (l *life) finish(began time.Time, steady []*conn) *summary {
	sum := &summary{settings: l.settings, took: time.Since(began).Round(time.Second), faults: l.faults, counts: l.counts, watch: l.watch, rest: map[string]rest{}}
	time.Sleep(2 * time.Second)
	for _, c := range steady {
		if !c.alive() {
			l.faults.add("ended before its time", "%s: %v: %s", c.name, c.cmd.ProcessState, c.errs.String())
			continue
		}
		r := rest{children: children(c.cmd.Process.Pid)}
		r.memory, r.files, r.threads = status(c.cmd.Process.Pid)
		_ = c.cmd.Process.Signal(syscall.SIGQUIT) // Go's way to ask for all stacks
		c.end("SIGQUIT")
		r.started = c.errs.stacks()
		for _, n := range r.started {
			r.goroutines += n
		}
		sum.rest[c.name] = r
	}
	l.leftBehind()
	diff, err := l.world.changed()
	if err != nil {
		l.faults.add("outside of the project", "%v", err)
	}
	for _, d := range diff {
		l.faults.add("changed outside of the project", "%s", d)
	}
	if n := l.site.reached.Load(); n > 0 {
		l.faults.add("reached an address that is private", "%d times", n)
	}
	sum.judge()
	return sum
}

// leftBehind reports and ends what carries the run's mark and still runs.
func (l *life) leftBehind() {
	var pids []int
	for range 100 {
		if pids = marked(l.world.mark, l.world.dir); len(pids) == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	for _, pid := range pids {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		l.faults.add("left running", "%d: %s", pid, strings.ReplaceAll(string(b), "\x00", " "))
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// short runs whet-hook to its end, with in as its input.
func (l *life) short(ctx context.Context, in []byte, open bool, args ...string) (code int, out []byte, errs *tail, err error) {
	cmd := exec.CommandContext(ctx, l.whet+"-hook", args...)
	errs = &tail{}
	var got bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = l.world.project, l.world.env, &got, errs
	cmd.WaitDelay = 5 * time.Second
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return 0, nil, errs, err
	}
	if err := cmd.Start(); err != nil {
		return 0, nil, errs, err
	}
	go func() {
		_, _ = pipe.Write(in)
		if !open {
			_ = pipe.Close()
		}
	}()
	_ = cmd.Wait()
	_ = pipe.Close()
	return cmd.ProcessState.ExitCode(), got.Bytes(), errs, ctx.Err()
}
