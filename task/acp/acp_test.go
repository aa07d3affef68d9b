package acp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/whet-dev/whet/internal/peer"
	"github.com/whet-dev/whet/internal/scriptmodel"
	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/acp"
	"github.com/whet-dev/whet/task/tasktest"
)

func TestMain(m *testing.M) {
	if os.Getenv("ACP_STATE") != "" {
		serveAgent()
		return
	}
	os.Exit(m.Run())
}

func ours(how, state, model string) task.ACPAgent {
	return task.ACPAgent{Command: os.Args[0], Env: map[string]string{"ACP_TEST": how, "ACP_STATE": state, "ACP_MODEL": model}}
}

func call(name string, args map[string]string) scriptmodel.Call {
	b, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return scriptmodel.Call{Name: name, Args: b}
}

func TestBackend(t *testing.T) {
	states := map[*testing.T]string{}
	tasktest.Run(t, tasktest.Peer{
		Open: func(t *testing.T, model *scriptmodel.Server, hear task.Hear) task.Backend {
			if states[t] == "" {
				states[t] = t.TempDir()
			}
			return acp.New("ours", ours("", states[t], model.URL), nil, hear)
		},
		Write: func(path, content string) scriptmodel.Call {
			return call("write", map[string]string{"path": path, "content": content})
		},
		Agent: "fixer", Notes: true,
	})
}

// The real OpenCode speaks the protocol. It takes seconds to start: the whole
// suite, five minutes and more, runs with WHET_SLOW=1.
func TestPeerOpenCode(t *testing.T) {
	opencode := peer.Find(t, "opencode")
	only := []string{"works in the task's directory"}
	if os.Getenv("WHET_SLOW") != "" {
		only = nil
	}
	homes := map[*testing.T]string{}
	tasktest.Run(t, tasktest.Peer{
		Open: func(t *testing.T, model *scriptmodel.Server, hear task.Hear) task.Backend {
			if homes[t] == "" {
				homes[t] = tasktest.OpenCodeHome(t, model.URL)
			}
			return acp.New("opencode", task.ACPAgent{Command: opencode, Args: []string{"acp"}, Env: tasktest.OpenCodeEnv(homes[t])}, nil, hear)
		},
		Write: func(path, content string) scriptmodel.Call {
			return call("bash", map[string]string{"command": fmt.Sprintf("printf '%s' > %s", strings.TrimSpace(content)+`\n`, path), "description": "write"})
		},
		Agent: "fixer", Notes: true, Patient: true, Only: only,
	})
}

// The real Gemini CLI and Qwen Code. The whole suite, some minutes for each,
// runs with WHET_SLOW=1.
func TestPeerOthers(t *testing.T) {
	one := []string{"works in the task's directory"}
	for _, a := range []struct {
		name, settings string
		quick, all     []string // cases; no list means all
		env            func(model string) map[string]string
	}{
		{"gemini", `{"security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}}, "general": {"enableAutoUpdate": false}, "privacy": {"usageStatisticsEnabled": false}, "model": {"name": "gemini-2.5-pro", "disableLoopDetection": true}}`, one, nil, func(model string) map[string]string {
			return map[string]string{"GOOGLE_GEMINI_BASE_URL": model, "GEMINI_API_KEY": "x", "GEMINI_CLI_NO_RELAUNCH": "true", "GEMINI_TELEMETRY_ENABLED": "false"}
		}},
		{"qwen", `{"security": {"auth": {"selectedType": "openai"}}, "general": {"disableAutoUpdate": true}, "privacy": {"usageStatisticsEnabled": false}}`, nil, append(one, "goes on with its context"), func(model string) map[string]string {
			return map[string]string{"OPENAI_BASE_URL": model + "/v1", "OPENAI_API_KEY": "x", "OPENAI_MODEL": "scripted", "QWEN_TELEMETRY_ENABLED": "false", "QWEN_CODE_NO_UPDATE": "1"}
		}},
	} {
		t.Run(a.name, func(t *testing.T) {
			program := peer.Find(t, a.name)
			only := a.quick
			if os.Getenv("WHET_SLOW") != "" {
				only = a.all
			} else if only == nil {
				t.Skip("it takes half a minute: WHET_SLOW=1")
			}
			homes := map[*testing.T]string{}
			tasktest.Run(t, tasktest.Peer{
				Open: func(t *testing.T, model *scriptmodel.Server, hear task.Hear) task.Backend {
					if homes[t] == "" {
						homes[t] = t.TempDir()
						dir := filepath.Join(homes[t], "."+a.name)
						if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "settings.json"), []byte(a.settings), 0o600)); err != nil {
							t.Fatal(err)
						}
					}
					env := a.env(model.URL)
					env["HOME"] = homes[t]
					return acp.New(a.name, task.ACPAgent{Command: program, Args: []string{"--acp"}, Env: env}, nil, hear)
				},
				Write: func(path, content string) scriptmodel.Call {
					return call("run_shell_command", map[string]string{"command": fmt.Sprintf("printf '%s' > %s", strings.TrimSpace(content)+`\n`, path), "description": "write"})
				},
				// Gemini CLI keeps no conversation that was interrupted before its first answer.
				Agent: "fixer", Notes: true, Patient: true, Only: only, Not: []string{"goes on after an interrupt"},
			})
		})
	}
}

