package store_test

import (
	"os/exec"
	"testing"
)

func asNobody(t *testing.T, _ *exec.Cmd, _ string) { t.Skip("directories can't be made read-only") }
