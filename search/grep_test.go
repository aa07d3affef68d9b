package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet/internal/peer"
)

// engines runs test with each engine, in an environment that holds none of the
// person's own configuration.
func engines(t *testing.T, test func(t *testing.T, engine string)) {
	t.Helper()
	for _, e := range []string{EngineOwn, EngineRipgrep} {
		t.Run(e, func(t *testing.T) {
			sealed(t)
			if e == EngineRipgrep {
				t.Setenv("PATH", filepath.Dir(peer.Find(t, "rg")))
			}
			test(t, e)
		})
	}
}

func sealed(t *testing.T) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	t.Setenv("XDG_DATA_HOME", filepath.Join(home, ".local", "share"))
}

// tree makes a project with one of each thing that a search can meet. All
// files have the same time, so that their order is by path.
func tree(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		".git/HEAD":                "",
		".gitignore":               "node_modules\ndist/*\n!dist/\n*.log\n!keep.log\n",
		"src/a.txt":                "hello world\n",
		".github/workflows/ci.yml": "run: hello\n",
		"node_modules/x/i.js":      "hello\n",
		"dist/o.js":                "hello\n",
		"keep.log":                 "hello\n",
		"x.log":                    "hello\n",
		"b.bin":                    "hello\n\x00\nhello\n",
		"late.bin":                 "hello\n" + strings.Repeat("a", 200_000) + "\n\x00\n",
		"latin1.txt":               "caf\xe9 hello\n",
		"crlf.txt":                 "hello\r\nx\r\nhello\r\n",
		"utf16.txt":                "\xff\xfeh\x00e\x00l\x00l\x00o\x00\n\x00",
		"bom.txt":                  "\xef\xbb\xbfhello\n",
		"long.txt":                 strings.Repeat("x", 5000) + "hello" + strings.Repeat("y", 5000) + "\n",
		"unicode.txt":              "über straße 漢字\nubér\n",
		"code.js":                  "foo(1);\nconst a = b || c;\n--json\n",
		"noeol.txt":                "first\nlast hello",
	} {
		write(t, dir, name, text)
	}
	link(t, "gone", filepath.Join(dir, "broken"))
	link(t, "src", filepath.Join(dir, "linkdir"))
	sameTime(t, dir)
	return dir
}

func sameTime(t testing.TB, dir string) {
	t.Helper()
	when := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	_ = filepath.WalkDir(dir, func(p string, d os.DirEntry, _ error) error {
		if d.Type().IsRegular() {
			_ = os.Chtimes(p, when, when)
		}
		return nil
	})
}

func lines(a *Answer) (out []string) {
	for _, m := range a.Matches {
		out = append(out, fmt.Sprintf("%s:%d:%d", m.Path, m.Line, m.Column))
	}
	return out
}

