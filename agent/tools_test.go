package agent_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/agent"
)

// project makes files in a new directory.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func call(t *testing.T, s whet.Session, tool string, args map[string]any) *whet.Result {
	t.Helper()
	b, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	r, err := (&whet.Kit{Tools: agent.Tools()}).Call(t.Context(), &whet.Call{Tool: tool, Args: b, Session: s})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRead(t *testing.T) {
	long := strings.Repeat("x", 5000)
	dir := project(t, map[string]string{
		"a.txt": "one\ntwo\nthree", "crlf.txt": "one\r\ntwo\r\n", "empty": "", "bom.txt": "\ufeffone\n",
		"bin": "a\x00b", "long": long + "\nnext\n", "wide": strings.Repeat("é", 1500) + "\n", "latin": "caf\xe9\n",
		"many": strings.Repeat("line\n", 2500), "sub/Main.go": "package main\n",
		"exact": strings.Repeat("y", 2000) + "\n",
	})
	for _, tt := range []struct {
		name   string
		args   map[string]any
		want   string // the whole text, or its end if it begins with "…"
		failed bool
	}{
		{"numbers", map[string]any{"path": "a.txt"}, "     1\tone\n     2\ttwo\n     3\tthree", false},
		{"absolute", map[string]any{"path": filepath.Join(dir, "a.txt"), "limit": 1}, "     1\tone\n[lines 1 to 1; there are more: go on with offset 2]", false},
		{"window", map[string]any{"path": "a.txt", "offset": 2, "limit": 1}, "     2\ttwo\n[lines 2 to 2; there are more: go on with offset 3]", false},
		{"to the end", map[string]any{"path": "a.txt", "offset": 2, "limit": 2}, "     2\ttwo\n     3\tthree", false},
		{"beyond", map[string]any{"path": "a.txt", "offset": 9}, "a.txt has only 3 lines, so there is no line 9", true},
		{"crlf", map[string]any{"path": "crlf.txt"}, "     1\tone\n     2\ttwo\n[lines end in CRLF; edits keep that, write \\n only]", false},
		{"empty", map[string]any{"path": "empty"}, "empty is empty", false},
		{"byte order mark", map[string]any{"path": "bom.txt"}, "     1\tone", false},
		{"binary", map[string]any{"path": "bin"}, "bin is not a text file (3 bytes); look at it with bash", true},
		{"long line", map[string]any{"path": "long"}, "     1\t" + long[:2000] + "[... 3000 more bytes in this line]\n     2\tnext", false},
		{"line of the very length", map[string]any{"path": "exact"}, "     1\t" + strings.Repeat("y", 2000), false},
		{"no half characters", map[string]any{"path": "wide"}, "     1\t" + strings.Repeat("é", 1000) + "[... 1000 more bytes in this line]", false},
		{"not UTF-8", map[string]any{"path": "latin"}, "     1\tcaf\ufffd", false},
		{"first part", map[string]any{"path": "many"}, "…[lines 1 to 2000; there are more: go on with offset 2001]", false},
		{"missing", map[string]any{"path": "nothing"}, "nothing does not exist", true},
		{"meant", map[string]any{"path": "sub/main.go2"}, "sub/main.go2 does not exist; there is Main.go", true},
		{"missing directory", map[string]any{"path": "no/such"}, "no/such does not exist, and neither does its directory", true},
		{"directory", map[string]any{"path": "sub"}, "sub is a directory, not a file", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := call(t, whet.Session{Dir: dir}, "read", tt.args)
			got := r.Text
			if end, ok := strings.CutPrefix(tt.want, "…"); ok && strings.HasSuffix(got, end) {
				got = tt.want
			}
			if d := cmp.Diff(tt.want, got); d != "" || r.Failed != tt.failed {
				t.Errorf("failed %v, text -want +got:\n%s", r.Failed, d)
			}
		})
	}
}

