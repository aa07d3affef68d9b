package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/whet-dev/whet/host/hook"
	"github.com/whet-dev/whet/host/rpc"
	"github.com/whet-dev/whet/install"
)

// probe runs a command as it stands in a host's configuration.
func (d *doctor) probe(c install.Command, add func(check, status, text, advice string)) {
	name := c.Shell
	if len(c.Words) > 0 {
		name = strings.Join(c.Words, " ")
	}
	if _, err := os.Stat(c.Program()); err != nil {
		add("answer", isProblem, fmt.Sprintf("%s, named in %s, is not there", c.Program(), c.File), "whet install")
		return
	}
	var err error
	if host := c.Hook(); host != "" {
		err = probeHook(d.ctx, c, host)
	} else {
		err = probeMCP(d.ctx, c)
	}
	if err != nil {
		add("answer", isProblem, name+": "+err.Error(), "")
		return
	}
	add("answer", isOK, name+" answers", "")
}

// probeHook sends a synthetic event and sees that whet answers it in the
// host's own words.
func probeHook(ctx context.Context, c install.Command, host string) error {
	d, err := hook.Lookup(host)
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	event := d.Sample(hook.Sample{Phase: hook.Before, Tool: hook.ProbeTool, Args: json.RawMessage(`{}`), Dir: dir})
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := command(ctx, c)
	cmd.Stdin = bytes.NewReader(event)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return err
	}
	if !hook.Probed(string(out) + stderr.String()) {
		return fmt.Errorf("no answer to an event; it printed %.200q and %.200q", out, stderr.String())
	}
	return nil
}

// command starts c as a host does.
func command(ctx context.Context, c install.Command) *exec.Cmd {
	switch {
	case len(c.Words) > 0:
		return exec.CommandContext(ctx, c.Words[0], c.Words[1:]...)
	case runtime.GOOS == "windows":
		return exec.CommandContext(ctx, "cmd", "/c", c.Shell)
	}
	return exec.CommandContext(ctx, "sh", "-c", c.Shell)
}

// probeMCP sees that a server lists its tools.
func probeMCP(ctx context.Context, c install.Command) error {
	_, err := dialogue(ctx, command(ctx, c),
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"whet doctor","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	return err
}

// probeRPC speaks to the plugin's child as the plugin does.
func probeRPC(ctx context.Context, exe string) error {
	_, err := dialogue(ctx, exec.CommandContext(ctx, exe, "rpc"),
		fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol":%d,"host":"opencode","directory":%q}}`, rpc.Protocol, os.TempDir()),
		`{"jsonrpc":"2.0","id":2,"method":"tool.before","params":{"callID":"c","tool":"read","sessionID":"s","args":{}}}`)
	return err
}

// A codexHook is a hook as Codex sees it.
type codexHook struct {
	Command string `json:"command"`
	Trust   string `json:"trustStatus"`
	Managed bool   `json:"isManaged"`
}

func codexHooks(ctx context.Context, dir string) ([]codexHook, error) {
	path, err := exec.LookPath("codex")
	if err != nil {
		return nil, err
	}
	cwds, err := json.Marshal([]string{dir})
	if err != nil {
		return nil, err
	}
	result, err := dialogue(ctx, exec.CommandContext(ctx, path, "app-server"),
		`{"id":1,"method":"initialize","params":{"clientInfo":{"name":"whet","title":"whet doctor","version":"1"}}}`,
		`{"method":"initialized"}`,
		`{"id":2,"method":"hooks/list","params":{"cwds":`+string(cwds)+`}}`)
	if err != nil {
		return nil, err
	}
	var list struct {
		Data []struct {
			Hooks []codexHook `json:"hooks"`
		} `json:"data"`
	}
	if err := json.Unmarshal(result, &list); err != nil {
		return nil, err
	}
	var hooks []codexHook
	for _, d := range list.Data {
		hooks = append(hooks, d.Hooks...)
	}
	return hooks, nil
}

// dialogue sends lines of JSON-RPC to a program, one after the answer to the
// other, and returns the answer to the last.
func dialogue(ctx context.Context, cmd *exec.Cmd, requests ...string) (json.RawMessage, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer func() {
		in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	type outcome struct {
		result json.RawMessage
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		lines := bufio.NewReader(out)
		for _, r := range requests {
			if o.result, o.err = exchange(in, lines, r); o.err != nil {
				break
			}
		}
		done <- o
	}()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case o := <-done:
		return o.result, o.err
	case <-ctx.Done():
		return nil, fmt.Errorf("no answer within %v", patience)
	}
}

func exchange(in io.Writer, lines *bufio.Reader, request string) (json.RawMessage, error) {
	type message struct {
		ID     *int            `json:"id"`
		Method string          `json:"method"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	var asked message
	if err := json.Unmarshal([]byte(request), &asked); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(in, request+"\n"); err != nil {
		return nil, fmt.Errorf("it ended without an answer: %w", err)
	}
	if asked.ID == nil {
		return nil, nil
	}
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil, fmt.Errorf("it ended without an answer: %w", err)
		}
		var m message
		switch {
		case json.Unmarshal(line, &m) != nil:
			return nil, fmt.Errorf("it printed %.200q", line)
		case m.Method != "" || m.ID == nil || *m.ID != *asked.ID:
		case m.Error != nil:
			return nil, fmt.Errorf("it answered %s", m.Error)
		default:
			return m.Result, nil
		}
	}
}
