package store_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// smallDisk mounts a file system of two and a half megabytes.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=2500k"); err != nil {
		t.Skipf("no small file system to fill: mounting needs root (%v)", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	// Removed later, so that there is room again.
	if err := os.WriteFile(filepath.Join(dir, "ballast"), make([]byte, 700<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}