func TestEdit(t *testing.T) {
	for _, tt := range []struct {
		name     string
		file     string
		old, new string
		all      bool
		want     string // the file afterwards
		text     string // the result
	}{
		{name: "once", file: "a\nb\nc\n", old: "b", new: "B", want: "a\nB\nc\n", text: "edited f at line 2"},
		{name: "twice", file: "x\ny\nx\n", old: "x", new: "z", want: "x\ny\nx\n", text: "f was not changed: old_string occurs 2 times, at lines 1, 3; give more lines around the one you mean, or set replace_all"},
		{name: "all", file: "x\ny\nx\n", old: "x", new: "z", all: true, want: "z\ny\nz\n", text: "edited f at lines 1, 3"},
		{name: "not found", file: "a\n", old: "q", new: "r", want: "a\n", text: "f was not changed: old_string was not found in it; read the file again and copy the text exactly"},
		{name: "other white space", file: "a\n\tif x {\n\t\treturn\n", old: "    if x {\n        return", new: "r", want: "a\n\tif x {\n\t\treturn\n", text: "f was not changed: old_string was not found in it; the same text with other white space is at line 2: read it and copy it exactly"},
		{name: "crlf", file: "a\r\nb\r\nc\r\n", old: "a\nb", new: "1\n2\n3", want: "1\r\n2\r\n3\r\nc\r\n", text: "edited f at line 1"},
		{name: "crlf, one line to two", file: "a\r\nb\r\n", old: "b", new: "b\nc", want: "a\r\nb\r\nc\r\n", text: "edited f at line 2"},
		{name: "mixed line ends are left", file: "a\r\nb\nc\n", old: "b\nc", new: "d\ne", want: "a\r\nd\ne\n", text: "edited f at line 2"},
		{name: "byte order mark", file: "\ufeffa\n", old: "a\n", new: "b\n", want: "\ufeffb\n", text: "edited f at line 1"},
		{name: "dollar is no pattern", file: "cost\n", old: "cost", new: "$1", want: "$1\n", text: "edited f at line 1"},
		{name: "empty", file: "a", old: "", new: "b", want: "a", text: "f was not changed: old_string is empty; to write a whole file use write"},
		{name: "same", file: "a", old: "a", new: "a", want: "a", text: "f was not changed: old_string and new_string are the same"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := project(t, map[string]string{"f": tt.file})
			path := filepath.Join(dir, "f")
			if err := os.Chmod(path, 0o750); err != nil {
				t.Fatal(err)
			}
			r := call(t, whet.Session{Dir: dir}, "edit", map[string]any{"path": "f", "old_string": tt.old, "new_string": tt.new, "replace_all": tt.all})
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if string(b) != tt.want || r.Text != tt.text {
				t.Errorf("file %q, result %q", b, r.Text)
			}
			if info, _ := os.Stat(path); info.Mode().Perm() != 0o750 && runtime.GOOS != "windows" {
				t.Errorf("mode became %v", info.Mode())
			}
			if want := []string{path}; !r.Failed && !cmp.Equal(r.Changed, want) {
				t.Errorf("changed %q", r.Changed)
			}
		})
	}
}

func TestWrite(t *testing.T) {
	dir := project(t, map[string]string{"old.txt": "old\n"})
	for _, tt := range []struct{ path, content, text string }{
		{"a b/new.txt", "one\ntwo", "created a b/new.txt: 2 lines, 7 bytes"},
		{"old.txt", "", "wrote old.txt: 0 lines, 0 bytes"},
		{"a b", "x", "a b is not a regular file (drwxr-xr-x)"},
	} {
		r := call(t, whet.Session{Dir: dir}, "write", map[string]any{"path": tt.path, "content": tt.content})
		if r.Text != tt.text {
			t.Errorf("write %s: %q", tt.path, r.Text)
		}
		if b, err := os.ReadFile(filepath.Join(dir, tt.path)); !r.Failed && (err != nil || string(b) != tt.content) {
			t.Errorf("%s holds %q, %v", tt.path, b, err)
		}
	}
}

