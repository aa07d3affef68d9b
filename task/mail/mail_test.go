package mail_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/internal/state"
	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/mail"
)

// desk is the runner's directory, as the runner would keep it.
func desk(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	t.Setenv("WHET_STATE", root)
	dir := filepath.Join(root, "tasks")
	if err := os.MkdirAll(filepath.Join(dir, "mail"), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func put(t *testing.T, path string, v any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func slips(t *testing.T, dir string) (out []task.Slip) {
	t.Helper()
	err := state.Spool(task.SlipDir(dir)).Take(func(b []byte) error {
		var s task.Slip
		err := json.Unmarshal(b, &s)
		out = append(out, s)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func notice(id string) task.Notice { return task.Notice{ID: id, Text: "<task " + id + ">"} }

func TestGuardTellsOnce(t *testing.T) {
	dir := desk(t)
	s := whet.Session{ID: "s", Host: "claude-code", Store: state.Memory()}
	k := &whet.Kit{Guards: []whet.Guard{mail.Guard(task.Wake{})}}
	file := task.MailFile(dir, mail.Parent(s))
	after := func() string {
		r := &whet.Result{Text: "out"}
		k.After(t.Context(), &whet.Call{Tool: "bash", Session: s}, r)
		return strings.TrimSpace(strings.TrimPrefix(r.Text, "out"))
	}
	want := func(what, got, want string, left ...task.Slip) {
		t.Helper()
		if got != want {
			t.Errorf("%s: said %q, want %q", what, got, want)
		}
		if d := cmp.Diff(left, slips(t, dir)); d != "" {
			t.Errorf("%s: slips -want +got\n%s", what, d)
		}
	}
	want("no tasks", after(), "")
	put(t, file, task.Mail{Board: "a board", Open: 1})
	want("tasks that run", after(), "")
	want("at rest", k.Idle(t.Context(), s), "")
	want("a person", k.Prompt(t.Context(), s), "a board")
	put(t, file, task.Mail{Board: "a board", Notices: []task.Notice{notice("a")}})
	want("an end", after(), "<task a>")
	read := task.Slip{Parent: "claude-code/s", Read: []string{"a"}}
	want("told before", after(), "", read)
	put(t, file, task.Mail{Board: "b board", Notices: []task.Notice{notice("a"), notice("b")}})
	want("a second end keeps it going", k.Idle(t.Context(), s), "<task b>", read)
	want("but once", k.Idle(t.Context(), s), "", task.Slip{Parent: "claude-code/s", Read: []string{"a", "b"}})
	put(t, file, task.Mail{Board: "c board", Notices: []task.Notice{notice("c")}, Waiting: true})
	want("it waits for a person", k.Idle(t.Context(), s), "")
	want("who writes", k.Prompt(t.Context(), s), "<task c>\n\nc board", task.Slip{Parent: "claude-code/s", UserWrote: true})
	put(t, file, task.Mail{Notices: []task.Notice{notice("d")}})
	off := false
	for _, quiet := range []task.Wake{{Enabled: &off}, {OnEnd: &off}} {
		silent := &whet.Kit{Guards: []whet.Guard{mail.Guard(quiet)}}
		want("not to be woken", silent.Idle(t.Context(), s), "")
	}
	if err := os.WriteFile(file, []byte("{half"), 0o600); err != nil {
		t.Fatal(err)
	}
	want("a damaged file", after(), "")
	s.ID = "other"
	want("another session", k.Prompt(t.Context(), s), "")
}

func TestGuardLinksALaunch(t *testing.T) {
	dir := desk(t)
	const id = "tsk_01M8QM2F2SMI27AFU2ONSDOHA2"
	for text, want := range map[string][]task.Slip{
		`<task id="` + id + `" alias="fix-1">`:                    {{Parent: "codex/s", Launched: id}},
		`[{"text":"<task id=\"` + id + `\" alias=\"fix-1\">"}]`:   {{Parent: "codex/s", Launched: id}},
		`{"text":"{\"x\":\"<task id=\\\"` + id + `\\\" alias"}"}`: {{Parent: "codex/s", Launched: id}},
		"the fixer could not be started":                          nil,
		`<task id="something else">`:                              nil,
	} {
		r := &whet.Result{Text: text}
		c := &whet.Call{Tool: "task", Session: whet.Session{ID: "s", Host: "codex", Store: state.Memory()}}
		if err := mail.Guard(task.Wake{}).After(t.Context(), c, r); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, slips(t, dir)); d != "" {
			t.Errorf("%s\n%s", text, d)
		}
	}
}

func TestGuardKeepsOwners(t *testing.T) {
	dir := desk(t)
	call := func(tool, session, path, args string) error {
		return mail.Guard(task.Wake{}).Before(t.Context(), &whet.Call{Tool: tool, Path: path, Args: json.RawMessage(args), Session: whet.Session{ID: session, Dir: "/p"}})
	}
	if err := call("edit", "s", "a.go", `{}`); err != nil {
		t.Errorf("nobody owns anything: %v", err)
	}
	put(t, task.ClaimFile(dir), []task.Claim{{Task: "tsk_1", Alias: "fix-1", Agent: "fixer", Dir: "/p", Files: []string{"auth/**"}, Session: "ses_1"}})
	for _, tt := range []struct {
		tool, session, path, args string
		refused                   bool
	}{
		{"edit", "s", "auth/a.go", `{}`, true},
		{"edit", "s", "/p/auth/a.go", `{}`, true},
		{"write", "s", "x/../auth/a.go", `{}`, true},
		{"write", "s", "", `{"filePath": "auth/a.go"}`, true},
		{"apply_patch", "s", "", `{"patch": "*** Begin Patch\n*** Update File: b.go\n@@\n*** Add File: auth/n.go\n+x\n*** End Patch"}`, true},
		{"apply_patch", "s", "", `{"command": "*** Begin Patch\n*** Update File: b.go\n*** Move to: auth/b.go\n"}`, true},
		{"apply_patch", "s", "", `{"patch": "*** Update File: b.go"}`, false},
		{"edit", "s", "b.go", `{}`, false},
		{"read", "s", "auth/a.go", `{}`, false},
		{"edit", "tsk_1", "auth/a.go", `{}`, false}, // its own
		{"edit", "ses_1", "auth/a.go", `{}`, false}, // in a host of its own
		{"edit", "tsk_2", "auth/a.go", `{}`, true},
	} {
		err := call(tt.tool, tt.session, tt.path, tt.args)
		if (err != nil) != tt.refused || err != nil && !strings.Contains(err.Error(), "belongs to fix-1 (the fixer, tsk_1) until that ends") {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}
