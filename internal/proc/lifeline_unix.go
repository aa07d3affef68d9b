//go:build unix

package proc

import (
	"os/exec"
	"syscall"
)

// apart gives cmd a session of its own, so that no signal to ours ends it.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// endMarked kills the processes that carry mark, and returns how many it found.
func endMarked(mark string) int {
	pids := marked(mark, 0)
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	return len(pids)
}
