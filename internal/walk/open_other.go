//go:build !unix

package walk

const nonblock = 0
