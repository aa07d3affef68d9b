package proc

import (
	"errors"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A tree is a child and everything it started, held in a job object: the
// system itself ends its members when the job is terminated or we die.
type tree struct {
	job windows.Handle
	cmd *exec.Cmd
}

func startTree(cmd *exec.Cmd) (*tree, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, err
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
		err = cmd.Start()
	}
	if err != nil {
		windows.CloseHandle(job)
		return nil, err
	}
	t := &tree{job, cmd}
	t.adopt()
	return t, nil
}

// LeaveTerminal does nothing: a console is nothing that a child would wait at.
func LeaveTerminal() {}

// adopt puts the child into the job. It fails if the child has ended already,
// and then there is nothing to hold.
func (t *tree) adopt() {
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(t.cmd.Process.Pid))
	if err != nil {
		return
	}
	defer windows.CloseHandle(h)
	_ = windows.AssignProcessToJobObject(t.job, h)
}

// terminate ends the tree: there is no polite way that console programs heed.
func (t *tree) terminate() { t.kill() }

// kill ends the tree. How many processes there were isn't known.
func (t *tree) kill() int {
	_ = windows.TerminateJobObject(t.job, 1)
	_ = t.cmd.Process.Kill()
	return 0
}

func (t *tree) release() { windows.CloseHandle(t.job) }

// Alive reports whether there may be a process of that id.
func Alive(pid int) bool {
	h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return !errors.Is(err, windows.ERROR_INVALID_PARAMETER) // it may be somebody else's
	}
	defer windows.CloseHandle(h)
	state, err := windows.WaitForSingleObject(h, 0)
	return err != nil || state == uint32(windows.WAIT_TIMEOUT)
}