func TestGrep(t *testing.T) {
	rows := []struct {
		name string
		q    Query
		want string // path:line:column of each match
	}{
		{"the visible tree", Query{Pattern: "hello"}, "bom.txt:1:1 crlf.txt:1:1 crlf.txt:3:1 keep.log:1:1 latin1.txt:1:6 long.txt:1:5001 noeol.txt:2:6 src/a.txt:1:1 utf16.txt:1:1"},
		{"end of a CRLF line", Query{Pattern: "hello$"}, "bom.txt:1:1 crlf.txt:1:1 crlf.txt:3:1 keep.log:1:1 latin1.txt:1:6 noeol.txt:2:6 utf16.txt:1:1"},
		{"start of a line", Query{Pattern: "^hello", Path: "crlf.txt"}, "crlf.txt:1:1 crlf.txt:3:1"},
		{"empty lines", Query{Pattern: "^$"}, ""},
		{"dollar alone", Query{Pattern: "$", Path: "noeol.txt"}, "noeol.txt:1:6 noeol.txt:2:11"},
		{"a named file that is ignored", Query{Pattern: "hello", Path: "x.log"}, "x.log:1:1"},
		{"a named directory that is ignored", Query{Pattern: "hello", Path: "node_modules"}, "node_modules/x/i.js:1:1"},
		{"a link", Query{Pattern: "hello", Path: "linkdir"}, "linkdir/a.txt:1:1"},
		{"hidden", Query{Pattern: "hello", Hidden: true, Include: []string{"*.yml"}}, ".github/workflows/ci.yml:1:6"},
		{"a dot in include", Query{Pattern: "hello", Include: []string{".github/**"}}, ".github/workflows/ci.yml:1:6"},
		{"include doesn't take back what is ignored", Query{Pattern: "hello", Include: []string{"*.js"}}, ""},
		{"no ignore", Query{Pattern: "hello", NoIgnore: true, Include: []string{"*.{js,log}"}}, "dist/o.js:1:1 keep.log:1:1 node_modules/x/i.js:1:1 x.log:1:1"},
		{"include with a directory", Query{Pattern: "hello", Include: []string{"src/**/*.txt"}}, "src/a.txt:1:1"},
		{"include and exclude", Query{Pattern: "hello", Include: []string{"*.txt", "!src", "!long.txt"}}, "bom.txt:1:1 crlf.txt:1:1 crlf.txt:3:1 latin1.txt:1:6 noeol.txt:2:6 utf16.txt:1:1"},
		{"ignore case", Query{Pattern: "HELLO W", IgnoreCase: true}, "src/a.txt:1:1"},
		{"case by itself", Query{Pattern: "HELLO"}, ""},
		{"literal", Query{Pattern: "foo(", Literal: true}, "code.js:1:1"},
		{"literal, ignore case", Query{Pattern: "FOO(", Literal: true, IgnoreCase: true}, "code.js:1:1"},
		{"a pattern like a flag", Query{Pattern: "--json"}, "code.js:3:1"},
		{"a pattern that begins with =", Query{Pattern: `= b \|`}, "code.js:2:9"},
		{"word", Query{Pattern: "hell", Word: true}, ""},
		{"word, found", Query{Pattern: "hello", Word: true, Path: "src"}, "src/a.txt:1:1"},
		{"word, second try", Query{Pattern: "hell|hello", Word: true, Path: "src"}, "src/a.txt:1:1"},
		{"word beyond ASCII", Query{Pattern: "ber", Word: true}, ""},
		{"boundary beyond ASCII", Query{Pattern: `\büber\b`}, "unicode.txt:1:1"},
		{"no boundary within a word", Query{Pattern: `\bber`}, ""},
		{"boundary after a word beyond ASCII", Query{Pattern: `ub\w+r\b`}, "unicode.txt:2:1"},
		{"word characters beyond ASCII", Query{Pattern: `^\w+ \w+ \w+$`}, "unicode.txt:1:1"},
		{"a dot is a character", Query{Pattern: `^.ber stra.e ..$`}, "unicode.txt:1:1"},
		{"fold beyond ASCII", Query{Pattern: `ÜBER`, IgnoreCase: true}, "unicode.txt:1:1"},
		{"brace as repetition", Query{Pattern: `a = b \|\| c{1}`}, "code.js:2:7"},
		{"brace as text", Query{Pattern: `c{|1\);`}, "code.js:1:5"},
		{"class with a bracket", Query{Pattern: `foo[([]1[])]`}, "code.js:1:1"},
		{"multiline", Query{Pattern: `foo\(1\);\s+const`, Multiline: true}, "code.js:1:1"},
		{"multiline across CRLF", Query{Pattern: `x\s+hello`, Multiline: true, Path: "crlf.txt"}, "crlf.txt:2:1"},
		{"alternatives", Query{Pattern: `world|json|last`}, "code.js:3:3 noeol.txt:2:1 src/a.txt:1:7"},
	}
	engines(t, func(t *testing.T, engine string) {
		dir := tree(t)
		for _, r := range rows {
			t.Run(r.name, func(t *testing.T) {
				r.q.Root, r.q.Engine = dir, engine
				a, err := Grep(context.Background(), r.q)
				if err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(lines(a), " "); got != r.want {
					t.Errorf("got  %s\nwant %s\n%s", got, r.want, a)
				}
				if a.Total != len(a.Matches) {
					t.Errorf("total %d, shown %d", a.Total, len(a.Matches))
				}
			})
		}
	})
}

