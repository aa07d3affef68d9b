package search

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/whet-dev/whet"
)

func TestGlob(t *testing.T) {
	sealed(t)
	dir := tree(t)
	write(t, dir, "flake.nix", "x")
	write(t, dir, "pkgs/a/default.nix", "x")
	write(t, dir, "sub/a/x.txt", "x")
	write(t, dir, "a/y.txt", "x")
	write(t, dir, "[x]/[id].tsx", "x")
	sameTime(t, dir)
	rows := []struct {
		name string
		q    GlobQuery
		want string
	}{
		{"any depth includes none", GlobQuery{Pattern: "**/*.nix"}, "flake.nix pkgs/a/default.nix"},
		{"no slash, any depth", GlobQuery{Pattern: "*.nix"}, "flake.nix pkgs/a/default.nix"},
		{"anchored at path", GlobQuery{Pattern: "a/*.txt", Path: "sub"}, "sub/a/x.txt"},
		{"anchored at the top", GlobQuery{Pattern: "a/*.txt"}, "a/y.txt"},
		{"anchored by a slash", GlobQuery{Pattern: "/*.nix"}, "flake.nix"},
		{"a dot in the pattern", GlobQuery{Pattern: ".github/**"}, ".github/workflows/ci.yml"},
		{"hidden isn't matched by a wildcard", GlobQuery{Pattern: "**/*.yml"}, ""},
		{"hidden", GlobQuery{Pattern: "**/*.yml", Hidden: true}, ".github/workflows/ci.yml"},
		{"a dot in the middle", GlobQuery{Pattern: "**/.github/**/*.yml"}, ".github/workflows/ci.yml"},
		{"all", GlobQuery{Pattern: "*.{js,log}"}, "code.js keep.log"},
		{"no ignore", GlobQuery{Pattern: "*.js", NoIgnore: true}, "code.js dist/o.js node_modules/x/i.js"},
		{"a file by name", GlobQuery{Pattern: "node_modules/x/i.js"}, "node_modules/x/i.js"},
		{"a directory by name", GlobQuery{Pattern: "node_modules/**/*.js"}, "node_modules/x/i.js"},
		{"a slash at the end", GlobQuery{Pattern: "pkgs/"}, "pkgs/a/default.nix"},
		{"braces with slashes", GlobQuery{Pattern: "{sub/a,a}/*.txt"}, "a/y.txt sub/a/x.txt"},
		{"escaped brackets", GlobQuery{Pattern: `\[x\]/\[id\].tsx`}, "[x]/[id].tsx"},
		{"classes", GlobQuery{Pattern: "[a-f]*.ni[!a-w]"}, "flake.nix pkgs/a/default.nix"},
		{"through a link", GlobQuery{Pattern: "linkdir/*"}, "linkdir/a.txt"},
		{"nothing", GlobQuery{Pattern: "*.nope"}, ""},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			r.q.Root = dir
			a, err := Glob(context.Background(), r.q)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(a.Files, " "); got != r.want {
				t.Errorf("got  %s\nwant %s\n%s", got, r.want, a)
			}
			if len(a.Files) == 0 && !strings.HasPrefix(a.String(), "No files match") {
				t.Errorf("silent: %q", a)
			}
		})
	}
}

