package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/whet-dev/whet/cmd/internal/cli"
	"github.com/whet-dev/whet/internal/peer"
	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/client"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"whet": main, "whet-hook": func() { os.Exit(cli.WhetHook(os.Args[1:])) }, "lintserver": lintServer,
	})
}

// Each script in testdata/script runs the real program in an empty home. It is
// named after the feature that it is about. The condition [peer:NAME] tells
// whether the program is there, in the directory
// that $PEER_AST_GREP and the like name.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		UpdateScripts:       os.Getenv("WHET_UPDATE") != "",
		RequireExplicitExec: true,
		Condition:           hasPeer,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"model": modelCommand},
		Setup: func(e *testscript.Env) error {
			e.Values["model"] = &holder{}
			e.Setenv("HOME", filepath.Join(e.WorkDir, ".home"))
			e.Setenv("WHET_STATE", filepath.Join(e.WorkDir, ".state"))
			e.Defer(func() { // a script that failed may have left a task runner
				runner := client.Client{Dir: filepath.Join(e.WorkDir, ".state", "tasks")}
				_, _ = runner.Do(context.Background(), "/stop", task.Request{})
			})
			bin, _, _ := strings.Cut(e.Getenv("PATH"), string(os.PathListSeparator))
			e.Setenv("BIN", bin) // where whet is, and nothing else
			e.Setenv("PEER_AST_GREP", filepath.Dir(peer.Lookup("ast-grep")))
			return nil
		},
	})
}

func hasPeer(condition string) (bool, error) {
	name, ok := strings.CutPrefix(condition, "peer:")
	if !ok {
		return false, fmt.Errorf("unknown condition %q", condition)
	}
	if peer.Lookup(name) != "" {
		return true, nil
	}
	if os.Getenv("WHET_PEERS") == "require" {
		return false, fmt.Errorf("%s is not installed, and WHET_PEERS=require; run scripts/peers", name)
	}
	return false, nil
}
