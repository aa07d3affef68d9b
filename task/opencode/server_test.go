package opencode

import (
	"errors"
	"testing"
	"time"

	"github.com/whet-dev/whet/task"
)

// A host that lends itself has ended when it could not be reached for long, and
// not before; any other server may always come back.
func TestGone(t *testing.T) {
	lost := errors.New("connection refused")
	s := newServer(task.OpenCode{}, nil, "/no/such/socket")
	s.reached(lost)
	if s.gone() {
		t.Error("gone at once")
	}
	s.lost = time.Now().Add(-goneLimit)
	s.reached(lost)
	if !s.gone() {
		t.Error("never gone")
	}
	s.reached(nil)
	if s.gone() {
		t.Error("gone though it answers")
	}
	other := newServer(task.OpenCode{}, nil, "")
	other.lost = time.Now().Add(-time.Hour)
	if other.gone() {
		t.Error("a server that lends nothing is gone")
	}
}

// In its parent's host, a person is asked; elsewhere nobody is. No specialist
// hands out tasks.
func TestPermissions(t *testing.T) {
	b := &backend{}
	for _, tt := range []struct {
		t    task.Task
		want string
	}{
		{task.Task{Writes: true}, "edit allow, bash deny, webfetch allow, external_directory deny, "},
		{task.Task{Allow: []string{"bash"}}, "edit deny, bash allow, webfetch allow, external_directory deny, "},
		{task.Task{Via: "x", Writes: true}, ""},
		{task.Task{Via: "x"}, "edit deny, bash deny, "},
		{task.Task{Via: "x", Allow: []string{"*"}}, "edit deny, "},
	} {
		got := ""
		for _, r := range b.permissions(tt.t) {
			got += r["permission"] + " " + r["action"] + ", "
		}
		if want := tt.want + "task deny, task_* deny, wait_for_* deny, question deny, "; got != want {
			t.Errorf("%+v: %s\nwant %s", tt.t, got, want)
		}
	}
}