// What a search that finds nothing answers, and what a bad one does.
func TestGrepSaysWhy(t *testing.T) {
	rows := []struct {
		name string
		q    Query
		want string
	}{
		{"nothing", Query{Pattern: "nowhere", Path: "src"}, "0 matches in 1 file searched"},
		{"left out", Query{Pattern: "nowhere"}, "0 matches in 11 files searched (3 ignored by .gitignore or the like, 2 hidden, 1 binary, 2 symbolic links)"},
		{"only where it is ignored", Query{Pattern: "hello", Include: []string{"*.js"}}, "0 matches in 1 file searched (3 ignored by .gitignore or the like, 2 hidden, 2 symbolic links)\n(2 matches in 2 files left out; set no_ignore and hidden to see them)"},
		{"include met nothing", Query{Pattern: "hello", Include: []string{"*.jsx"}}, `0 files matched include "*.jsx" (12 files looked at; 3 ignored by .gitignore or the like, 2 hidden, 2 symbolic links); there are: .txt 8, .bin 2, .js 1, .log 1`},
		{"a file", Query{Pattern: "nowhere", Path: "src/a.txt"}, "no match in src/a.txt (1 file searched)"},
		{"a binary file", Query{Pattern: "hello", Path: "b.bin"}, "Binary file matches: b.bin (it holds NUL bytes, so its lines are not shown)"},
		{"a binary file without", Query{Pattern: "nowhere", Path: "b.bin"}, "no match in b.bin (1 file searched; it is binary)"},
		{"grep's alternation", Query{Pattern: `nope\|hello`, Path: "src"}, "0 matches in 1 file searched\n(\\| in the pattern is the character |; alternatives are written a|b)"},
		{"code", Query{Pattern: "foo("}, `grep: the pattern "foo(" is not a valid regular expression: a ( is never closed. As plain text (literal: true) it is in 1 line of 1 file.`},
		{"look-ahead", Query{Pattern: "a(?=b)"}, `grep: the pattern "a(?=b)" has a look-ahead ((?=), which this search can't do. Search for a simpler pattern and sort out the lines afterwards, or set literal if the text itself is meant. As plain text (literal: true) it is in 0 lines of 0 files.`},
		{"look-behind", Query{Pattern: "(?<!a)b"}, "has a negative look-behind"},
		{"back-reference", Query{Pattern: `(a)\1`}, `has a back-reference (\1)`},
		{"empty branch at the end", Query{Pattern: "a|"}, "has an empty branch beside a |"},
		{"at the start", Query{Pattern: "|a"}, "has an empty branch"},
		{"in the middle", Query{Pattern: "a||b"}, "has an empty branch"},
		{"in a group that is all", Query{Pattern: "(a|)"}, "has an empty branch"},
		{"edge of a word in GNU style", Query{Pattern: `\<hello\>`}, `Write \b for the edge of a word`},
		{"line break", Query{Pattern: `a\nb`}, "has a line break, but lines are searched one at a time. Set multiline"},
		{"empty", Query{Pattern: ""}, "the pattern is empty"},
		{"bad include", Query{Pattern: "a", Include: []string{"*.{ts"}}, `grep: include: bad glob "*.{ts": { without } at position 3`},
		{"bad output", Query{Pattern: "a", Output: "everything"}, "use content, files or count"},
	}
	engines(t, func(t *testing.T, engine string) {
		dir := tree(t)
		for _, r := range rows {
			t.Run(r.name, func(t *testing.T) {
				r.q.Root, r.q.Engine = dir, engine
				a, err := Grep(context.Background(), r.q)
				got := ""
				if err != nil {
					got = err.Error()
				} else {
					got = a.String()
				}
				if !strings.Contains(got, r.want) {
					t.Errorf("got\n%s\nwant\n%s", got, r.want)
				}
			})
		}
	})
}

