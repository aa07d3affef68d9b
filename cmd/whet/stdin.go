package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// input is standard input for a command that reads all of it. On a terminal it
// says what is read, and Ctrl-C ends the wait.
func input(c *cobra.Command, what string) io.Reader {
	in := c.InOrStdin()
	if isTerminal(in) {
		fmt.Fprintf(c.ErrOrStderr(), "whet: reading %s from the terminal; end it with Ctrl-D\n", what)
	}
	r, w := io.Pipe()
	go func() { // ends with the input, or with the process
		_, err := io.Copy(w, in)
		w.CloseWithError(err)
	}()
	context.AfterFunc(c.Context(), func() { w.CloseWithError(context.Canceled) })
	return r
}

// speaks tells a person who starts what hosts start that nobody is there.
func speaks(c *cobra.Command, what string) {
	if isTerminal(c.InOrStdin()) {
		fmt.Fprintf(c.ErrOrStderr(), "whet: waiting for %s on standard input; to use a tool yourself: whet call. Ctrl-C ends it\n", what)
	}
}
