package astgrep_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/astgrep"
	"github.com/whet-dev/whet/internal/peer"
	"github.com/whet-dev/whet/search"
)

func call(t *testing.T, o astgrep.Options, dir, tool, args string) *whet.Result {
	t.Helper()
	kit := &whet.Kit{Tools: astgrep.Tools(o, astgrep.Deps{
		Locate: search.Locate,
		Commit: func(_ context.Context, _ *whet.Call, edits []astgrep.Edit) error {
			for _, e := range edits {
				if err := os.WriteFile(e.Path, e.New, 0o644); err != nil {
					return err
				}
			}
			return nil
		},
	})}
	r, err := kit.Call(t.Context(), &whet.Call{Tool: tool, Args: json.RawMessage(args), Session: whet.Session{Dir: dir}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func project(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"a.js": "foo(1);\n", "sub/b.js": "foo(2);\n"} {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestTools(t *testing.T) {
	o := astgrep.Options{Path: peer.Find(t, "ast-grep")}
	outside := t.TempDir()
	for _, tt := range []struct {
		tool, args string
		want       string
		failed     bool
	}{
		{"ast_grep_search", `{"pattern": "foo($A)", "lang": "js"}`, "Found 2 matches in 2 files", false},
		{"ast_grep_search", `{"query": "foo($A)", "language": "JavaScript", "path": "sub"}`, "sub/b.js:\n  1: foo(2)\n\nFound 1 match in 1 file", false},
		{"ast_grep_search", `{"pattern": "foo($A)", "lang": "js", "rewrite": "bar($A)"}`, "[DRY RUN] 2 replacements in 2 files", false},
		{"ast_grep_search", `{"pattern": "foo($A)", "lang": "js", "rewrite": ""}`, `"foo(1)" → ""`, false},
		{"ast_grep_search", `{"pattern": "foo($A)", "lang": "js", "paths": ["sub", "nope"]}`, "Search path does not exist", true},
		{"ast_grep_search", `{"pattern": "foo($A)", "lang": "js", "paths": ["..", "sub"]}`, "is outside the project", true},
		{"ast_grep_search", `{"pattern": "foo($A)", "lang": "js", "paths": ["` + filepath.ToSlash(outside) + `"]}`, "is outside the project", true},
		{"ast_grep_search", `{"pattern": "foo($A)"}`, "lang", true},
		{"ast_grep_replace", `{"pattern": "foo($A)", "lang": "js"}`, "rewrite", true},
		{"ast_grep_replace", `{"pattern": "foo($A)", "lang": "js", "rewrite": "bar($A)"}`, "[DRY RUN] 2 replacements in 2 files", false},
		{"ast_grep_replace", `{"pattern": "foo($A)", "lang": "js", "rewrite": "bar($A)", "paths": ["../x"], "dryRun": false}`, "is outside the project", true},
		{"ast_grep_replace", `{"pattern": "foo($A)", "lang": "js", "rewrite": "bar($A)", "dryRun": false, "expect": 5}`, "Nothing was written: the dry run showed 5", true},
	} {
		dir := project(t)
		r := call(t, o, dir, tt.tool, tt.args)
		if r.Failed != tt.failed || !strings.Contains(r.Text, tt.want) || len(r.Changed) > 0 {
			t.Errorf("%s %s: failed %v\n%s\nwant %s", tt.tool, tt.args, r.Failed, r.Text, tt.want)
		}
		if b, err := os.ReadFile(filepath.Join(dir, "a.js")); err != nil || string(b) != "foo(1);\n" {
			t.Errorf("%s %s: the file is %q, %v", tt.tool, tt.args, b, err)
		}
	}
	dir := project(t)
	r := call(t, o, dir, "ast_grep_replace", `{"pattern": "foo($A)", "rewrite": "bar($A)", "lang": "js", "dry_run": "false", "expect": 2}`)
	if r.Failed || len(r.Changed) != 2 || r.Changed[1] != filepath.Join(dir, "sub", "b.js") || !strings.Contains(r.Text, "[APPLIED] 2 replacements in 2 files") {
		t.Errorf("apply: %+v", r)
	}
}

// Without the engine the tools say how to get it, and that nothing was searched.
func TestToolsWithoutEngine(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	for _, tool := range []string{"ast_grep_search", "ast_grep_replace"} {
		r := call(t, astgrep.Options{}, project(t), tool, `{"pattern": "foo($A)", "lang": "js", "rewrite": "bar($A)", "dryRun": false}`)
		if !r.Failed || !strings.Contains(r.Text, tool+": ast-grep is not installed, so nothing was searched or changed. To get it, a person runs: whet setup") {
			t.Errorf("%s: %+v", tool, r)
		}
	}
}

func TestAnnotations(t *testing.T) {
	tools := astgrep.Tools(astgrep.Options{}, astgrep.Deps{})
	if s := tools[0]; s.Name != "ast_grep_search" || !s.ReadOnly || s.Destructive {
		t.Errorf("%+v", s)
	}
	if r := tools[1]; r.Name != "ast_grep_replace" || r.ReadOnly || !r.Destructive {
		t.Errorf("%+v", r)
	}
}
