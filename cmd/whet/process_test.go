//go:build unix

package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/whet-dev/whet/internal/peer"
)

// binary builds whet once, for the tests that need its real process.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "whet-test")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "whet")
	out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
	if err != nil {
		err = &exec.Error{Name: string(out), Err: err}
	}
	return path, err
})

func whetBinary(t *testing.T) string {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A package that works at its initialisation costs every hook event. The
// least of several runs counts: a busy machine only adds.
func TestInit(t *testing.T) {
	line := regexp.MustCompile(`(?m)^init (\S+) @.* ms, (\S+) ms clock`)
	least := map[string]float64{}
	for range 5 {
		cmd := exec.CommandContext(t.Context(), whetBinary(t), "version")
		cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range line.FindAllStringSubmatch(string(out), -1) {
			ms, err := strconv.ParseFloat(m[2], 64)
			if err != nil {
				t.Fatal(err)
			}
			if old, ok := least[m[1]]; !ok || ms < old {
				least[m[1]] = ms
			}
		}
	}
	if len(least) == 0 {
		t.Fatal("no init trace")
	}
	for name, ms := range least {
		if strings.HasPrefix(name, "github.com/whet-dev/whet") && ms > 0.1 {
			t.Errorf("package %s takes %v ms to initialise, more than 0.1", name, ms)
		}
	}
}

// A server whose parent was killed ends, even if another process keeps its
// standard input open.
func TestMCPEndsWithItsParent(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs a POSIX shell")
	}
	// The sleeping process holds the write end of the pipe.
	script := `mkfifo in; sleep 60 > in & "$1" mcp --dir . < in & echo $!; echo $(jobs -p); wait`
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script, "sh", whetBinary(t))
	cmd.Dir = t.TempDir()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	lines.Scan()
	server := pid(t, lines.Text())
	lines.Scan()
	jobs := strings.Fields(lines.Text())
	defer func() {
		for _, j := range jobs {
			_ = syscall.Kill(pid(t, j), syscall.SIGKILL)
		}
	}()
	time.Sleep(2 * time.Second) // it has started to serve, also on a busy machine
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for range 150 {
		if syscall.Kill(server, 0) != nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Error("the server still runs fifteen seconds after its parent was killed")
}

func pid(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil || n <= 1 {
		t.Fatalf("not a process id: %q", s)
	}
	return n
}

// The inspector's lint of the real server's tools, as strict as it gets, for
// both eras of the protocol.
func TestPeerInspector(t *testing.T) {
	inspector := peer.Find(t, "mcp-inspector")
	home := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), inspector, append([]string{"--cli"}, args...)...)
		cmd.Dir = home
		cmd.Env = append(os.Environ(), "HOME="+home, "CLAUDE_PROJECT_DIR="+home)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil || !bytes.Contains(out, []byte(`"tools"`)) {
			t.Errorf("%v: %v\n%s\n%s", args, err, out, stderr.Bytes())
		}
	}
	run(whetBinary(t), "mcp", "--method", "tools/list", "--strict")
	url, token := startHTTP(t)
	for _, era := range []string{"modern", "legacy"} {
		run("--transport", "http", url, "--method", "tools/list", "--protocol-era", era, "--strict", "--header", "Authorization: Bearer "+token)
	}
}

// startHTTP starts whet mcp --http and returns its address and token.
func startHTTP(t *testing.T) (url, token string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), whetBinary(t), "mcp", "--dir", t.TempDir(), "--http", "127.0.0.1:0")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(stderr)
	for token == "" && lines.Scan() {
		if _, u, ok := strings.Cut(lines.Text(), "serving MCP at "); ok {
			url = u
		}
		_, token, _ = strings.Cut(lines.Text(), "Bearer ")
	}
	go func() { _, _ = io.Copy(io.Discard, stderr) }()
	if url == "" || token == "" {
		t.Fatal("the server did not say where it is")
	}
	return url, token
}

func TestMCPOverHTTPWantsTheToken(t *testing.T) {
	url, token := startHTTP(t)
	for header, want := range map[string]int{"": 401, "Bearer x": 401, "Bearer " + token: 200} {
		body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", header)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("with %q: status %d, want %d", header, resp.StatusCode, want)
		}
	}
}
