//go:build natsembed

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/whet-dev/whet/task"
)

func TestNATSOptions(t *testing.T) {
	for _, c := range []struct{ url, token, want string }{
		{"nats://127.0.0.1:14222", "", ""},
		{"nats://localhost", "", ""},
		{"nats://192.0.2.1:4222", "secret", ""},
		{"nats://192.0.2.1:4222", "", "can be reached by other machines"},
		{"nats://0.0.0.0", "", "can be reached by other machines"},
		{"nats://example.com", "", "can be reached by other machines"},
		{"tls://127.0.0.1", "", "has no certificate"},
		{"http://127.0.0.1", "", "is no address"},
		{"", "", "task.nats.url is not set"},
	} {
		t.Setenv("WHET_NATS_TOKEN", c.token)
		o, err := natsOptions(task.NATS{URL: c.url}, t.TempDir())
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.url, err, c.want)
		}
		if err == nil && o.Authorization != c.token {
			t.Errorf("%s: the token is %q", c.url, o.Authorization)
		}
	}
}

// The server in whet has JetStream, and lets nobody in without the token.
func TestNATSServer(t *testing.T) {
	t.Setenv("WHET_NATS_TOKEN", "secret")
	o, err := natsOptions(task.NATS{URL: "nats://127.0.0.1"}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	o.Port = server.RANDOM_PORT
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer s.WaitForShutdown()
	defer s.Shutdown()
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("it doesn't answer")
	}
	if _, err := nats.Connect(s.ClientURL()); err == nil {
		t.Error("it lets everybody in")
	}
	nc, err := nats.Connect(s.ClientURL(), nats.Token("secret"))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.AccountInfo(t.Context()); err != nil {
		t.Errorf("JetStream: %v", err)
	}
}
