package client

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// Spawn starts a runner for the state in dir that outlives this process: the
// program itself, as whet serve.
func Spawn(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := openLog(dir)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(self, "serve", "--on-demand", "--state", dir)
	cmd.Dir = dir
	// Whoever ends our own leftovers must not take the runner for one of them.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "WHET_PROC=") })
	cmd.Stderr = log
	cmd.SysProcAttr = detached()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("running %s: %w", self, err)
	}
	return cmd.Process.Release()
}