// Whatever way out of the project a path takes, a person is asked, by the name
// of what would really be touched; without a person nothing happens.
func TestOutside(t *testing.T) {
	real, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(real, "secret")
	if err := os.WriteFile(secret, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := project(t, map[string]string{"in.txt": "in\n"})
	for link, to := range map[string]string{"link": secret, "dirlink": real, "inlink": filepath.Join(dir, "in.txt"), "dangling": filepath.Join(real, "gone")} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip("no links here:", err)
		}
	}
	up, err := filepath.Rel(dir, secret)
	if err != nil {
		t.Fatal(err)
	}
	var asked []whet.Permission
	yes := func(_ context.Context, p whet.Permission) error { asked = append(asked, p); return nil }
	for _, tt := range []struct {
		tool, path string
		asks       string // what is asked about; empty if nothing is
	}{
		{"read", "in.txt", ""},
		{"read", "inlink", ""},
		{"read", secret, secret},
		{"read", up, secret},
		{"read", "link", secret},
		{"read", "dirlink/secret", secret},
		{"write", "dirlink/new/deep.txt", filepath.Join(real, "new", "deep.txt")},
		{"edit", "link", secret},
	} {
		t.Run(tt.tool+" "+tt.path, func(t *testing.T) {
			args := map[string]any{"path": tt.path, "content": "x", "old_string": "secret", "new_string": "open"}
			if tt.asks != "" {
				if r := call(t, whet.Session{Dir: dir}, tt.tool, args); !r.Failed || !strings.Contains(r.Text, "nobody to ask") {
					t.Errorf("without a person: %+v", r)
				}
			}
			asked = nil
			r := call(t, whet.Session{Dir: dir, Ask: yes}, tt.tool, args)
			if r.Failed {
				t.Errorf("with permission: %s", r.Text)
			}
			if got := subjects(asked); got != tt.asks {
				t.Errorf("asked about %q", got)
			}
		})
	}
	if b, err := os.ReadFile(secret); err != nil || string(b) != "open\n" {
		t.Errorf("the edit through the link: %q, %v", b, err)
	}
	if info, err := os.Lstat(filepath.Join(dir, "link")); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Error("the link itself was replaced")
	}
	if r := call(t, whet.Session{Dir: dir, Ask: yes}, "write", map[string]any{"path": "dangling", "content": "x"}); !r.Failed || !strings.Contains(r.Text, "link to nothing") {
		t.Errorf("write through a link to nothing: %q", r.Text)
	}
}

func subjects(ps []whet.Permission) string {
	var s []string
	for _, p := range ps {
		s = append(s, p.Subject)
	}
	return strings.Join(s, " ")
}

func TestBash(t *testing.T) {
	dir := project(t, nil)
	yes := func(context.Context, whet.Permission) error { return nil }
	for _, tt := range []struct {
		name, command string
		want          string
		failed        bool
	}{
		{"output", "echo hello", "hello", false},
		{"nothing", "true", "[no output, exit code 0]", false},
		{"failure", "echo no >&2; exit 4", "no\n[exit code 4]", true},
		{"left over", "sleep 60 & echo done", "done\n[it left processes running in the background; they were ended]", false},
		{"too slow", "echo begun; sleep 60", "begun\n[stopped after 1s, with everything it had started]", true},
		{"empty", " ", "the command is empty", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := call(t, whet.Session{Dir: dir, Ask: yes}, "bash", map[string]any{"command": tt.command, "timeout_s": 1})
			if r.Text != tt.want || r.Failed != tt.failed {
				t.Errorf("failed %v: %q", r.Failed, r.Text)
			}
		})
	}
	if r := call(t, whet.Session{Dir: dir}, "bash", map[string]any{"command": "touch made"}); !r.Failed || !strings.Contains(r.Text, "nobody to ask") {
		t.Errorf("without a person: %+v", r)
	}
	if _, err := os.Stat(filepath.Join(dir, "made")); err == nil {
		t.Error("it ran without permission")
	}
}

func FuzzEdit(f *testing.F) {
	f.Add("a\r\nb\r\n", "a\nb", "c", true)
	f.Add("é\n\n", "\n", "\r\n", false)
	f.Fuzz(func(t *testing.T, file, old, repl string, all bool) {
		if strings.ContainsRune(file, 0) {
			t.Skip()
		}
		dir := project(t, map[string]string{"f": file})
		r := call(t, whet.Session{Dir: dir}, "edit", map[string]any{"path": "f", "old_string": old, "new_string": repl, "replace_all": all})
		b, err := os.ReadFile(filepath.Join(dir, "f"))
		if err != nil {
			t.Fatal(err)
		}
		if r.Failed && string(b) != file {
			t.Errorf("failed, but the file went from %q to %q: %s", file, b, r.Text)
		}
	})
}

// Each directory of a path is looked up from the root: a model's slip must not
// keep the machine busy for hours.
func TestDeepPath(t *testing.T) {
	for _, tool := range []string{"read", "write", "edit"} {
		args := map[string]any{"path": strings.Repeat("a/", 3000) + "b", "content": "x", "old_string": "x", "new_string": "y"}
		if r := call(t, whet.Session{Dir: t.TempDir()}, tool, args); !r.Failed || !strings.Contains(r.Text, "3000 directories, the limit is 200") {
			t.Errorf("%s: %.200s", tool, r.Text)
		}
	}
}
