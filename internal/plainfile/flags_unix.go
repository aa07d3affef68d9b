//go:build unix

package plainfile

import "syscall"

const (
	nonblock  = syscall.O_NONBLOCK
	directory = syscall.O_DIRECTORY
)
