//go:build !linux

package applypatch

import "os"

func copyAttributes(*os.Root, string, *os.File) {}
