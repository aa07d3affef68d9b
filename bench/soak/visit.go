//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"
)

// visit starts servers, calls them a little, and leaves them in a bad way.
func (l *life) visit(ctx context.Context, g *gen) {
	for l.turn(ctx) {
		face := pick(g, "mcp", "rpc")
		c, err := l.start("a short "+face, face)
		if err != nil {
			l.faults.add("start", "%v", err)
			return
		}
		if face == "mcp" {
			l.greetMCP(c)
			for range g.IntN(4) {
				name, params := l.toolCall(g)
				_, ch := c.ask("tools/call", params)
				l.must(c, "visit", name, params, ch)
			}
			for range g.IntN(4) { // left unanswered
				_, params := l.toolCall(g)
				id, _ := c.ask("tools/call", params)
				c.forget(id)
			}
		} else {
			l.greetRPC(c)
			for range g.IntN(8) {
				id, _ := c.ask("tool.exec", fmt.Appendf(nil, `{"callID":"x","tool":"grep","args":{"pattern":%s},"sessionID":"v"}`, quote(g.pattern())))
				c.forget(id)
			}
		}
		how := leavings[g.IntN(len(leavings))]
		how.leave(g, c)
		_ = c.in.Close()
		c.end(how.name)
		l.counts.add("visit", how.name, 0, answer{})
	}
}

// A leaving is a bad way to end a conversation. Standard input is closed after it.
type leaving struct {
	name  string
	leave func(*gen, *conn)
}

var leavings = []leaving{
	{"end of input", func(*gen, *conn) {}},
	{"a frame cut off", func(g *gen, c *conn) {
		frame := []byte(`{"jsonrpc":"2.0","id":"v77777","method":"tools/call","params":{"name":"grep","arguments":{"pattern":"alpha"}}}`)
		_, _ = c.in.Write(frame[:1+g.IntN(len(frame)-1)])
	}},
	{"noise", func(g *gen, c *conn) { _ = c.send([]byte(g.noise())) }},
	{"not JSON", func(g *gen, c *conn) {
		_ = c.send([]byte(pick(g, "hello", "{", "}", "Content-Length: 5\r\n\r\nhello", "GET / HTTP/1.1\r\n\r\n", "\x00", "{\"id\":}", "\xef\xbb\xbf{}")))
	}},
	{"not JSON-RPC", func(g *gen, c *conn) {
		_ = c.send([]byte(pick(g, "1", "null", "[]", "{}", `""`, `[[]]`, `{"jsonrpc":"1.0","id":"v1","method":"ping"}`, `{"jsonrpc":"2.0","id":{},"method":"ping"}`, `{"jsonrpc":"2.0","id":[1],"method":"x"}`, `{"jsonrpc":"2.0","method":1}`,
			`{"jsonrpc":"2.0","id":1e999,"method":"ping"}`, `{"id":"v99999","method":"ping"}`, `[{"jsonrpc":"2.0","id":"v88888","method":"ping"},{"jsonrpc":"2.0","id":"v88889","method":"ping"}]`, `{"jsonrpc":"2.0","id":"v55555","method":"tools/call","params":[1]}`)))
		time.Sleep(20 * time.Millisecond)
	}},
	{"the same id twice", func(_ *gen, c *conn) {
		for range 20 {
			_ = c.send([]byte(`{"jsonrpc":"2.0","id":"same","method":"tools/call","params":{"name":"grep","arguments":{"pattern":"alpha"}}}`))
		}
	}},
	{"deep JSON", func(_ *gen, c *conn) { _ = c.send([]byte(strings.Repeat("[", 200000))) }},
	{"a long line", func(_ *gen, c *conn) {
		_, _ = c.in.Write([]byte(`{"jsonrpc":"2.0","id":"v66666","method":"`))
		_, _ = c.in.Write(bytes.Repeat([]byte("a"), 16<<20))
	}},
	{"nobody reads", func(_ *gen, c *conn) {
		_ = c.out.Close()
		for range 50 {
			if c.send([]byte(`{"jsonrpc":"2.0","id":"gone","method":"tools/list"}`)) != nil {
				return
			}
		}
	}},
	{"SIGTERM", func(_ *gen, c *conn) { _ = c.cmd.Process.Signal(syscall.SIGTERM) }},
	{"SIGINT", func(_ *gen, c *conn) { _ = c.cmd.Process.Signal(syscall.SIGINT) }},
	{"SIGKILL", func(_ *gen, c *conn) { _ = c.cmd.Process.Signal(syscall.SIGKILL) }},
}
