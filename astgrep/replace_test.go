package astgrep

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// commit is a plain Commit: all files are looked at, then all are written.
func commit(_ context.Context, edits []Edit) error {
	for _, e := range edits {
		if now, err := os.ReadFile(e.Path); err != nil || !bytes.Equal(now, e.Old) {
			return errors.New(e.Path + " has just been changed")
		}
	}
	for _, e := range edits {
		if err := os.WriteFile(e.Path, e.New, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func replace(t *testing.T, dir, lang, pattern, rewrite string, o ReplaceOptions) (*Replacement, error) {
	t.Helper()
	o.Commit = commit
	return Replace(t.Context(), engine(t), Query{Dir: dir, Lang: lang, Pattern: pattern, Rewrite: &rewrite}, o)
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestReplace(t *testing.T) {
	for _, tt := range []struct {
		name, lang, pattern, rewrite, source, want string
		total, nested                              int
	}{
		{"call", "javascript", "console.log($A)", "logger.info($A)", "console.log(\"a\");\nfoo(1);\n", "logger.info(\"a\");\nfoo(1);\n", 1, 0},
		{"empty rewrite deletes", "javascript", "foo($A)", "", "a;\nfoo(1);\nb;\n", "a;\n;\nb;\n", 1, 0},
		{"outer of nested", "javascript", "foo($A)", "bar($A)", "foo(foo(1))\n", "bar(foo(1))\n", 1, 1},
		{"multi", "javascript", "foo($A, $$$B)", "bar($$$B, $A)", "foo(1, 2, 3)\nfoo(1)\n", "bar(2, 3, 1)\nfoo(1)\n", 1, 0},
		{"multi keeps what is between", "javascript", "foo($$$A)", "bar($$$A)", "foo(1, /* c */ 2,\n  3)\nfoo()\n", "bar(1, /* c */ 2,\n  3)\nbar()\n", 2, 0},
		{"semicolon of the match stays", "javascript", "var $A = $B", "const $A = $B", "var x = 1;\nvar y = 2\n", "const x = 1;\nconst y = 2\n", 2, 0},
		{"semicolon of the pattern goes", "javascript", "var $A = $B;", "const $A = $B", "var x = 1;\n", "const x = 1\n", 1, 0},
		{"spaces as indentation", "javascript", "a($B)", "c(\n  $B\n)", "if (x) {\n  if (y) {\n    a({\n      z: 1,\n    })\n  }\n}\n", "if (x) {\n  if (y) {\n    c(\n      {\n        z: 1,\n      }\n    )\n  }\n}\n", 1, 0},
		{"tabs as indentation", "javascript", "a($B)", "c(\n\t$B\n)", "if (x) {\n\tif (y) {\n\t\ta({\n\t\t\tz: 1,\n\t\t})\n\t}\n}\n", "if (x) {\n\tif (y) {\n\t\tc(\n\t\t\t{\n\t\t\t\tz: 1,\n\t\t\t}\n\t\t)\n\t}\n}\n", 1, 0},
		{"a body on its own line", "python", "def $F($$$A): $$$B", "async def $F($$$A): $$$B", "class C:\n    def f(a):\n        x = 1\n        return x\n", "class C:\n    async def f(a):\n        x = 1\n        return x\n", 1, 0},
		{"rust", "rust", "$X.unwrap()", "$X?", "fn f() { a.b().unwrap(); c.unwrap().unwrap(); }\n", "fn f() { a.b()?; c.unwrap()?; }\n", 2, 1},
		{"typescript", "typescript", "$X as any", "$X", "foo(c as any as any)\n", "foo(c as any)\n", 1, 1},
		{"go tabs", "go", "$A, err := $F($$$B)", "$A, err := must($F($$$B))", "package a\n\nfunc f() {\n\tx, err := g(1,\n\t\t2)\n}\n", "package a\n\nfunc f() {\n\tx, err := must(g(1,\n\t\t2))\n}\n", 1, 0},
		{"CRLF and no ASCII", "javascript", "foo($A)", "bar(\n  $A)", "é; foo(\"ü\")\r\nfoo(2)\r\n", "é; bar(\r\n  \"ü\")\r\nbar(\r\n  2)\r\n", 2, 0},
		{"byte order mark", "javascript", "foo($A)", "bar($A)", "\ufefffoo(1)\n", "\ufeffbar(1)\n", 1, 0},
		{"no newline at the end", "javascript", "foo($A)", "bar($A)", "foo(1)", "bar(1)", 1, 0},
		{"$ that is no variable", "javascript", "foo($A)", "bar($a, '$', $A)", "foo(1)\n", "bar($a, '$', 1)\n", 1, 0},
		{"starts with a dash", "javascript", "-$A", "-($A)", "x = -y\n", "x = -(y)\n", 1, 0},
		{"syntax errors that were there", "javascript", "foo($A)", "bar($A)", "let = = 3;\nfoo(1)\n", "let = = 3;\nbar(1)\n", 1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, _ := findLanguage(tt.lang)
			name := "a." + l.exts[0]
			dir := tree(t, map[string]string{name: tt.source})
			var dry *Replacement
			for range 2 {
				var err error
				if dry, err = replace(t, dir, tt.lang, tt.pattern, tt.rewrite, ReplaceOptions{}); err != nil {
					t.Fatal(err)
				}
				if dry.Total != tt.total || dry.Nested != tt.nested || dry.Failed() || dry.Changed() != nil || read(t, dir, name) != tt.source {
					t.Fatalf("dry run: total %d, nested %d, problem %s, file %q", dry.Total, dry.Nested, dry.Problem, read(t, dir, name))
				}
			}
			done, err := replace(t, dir, tt.lang, tt.pattern, tt.rewrite, ReplaceOptions{Apply: true, Expect: &dry.Total})
			if err != nil {
				t.Fatal(err)
			}
			if got := read(t, dir, name); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			if !done.Applied || done.Total != tt.total || len(done.Changed()) != 1 || done.Changed()[0] != filepath.Join(dir, name) {
				t.Errorf("applied: %+v", done)
			}
			for i, c := range done.Changes {
				if c != dry.Changes[i] {
					t.Errorf("applied %+v, previewed %+v", c, dry.Changes[i])
				}
			}
		})
	}
}

func TestReplaceText(t *testing.T) {
	dir := tree(t, map[string]string{"a.js": "console.log(\"a\");\nfoo(1);\n"})
	steps := []struct {
		apply bool
		want  string
	}{
		{false, "a.js:\n  1: \"console.log(\"a\")\" → \"logger.info(\"a\")\"\n\n[DRY RUN] 1 replacement in 1 file\nNothing was written. To apply this, call again with dryRun=false and expect=1."},
		{true, "a.js:\n  1: \"console.log(\"a\")\" → \"logger.info(\"a\")\"\n\n[APPLIED] 1 replacement in 1 file"},
		{true, "No matches found for replacement in 1 javascript file."},
	}
	for _, s := range steps {
		r, err := replace(t, dir, "js", "console.log($A)", "logger.info($A)", ReplaceOptions{Apply: s.apply})
		if err != nil || r.String() != s.want {
			t.Errorf("got %v\n%s\nwant\n%s", err, r, s.want)
		}
	}
	if got := read(t, dir, "a.js"); got != "logger.info(\"a\");\nfoo(1);\n" {
		t.Errorf("got %q", got)
	}
}

// Whatever is wrong, nothing is written.
func TestReplaceRefused(t *testing.T) {
	three := 3
	for _, tt := range []struct {
		name, pattern, rewrite string
		o                      ReplaceOptions
		want                   string
	}{
		{"unknown variable", "foo($A)", "bar($B)", ReplaceOptions{Apply: true}, "the rewrite has $B, which the pattern doesn't bind (it binds $A)"},
		{"one for many", "foo($$$A)", "bar($A)", ReplaceOptions{Apply: true}, "the rewrite has $A, which the pattern doesn't bind (it binds $$$A)"},
		{"one that doesn't bind", "foo($_A)", "bar($_A)", ReplaceOptions{}, "the rewrite has $_A, which the pattern doesn't bind (it binds none)"},
		{"a number", "foo($A)", "bar($1)", ReplaceOptions{}, "the rewrite has $1"},
		{"stale preview", "foo($A)", "bar($A)", ReplaceOptions{Apply: true, Expect: &three}, "the dry run showed 3 replacements and now there are 2"},
		{"expected, gone", "nope($A)", "bar($A)", ReplaceOptions{Apply: true, Expect: &three}, "the dry run showed 3 replacements and now there are 0"},
		{"syntax", "foo($A)", "bar($A", ReplaceOptions{Apply: true}, "would have a syntax error"},
		{"syntax, seen in the dry run", "foo($A)", "if (", ReplaceOptions{}, "would have a syntax error"},
		{"no pattern", "", "", ReplaceOptions{Apply: true}, "the pattern is empty"},
		{"bad pattern", "foo(1); bar(2)", "", ReplaceOptions{Apply: true}, "not one complete node"},
		{"a reading that nobody saw", "function $F", "function $F() {}", ReplaceOptions{Apply: true}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := tree(t, map[string]string{"a.js": "foo(1);\n", "b.js": "foo(2);\n"})
			r, err := replace(t, dir, "js", tt.pattern, tt.rewrite, tt.o)
			got := ""
			if err != nil {
				got = err.Error()
			} else if got = r.String(); tt.want != "" && !r.Failed() {
				t.Error("it didn't fail")
			}
			if !strings.Contains(got, tt.want) {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
			if a, b := read(t, dir, "a.js"), read(t, dir, "b.js"); a != "foo(1);\n" || b != "foo(2);\n" {
				t.Errorf("written: %q, %q", a, b)
			}
		})
	}
}

func TestReplaceRepaired(t *testing.T) {
	const source = "package a\n\nfunc f() {\n\tfmt.Println(x)\n}\n"
	dir := tree(t, map[string]string{"a.go": source})
	r, err := replace(t, dir, "go", "fmt.Println($A)", "log.Print($A)", ReplaceOptions{Apply: true})
	if err != nil || !r.Failed() || !strings.Contains(r.Problem, "pass expect=1") || read(t, dir, "a.go") != source {
		t.Fatalf("without expect: %v, %v", r, err)
	}
	r, err = replace(t, dir, "go", "fmt.Println($A)", "log.Print($A)", ReplaceOptions{Apply: true, Expect: &r.Total})
	if err != nil || !r.Applied || read(t, dir, "a.go") != strings.Replace(source, "fmt.Println", "log.Print", 1) {
		t.Errorf("with expect: %v, %v, %q", r, err, read(t, dir, "a.go"))
	}
}

func TestReplaceAllOrNone(t *testing.T) {
	dir := tree(t, map[string]string{"a.js": "foo(1);\n", "b.js": "foo(2);\n", "c.js": "foo(3);\n"})
	if err := os.Chmod(filepath.Join(dir, "b.js"), 0o444); err != nil {
		t.Fatal(err)
	}
	r, err := replace(t, dir, "js", "foo($A)", "bar($A)", ReplaceOptions{Apply: true})
	if err != nil || r.Applied || !strings.Contains(r.Problem, "b.js is read-only") || read(t, dir, "a.js") != "foo(1);\n" {
		t.Errorf("%v, %v", r, err)
	}
	_ = os.Chmod(filepath.Join(dir, "b.js"), 0o644)
	rewrite := "bar($A)"
	_, err = Replace(t.Context(), engine(t), Query{Dir: dir, Lang: "js", Pattern: "foo($A)", Rewrite: &rewrite}, ReplaceOptions{
		Apply: true,
		Commit: func(ctx context.Context, edits []Edit) error {
			if err := os.WriteFile(edits[2].Path, []byte("foo(4);\n"), 0o644); err != nil {
				return err
			}
			return commit(ctx, edits)
		},
	})
	if err == nil || !strings.Contains(err.Error(), "has just been changed; nothing was changed") || read(t, dir, "a.js") != "foo(1);\n" {
		t.Errorf("%v, %q", err, read(t, dir, "a.js"))
	}
}

func TestReplaceThroughLink(t *testing.T) {
	dir := tree(t, map[string]string{"a.js": "foo(1);\n"})
	if err := os.Symlink("a.js", filepath.Join(dir, "l.js")); err != nil {
		t.Skip("there are no links here")
	}
	rewrite := "bar($A)"
	q := Query{Dir: dir, Paths: []string{"l.js", "a.js"}, Lang: "js", Pattern: "foo($A)", Rewrite: &rewrite}
	r, err := Replace(t.Context(), engine(t), q, ReplaceOptions{Apply: true, Commit: commit})
	if err != nil || r.Total != 1 || r.Files != 1 || read(t, dir, "a.js") != "bar(1);\n" {
		t.Errorf("%v, %v, %q", r, err, read(t, dir, "a.js"))
	}
	if info, err := os.Lstat(filepath.Join(dir, "l.js")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v", err)
	}
}

// A diff that is applied gives the file that is written.
func TestDiff(t *testing.T) {
	var b strings.Builder
	for i := range 40 {
		switch {
		case i%9 == 2:
			b.WriteString("foo(1); foo(2)\n")
		case i == 13:
			b.WriteString("foo(\n  3)\n")
		default:
			b.WriteString("x\n")
		}
	}
	b.WriteString("foo(4)")
	dir := tree(t, map[string]string{"a.js": b.String(), "b.js": "foo(5)\n"})
	r, err := replace(t, dir, "js", "foo($A)", "bar(\n$A\n)", ReplaceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	patch := exec.CommandContext(t.Context(), "git", "apply", "-p1", "-")
	patch.Dir, patch.Stdin = dir, strings.NewReader(r.Diff())
	patch.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	if out, err := patch.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v\n%s\n%s", err, out, r.Diff())
	}
	for _, e := range r.edits {
		if got := read(t, dir, filepath.Base(e.Path)); got != string(e.New) {
			t.Errorf("%s: the diff makes\n%s\nwant\n%s", e.Path, got, e.New)
		}
	}
}

func TestReplaceRule(t *testing.T) {
	dir := tree(t, map[string]string{"a.js": "try { a() } catch (e) {}\n"})
	rewrite := "catch ($E) { throw $E }"
	q := Query{Dir: dir, Lang: "js", Rule: "{kind: catch_clause, has: {field: parameter, pattern: $E}}", Rewrite: &rewrite}
	r, err := Replace(t.Context(), engine(t), q, ReplaceOptions{Apply: true, Commit: commit})
	if err != nil || !r.Applied || read(t, dir, "a.js") != "try { a() } catch (e) { throw e }\n" {
		t.Errorf("%v, %v, %q", r, err, read(t, dir, "a.js"))
	}
	rewrite = "catch ($F) { \"\\\t\u2028\" }"
	if _, err := Replace(t.Context(), engine(t), q, ReplaceOptions{}); err == nil || !strings.Contains(err.Error(), "Undefined meta var `F`") {
		t.Errorf("%v", err)
	}
}

// A file that changed between the match and the reading is left, with all others.
func TestEditOfChangedFile(t *testing.T) {
	rewrite := "bar"
	s := &searcher{q: &Query{Pattern: "foo", Rewrite: &rewrite}}
	m := rawMatch{Text: "foo", Range: rawRange{Byte: rawSpan{4, 7}}, Offsets: rawSpan{4, 7}, Replacement: &rewrite}
	if text, _, _, err := s.edit("a.js", []byte("let foo"), []rawMatch{m}); err != nil || string(text) != "let bar" {
		t.Errorf("%q, %v", text, err)
	}
	for _, now := range []string{"let fox", "foo", ""} {
		if _, _, _, err := s.edit("a.js", []byte(now), []rawMatch{m}); err == nil || !strings.Contains(err.Error(), "was changed while it was searched") {
			t.Errorf("%q: %v", now, err)
		}
	}
}

// What a rewrite makes of real code is what the engine's own --update-all makes
// of it.
func TestReplaceAsTheEngineDoes(t *testing.T) {
	e := engine(t)
	for _, tt := range []struct{ lang, module, sub, pattern, rewrite string }{
		{"typescript", "rxjs", "src", "$A($$$B)", "wrap($A, $$$B)"},
		{"typescript", "rxjs", "src", "if ($C) { $$$B }", "if (!($C)) {\n  $$$B\n}"},
		{"typescript", "rxjs", "src", "return $X", "return (\n  $X\n)"},
		{"swift", "@capacitor/ios", "Capacitor", "$A.$B($$$C)", "$A.x.$B($$$C)"},
		{"java", "@capacitor/android", "capacitor/src", "$A.$M($$$B)", "$A.nested.$M($$$B)"},
		{"python", "node-gyp", "gyp", "if $C: $$$B", "while $C: $$$B"},
	} {
		t.Run(tt.lang+" "+tt.pattern, func(t *testing.T) {
			dir, files := corpus(t, tt.lang, tt.module, tt.sub)
			theirs := t.TempDir()
			if err := os.CopyFS(theirs, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			w := workspaceFor(t, e, theirs)
			if _, err := w.run(t.Context(), nil, "run", "--lang="+tt.lang, "--pattern="+tt.pattern, "--rewrite="+tt.rewrite, "--update-all", "."); err != nil {
				t.Fatal(err)
			}
			q := Query{Dir: dir, Lang: tt.lang, Pattern: tt.pattern, Rewrite: &tt.rewrite}
			s, err := begin(e, &q)
			if err != nil {
				t.Fatal(err)
			}
			defer s.close()
			f, err := s.find(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			r, err := s.plan(f)
			if err != nil || r.Total == 0 {
				t.Fatalf("%v, %v", r, err)
			}
			if err := commit(t.Context(), r.edits); err != nil {
				t.Fatal(err)
			}
			for _, name := range files {
				ours, engines := read(t, dir, name), read(t, theirs, name)
				if tt.lang == "python" { // but for the bodies, which stay on their own lines
					ours, engines = strings.Join(strings.Fields(ours), " "), strings.Join(strings.Fields(engines), " ")
				}
				// The semicolon of a statement stays here and goes there.
				if tt.pattern == "return $X" {
					ours, engines = strings.ReplaceAll(ours, ";", ""), strings.ReplaceAll(engines, ";", "")
				}
				if ours != engines {
					t.Fatalf("%s: %s", name, cmp.Diff(engines, ours))
				}
			}
			t.Logf("%d replacements in %d files, %d nested", r.Total, r.Files, r.Nested)
		})
	}
}
