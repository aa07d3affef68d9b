// Hook measures what whet costs its hosts: a whole hook process against an
// empty Go program, and the round trip of one call over whet rpc.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/whet-dev/whet/internal/measure"
)

func main() { measure.Main("hook", run) }

func run(ctx context.Context, w io.Writer) error {
	dir, err := os.MkdirTemp("", "whet-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	whet, err := measure.BuildWhet(ctx, dir)
	if err != nil {
		return err
	}
	empty, err := measure.BuildEmpty(ctx, dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s\n\n", measure.Machine())
	env := append(os.Environ(), "HOME="+dir, "WHET_STATE="+filepath.Join(dir, "state"))
	const (
		before = `{"session_id":"s","cwd":"/","hook_event_name":"PreToolUse","tool_name":"Read","tool_use_id":"1","tool_input":{"file_path":"/a"}}`
		after  = `{"session_id":"s","cwd":"/","hook_event_name":"PostToolUse","tool_name":"Read","tool_use_id":"1","tool_input":{"file_path":"/a"},"tool_response":"hello"}`
	)
	rows, err := measure.Compare(400,
		process(ctx, "empty Go program", empty, env, ""),
		process(ctx, "whet-hook, before Read", whet+"-hook", env, before, "hook", "claude-code"),
		process(ctx, "whet-hook, after Read", whet+"-hook", env, after, "hook", "claude-code"),
		process(ctx, "whet, before Read", whet, env, before, "hook", "claude-code"),
	)
	if err != nil {
		return err
	}
	if err := measure.Print(w, "A hook process", rows); err != nil {
		return err
	}
	return roundTrip(ctx, w, whet, env)
}

// process runs a program once, with stdin as its input.
func process(ctx context.Context, name, path string, env []string, stdin string, args ...string) measure.Contender {
	return measure.Contender{Name: name, Run: func() error {
		cmd := exec.CommandContext(ctx, path, args...)
		cmd.Env, cmd.Stdin = env, strings.NewReader(stdin)
		return cmd.Run()
	}}
}

func roundTrip(ctx context.Context, w io.Writer, whet string, env []string) error {
	cmd := exec.CommandContext(ctx, whet, "rpc")
	cmd.Env = env
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewReaderSize(out, 1<<20)
	call := func(request string) error {
		if _, err := io.WriteString(in, request+"\n"); err != nil {
			return err
		}
		_, err := lines.ReadString('\n')
		return err
	}
	if _, err := lines.ReadString('\n'); err != nil { // hello
		return err
	}
	if err := call(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol":1,"host":"opencode","directory":"/"}}`); err != nil {
		return err
	}
	var times []time.Duration
	const params = `"params":{"callID":"%d","tool":"read","sessionID":"s","args":{"filePath":"/a"},"result":{"text":"%d"}}`
	for i := range 4000 {
		for j, method := range []string{"tool.before", "tool.after"} {
			request := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,`+params+"}", 2*i+j+2, method, i, i)
			start := time.Now()
			if err := call(request); err != nil {
				return err
			}
			times = append(times, time.Since(start))
		}
	}
	if err := in.Close(); err != nil {
		return err
	}
	slices.Sort(times)
	fmt.Fprintf(w, "### A round trip over whet rpc\n\ntool.before and tool.after, %d of them: median %v, 99th percentile %v\n", len(times), times[len(times)/2], times[len(times)*99/100])
	return cmd.Wait()
}
