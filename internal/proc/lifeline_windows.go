package proc

import "os/exec"

const markName = "WHET_PROC"

func apart(*exec.Cmd) {}

func endMarked(string) int { return 0 }
