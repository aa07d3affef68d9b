// Package project finds the bounds of the project around a directory.
package project

import (
	"os"
	"path/filepath"
)

// Worktree returns the nearest directory at or above dir that holds a .git
// entry, or dir itself if there is none.
func Worktree(dir string) string {
	for d := dir; ; {
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			return d
		}
		up := filepath.Dir(d)
		if up == d {
			return dir
		}
		d = up
	}
}
