package search

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/internal/pathflavor"
)

// guardTree makes a project with a neighbour outside it.
func guardTree(t *testing.T) (dir string) {
	t.Helper()
	base := t.TempDir()
	dir = filepath.Join(base, "proj")
	write(t, dir, "src/a.txt", "hello\n")
	write(t, dir, "scripts/run.sh", "x\n")
	write(t, dir, "with space/b.txt", "x\n")
	write(t, base, "secret/key.txt", "x\n")
	link(t, "src", filepath.Join(dir, "linkdir"))
	link(t, "gone", filepath.Join(dir, "broken"))
	link(t, "../secret", filepath.Join(dir, "way-out"))
	return dir
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	p := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t testing.TB, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
}

func TestPathGuard(t *testing.T) {
	dir := guardTree(t)
	pass := ""
	rows := []struct {
		name, tool, host, path string
		want                   string // parts of the refusal, by |; "" passes
	}{
		{"missing with a near name", "grep", "claude-code", "scr", `does not exist: PROJ/scr (from "scr")|grep was stopped before it ran|similar names in it: src`},
		{"missing deep", "glob", "", "src/nope/deep", `does not exist: PROJ/src/nope/deep|glob was stopped|nearest directory that exists is PROJ/src.`},
		{"swapped letters", "grep", "", "srcipts", "similar names in it: scripts"},
		{"space in the name", "grep", "", "with spce", "similar names in it: with space"},
		{"dangling link", "grep", "", "broken", "does not exist: PROJ/broken"},
		{"through a file", "grep", "", "src/a.txt/x", `invalid: PROJ/src/a.txt/x (from "src/a.txt/x"): PROJ/src/a.txt is not a directory (ENOTDIR)`},
		{"glob through a file", "glob", "opencode2", "src/a.txt/x/y", "PROJ/src/a.txt is not a directory"},
		{"glob on a file", "glob", "", "src/a.txt", "is a file: PROJ/src/a.txt|its directory PROJ/src,"},
		{"grep on a file", "grep", "", "src/a.txt", pass},
		{"directory", "grep", "", "src", pass},
		{"link inside", "grep", "", "linkdir", pass},
		{"dot", "grep", "", ".", pass},
		{"empty", "grep", "", "", pass},
		{"another tool", "read", "", "nope", pass},
		{"v1 grep joins: the slash stays", "grep", "opencode", "src/a.txt/", "invalid: PROJ/src/a.txt/"},
		{"v2 grep resolves: the slash goes", "grep", "opencode2", "src/a.txt/", pass},
		{"unknown host: one reading is enough", "grep", "", "src/a.txt/", pass},
		{"v1 glob resolves", "glob", "opencode", "src/", pass},
		{"absolute", "grep", "", "PROJ/scr", "does not exist: PROJ/scr.|similar names in it: src"},
		{"v2 home", "grep", "opencode2", "~/", pass},
		{"v1 knows no home", "grep", "opencode", "~/", "does not exist: PROJ/~/"},
		{"v2 glob takes undefined for nothing", "glob", "opencode2", "undefined", pass},
		{"v2 grep doesn't", "grep", "opencode2", "undefined", "does not exist"},
		{"outside, missing", "grep", "", "../secrt", `outside the project: |(from "../secrt")|Give a path inside PROJ.`},
		{"outside by a link, missing", "grep", "", "way-out/nope", "outside the project"},
		{"outside, there: the host's rules", "grep", "", "../secret", pass},
		{"NUL", "grep", "", "a\x00b", pass},
		{"too long", "grep", "", strings.Repeat("a", 5000), pass},
		{"escapes in the name", "grep", "", "a\x1b[31m\nb", `PROJ/a\x1b[31m\nb (from "a\x1b[31m\nb")`},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			path := strings.ReplaceAll(r.path, "PROJ", dir)
			c := &whet.Call{Tool: r.tool, Path: path, Session: whet.Session{Dir: dir, Host: r.host}}
			err := PathGuard().Before(context.Background(), c)
			refused := ""
			if ref, ok := err.(*whet.Refusal); ok {
				refused = ref.Reason
			}
			if (r.want == "") != (refused == "") {
				t.Fatalf("refused with %q, want %q", refused, r.want)
			}
			for part := range strings.SplitSeq(strings.ReplaceAll(r.want, "PROJ", dir), "|") {
				if !strings.Contains(refused, part) {
					t.Errorf("refusal\n%s\nlacks\n%s", refused, part)
				}
			}
			if c.Path != path {
				t.Errorf("the path was changed to %q", c.Path)
			}
		})
	}
}

