package format

import "os/exec"

func executable(path string) bool {
	_, err := exec.LookPath(path) // tries the endings of PATHEXT
	return err == nil
}
