// Package remote lets workers on other machines work on tasks. The runner stays
// the one writer of its record, in SQLite; what the machines share is in NATS
// JetStream:
//
//	WHET_RUNS   the work queue: a message for each generation that is to be worked on
//	WHET_LOG    the journals of the conversations, which is all that a run is made of
//	WHET_MAIL   messages to runs, and requests to end
//	WHET_TREES  object store: the project as git bundles, there and back
//
// A worker takes a run from the queue and says so by a row in the run's journal.
// It names, with each row that it adds, the row before: who takes a run over
// thereby ends the right of whoever had it to add anything, however late it
// hears of that. An end is a row. So there is one end, and it is written by the
// one who holds the run.
//
// What workers say besides ("live" messages) is a hint that decides nothing.
package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/whet-dev/whet/task"
)

// Name is what the backend is called.
const Name = "remote"

// Names of what is kept in JetStream.
const (
	runsStream = "WHET_RUNS"
	logStream  = "WHET_LOG"
	mailStream = "WHET_MAIL"
	trees      = "WHET_TREES"
	consumer   = "workers"

	runSubjects  = "whet.run."
	logSubjects  = "whet.log."
	mailSubjects = "whet.mail."
	liveSubjects = "whet.live."
)

// How long things are kept. Journals are kept longer than the runner keeps its
// tasks unless told otherwise.
const (
	keepRows  = 90 * 24 * time.Hour
	keepTrees = 30 * 24 * time.Hour
	maxMail   = 100 // to one run
)

// call bounds one question to the server.
const call = 4 * time.Second

// A conn is a connection that outlives restarts of the server.
type conn struct {
	nc   *nats.Conn
	js   jetstream.JetStream
	log  *slog.Logger
	lost time.Duration // a worker that is silent for so long has lost its run

	mu    sync.Mutex
	there *stores // once made or found

	packing sync.Mutex // of a history, which many tasks may need at once
}

// stores is what the server keeps for us.
type stores struct {
	runs, log, mail jetstream.Stream
	trees           jetstream.ObjectStore
	work            jetstream.Consumer
}

// dial returns a connection, which may not have been made yet. Its error is a
// wrong setting.
func dial(o task.NATS, log *slog.Logger) (*conn, error) {
	c := &conn{log: cmp.Or(log, slog.New(slog.DiscardHandler)), lost: time.Duration(cmp.Or(o.LostAfterS, 30)) * time.Second}
	options, err := c.options(o)
	if err != nil {
		return nil, err
	}
	if c.nc, err = nats.Connect(o.URL, options...); err != nil {
		return nil, fmt.Errorf("task.nats.url: %w", err)
	}
	if c.js, err = jetstream.New(c.nc); err != nil {
		c.nc.Close()
		return nil, err
	}
	return c, nil
}

// Check says what is wrong with the settings, without asking the server.
func Check(o task.NATS) error {
	_, err := address(o)
	return err
}

// Token is the token that the settings name, or "".
func Token(o task.NATS) string { return os.Getenv(cmp.Or(o.TokenEnv, "WHET_NATS_TOKEN")) }

func address(o task.NATS) (*url.URL, error) {
	u, err := url.Parse(o.URL)
	switch {
	case err != nil || u.Host == "" || !slices.Contains([]string{"nats", "tls"}, u.Scheme):
		return nil, errors.New("task.nats.url is no address like tls://HOST or nats://HOST:4222")
	case u.User != nil:
		return nil, errors.New("task.nats.url: leave name, password and token out of the address, and put the token into the environment variable that task.nats.tokenEnv names (default WHET_NATS_TOKEN)")
	}
	return u, nil
}

