//go:build unix

package e2e

func serveReverse() int { return 2 }
