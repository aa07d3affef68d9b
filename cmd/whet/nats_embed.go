//go:build natsembed

package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/spf13/cobra"

	"github.com/whet-dev/whet/config"
	"github.com/whet-dev/whet/kit"
	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/remote"
)

// serveNATS is a NATS server at the address in task.nats.url until it is ended.
func serveNATS(c *cobra.Command, dir string) error {
	ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	o := config.Load[kit.Config]("", "", os.Environ()).Config.Task.NATS
	options, err := natsOptions(o, filepath.Join(dir, "nats"))
	if err != nil {
		return err
	}
	s, err := server.NewServer(options)
	if err != nil {
		return fmt.Errorf("NATS server: %w", err)
	}
	s.SetLoggerV2(natsLog{c}, false, false, false)
	s.Start()
	defer s.WaitForShutdown()
	defer s.Shutdown()
	if !s.ReadyForConnections(10 * time.Second) {
		return fmt.Errorf("the NATS server can't serve %s", o.URL)
	}
	fmt.Fprintf(c.ErrOrStderr(), "whet: a NATS server at %s, with its streams in %s; Ctrl-C ends it\n", o.URL, options.StoreDir)
	<-ctx.Done()
	return nil
}

// natsOptions never lets other machines in without a token.
func natsOptions(o task.NATS, dir string) (*server.Options, error) {
	if o.URL == "" {
		return nil, errNoNATS
	}
	if err := remote.Check(o); err != nil {
		return nil, err
	}
	u, err := url.Parse(o.URL)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "nats" {
		return nil, errors.New("the server in whet has no certificate: for tls:// run nats-server, or put a proxy before nats://127.0.0.1")
	}
	token := remote.Token(o)
	if token == "" && !remote.Loopback(u.Hostname()) {
		return nil, fmt.Errorf("%s can be reached by other machines: put a token into %s first", u.Host, cmp.Or(o.TokenEnv, "WHET_NATS_TOKEN"))
	}
	port, err := strconv.Atoi(cmp.Or(u.Port(), "4222"))
	if err != nil {
		return nil, err
	}
	return &server.Options{
		ServerName: "whet", Host: u.Hostname(), Port: port, Authorization: token, JetStream: true, StoreDir: dir,
		SyncAlways: true, NoSigs: true,
	}, nil
}

// natsLog passes on what the server warns of.
type natsLog struct{ c *cobra.Command }

func (l natsLog) say(format string, v ...any) {
	fmt.Fprintf(l.c.ErrOrStderr(), "whet: NATS server: "+format+"\n", v...)
}

func (l natsLog) Warnf(format string, v ...any)  { l.say(format, v...) }
func (l natsLog) Errorf(format string, v ...any) { l.say(format, v...) }
func (l natsLog) Fatalf(format string, v ...any) { l.say(format, v...) }
func (natsLog) Noticef(string, ...any)           {}
func (natsLog) Debugf(string, ...any)            {}
func (natsLog) Tracef(string, ...any)            {}
