package format

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/whet-dev/whet/internal/plainfile"
	"github.com/whet-dev/whet/internal/proc"
)

// A pool keeps one Node process for each prettier and project that was used
// lately: most of what prettier takes is the time to start. They end when they
// were idle for a while, and with this process, because their input ends.
type pool struct {
	mu      sync.Mutex
	workers map[string]*worker
}

// idle is how long an unused worker stays.
const idle = 10 * time.Minute

//go:embed prettier.js
var prettierScript string

// maxReply bounds what a worker may answer, in bytes: a text and its escapes.
const maxReply = 32 << 20

type worker struct {
	stamp string     // of the configuration that it began with
	mu    sync.Mutex // one request at a time
	in    io.WriteCloser
	out   *os.File
	stop  context.CancelFunc
	timer *time.Timer
}

// prettier formats by a worker. handled is false if the worker can't be had;
// then the command must do.
func (p *pool) prettier(ctx context.Context, c Choice, path, text string) (out string, handled bool, err error) {
	module := moduleOf(c.Program)
	node, lookErr := lookPath("node")
	if module == "" || lookErr != nil {
		return "", false, nil
	}
	key := strings.Join(append([]string{module, c.Dir}, c.Env...), "\x00")
	w, err := p.get(key, c.stamp, func() (*worker, error) { return start(node, module, c) })
	if err != nil {
		return "", false, nil
	}
	reply, err := w.ask(ctx, path, text)
	switch {
	case ctx.Err() != nil:
		p.drop(key, w)
		return "", true, context.Cause(ctx)
	case err != nil: // it died: let the command say why
		p.drop(key, w)
		return "", false, nil
	case reply.None:
		return "", true, ErrNone
	case reply.Error != "":
		return "", true, errors.New(firstLine([]byte(reply.Error)))
	}
	return reply.Text, true, nil
}

// moduleOf returns the directory of the prettier package behind its command.
func moduleOf(program string) string {
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return ""
	}
	for d := filepath.Dir(real); d != filepath.Dir(d); d = filepath.Dir(d) {
		b, err := plainfile.Read(filepath.Join(d, "package.json"), maxMark)
		if err != nil {
			continue
		}
		var pkg struct{ Name string }
		if json.Unmarshal(b, &pkg) == nil && pkg.Name == "prettier" {
			return d
		}
	}
	return ""
}

// get returns the worker of the key, or starts one: a configuration that is
// code is read once in a process, so one that began with another won't do.
func (p *pool) get(key, stamp string, start func() (*worker, error)) (*worker, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := p.workers[key]; w != nil {
		if w.stamp == stamp {
			return w, nil
		}
		p.end(key, w)
	}
	w, err := start()
	if err != nil {
		return nil, err
	}
	if p.workers == nil {
		p.workers = map[string]*worker{}
	}
	w.stamp = stamp
	p.workers[key] = w
	w.timer = time.AfterFunc(idle, func() { p.drop(key, w) })
	return w, nil
}

func (p *pool) drop(key string, w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end(key, w)
}

// end ends the worker. mu is held.
func (p *pool) end(key string, w *worker) {
	if p.workers[key] == w {
		delete(p.workers, key)
	}
	w.timer.Stop()
	w.stop()
	w.in.Close()
	w.out.Close()
}

// close ends all workers.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, w := range p.workers {
		p.end(key, w)
	}
}

func start(node, module string, c Choice) (*worker, error) {
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, inR.Close(), inW.Close())
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		// How it ended shows in its output, which ends too.
		_, _ = proc.Run(ctx, proc.Command{
			Path: node, Args: []string{"-e", prettierScript, module},
			Dir: c.Dir, Env: environ(c), Stdin: inR, Stdout: outW, Grace: grace,
		})
		inR.Close()
		outW.Close()
		stop()
	}()
	return &worker{in: inW, out: outR, stop: stop}, nil
}

type workerReply struct {
	Text  string `json:"text"`
	Error string `json:"error"`
	None  bool   `json:"none"` // ignored, or of no language that it knows
}

func (w *worker) ask(ctx context.Context, path, text string) (reply workerReply, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer.Reset(idle)
	q, err := json.Marshal(map[string]string{"file": path, "text": text})
	if err != nil {
		return reply, err
	}
	stop := context.AfterFunc(ctx, w.stop) // ends the process, and so the reading
	defer stop()
	if _, err := w.in.Write(append(q, '\n')); err != nil {
		return reply, err
	}
	line, err := bufio.NewReader(io.LimitReader(w.out, maxReply)).ReadBytes('\n') // nothing follows before the next request
	if err != nil {
		return reply, err
	}
	return reply, json.Unmarshal(line, &reply)
}
