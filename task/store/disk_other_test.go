//go:build !linux

package store_test

import "testing"

func smallDisk(t *testing.T) string {
	t.Helper()
	t.Skip("only on Linux is there a small file system to fill")
	return ""
}
