package mail_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// A task that was given files is told of each other file that it changes, or
// kept from it. Nobody else is.
func TestGuardOfWhatATaskWasGiven(t *testing.T) {
	dir := desk(t)
	g := mail.Guard(task.Wake{})
	for _, tt := range []struct {
		session, path, patch string
		files                []string
		astray               string
	}{
		{"tsk_1", "auth/a.go", "", []string{"auth/**"}, ""},
		{"tsk_1", "b.go", "", []string{"auth/**"}, "b.go"},
		{"tsk_1", "", "*** Update File: auth/a.go\n*** Add File: c.go", []string{"auth/**"}, "c.go"},
		{"tsk_1", "b.go", "", nil, ""}, // it was given none in particular
		{"s", "b.go", "", []string{"auth/**"}, ""},
	} {
		args, err := json.Marshal(map[string]string{"patch": tt.patch})
		if err != nil {
			t.Fatal(err)
		}
		for _, strict := range []bool{false, true} {
			put(t, task.ClaimFile(dir), []task.Claim{{Task: "tsk_1", Alias: "fix-1", Agent: "fixer", Dir: "/p", Files: tt.files, Strict: strict}})
			c := &whet.Call{Tool: "edit", Path: tt.path, Args: args, Session: whet.Session{ID: tt.session, Dir: "/p", Store: state.Memory()}}
			err := g.Before(t.Context(), c)
			var r whet.Result
			if err == nil {
				err = g.After(t.Context(), c, &r)
				if err != nil {
					t.Fatal(err)
				}
			}
			said := r.Text
			if err != nil {
				said = err.Error()
			}
			if refused := err != nil; refused != (strict && tt.astray != "") {
				t.Errorf("%+v, strict %v: %v", tt, strict, err)
			}
			if want := tt.astray + " is none of the files that this task was given (auth/**)"; (tt.astray != "") != strings.Contains(said, want) {
				t.Errorf("%+v, strict %v: %q", tt, strict, said)
			}
		}
	}
}

// A task that works in a worktree may not write to the checkout that it was
// made from, whatever way the path takes, and nobody else writes to its
// worktree.
func TestGuardKeepsTheProject(t *testing.T) {
	dir := desk(t)
	main, tree := t.TempDir(), t.TempDir()
	if err := os.Symlink(main, filepath.Join(tree, "link")); err != nil {
		t.Skip(err)
	}
	put(t, task.ClaimFile(dir), []task.Claim{{Task: "tsk_1", Session: "ses_1", Alias: "fix-1", Agent: "fixer", Dir: tree, Files: []string{"**"}, Main: main}})
	in := func(root string, parts ...string) string { return filepath.Join(append([]string{root}, parts...)...) }
	for _, tt := range []struct {
		session, dir, path string
		says               string
	}{
		{"tsk_1", tree, "a.go", ""},
		{"tsk_1", tree, in(tree, "new", "a.go"), ""},
		{"tsk_1", tree, in(main, "new", "a.go"), "Use " + in(tree, "new", "a.go")},
		{"tsk_1", tree, "link/a.go", "Use " + in(tree, "a.go")},
		{"ses_1", tree, in(main, "a.go"), "Use " + in(tree, "a.go")}, // of another vendor
		{"hook's own", in(tree, "sub"), in(main, "a.go"), "Use " + in(tree, "a.go")},
		{"tsk_1", tree, in(t.TempDir(), "a.go"), ""}, // others decide about that
		{"s", main, "a.go", ""},
		{"s", main, in(tree, "a.go"), "belongs to fix-1"},
	} {
		args, err := json.Marshal(map[string]string{"path": tt.path})
		if err != nil {
			t.Fatal(err)
		}
		err = mail.Guard(task.Wake{}).Before(t.Context(), &whet.Call{Tool: "write", Args: args, Session: whet.Session{ID: tt.session, Dir: tt.dir}})
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s in %s writes %s: %v, want %q", tt.session, tt.dir, tt.path, err, tt.says)
		}
	}
}

// Who has read a file that somebody else has changed since is told by whom, and
// must read it again.
func TestLedger(t *testing.T) {
	dir := desk(t)
	project := t.TempDir()
	file := filepath.Join(project, "a.go")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("1")
	session := func(id string) whet.Session {
		return whet.Session{ID: id, Host: "h", Dir: project, Store: state.Memory()}
	}
	one, two, boss := session("tsk_1"), session("tsk_2"), session("boss")
	g := mail.Guard(task.Wake{})
	after := func(s whet.Session, tool string) {
		t.Helper()
		c := &whet.Call{Tool: tool, Path: "a.go", Session: s}
		if tool == "bash" {
			c.Path = ""
		}
		if err := g.After(t.Context(), c, &whet.Result{}); err != nil {
			t.Fatal(err)
		}
	}
	edit := func(s whet.Session, says string) {
		t.Helper()
		err := g.Before(t.Context(), &whet.Call{Tool: "edit", Path: "a.go", Session: s})
		if (err == nil) != (says == "") || err != nil && (!strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "read it again")) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	after(one, "read")
	write("2")
	after(two, "edit")
	edit(one, "") // no task is at work: nobody keeps a ledger
	put(t, task.ClaimFile(dir), []task.Claim{{Task: "tsk_1", Alias: "fix-1", Agent: "fixer", Dir: project}, {Task: "tsk_2", Alias: "des-1", Agent: "designer", Dir: project}})

	after(one, "read")
	edit(one, "")
	after(two, "read")
	write("3")
	after(two, "edit")
	edit(one, "a.go has changed since you, fix-1 (the fixer), last read it, by des-1 (the designer);")
	edit(two, "")
	edit(boss, "") // has never read it
	after(one, "read")
	edit(one, "")
	write("4") // nobody that is known
	edit(one, "")
	after(boss, "read")
	after(one, "read")
	write("five")
	after(two, "bash")
	edit(one, "while des-1 (the designer) ran a command;")
	edit(boss, "since you last read it, while des-1")
	edit(two, "")
	after(one, "read")
	write("six")
	after(boss, "write")
	edit(one, "by another session (h/boss);")
	write("five") // as it was when boss read it
	after(one, "edit")
	after(boss, "read")
	edit(boss, "")

	x := &task.Task{ID: "tsk_2", Dir: project, Changed: []string{"a.go", "b.go"}}
	want := []task.Also{{By: "another session (h/boss)", Files: []string{"a.go"}}, {By: "fix-1 (the fixer)", Files: []string{"a.go"}}}
	if d := cmp.Diff(want, mail.Also(dir, x)); d != "" {
		t.Error(d)
	}
	x.Started = time.Now()
	if a := mail.Also(dir, x); a != nil {
		t.Errorf("what was before it began: %v", a)
	}
}