func TestGrepEmptyBranchInside(t *testing.T) {
	for _, p := range []string{"x(a|)y", `a\|`, "[|]", "(?:a|b)|c", `\(|b`} {
		if _, err := compilePattern(&Query{Pattern: p}); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
}

func TestGrepNewestFirst(t *testing.T) {
	engines(t, func(t *testing.T, engine string) {
		dir := t.TempDir()
		now := time.Now()
		for i, name := range []string{"old.txt", "new.txt", "mid.txt", "also-mid.txt"} {
			write(t, dir, name, "x\n")
			age := []time.Duration{3, 1, 2, 2}[i] * time.Hour
			if err := os.Chtimes(filepath.Join(dir, name), now.Add(-age), now.Add(-age)); err != nil {
				t.Fatal(err)
			}
		}
		for range 5 {
			a, err := Grep(context.Background(), Query{Root: dir, Pattern: "x", Engine: engine})
			if err != nil {
				t.Fatal(err)
			}
			want := "new.txt:1:1 also-mid.txt:1:1 mid.txt:1:1 old.txt:1:1"
			if got := strings.Join(lines(a), " "); got != want {
				t.Fatalf("got %s, want %s", got, want)
			}
		}
	})
}

func TestGrepPages(t *testing.T) {
	engines(t, func(t *testing.T, engine string) {
		dir := t.TempDir()
		for i := range 10 {
			write(t, dir, fmt.Sprintf("f%d.txt", i), strings.Repeat("match\nnot\n", 234))
		}
		write(t, dir, "g.txt", "match\n")
		sameTime(t, dir)
		q := Query{Root: dir, Pattern: "^match", Engine: engine}
		var all []string
		for {
			a, err := Grep(context.Background(), q)
			if err != nil {
				t.Fatal(err)
			}
			if a.Total != 2341 || a.Files != 11 {
				t.Fatalf("total %d in %d files", a.Total, a.Files)
			}
			all = append(all, lines(a)...)
			if q.Offset == 0 && !strings.HasSuffix(a.String(), "(showing 100 of 2,341; narrow the pattern or pass offset=100)") {
				t.Errorf("the first page ends\n%s", a.String()[len(a.String())-100:])
			}
			if q.Offset == 100 && !strings.HasSuffix(a.String(), "(showing 101 to 200 of 2,341; narrow the pattern or pass offset=200)") {
				t.Errorf("the second page ends\n%s", a.String()[len(a.String())-100:])
			}
			if !a.Truncated {
				break
			}
			q.Offset = a.Next
		}
		whole, err := Grep(context.Background(), Query{Root: dir, Pattern: "^match", Engine: engine, Limit: -1})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(lines(whole), all); d != "" || len(all) != 2341 {
			t.Errorf("%d matches in pages; (-at once +in pages)\n%s", len(all), d)
		}
	})
}

func TestGrepOutputs(t *testing.T) {
	engines(t, func(t *testing.T, engine string) {
		dir := tree(t)
		run := func(q Query) string {
			q.Root, q.Engine, q.Path = dir, engine, ""
			a, err := Grep(context.Background(), q)
			if err != nil {
				t.Fatal(err)
			}
			return a.String()
		}
		want := "Found 3 matches in 2 files\ncrlf.txt\nsrc/a.txt"
		if got := run(Query{Pattern: "hello", Include: []string{"src/*", "crlf*"}, Output: Files}); got != want {
			t.Errorf("files:\n%s", got)
		}
		want = "Found 3 matches in 2 files\ncrlf.txt: 2\nsrc/a.txt: 1"
		if got := run(Query{Pattern: "hello", Include: []string{"src/*", "crlf*"}, Output: Count}); got != want {
			t.Errorf("count:\n%s", got)
		}
		want = "Found 3 matches in 2 files\ncrlf.txt\n(showing 1 of 2; narrow the pattern or pass offset=1)"
		if got := run(Query{Pattern: "hello", Include: []string{"src/*", "crlf*"}, Output: Files, Limit: 1}); got != want {
			t.Errorf("files cut:\n%s", got)
		}
		want = "Found 2 matches in 1 file\ncrlf.txt\n  1: hello\n  2- x\n  3: hello"
		if got := run(Query{Pattern: "hello", Include: []string{"crlf*"}, Context: 1}); got != want {
			t.Errorf("context:\n%s", got)
		}
		want = "Found 1 match in 1 file\ncode.js\n  1: foo(1);\n  2: const a = b || c;"
		if got := run(Query{Pattern: `1\);\nconst`, Multiline: true}); got != want {
			t.Errorf("multiline:\n%s", got)
		}
		want = "Found 1 match in 1 file\nlatin1.txt\n  1: caf\\xe9 hello"
		if got := run(Query{Pattern: "hello", Include: []string{"latin1*"}}); got != want {
			t.Errorf("not UTF-8:\n%s", got)
		}
	})
}

func TestGrepWindows(t *testing.T) {
	dir := t.TempDir()
	far := strings.Repeat("é-", 1000)
	write(t, dir, "one.js", far+"needle"+far+"\n")
	write(t, dir, "three.js", far+"needle"+far+"needle"+far+"needle"+far+"\n")
	write(t, dir, "start.js", "needle"+far+"\n")
	write(t, dir, "end.js", far+"needle\n")
	write(t, dir, "wide.js", "needle"+strings.Repeat("n", 3000)+"\n")
	for name, want := range map[string]struct{ needles, ellipses, column int }{
		"one.js":   {1, 2, 3001},
		"three.js": {3, 4, 3001},
		"start.js": {1, 1, 1},
		"end.js":   {1, 1, 3001},
		"wide.js":  {1, 1, 1},
	} {
		a, err := Grep(context.Background(), Query{Root: dir, Path: name, Pattern: "needlen*"})
		if err != nil {
			t.Fatal(err)
		}
		m := a.Matches[0]
		if len(m.Text) > longLine || !m.Clipped || m.Column != want.column {
			t.Errorf("%s: %d bytes, clipped %v, column %d", name, len(m.Text), m.Clipped, m.Column)
		}
		if n := strings.Count(m.Text, "needle"); n != want.needles {
			t.Errorf("%s: %d matches shown: %s", name, n, m.Text)
		}
		if n := strings.Count(m.Text, "…"); n != want.ellipses {
			t.Errorf("%s: %d ellipses: %s", name, n, m.Text)
		}
		if strings.Contains(m.Text, "\ufffd") || strings.Contains(m.Text, `\x`) {
			t.Errorf("%s: cut within a character: %s", name, m.Text)
		}
		if i := strings.Index(m.Text, "needle"); name == "one.js" && (i < 150 || i > 250) {
			t.Errorf("the match is not in the middle but at %d", i)
		}
	}
}

func TestGrepAnswerStaysSmall(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "wide.txt", strings.Repeat(strings.Repeat("w", 390)+"\n", 2000))
	a, err := Grep(context.Background(), Query{Root: dir, Pattern: "w", Limit: 1000, Context: 20})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(a.String()); n > 50<<10 || !a.Truncated || a.Next != len(a.Matches) {
		t.Errorf("%d bytes, truncated %v, next %d after %d", n, a.Truncated, a.Next, len(a.Matches))
	}
}

