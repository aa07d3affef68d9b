//go:build unix

package proc

import (
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A tree is a child and everything it started. The group catches what stayed
// in it. What left the group (setsid, double fork) still carries the mark in
// its environment, which is where the system lets us look.
type tree struct {
	pid  int
	mark string
}

const markName = "WHET_PROC"

func startTree(cmd *exec.Cmd) (*tree, error) {
	t := &tree{mark: rand.Text()}
	// Marks add up, so that whoever runs us finds our children too.
	cmd.Env = append(cmd.Env, markName+"="+os.Getenv(markName)+":"+t.mark)
	away := terminal()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: away, Setpgid: !away}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	t.pid = cmd.Process.Pid
	return t, nil
}

// terminal reports whether this process has a terminal, which a child in its
// session could wait at. Where there is none a group of its own is enough for a
// child, and better: on a busy Linux a new session gets its first turn later
// than what runs in ours.
func terminal() bool {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// LeaveTerminal gives up this process's terminal, in one that serves a program
// and never asks a person: its children then have none to wait at, without a
// session of their own. The leader of a session keeps it, because with it the
// whole session would lose it.
func LeaveTerminal() {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if sid, err := unix.Getsid(0); err == nil && sid != os.Getpid() {
		_ = unix.IoctlSetInt(int(f.Fd()), unix.TIOCNOTTY, 0) // else the children get a session each
	}
}

// terminate asks the child's group to end.
func (t *tree) terminate() { _ = syscall.Kill(-t.pid, syscall.SIGTERM) }

// kill ends everything of the tree that still runs, and returns how many
// processes that were, as far as can be seen. It looks again until nothing is
// found: the tree may grow while it is cut down.
func (t *tree) kill() int {
	groupErr := syscall.Kill(-t.pid, syscall.SIGKILL)
	seen := map[int]bool{}
	for range 50 {
		pids := marked(t.mark, t.pid)
		if len(pids) == 0 {
			break
		}
		for _, pid := range pids {
			seen[pid] = true
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(time.Millisecond)
	}
	if len(seen) == 0 && groupErr == nil {
		return 1
	}
	return len(seen)
}

func (t *tree) release() {}

// Alive reports whether there may be a process of that id.
func Alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return pid > 0 && !errors.Is(err, syscall.ESRCH)
}
