// Package natstest runs a real NATS server for tests.
package natstest

import (
	"net"
	"os/exec"
	"testing"
	"time"

	"github.com/whet-dev/whet/internal/peer"
	"github.com/whet-dev/whet/task"
)

// A Server is a process that a test may kill.
type Server struct {
	Options task.NATS // that name it; a worker is lost after four seconds
	address string
	args    []string
	cmd     *exec.Cmd
}

// Start starts a server on loopback, until the test ends.
func Start(t testing.TB) *Server { return StartAt(t, "127.0.0.1") }

// StartAt starts a server at an address of this machine, which wants args.
func StartAt(t testing.TB, host string, args ...string) *Server {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	s := &Server{Options: task.NATS{URL: "nats://" + address, LostAfterS: 4}, address: address}
	s.args = append([]string{peer.Find(t, "nats-server"), "--jetstream", "--store_dir", t.TempDir(), "--addr", host, "--port", port}, args...)
	t.Cleanup(s.Kill)
	s.Restart(t)
	return s
}

// Restart starts it anew with what it has kept, and returns when it answers.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Kill()
	s.cmd = exec.Command(s.args[0], s.args[1:]...)
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if c, err := net.Dial("tcp", s.address); err == nil {
			c.Close()
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the NATS server doesn't answer")
}

// Kill ends it as a power cut would.
func (s *Server) Kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}