func TestGrepHostileNames(t *testing.T) {
	engines(t, func(t *testing.T, engine string) {
		dir := t.TempDir()
		names := []string{"new\nline.txt", "esc\x1b[31m.txt", "bad\xff.txt", "-e", "--pre=x", "x:1:2:y.txt", " lead.txt"}
		for _, n := range names {
			write(t, dir, n, "hello\n")
		}
		a, err := Grep(context.Background(), Query{Root: dir, Pattern: "hello", Engine: engine})
		if err != nil {
			t.Fatal(err)
		}
		if a.Total != len(names) || len(a.Matches) != len(names) {
			t.Fatalf("found %d, shown %d of %d\n%s", a.Total, len(a.Matches), len(names), a)
		}
		for _, want := range []string{`new\nline.txt`, `esc\x1b[31m.txt`, `bad\xff.txt`} {
			if !strings.Contains(a.String(), "\n"+want+"\n") {
				t.Errorf("the answer lacks %s:\n%s", want, a)
			}
		}
		b, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`"new\nline.txt"`, `"esc\u001b[31m.txt"`} {
			if !strings.Contains(string(b), want) {
				t.Errorf("the JSON lacks %s: %s", want, b)
			}
		}
	})
}

func TestGrepPathErrors(t *testing.T) {
	dir := tree(t)
	for _, p := range []string{"nope", "src/a.txt/x", "broken", "../..", "/etc"} {
		if a, err := Grep(context.Background(), Query{Root: dir, Path: p, Pattern: "x"}); err == nil {
			t.Errorf("%s: no error but %s", p, a)
		}
	}
	if _, err := Grep(context.Background(), Query{Root: dir, Path: "broken", Pattern: "x"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("dangling link: %v", err)
	}
}
