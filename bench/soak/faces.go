//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/host/hook"
	"github.com/whet-dev/whet/host/rpc"
)

var taskID = regexp.MustCompile(`tsk_[0-9A-Z]{26}`)

// How long an answer may be, in bytes, twice over because MCP says it twice.
const (
	maxFailure = 64 << 10
	maxAnswer  = 8 << 20
)

// must waits for the answer of a request that has to be answered.
func (l *life) must(c *conn, face, what string, params []byte, ch chan answer) (answer, bool) {
	start := time.Now()
	a, ok := c.wait(ch)
	l.counts.add(face, what, time.Since(start), a)
	if !ok {
		l.faults.add("no answer", "%s: %s %s", c.name, what, clip(params))
	}
	switch failed := failure(a); {
	case failed && len(a.Result) > maxFailure && what != "ast_grep_replace": // it shows what it would write now
		l.faults.add("a failure that takes long to tell", "%s: %s %s: %s", c.name, what, clip(params), clip(a.Result))
	case len(a.Result) > maxAnswer:
		l.faults.add("an answer that is too long", "%s: %s %s: %s", c.name, what, clip(params), clip(a.Result))
	}
	if id := taskID.Find(a.Result); id != nil {
		l.ids.add(string(id))
	}
	return a, ok
}

