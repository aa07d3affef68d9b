package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/client"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"whet": main}) }

// Each script in testdata/script runs the real program in an empty home. It is
// named after the feature that it is about.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		UpdateScripts:       os.Getenv("WHET_UPDATE") != "",
		RequireExplicitExec: true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"model": modelCommand},
		Setup: func(e *testscript.Env) error {
			e.Values["model"] = &holder{}
			e.Setenv("HOME", filepath.Join(e.WorkDir, ".home"))
			e.Setenv("WHET_STATE", filepath.Join(e.WorkDir, ".state"))
			e.Defer(func() { // a script that failed may have left a task runner
				runner := client.Client{Dir: filepath.Join(e.WorkDir, ".state", "tasks")}
				_, _ = runner.Do(context.Background(), "/stop", task.Request{})
			})
			return nil
		},
	})
}