// Agents that don't keep to the protocol, or to anything: each gives one
// sentence in bounded time, and leaves no process.
func TestBadAgents(t *testing.T) {
	model, err := scriptmodel.Start(scriptmodel.Script{
		"hi": {{Text: "Hello."}}, "hang": {{Text: "Begun.", Hang: true}},
		"write": {{Calls: []scriptmodel.Call{call("write", map[string]string{"path": "x", "content": "x"})}}, {Text: "Done."}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	for _, tt := range []struct {
		how, script string
		end         task.Kind
		live        task.Liveness
		reason      string
	}{
		{"garbage", "hi", task.Erred, "", `printed something that is no ACP message: "Welcome to Agent 1.0!"; does it need an argument`},
		{"exit", "hi", task.Erred, "", "agent exited (exit status 3); it said: no licence"},
		{"flood", "hi", task.Erred, "", "a line of more than 9 MiB"},
		{"login", "hi", task.Erred, "", "it wants a person to log in first: run "},
		{"crash", "hi", 0, task.LiveGone, "agent exited (exit status 9); it said: out of memory"},
		{"tired", "hi", task.Erred, "", "cut off at the model's output limit"},
	} {
		t.Run(tt.how, func(t *testing.T) {
			t.Parallel()
			b := acp.New("bad", ours(tt.how, t.TempDir(), model.URL), nil, func(string, uint32, task.Progress) {})
			defer b.Close()
			r := task.Run{Prompt: "[[script:" + tt.script + "]]", Task: task.Task{ID: "tsk_1", Agent: "fixer", Dir: t.TempDir(), Job: task.New()}}
			if _, err := b.Start(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			l := until(t, b, r, func(l task.Look) bool { return l.Ended() || l.Live == task.LiveGone })
			if l.End != tt.end || tt.live != "" && l.Live != tt.live || !strings.Contains(l.Reason, tt.reason) || strings.Contains(l.Reason, "\n") {
				t.Errorf("%+v", l)
			}
		})
	}
}

func until(t *testing.T, b task.Backend, r task.Run, ok func(task.Look) bool) task.Look {
	t.Helper()
	var l task.Look
	for limit := time.Now().Add(20 * time.Second); time.Now().Before(limit); time.Sleep(5 * time.Millisecond) {
		var err error
		if l, err = b.Look(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if ok(l) {
			return l
		}
	}
	t.Fatalf("never: %+v", l)
	return l
}

func TestNotThere(t *testing.T) {
	b := acp.New("claude", task.ACPAgent{Command: "no-such-agent"}, nil, func(string, uint32, task.Progress) {})
	defer b.Close()
	_, err := b.Start(t.Context(), task.Run{Task: task.Task{ID: "tsk_1", Job: task.New()}})
	if r := task.RefusalOf(err); r == nil || !strings.Contains(r.Reason, `program "no-such-agent" is not there`) || !strings.Contains(r.Reason, "task.acp.claude.command") {
		t.Errorf("got %v", err)
	}
}

// An agent that doesn't heed a cancel loses its process.
func TestDeafAgent(t *testing.T) {
	model, err := scriptmodel.Start(scriptmodel.Script{"hang": {{Text: "Begun.", Hang: true}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	b := acp.New("deaf", ours("deaf", t.TempDir(), model.URL), nil, func(string, uint32, task.Progress) {})
	defer b.Close()
	r := task.Run{Prompt: "[[script:hang]]", Task: task.Task{ID: "tsk_1", Dir: t.TempDir(), Job: task.New()}}
	if _, err := b.Start(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	until(t, b, r, func(l task.Look) bool { return l.Text != "" })
	if err := b.Interrupt(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if l := until(t, b, r, task.Look.Ended); l.End != task.Aborted || l.Text != "Begun." {
		t.Errorf("%+v", l)
	}
}

// Nobody is there to ask: what the person allowed is allowed, and nothing else.
func TestPermissions(t *testing.T) {
	model, err := scriptmodel.Start(scriptmodel.Script{"write": {{Calls: []scriptmodel.Call{call("write", map[string]string{"path": "x", "content": "x"})}}, {Text: "Done."}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	for _, tt := range []struct {
		how    string
		writes bool
		allow  []string
		want   string
		strays bool // the place is in the checkout that the task's worktree was made from
	}{
		{"ask", true, []string{"*"}, "reject_once", true},
		{"ask", false, nil, "reject_once", false},
		{"ask", true, nil, "allow_once", false},
		{"ask", false, []string{"edit"}, "allow_once", false},
		{"ask", false, []string{"bash"}, "reject_once", false},
		{"ask-reject-only", true, nil, "cancelled", false},
		{"ask-reject-only", false, nil, "reject_always", false},
		{"ask-nothing", true, nil, "cancelled", false},
	} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			t.Parallel()
			state := t.TempDir()
			b := acp.New("asking", ours(tt.how, state, model.URL), nil, func(string, uint32, task.Progress) {})
			defer b.Close()
			r := task.Run{Prompt: "[[script:write]]", Task: task.Task{ID: "tsk_1", Dir: t.TempDir(), Writes: tt.writes, Allow: tt.allow, Job: task.New()}}
			if tt.strays {
				r.Task.Checkout = &task.Checkout{Root: r.Task.Dir, Dir: t.TempDir()}
			}
			if _, err := b.Start(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			if l := until(t, b, r, task.Look.Ended); l.End != task.Done {
				t.Errorf("%+v", l)
			}
			if got, _ := os.ReadFile(filepath.Join(state, "permission")); string(got) != tt.want {
				t.Errorf("answered %q, want %q", got, tt.want)
			}
		})
	}
}