func (c *conn) options(o task.NATS) ([]nats.Option, error) {
	u, err := address(o)
	if err != nil {
		return nil, err
	}
	options := []nats.Option{
		nats.Name("whet"), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(min(time.Second, c.lost/8)),
		nats.PingInterval(c.lost / 3), nats.MaxPingsOutstanding(2), nats.Timeout(call),
		nats.ReconnectBufSize(-1), // what can't be sent now must not be sent late
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.log.Warn("NATS", "err", err) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				c.log.Warn("NATS: the connection is lost and is being made again", "err", err)
			}
		}),
	}
	if token := Token(o); token != "" {
		options = append(options, nats.Token(token))
	}
	if file := os.Getenv(cmp.Or(o.CredentialsEnv, "WHET_NATS_CREDENTIALS")); file != "" {
		options = append(options, nats.UserCredentials(file))
	}
	if u.Scheme == "nats" && !Loopback(u.Hostname()) {
		c.log.Warn("task.nats.url is not encrypted: prompts, files and the token can be read on the way; use tls://", "host", u.Host)
	}
	return options, nil
}

// Loopback reports whether a host is this machine.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// stores returns what the server keeps, made where it isn't there yet. What an
// administrator has made or changed stays as it is.
func (c *conn) stores(ctx context.Context) (*stores, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.there != nil {
		return c.there, nil
	}
	ctx, cancel := context.WithTimeout(ctx, call)
	defer cancel()
	s := new(stores)
	var err error
	for _, want := range []struct {
		stream *jetstream.Stream
		config jetstream.StreamConfig
	}{
		{&s.runs, jetstream.StreamConfig{Name: runsStream, Subjects: []string{runSubjects + "*.*"}, Retention: jetstream.WorkQueuePolicy}},
		{&s.log, jetstream.StreamConfig{Name: logStream, Subjects: []string{logSubjects + "*"}, MaxAge: keepRows}},
		{&s.mail, jetstream.StreamConfig{Name: mailStream, Subjects: []string{mailSubjects + "*.*"}, MaxAge: keepTrees, MaxMsgsPerSubject: maxMail}},
	} {
		if *want.stream, err = c.stream(ctx, want.config); err != nil {
			if errors.Is(err, nats.ErrReconnectBufExceeded) { // says how we are set up, not what is wrong
				return nil, fmt.Errorf("the NATS server is not reached: %w", cmp.Or(c.nc.LastError(), nats.ErrNoServers))
			}
			return nil, fmt.Errorf("NATS stream %s: %w", want.config.Name, err)
		}
	}
	if s.trees, err = c.js.ObjectStore(ctx, trees); errors.Is(err, jetstream.ErrBucketNotFound) {
		s.trees, err = c.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: trees, TTL: keepTrees, Compression: false})
	}
	if err != nil {
		return nil, fmt.Errorf("NATS object store %s: %w", trees, err)
	}
	if s.work, err = s.runs.Consumer(ctx, consumer); errors.Is(err, jetstream.ErrConsumerNotFound) {
		s.work, err = s.runs.CreateOrUpdateConsumer(ctx, c.workers())
	}
	if err != nil {
		return nil, fmt.Errorf("NATS consumer %s: %w", consumer, err)
	}
	c.there = s
	return s, nil
}

// missed takes in that something of it is gone: it is looked for anew, and made
// again.
func (c *conn) missed(err error) error {
	for _, gone := range []error{jetstream.ErrStreamNotFound, jetstream.ErrConsumerNotFound, jetstream.ErrBucketNotFound, jetstream.ErrNoStreamResponse} {
		if errors.Is(err, gone) {
			c.mu.Lock()
			c.there = nil
			c.mu.Unlock()
		}
	}
	return err
}

// workers is how runs are handed out: again to another worker when the one that
// has it is silent, as often as needed.
func (c *conn) workers() jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{Durable: consumer, AckPolicy: jetstream.AckExplicitPolicy, AckWait: c.lost, MaxDeliver: -1, MaxAckPending: 10000}
}

func (c *conn) stream(ctx context.Context, config jetstream.StreamConfig) (jetstream.Stream, error) {
	s, err := c.js.Stream(ctx, config.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = c.js.CreateOrUpdateStream(ctx, config)
	}
	return s, err
}

// last returns the last message of a subject, nil if there is none.
func last(ctx context.Context, s jetstream.Stream, subject string) (*jetstream.RawStreamMsg, error) {
	ctx, cancel := context.WithTimeout(ctx, call)
	defer cancel()
	m, err := s.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	return m, err
}

// wrongLast reports that a message was refused because another was there first.
func wrongLast(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// sleep reports whether d has passed before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
