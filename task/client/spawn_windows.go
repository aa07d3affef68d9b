package client

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// detached gives the runner no console and a group of its own.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS}
}