func TestGlobSaysWhy(t *testing.T) {
	sealed(t)
	dir := tree(t)
	for pattern, want := range map[string]string{
		"**/*.yml":     "No files match \"**/*.yml\" (12 files looked at; 3 ignored by .gitignore or the like, 2 hidden, 2 symbolic links)\n(1 file left out would match; set no_ignore and hidden to see them)",
		"nowhere/*.go": `No files match "nowhere/*.go": there is no directory nowhere`,
		"a{b":          `glob: bad glob "a{b": { without } at position 2`,
		"a/[b":         `bad glob "a/[b": [ without ] at position 3`,
		"x}":           `} without { at position 2`,
		`x\`:           `\ with nothing after it at position 2`,
		"[z-a]":        `a range that ends before it begins`,
		"../*":         `glob: the pattern "../*" leaves the directory`,
		"":             `glob: the pattern is empty`,
	} {
		a, err := Glob(context.Background(), GlobQuery{Root: dir, Pattern: pattern})
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = a.String()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: got\n%s\nwant\n%s", pattern, got, want)
		}
	}
	if _, err := Glob(context.Background(), GlobQuery{Root: dir, Path: "src/a.txt", Pattern: "*"}); err == nil || !strings.Contains(err.Error(), "src/a.txt is a file; give its directory src") {
		t.Errorf("a file as path: %v", err)
	}
}

func TestGlobNewestFirst(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	for i, name := range []string{"c", "a", "b", "d"} {
		write(t, dir, name, "")
		when := now.Add(-time.Duration([]int{1, 3, 2, 2}[i]) * time.Hour)
		if err := os.Chtimes(filepath.Join(dir, name), when, when); err != nil {
			t.Fatal(err)
		}
	}
	a, err := Glob(context.Background(), GlobQuery{Root: dir, Pattern: "*", Limit: 3})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(a.Files, ""); got != "cbd" || !a.Truncated || a.Total != 4 {
		t.Errorf("got %s of %d", got, a.Total)
	}
}

// The tools, with the session's roots around them.
func TestTools(t *testing.T) {
	sealed(t)
	worktree := t.TempDir()
	dir := filepath.Join(worktree, "app")
	write(t, worktree, "README", "hello\n")
	write(t, dir, "src/a.txt", "hello\n")
	write(t, dir, ".config/b.txt", "hello\n")
	write(t, filepath.Dir(worktree), "elsewhere/secret.txt", "hello\n")
	link(t, "../../elsewhere", filepath.Join(dir, "out"))
	link(t, "../README", filepath.Join(dir, "up"))
	kit := &whet.Kit{Tools: Tools(), Guards: []whet.Guard{PathGuard()}}
	outside := "outside the project"
	rows := []struct{ tool, args, want string }{
		{"grep", `{"pattern":"hello"}`, "Found 1 match in 1 file\nsrc/a.txt\n  1: hello"},
		{"grep", `{"pattern":"hello","path":"src"}`, "src/a.txt\n  1: hello"},
		{"grep", `{"pattern":"hello","path":"DIR/src/a.txt"}`, "src/a.txt\n  1: hello"},
		{"grep", `{"pattern":"hello","path":".config"}`, ".config/b.txt\n  1: hello"},
		{"grep", `{"pattern":"hello","path":".."}`, "TOP/app/src/a.txt\n  1: hello"},
		{"grep", `{"pattern":"hello","path":"up"}`, "TOP/app/up\n  1: hello"},
		{"grep", `{"pattern":"hello","path":"out"}`, outside},
		{"grep", `{"pattern":"hello","path":"out/secret.txt"}`, outside},
		{"grep", `{"pattern":"hello","path":"out/nothing.txt"}`, outside},
		{"grep", `{"pattern":"hello","path":"../../elsewhere"}`, outside},
		{"grep", `{"pattern":"hello","path":"../../nowhere"}`, outside},
		{"grep", `{"pattern":"hello","path":"/"}`, outside},
		{"grep", `{"pattern":"hello","path":"scr"}`, "similar names in it: src"},
		{"grep", `{"query":"hello","glob":"*.txt","-i":true,"output_mode":"files_with_matches","head_limit":"1"}`, "Found 1 match in 1 file\nsrc/a.txt"},
		{"grep", `{"pattern":"--pre=cat"}`, "0 matches in 1 file searched"},
		{"glob", `{"pattern":"**/*.txt"}`, "src/a.txt"},
		{"glob", `{"pattern":"DIR/src/*.txt"}`, "src/a.txt"},
		{"glob", `{"pattern":"*","path":"out"}`, outside},
		{"glob", `{"pattern":"out/*"}`, "there is no directory out to search"},
		{"glob", `{"pattern":"*","path":"src/a.txt"}`, "is a file"},
	}
	for _, r := range rows {
		sub := strings.NewReplacer("DIR", filepath.ToSlash(dir), "TOP", filepath.ToSlash(worktree))
		c := &whet.Call{Tool: r.tool, Args: json.RawMessage(sub.Replace(r.args)), Session: whet.Session{Dir: dir, Worktree: worktree}}
		res, err := kit.Call(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(res.Text, sub.Replace(r.want)) {
			t.Errorf("%s %s: got\n%s\nwant\n%s", r.tool, r.args, res.Text, r.want)
		}
		if strings.Contains(res.Text, "secret") && !strings.Contains(r.args, "secret") {
			t.Errorf("%s %s: tells of what is outside: %s", r.tool, r.args, res.Text)
		}
	}
	for _, tool := range Tools() {
		if !tool.ReadOnly || !tool.Idempotent || tool.Destructive || tool.PathArg != "path" {
			t.Errorf("%s: wrong hints: %+v", tool.Name, tool)
		}
	}
	if !slices.ContainsFunc(Tools(), func(t whet.Tool) bool { return t.Name == "glob" }) {
		t.Error("no glob")
	}
}