func (l *life) greetMCP(c *conn) {
	params := json.RawMessage(`{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"soak","version":"1"}}`)
	_, ch := c.ask("initialize", params)
	l.must(c, "mcp", "initialize", params, ch)
	_ = c.send([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
}

func (l *life) greetRPC(c *conn) {
	params := fmt.Appendf(nil, `{"protocol":%d,"host":"opencode","directory":%s,"worktree":%s}`, rpc.Protocol, quote(l.world.project), quote(l.world.project))
	_, ch := c.ask("initialize", params)
	l.must(c, "rpc", "initialize", params, ch)
}

// warm fills the caches, which have room for fifty megabytes of pages, so that
// growth from then on is something else.
func (l *life) warm(mcp, rpc *conn) {
	for i := range 40 {
		args := fmt.Sprintf(`{"url":%q}`, fmt.Sprintf("%s/attr?warm=%d", l.site.url, i))
		params := fmt.Appendf(nil, `{"name":"webfetch","arguments":%s}`, args)
		_, ch := mcp.ask("tools/call", params)
		l.must(mcp, "warm", "webfetch", params, ch)
		params = fmt.Appendf(nil, `{"callID":"w","tool":"webfetch","args":%s,"sessionID":"w"}`, args)
		_, ch = rpc.ask("tool.exec", params)
		l.must(rpc, "warm", "webfetch", params, ch)
	}
}

// toolCall makes the parameters of a call over MCP.
func (l *life) toolCall(g *gen) (name string, params json.RawMessage) {
	t := l.tools[g.IntN(len(l.tools))]
	meta := ""
	if g.one(3) {
		meta = fmt.Sprintf(`,"_meta":{"progressToken":%d}`, g.IntN(1000))
	}
	return t.Name, fmt.Appendf(nil, `{"name":%s,"arguments":%s%s}`, quote(t.Name), g.args(t.Input()), meta)
}

// callMCP calls a server that lives as long as the run.
func (l *life) callMCP(ctx context.Context, g *gen, c *conn) {
	for l.turn(ctx) && c.alive() {
		name, params := l.toolCall(g)
		switch g.IntN(20) {
		case 0: // many at once
			type sent struct {
				name   string
				params json.RawMessage
				ch     chan answer
			}
			var burst []sent
			for range 1 + g.IntN(12) {
				name, params := l.toolCall(g)
				_, ch := c.ask("tools/call", params)
				burst = append(burst, sent{name, params, ch})
			}
			for _, s := range burst {
				l.must(c, "mcp", s.name, s.params, s.ch)
			}
		case 1: // cancelled, early or late or never begun
			id, ch := c.ask("tools/call", params)
			time.Sleep(time.Duration(g.IntN(50)) * time.Millisecond)
			_ = c.send(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d,"reason":%s}}`, pick(g, id, id, id, id+100000, -1), quote(g.hostile())))
			select {
			case <-ch:
			case <-time.After(time.Second):
				c.forget(id)
			}
			l.counts.add("mcp", "cancelled", 0, answer{})
		case 2: // what is no call
			method := pick(g, "tools/list", "ping", "resources/list", "prompts/get", "tools/call", "initialize", "logging/setLevel", g.hostile())
			params := json.RawMessage(pick(g, "{}", `{"name":"nobody"}`, `{"name":1}`, `{"name":"grep","arguments":[]}`, `{"cursor":"\u0000"}`, `{"_meta":{"progressToken":{}}}`))
			_, ch := c.ask(method, params)
			l.must(c, "mcp", "other", params, ch)
		case 3: // what needs no answer
			_ = c.send([]byte(pick(g, `{"jsonrpc":"2.0","method":"notifications/none"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`,
				`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, `{"jsonrpc":"2.0","id":"nobody asked","result":{}}`, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`, "   ")))
			l.counts.add("mcp", "notification", 0, answer{})
		default:
			_, ch := c.ask("tools/call", params)
			a, ok := l.must(c, "mcp", name, params, ch)
			if ok && a.Error != nil && a.Error.Code != -32602 {
				l.faults.add("a protocol error for a tool's call", "%s: %s: %d %s", name, clip(params), a.Error.Code, a.Error.Message)
			}
		}
	}
}

// callRPC calls a plugin's backend that lives as long as the run.
func (l *life) callRPC(ctx context.Context, g *gen, c *conn) {
	for l.turn(ctx) && c.alive() {
		t := l.tools[g.IntN(len(l.tools))]
		id := fmt.Sprint("c", g.IntN(1<<30))
		method := pick(g, "tool.exec", "tool.exec", "tool.before", "tool.after", "session.reset", g.hostile())
		name := t.Name
		if method != "tool.exec" {
			name = pick(g, t.Name, "bash", "edit", "write", "read", "grep", "apply_patch", g.hostile())
		}
		params := fmt.Appendf(nil, `{"callID":%s,"tool":%s,"args":%s,"sessionID":%s,"agent":%s,"result":{"text":%s,"failed":%t}}`, quote(id), quote(name), g.args(t.Input()),
			quote(pick(g, "s1", "s2", "s3", "", g.hostile())), quote(pick(g, "orchestrator", "explorer", "")), quote(g.hostile()), g.one(3))
		if g.one(20) {
			params = g.json(100)
		}
		_, ch := c.ask(method, params)
		if g.one(10) {
			time.Sleep(time.Duration(g.IntN(30)) * time.Millisecond)
			cancel := fmt.Appendf(nil, `{"callID":%s}`, quote(pick(g, id, "none")))
			_, other := c.ask("cancel", cancel)
			l.must(c, "rpc", "cancel", cancel, other)
		}
		what := "other"
		switch method {
		case "tool.exec":
			what = name
		case "tool.before", "tool.after", "session.reset":
			what = method
		}
		l.must(c, "rpc", what, params, ch)
	}
}

// callHooks runs the command of a hook, a process for each event.
func (l *life) callHooks(ctx context.Context, g *gen) {
	dialects := hook.Dialects()
	for l.turn(ctx) {
		d := dialects[g.IntN(len(dialects))]
		tools := slices.Sorted(maps.Keys(d.Tools))
		phase := pick(g, hook.Before, hook.After, hook.Before, hook.After, hook.Reset, hook.Prompt, hook.Idle)
		own := tools[g.IntN(len(tools))]
		event := d.Sample(hook.Sample{Phase: phase, Tool: own, Args: l.hostArgs(g), Result: g.text("find"), Dir: l.world.project})
		if event == nil {
			continue
		}
		event, open := g.spoil(event)
		l.hook(ctx, d, event, open)
	}
}

// hostArgs makes the arguments of one of a host's own tools.
func (l *life) hostArgs(g *gen) json.RawMessage {
	s := &whet.Schema{Type: "object", Required: []string{"file_path"}}
	for _, p := range []string{"file_path", "path", "pattern", "command", "patch", "input", "old_string", "new_string", "url", "prompt"} {
		s.Properties = append(s.Properties, whet.Property{Name: p, Schema: &whet.Schema{Type: "string"}})
	}
	if args := g.args(s); json.Valid(args) {
		return args
	}
	return json.RawMessage("{}") // Sample marshals it
}

// spoil damages an event, more often not.
func (g *gen) spoil(event []byte) (out []byte, open bool) {
	switch g.IntN(16) {
	case 0:
		return event[:g.IntN(len(event))], false
	case 1:
		event[g.IntN(len(event))] = byte(g.Uint32())
		return event, false
	case 2:
		return nil, false
	case 3:
		return []byte(g.noise()), false
	case 4:
		return []byte(strings.Repeat("[", 30000)), false
	case 5:
		return append(event, event...), false
	case 6:
		return event, true // never closed
	case 7:
		if g.one(10) {
			return append([]byte(`{"x":"`), bytes.Repeat([]byte("a"), 40<<20)...), false
		}
	}
	return event, false
}

func (l *life) hook(ctx context.Context, d *hook.Dialect, event []byte, open bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	start := time.Now()
	code, out, errs, err := l.short(ctx, event, open, "hook", d.Name)
	l.counts.add("hook", d.Name, time.Since(start), answer{})
	what := fmt.Sprintf("%s: status %d for %s: %s %s", d.Name, code, clip(event), clip(out), errs)
	switch {
	case err != nil:
		l.faults.add("a hook that doesn't end", "%s", what)
	case code == 2 && d.Name == "windsurf": // that host hears nothing else, and some damage leaves an event
	case code != 0 && code != 1:
		l.faults.add("a hook's exit status", "%s", what)
	case errs.crashed():
		l.faults.add("crash", "%s", what)
	case len(bytes.TrimSpace(out)) > 0 && !json.Valid(out):
		l.faults.add("a hook's output that is not JSON", "%s", what)
	case bytes.Contains(out, []byte(l.world.canary)):
		l.faults.add("told what lies outside of the project", "%s", what)
	}
}
