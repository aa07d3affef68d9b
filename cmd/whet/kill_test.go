//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/whet-dev/whet/internal/scriptmodel"
	"github.com/whet-dev/whet/task"
)

// shAgent speaks just enough of the Agent Client Protocol to be killed at any
// moment, and starts a process that wants to outlive it. It stands in for
// agents of other vendors, which take seconds to start.
const shAgent = `#!/bin/sh
sleep 300 &
while IFS= read -r line; do
	id=${line#*\"id\":}
	id=${id%%[,\}]*}
	answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
	case $line in
	*'"method":"initialize"'*) answer '{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}' ;;
	*'"method":"session/new"'*) answer '{"sessionId":"s1"}' ;;
	*'"method":"session/load"'*) answer '{}' ;;
	*'"method":"session/prompt"'*)
		sleep 0.1
		printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Finished."}}}}\n'
		answer '{"stopReason":"end_turn"}' ;;
	esac
done
`

// A massacre is a stage on which anything is killed at any moment.
type massacre struct {
	*stage
	launched map[string]bool // by a launch that was answered
	told     map[string]bool // notices that were acknowledged
	killed   map[string]int
	kills    int
	hopeless map[string]bool // their agent was killed before it had a session that could go on
}

// kills is how many processes are killed.
func kills(t *testing.T) int {
	switch {
	case os.Getenv("WHET_SLOW") != "":
		return 500
	case testing.Short():
		return 6
	}
	t.Log("18 kills; WHET_SLOW=1 for 500")
	return 18
}

// Whatever is killed, runner, agent or host, and whenever: no task is lost, no
// tool of whet's own agent runs twice, every end is told, and none after its
// acknowledgement. In the end nothing that was started is left.
func TestKills(t *testing.T) {
	m := &massacre{stage: newStage(t, scriptmodel.Script{"work": {
		{Text: "I begin.", DelayMS: 3, Calls: []scriptmodel.Call{{Name: "bash", Args: json.RawMessage(`{"command": "sleep 0.02; echo done"}`)}}},
		{Text: "And one more.", DelayMS: 3, Calls: []scriptmodel.Call{{Name: "glob", Args: json.RawMessage(`{"pattern": "*"}`)}}},
		{Text: "Finished.", DelayMS: 3},
	}}), launched: map[string]bool{}, told: map[string]bool{}, killed: map[string]int{}, hopeless: map[string]bool{}}
	m.acpAgent()
	m.serve()
	wanted := kills(t)
	for round := 0; m.kills < wanted && round < 2*wanted; round++ {
		for i, worker := range []string{"fixer", "explorer"} {
			q := task.Request{Worker: worker, Title: "work", Text: fmt.Sprintf("[[script:work]] job %d.%d", round, i)}
			if reply, err := m.ask("/launch", q); err == nil && !reply.Failed {
				m.launched[reply.Task.ID] = true
			}
		}
		switch round % 3 {
		case 0:
			time.Sleep(time.Duration(rand.IntN(150)) * time.Millisecond)
			m.kill()
			m.count("runner")
			m.serve()
		case 1:
			time.Sleep(time.Duration(rand.IntN(100)) * time.Millisecond)
			m.killAgent()
		case 2:
			m.killHost(round)
		}
		m.read()
		m.revive()
	}
	m.settle()
	t.Logf("killed: %v; %d tasks", m.killed, len(m.list()))
	for _, x := range m.list() {
		m.right(x)
		delete(m.launched, x.ID)
	}
	if len(m.launched) > 0 {
		t.Errorf("%d tasks are lost: %v", len(m.launched), m.launched)
	}
	m.noOrphans()
}

// acpAgent makes explorers agents of another vendor.
func (m *massacre) acpAgent() {
	m.Helper()
	home := filepath.Dir(filepath.Dir(m.client.Dir))
	program := filepath.Join(home, "agent")
	settings := fmt.Sprintf(`{"task": {"acp": {"sh": {"command": %q}}, "agents": {"explorer": {"backend": "acp:sh"}}, "total": 1000, "writers": 1000}}`, program)
	dir := filepath.Join(home, ".config", "whet")
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "whet.jsonc"), []byte(settings), 0o600)
	}
	if err == nil {
		err = os.WriteFile(program, []byte(shAgent), 0o700)
	}
	if err != nil {
		m.Fatal(err)
	}
	m.env = append(m.env, "XDG_CONFIG_HOME="+filepath.Join(home, ".config"))
}

func (m *massacre) count(victim string) {
	m.killed[victim]++
	m.kills++
}

