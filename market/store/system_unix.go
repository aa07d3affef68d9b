//go:build !windows

package store

import (
	"errors"
	"syscall"
)

const hasExecBits = true

// alive reports whether the process is there, of whichever user.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
