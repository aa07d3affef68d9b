//go:build unix

package walk

import "syscall"

// nonblock keeps a named pipe, put in place of a file, from holding up the
// open.
const nonblock = syscall.O_NONBLOCK
