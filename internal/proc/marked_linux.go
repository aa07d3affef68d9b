package proc

import (
	"bytes"
	"os"
	"strconv"
)

// marked returns the running processes whose environment holds mark. A process
// that replaced its environment is not found.
func marked(mark string) (pids []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		// The environment of the dead is empty: they are not found again.
		env, err := os.ReadFile("/proc/" + e.Name() + "/environ")
		if err == nil && bytes.Contains(env, []byte(mark)) {
			pids = append(pids, pid)
		}
	}
	return pids
}
