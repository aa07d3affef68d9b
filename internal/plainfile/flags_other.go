//go:build !unix

package plainfile

// Pipes and devices have no place among files here.
const (
	nonblock  = 0
	directory = 0
)
