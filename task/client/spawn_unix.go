//go:build unix

package client

import "syscall"

// detached gives the runner a session of its own, so that no terminal's signals
// reach it.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