func TestPathGuardNeverListsOutside(t *testing.T) {
	dir := guardTree(t)
	for _, path := range []string{"../secret/kye.txt", "way-out/kye.txt", "../secre"} {
		c := &whet.Call{Tool: "grep", Path: path, Session: whet.Session{Dir: dir}}
		err := PathGuard().Before(context.Background(), c)
		if err == nil || strings.Contains(err.Error(), "key.txt") || strings.Contains(err.Error(), "similar") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestPathGuardWithoutProject(t *testing.T) {
	for _, path := range []string{"nope", "/nope"} {
		c := &whet.Call{Tool: "grep", Path: path}
		if err := PathGuard().Before(context.Background(), c); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestPathGuardUnreadableParent(t *testing.T) {
	dir := guardTree(t)
	locked := filepath.Join(dir, "locked")
	write(t, locked, "x", "")
	if err := os.Chmod(locked, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(locked, 0o755) })
	if _, err := os.Stat(filepath.Join(locked, "x")); err == nil {
		t.Skip("this user may read everything")
	}
	c := &whet.Call{Tool: "grep", Path: "locked/x", Session: whet.Session{Dir: dir}}
	err := PathGuard().Before(context.Background(), c)
	if _, refused := err.(*whet.Refusal); refused || err == nil {
		t.Errorf("got %v, want trouble that lets the call pass", err)
	}
}

// What each host looks at, for both families of systems.
func TestCandidates(t *testing.T) {
	win := pathflavor.Windows(func(drive string) string {
		if drive == "D:" {
			return `D:\work`
		}
		return ""
	})
	const dir = `C:\proj`
	rows := []struct {
		tool, host, raw string
		want            []string
	}{
		{"grep", "opencode", `C:src`, []string{`C:\proj\C:src`}},
		{"glob", "opencode", `C:src`, []string{`C:\proj\src`}},
		{"grep", "opencode2", `C:src`, []string{`C:\proj\src`}},
		{"grep", "claude-code", `C:src`, []string{`C:\proj\src`}},
		{"grep", "", `C:src`, []string{`C:\proj\src`, `C:\proj\C:src`}},
		{"grep", "opencode", `\src`, []string{`\src`}},
		{"glob", "opencode", `\src`, []string{`\src`}},
		{"grep", "opencode2", `\src`, []string{`\src`}},
		{"grep", "opencode", `..\x`, []string{`C:\x`}},
		{"glob", "opencode", `..\x`, []string{`C:\x`}},
		{"grep", "opencode2", `..\x\`, []string{`C:\x`}},
		{"grep", "opencode", `..\x\`, []string{`C:\x\`}},
		{"glob", "opencode2", `D:foo`, []string{`D:\work\foo`}},
		{"grep", "opencode2", `\\srv\sh\d`, []string{`\\srv\sh\d`}},
		{"grep", "opencode2", `/c/src/a`, []string{`C:\src\a`}},
		{"grep", "opencode2", `/c:/src`, []string{`C:\src`}},
		{"grep", "opencode2", `/cygdrive/d/x`, []string{`D:\x`}},
		{"grep", "opencode2", `/mnt/c`, []string{`C:\`}},
		{"grep", "opencode2", `/mnt/data`, []string{`/mnt/data`}},
		{"grep", "opencode", `/c/src`, []string{`/c/src`}},
		{"grep", "opencode2", `~\src`, []string{`C:\Users\me\src`}},
	}
	for _, r := range rows {
		c := pathCheck{tool: r.tool, host: r.host, dir: dir, raw: r.raw, flavor: win, home: `C:\Users\me`}
		if got := c.candidates(); strings.Join(got, " ") != strings.Join(r.want, " ") {
			t.Errorf("%s on %q, %q: looks at %q, want %q", r.tool, r.host, r.raw, got, r.want)
		}
	}
}
