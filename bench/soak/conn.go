//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// A conn is a running whet that speaks JSON-RPC, a message a line.
type conn struct {
	name   string
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    io.Closer
	errs   tail
	faults *faults
	canary []byte
	ended  chan struct{} // closed when the process is gone

	writing sync.Mutex
	mu      sync.Mutex
	n       int
	waiting map[int]chan answer
	silent  map[int]bool // cancelled: may be answered or not
}

// An answer is the response to one request.
type answer struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	answer
}

// start runs whet with args in the project.
func (l *life) start(name string, args ...string) (*conn, error) {
	c := &conn{
		name: name, cmd: exec.Command(l.whet, args...), faults: l.faults, canary: []byte(l.world.canary),
		ended: make(chan struct{}), waiting: map[int]chan answer{}, silent: map[int]bool{},
	}
	c.cmd.Dir, c.cmd.Env, c.cmd.Stderr = l.world.project, l.world.env, &c.errs
	c.cmd.WaitDelay = 5 * time.Second
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = out
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		c.read(out)
	}()
	go func() {
		<-read
		_ = c.cmd.Wait()
		close(c.ended)
		if c.errs.crashed() {
			c.faults.add("crash", "%s: %s", c.name, c.errs.String())
		}
	}()
	return c, nil
}

func (c *conn) read(r io.Reader) {
	lines := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			c.hear(line)
		}
		if err != nil {
			return
		}
	}
}

func (c *conn) hear(line []byte) {
	if bytes.Contains(line, c.canary) {
		c.faults.add("told what lies outside of the project", "%s: %s", c.name, clip(line))
	}
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		c.faults.add("output that is not JSON-RPC", "%s: %v: %s", c.name, err, clip(line))
		return
	}
	if m.Method != "" {
		if len(m.ID) > 0 {
			c.reply(m)
		}
		return
	}
	var id int
	if json.Unmarshal(m.ID, &id) != nil || id == 0 {
		return // the answer to something without a usable id
	}
	c.mu.Lock()
	ch, silent := c.waiting[id], c.silent[id]
	delete(c.waiting, id)
	c.mu.Unlock()
	if ch == nil {
		if !silent {
			c.faults.add("an answer nobody waits for", "%s: %s", c.name, clip(line))
		}
		return
	}
	if (m.Result == nil) == (m.Error == nil) {
		c.faults.add("an answer without or with both result and error", "%s: %s", c.name, clip(line))
	}
	ch <- m.answer
}

// reply answers what whet asks of its host: always no, in several ways.
func (c *conn) reply(m message) {
	how := []string{`"result":{"refuse":"no"}`, `"error":{"code":-32601,"message":"no such method"}`, `"result":null`, `"result":{"status":500,"body":[]}`}
	c.mu.Lock()
	c.n++
	what := how[c.n%len(how)]
	c.mu.Unlock()
	go func() { _ = c.send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, what)) }()
}

// send writes one line.
func (c *conn) send(line []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.in.Write(append(line, '\n'))
	return err
}

// ask sends a request.
func (c *conn) ask(method string, params json.RawMessage) (id int, ch chan answer) {
	ch = make(chan answer, 1)
	c.mu.Lock()
	c.n++
	id = c.n
	c.waiting[id] = ch
	c.mu.Unlock()
	if params == nil {
		params = json.RawMessage("{}")
	}
	_ = c.send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%s,"params":%s}`, id, quote(method), params))
	return id, ch
}

// forget says that a request's answer may come or not.
func (c *conn) forget(id int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
	c.silent[id] = true
}

// patience is how long an answer may take; longer than any time limit of a tool
// that the calls set.
const patience = 4 * time.Minute

// wait returns the answer; false if there is none.
func (c *conn) wait(ch chan answer) (answer, bool) {
	select {
	case a := <-ch:
		return a, true
	case <-c.ended:
		select {
		case a := <-ch:
			return a, true
		default:
			return answer{}, false
		}
	case <-time.After(patience):
		return answer{}, false
	}
}

func (c *conn) alive() bool {
	select {
	case <-c.ended:
		return false
	default:
		return true
	}
}

// end waits for the process to be gone, and kills it if it doesn't go.
func (c *conn) end(why string) {
	select {
	case <-c.ended:
	case <-time.After(time.Minute):
		c.faults.add("doesn't end", "%s after %s", c.name, why)
		_ = c.cmd.Process.Signal(syscall.SIGKILL)
		_ = c.out.Close()
		<-c.ended
	}
}

// clip makes bytes fit to be shown.
func clip(b []byte) string {
	if len(b) > 600 {
		return fmt.Sprintf("%q ... %q (%d bytes)", b[:400], b[len(b)-200:], len(b))
	}
	return strconv.Quote(string(b))
}

// A tail keeps the first and last of what is written to it.
type tail struct {
	mu    sync.Mutex
	first []byte
	last  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := 8<<10 - len(t.first); room > 0 {
		t.first = append(t.first, p[:min(room, len(p))]...)
	}
	t.last = append(t.last, p...)
	if over := len(t.last) - 1<<20; over > 0 {
		t.last = append(t.last[:0], t.last[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.first)
}

// crashed reports whether a Go program died of a fault of its own.
func (t *tail) crashed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, sign := range []string{"panic: ", "panic serving ", "fatal error: ", "DATA RACE", "internal error"} {
		if bytes.Contains(t.first, []byte(sign)) || bytes.Contains(t.last, []byte(sign)) {
			return true
		}
	}
	return false
}
