package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/client"
	"github.com/whet-dev/whet/task/web"
)

// servePage shows the tasks on a web page until Ctrl-C.
func servePage(c *cobra.Command, listen string) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return usageError{fmt.Errorf("--listen %q: want HOST:PORT, such as 127.0.0.1:8080", listen)}
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return usageError{fmt.Errorf("--listen %q is not this machine alone: the page has nobody to tell friend from stranger by but its address; take 127.0.0.1, and ssh -L from elsewhere", listen)}
	}
	dir, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(c.Context(), "tcp", listen)
	if err != nil {
		return err
	}
	b := &web.Board{Token: rand.Text(), Project: filepath.Base(dir), Ask: askForPage}
	fmt.Fprintf(c.OutOrStdout(), "http://%s/?token=%s\n", l.Addr(), b.Token)
	fmt.Fprintln(c.ErrOrStderr(), "whet: the page is for whoever has this address; Ctrl-C ends it, and the tasks go on")
	return b.Serve(c.Context(), l)
}

// askForPage asks the runner. If there never was a task, the board is empty.
func askForPage(ctx context.Context, path string, q task.Request) (*task.Reply, error) {
	reply, err := askRunner(ctx, path, q)
	if path != "/watch" || !errors.Is(err, client.ErrNone) {
		return reply, err
	}
	select {
	case <-time.After(min(q.Wait, time.Second)):
	case <-ctx.Done():
	}
	return &task.Reply{}, nil
}
