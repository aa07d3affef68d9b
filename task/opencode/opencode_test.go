package opencode_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/whet-dev/whet/internal/peer"
	"github.com/whet-dev/whet/internal/scriptmodel"
	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/opencode"
	"github.com/whet-dev/whet/task/tasktest"
)

// The real OpenCode. It takes seconds to start: the whole
// suite, five minutes and more, runs with WHET_SLOW=1.
func TestPeerBackend(t *testing.T) {
	t.Parallel()
	command := peer.Find(t, "opencode")
	only := []string{"a note is read before the end"}
	if os.Getenv("WHET_SLOW") != "" {
		only = nil
	}
	homes := map[*testing.T]string{}
	tasktest.Run(t, tasktest.Peer{
		Open: func(t *testing.T, model *scriptmodel.Server, hear task.Hear) task.Backend {
			if homes[t] == "" {
				homes[t] = tasktest.OpenCodeHome(t, model.URL)
			}
			var env []string
			for k, v := range tasktest.OpenCodeEnv(homes[t]) {
				env = append(env, k+"="+v)
			}
			return opencode.New(task.OpenCode{Command: command}, env, nil, hear)
		},
		Write: func(path, content string) scriptmodel.Call {
			args, err := json.Marshal(map[string]string{"command": fmt.Sprintf("printf '%s' > %s", strings.TrimSpace(content)+`\n`, path), "description": "write"})
			if err != nil {
				t.Fatal(err)
			}
			return scriptmodel.Call{Name: "bash", Args: args}
		},
		Agent: "fixer", Notes: true, Patient: true, Only: only,
	})
}

func TestNotThere(t *testing.T) {
	for _, tt := range []struct {
		o    task.OpenCode
		says string
	}{
		{task.OpenCode{Command: "no-such-opencode"}, "OpenCode is not there"},
		{task.OpenCode{URL: "http://127.0.0.1:1"}, "OpenCode at http://127.0.0.1:1 can't be reached"},
		{task.OpenCode{Command: "false"}, "ended at once"},
	} {
		b := opencode.New(tt.o, nil, nil, func(string, uint32, task.Progress) {})
		_, err := b.Start(t.Context(), task.Run{Prompt: "x", Task: task.Task{ID: "tsk_1", Dir: t.TempDir(), Job: task.New()}})
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%+v: %v", tt.o, err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}