// killAgent kills one of the agent's processes, if there is one.
func (m *massacre) killAgent() {
	for _, pid := range m.inProject() {
		cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if strings.Contains(string(cmdline), "/agent") && syscall.Kill(pid, syscall.SIGKILL) == nil {
			m.count("agent")
			return
		}
	}
}

// killHost starts a host's MCP server, launches a task through it, and kills it
// meanwhile. What was launched is then given to our own session, as a person
// does whose session is gone.
func (m *massacre) killHost(round int) {
	m.Helper()
	cmd := exec.Command(whetBinary(m.T), "mcp", "--dir", m.dir)
	cmd.Env, cmd.Dir = append(m.env, "WHET_PROC="), m.dir
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		m.Fatal(err1, err2)
	}
	if err := cmd.Start(); err != nil {
		m.Fatal(err)
	}
	answered := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if _, rest, ok := strings.Cut(lines.Text(), `"task_id":"`); ok {
				id, _, _ := strings.Cut(rest, `"`)
				answered <- id
				break
			}
		}
		_, _ = io.Copy(io.Discard, out)
		close(answered)
	}()
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"task","arguments":{"description":"work","prompt":"[[script:work]] of host %d","subagent_type":"explorer"}}}`, round),
	} {
		_, _ = io.WriteString(in, line+"\n")
	}
	time.Sleep(time.Duration(rand.IntN(250)) * time.Millisecond)
	_ = cmd.Process.Kill()
	m.count("host")
	for id := range answered {
		m.launched[id] = true
	}
	_ = cmd.Wait()
	for _, x := range m.list() {
		if strings.HasPrefix(x.Parent, "mcp/") {
			if _, err := m.ask("/adopt", task.Request{ID: x.ID}); err != nil {
				m.Error(err)
			}
		}
	}
}

func (m *massacre) list() []*task.Task {
	m.Helper()
	reply, err := m.ask("/list", task.Request{All: true})
	if err != nil {
		m.Fatal(err)
	}
	return reply.Tasks
}

// read takes in what our session is told.
func (m *massacre) read() {
	m.Helper()
	reply, err := m.ask("/notices", task.Request{})
	if err != nil {
		return
	}
	var ids []string
	for _, n := range reply.Notices {
		if m.told[n.ID] {
			m.Errorf("%s is told again", n.ID)
		}
		ids = append(ids, n.ID)
	}
	if _, err := m.ask("/acknowledge", task.Request{Notices: ids}); err == nil {
		for _, id := range ids {
			m.told[id] = true
		}
	}
}

// revive goes on with the tasks whose agent was killed.
func (m *massacre) revive() {
	m.Helper()
	for _, x := range m.list() {
		if (x.Phase == task.Stopped || x.Phase == task.Failed) && x.Acked {
			_, err := m.ask("/revive", task.Request{ID: x.ID, Text: "go on"}) // tried again if it can't be yet
			m.hopeless[x.ID] = err != nil && strings.Contains(err.Error(), "never had a session that could go on; launch a new task")
		}
	}
}

// settle lets everything come to its end.
func (m *massacre) settle() {
	m.Helper()
	for limit := time.Now().Add(2 * time.Minute); time.Now().Before(limit); time.Sleep(50 * time.Millisecond) {
		m.read()
		m.revive()
		open := 0
		for _, x := range m.list() {
			if x.Phase != task.Completed && !m.hopeless[x.ID] || !x.Acked {
				open++
			}
		}
		if open == 0 {
			return
		}
	}
	m.Error("tasks are still open")
}

// right checks how a task has ended.
func (m *massacre) right(x *task.Task) {
	m.Helper()
	switch {
	case m.hopeless[x.ID]:
		if x.Phase != task.Stopped && x.Phase != task.Failed || x.Session != "" {
			m.Errorf("%s is %s, session %q", x.Alias, x.Phase, x.Session)
		}
	case x.Phase != task.Completed || x.Text != "Finished." || x.Backend == "llm" && x.Gen != 1:
		m.Errorf("%s ended as %s, generation %d: %q (%s)", x.Alias, x.Phase, x.Gen, x.Text, x.Reason)
	}
	if !m.told[fmt.Sprintf("%s/%d/%d", x.ID, x.Gen, x.Rev)] {
		m.Errorf("the end of %s was never told", x.Alias)
	}
	begun := 0
	log, err := m.ask("/log", task.Request{ID: x.ID})
	if err != nil {
		m.Fatal(err)
	}
	for _, l := range log.Log {
		if l.Kind == "call" && strings.Contains(l.Body, "bash") {
			begun++
		}
	}
	if begun > 1 {
		m.Errorf("%s ran its command %d times", x.Alias, begun)
	}
}
