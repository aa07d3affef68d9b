package astgrep

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// find searches one file of the language.
func find(t *testing.T, lang, source string, q Query) (*Answer, error) {
	t.Helper()
	l, err := findLanguage(lang)
	if err != nil {
		t.Fatal(err)
	}
	q.Lang, q.Dir = lang, tree(t, map[string]string{"a." + l.exts[0]: source})
	return Search(t.Context(), engine(t), q)
}

func texts(a *Answer) (out []string) {
	for _, m := range a.Matches {
		out = append(out, m.Text)
	}
	return out
}

// A pattern of each language, and what of the source it matches.
func TestLanguages(t *testing.T) {
	for _, tt := range []struct {
		lang, pattern, source string
		want                  []string
	}{
		{"bash", "echo $$$", "echo $HOME\necho hi\nls\n", []string{"echo $HOME", "echo hi"}},
		{"c", "zfree($X);", "void f() { zfree(a); }\n", []string{"zfree(a);"}},
		{"cpp", "zfree($X)", "void f() { zfree(a); }\n", []string{"zfree(a)"}},
		{"csharp", "new List<$T>()", "class A { void F() { var a = new List<int>(); } }\n", []string{"new List<int>()"}},
		{"css", "$S { color: $A; }", "a { color: red; }\n", []string{"a { color: red; }"}},
		{"elixir", "IO.puts($A)", "IO.puts(x)\n", []string{"IO.puts(x)"}},
		{"go", "foo($A)", "package a\n\nfunc f() { foo(1) }\n", []string{"foo(1)"}},
		{"haskell", "putStrLn $A", "main = putStrLn x\n", []string{"putStrLn x"}},
		{"html", "<div $$$>$$$</div>", "<div a=\"1\">x</div>\n", []string{"<div a=\"1\">x</div>"}},
		{"java", "foo($A)", "class A { void f() { foo(1); } }\n", []string{"foo(1)"}},
		{"javascript", "$A && $A()", "x.y && x.y();\nx && z();\n", []string{"x.y && x.y()"}},
		{"json", "[$$$]", "{\"a\":1,\"b\":{\"c\":[1,2]}}\n", []string{"[1,2]"}},
		{"kotlin", "fun $F($$$) { $$$ }", "fun f(a: Int) { g() }\n", []string{"fun f(a: Int) { g() }"}},
		{"lua", "local $A = $B", "local x = 1\n", []string{"local x = 1"}},
		{"nix", "pkgs.$A", "{ pkgs }: pkgs.hello\n", []string{"pkgs.hello"}},
		{"php", "foo($A)", "<?php foo(1); FOO(2);\n", []string{"foo(1)"}},
		{"python", "def $F($$$): $$$B", "def f(a):\n    x\n    y\n", []string{"def f(a):\n    x\n    y"}},
		{"ruby", "puts $A", "puts 1\n", []string{"puts 1"}},
		{"rust", "println!($$$)", "fn f() { println!(\"a\", b); }\n", []string{"println!(\"a\", b)"}},
		{"scala", "println($A)", "object A { println(1) }\n", []string{"println(1)"}},
		{"solidity", "contract $C { $$$ }", "contract C { }\n", []string{"contract C { }"}},
		{"swift", "let $A = $B", "let x = 1\n", []string{"let x = 1"}},
		{"typescript", "$X as any", "foo(c as any as any)\n", []string{"c as any as any", "c as any"}},
		{"tsx", "<div $$$>$$$</div>", "const a = <div b=\"1\">x</div>\n", []string{"<div b=\"1\">x</div>"}},
		{"yaml", "- $A", "a:\n  - b\n", []string{"- b"}},
	} {
		t.Run(tt.lang, func(t *testing.T) {
			a, err := find(t, tt.lang, tt.source, Query{Pattern: tt.pattern})
			if err != nil {
				t.Fatal(err)
			}
			if got := texts(a); !slices.Equal(got, tt.want) || a.Reading != nil {
				t.Errorf("%s: got %q (reading %v), want %q", tt.pattern, got, a.Reading, tt.want)
			}
		})
	}
	if len(languages()) != 25 {
		t.Errorf("%d languages", len(languages()))
	}
}

// The table of languages is the engine's: which files it reads for each, and
// what kind their root is.
func TestLanguageFiles(t *testing.T) {
	e := engine(t)
	files := map[string]string{}
	for _, l := range languages() {
		for _, ext := range slices.Concat(l.exts, l.hosts) {
			files["f."+ext] = "x"
		}
	}
	for _, ext := range []string{"vue", "svelte", "md", "txt", "jsonc", "json5", "hpp2", "js~", "JS"} {
		files["f."+ext] = "x"
	}
	dir := tree(t, files)
	w := workspaceFor(t, e, dir)
	for _, l := range languages() {
		text, err := w.run(t.Context(), nil, "run", "--lang="+l.name, "--kind=ERROR", "--inspect=entity", "--json=stream", ".")
		if err != nil {
			t.Fatal(err)
		}
		for name := range files {
			if reads := strings.Contains(text, name+": "); reads != l.reads(name) {
				t.Errorf("%s: the engine reads %s: %v; the table says %v", l.name, name, reads, l.reads(name))
			}
		}
		r := fmt.Sprintf("id: a\nlanguage: %s\nrule: {kind: %s}", l.name, l.root)
		if _, err := w.run(t.Context(), nil, "scan", "--inline-rules="+r, "--json=stream", "."); err != nil {
			t.Errorf("%s: root %s: %v", l.name, l.root, err)
		}
	}
}

// What a pattern may have meant that alone is no code, or other code.
func TestRepairs(t *testing.T) {
	const goSource = "package a\n\nfunc f() {\n\tfmt.Println(x)\n}\n"
	for _, tt := range []struct {
		lang, pattern, source, want, selector string
	}{
		{"go", "fmt.Println($A)", goSource, "fmt.Println(x)", "call_expression"},
		{"go", "$F.Println($$$A)", goSource, "fmt.Println(x)", "call_expression"},
		{"go", "Name string", "package a\n\ntype t struct {\n\tName string\n}\n", "Name string", "field_declaration"},
		{"c", "zfree($X)", "void f() { zfree(a); }\n", "zfree(a)", "call_expression"},
		{"solidity", "g($A)", "contract C { function f() public { g(1); } }\n", "g(1)", "call_expression"},
		{"css", "color: $A", "a { color: red; }\n", "color: red;", "declaration"},
		{"nix", "a = $B;", "{ a = 1; }\n", "a = 1;", "binding"},
		{"python", "def $F($$$):", "def f(a):\n    x\n", "def f(a):\n    x", ""},
		{"python", "class $C:", "class A:\n    x = 1\n", "class A:\n    x = 1", ""},
		{"json", `"a": 1`, `{"a": 1}`, `"a": 1`, "pair"},
		{"json", `"a": $B`, `{"a": [1]}`, `"a": [1]`, ""},
		{"javascript", "function $NAME", "function f(a) { return a }\n", "function f(a) { return a }", ""},
		{"javascript", "get $P() { $$$ }", "class A { get b() { return 1 } }\n", "get b() { return 1 }", "method_definition"},
		{"javascript", "case $X: $$$", "switch (a) { case 1: b() }\n", "case 1: b()", "switch_case"},
		{"tsx", "<div className=$A>$$$</div>", "const a = <div className={b}>x</div>\n", "<div className={b}>x</div>", ""},
		{"rust", "$P => $E", "fn f() { match a { A => b } }\n", "A => b", "match_arm"},
	} {
		t.Run(tt.lang+" "+tt.pattern, func(t *testing.T) {
			a, err := find(t, tt.lang, tt.source, Query{Pattern: tt.pattern})
			if err != nil {
				t.Fatal(err)
			}
			if got := texts(a); !slices.Equal(got, []string{tt.want}) {
				t.Fatalf("got %q, want %q; %s", got, tt.want, a)
			}
			if a.Reading == nil || a.Reading.Selector != tt.selector || !strings.Contains(a.String(), "it was read as ") {
				t.Errorf("the reading %+v, want selector %q; text: %s", a.Reading, tt.selector, a)
			}
		})
	}
}

func TestStrictness(t *testing.T) {
	const source = "foo(1, /*c*/ 2,)\nfoo(1,2)\nbar(1,2)\n"
	for strictness, want := range map[string]int{"": 2, "smart": 2, "cst": 1, "ast": 1, "relaxed": 2, "signature": 3} {
		a, err := find(t, "javascript", source, Query{Pattern: "foo(1, 2)", Strictness: strictness})
		if err != nil || a.Total != want {
			t.Errorf("%s: got %+v, %v; want %d", strictness, a, err, want)
		}
	}
	for strictness, want := range map[string]int{"smart": 0, "relaxed": 1} {
		a, err := find(t, "javascript", "import a from 'x'\n", Query{Pattern: `import $A from "x"`, Strictness: strictness})
		if err != nil || a.Total != want {
			t.Errorf("%s: got %+v, %v; want %d", strictness, a, err, want)
		}
	}
}

func TestMatches(t *testing.T) {
	a, err := find(t, "javascript", "foo(foo(1))\n", Query{Pattern: "foo($A)"})
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Matches) != 2 || a.Matches[0].Start != 0 || a.Matches[0].End != 11 || a.Matches[1].Start != 4 || a.Matches[1].End != 10 {
		t.Errorf("got %+v", a.Matches)
	}
	a, err = find(t, "javascript", "é; f(\"ü\", 2)\r\nf(3)\r\n", Query{Pattern: "f($A, $$$R)"})
	if err != nil {
		t.Fatal(err)
	}
	m := a.Matches[0]
	if len(a.Matches) != 1 || m.Line != 1 || m.Column != 4 || m.Start != 4 || m.Vars["A"] != `"ü"` || m.Vars["R"] != "2" {
		t.Errorf("got %+v", a.Matches)
	}
	for pattern, want := range map[string]int{"foo(1)": 1, "-$A": 1, "--$A": 1} {
		if a, err := find(t, "javascript", "foo(1); -x; --y\n", Query{Pattern: pattern}); err != nil || a.Total != want {
			t.Errorf("%s: %v, %v", pattern, a, err)
		}
	}
}

func TestRule(t *testing.T) {
	const source = "try { a() } catch (e) {}\ntry { b() } catch (e) { throw e }\n"
	for _, rule := range []string{
		"{kind: catch_clause, not: {has: {kind: throw_statement, stopBy: end}}}",
		"kind: catch_clause\nnot:\n  has:\n    kind: throw_statement\n    stopBy: end\n",
		"rule:\n  kind: catch_clause\n  has: {field: body, regex: '^\\{\\s*\\}$'}\n",
		"id: mine\nlanguage: javascript\nrule: {pattern: 'try { $$$ } catch ($E) { }'}\n",
	} {
		a, err := find(t, "javascript", source, Query{Rule: rule})
		if err != nil || a.Total != 1 {
			t.Errorf("%s: %v, %v", rule, a, err)
		}
	}
	for rule, want := range map[string]string{"{patern: a}": "unknown field `patern`", "kind: [": "unclosed bracket", "a\n---\nb": "several YAML documents"} {
		if _, err := find(t, "javascript", source, Query{Rule: rule}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", rule, err)
		}
	}
}

func TestSelector(t *testing.T) {
	a, err := find(t, "javascript", "class A { b = 1 }\n", Query{Pattern: "class X { $A = $B }", Selector: "field_definition"})
	if err != nil || !slices.Equal(texts(a), []string{"b = 1"}) {
		t.Errorf("%v, %v", a, err)
	}
	for _, selector := range []string{"nonsense", "number"} {
		_, err = find(t, "javascript", "a\n", Query{Pattern: "foo($A)", Selector: selector})
		if err == nil || !strings.Contains(err.Error(), "is no kind of a node in the pattern") {
			t.Errorf("%s: %v", selector, err)
		}
	}
}

// A failure is never "no matches", and says what to do.
func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		q    Query
		want string
	}{
		{Query{Pattern: "$$$A"}, "alone would match everything"},
		{Query{}, "the pattern is empty"},
		{Query{Pattern: "  "}, "is no code of javascript"},
		{Query{Pattern: "foo(1); bar(2)"}, "not one complete node of javascript: it is read as expression_statement, expression_statement"},
		{Query{Pattern: "a", Rule: "kind: b"}, "a pattern and a rule"},
		{Query{Pattern: "a", Strictness: "loose"}, `strictness "loose" isn't known`},
		{Query{Pattern: "a\x00"}, "NUL"},
		{Query{Pattern: strings.Repeat("a", 70<<10)}, "longer than"},
		{Query{Pattern: "a", Globs: []string{"{a"}}, "bad glob"},
		{Query{Pattern: "a", Paths: []string{"nope"}}, "nothing was searched"},
	} {
		a, err := find(t, "javascript", "a\n", tt.q)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.40q: got %v, %v; want %q", tt.q.Pattern, a, err, tt.want)
		}
	}
	for lang, want := range map[string]string{"jsss": "did you mean javascript?", "": "lang is missing", "cobol": "isn't known. It is one of bash"} {
		if _, err := Search(t.Context(), Engine{}, Query{Dir: t.TempDir(), Lang: lang, Pattern: "a"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", lang, err)
		}
	}
	dir := tree(t, map[string]string{"a.js": "a"})
	if _, err := Search(t.Context(), Engine{Path: filepath.Join(dir, "gone")}, Query{Dir: dir, Lang: "js", Pattern: "a"}); err == nil || !strings.Contains(err.Error(), "not the same as no matches") {
		t.Errorf("engine gone: %v", err)
	}
}

func TestNothingFound(t *testing.T) {
	for _, tt := range []struct{ lang, source, pattern, want string }{
		{"javascript", "a\n", "nope($A)", "No matches found in 1 javascript file."},
		{"python", "x = 1\n", "def $F($$$):", "Hint: leave the colon"},
		{"javascript", "a\n", "export async function $F", "Hint: a function needs parameters and a body"},
		{"javascript", "a\n", "foo($name)", "in upper case"},
		{"javascript", "a\n", `foo("a $B")`, "not for a part of a string"},
		{"javascript", "a\n", "foo($A", "is not valid javascript"},
	} {
		a, err := find(t, tt.lang, tt.source, Query{Pattern: tt.pattern})
		if err != nil || a.Total != 0 || !strings.Contains(a.String(), tt.want) {
			t.Errorf("%s: %v, %v; want %q", tt.pattern, a, err, tt.want)
		}
	}
	dir := tree(t, map[string]string{"a.go": "package a"})
	a, err := Search(t.Context(), engine(t), Query{Dir: dir, Lang: "python", Pattern: "foo($A)"})
	if err != nil || !strings.Contains(a.String(), "there are no python files there") {
		t.Errorf("%v, %v", a, err)
	}
}

func TestFiles(t *testing.T) {
	dir := tree(t, map[string]string{
		".git/HEAD": "", ".gitignore": "ig/\n", ".ignore": "y.js\n", ".rgignore": "x.js\n",
		"ig/a.js": "foo(1)", "y.js": "foo(1)", "x.js": "foo(1)", ".z.js": "foo(1)", ".hd/a.js": "foo(1)",
		"sub/a.js": "foo(1)", "sub/a_test.js": "foo(1)", "-w.js": "foo(1)", "--pre=x/a.js": "foo(1)", "b c/é\n.js": "foo(1)",
		"h.html": "<script>foo(1)</script>", "t.txt": "foo(1)", "no.js": "bar(1)",
		"sgconfig.yml": "languageGlobs: {html: ['*.js']}\n:::",
	})
	if err := os.Symlink("x.js", filepath.Join(dir, "l.js")); err != nil {
		t.Log(err)
	}
	all := []string{"--pre=x/a.js", "-w.js", ".z.js", "b c/é\n.js", "h.html", "sub/a.js", "sub/a_test.js", "x.js"}
	for _, tt := range []struct {
		name  string
		paths []string
		globs []string
		want  []string
	}{
		{"all", nil, nil, all},
		{"dot", []string{"."}, nil, all},
		{"absolute", []string{filepath.Join(dir, "sub")}, nil, []string{filepath.ToSlash(filepath.Join(dir, "sub/a.js")), filepath.ToSlash(filepath.Join(dir, "sub/a_test.js"))}},
		{"ignored but named", []string{"ig", "y.js"}, nil, []string{"ig/a.js", "y.js"}},
		{"hidden but named", []string{".hd"}, nil, []string{".hd/a.js"}},
		{"one in another, twice", []string{"sub", "sub/a.js", "sub/"}, nil, []string{"sub/a.js", "sub/a_test.js"}},
		{"like a flag", []string{"--pre=x", "-w.js"}, nil, []string{"--pre=x/a.js", "-w.js"}},
		{"glob", nil, []string{"sub/*.js"}, []string{"sub/a.js", "sub/a_test.js"}},
		{"glob excludes", nil, []string{"!**/*_test.js", "!--pre=x/**", "!*.html"}, []string{"-w.js", ".z.js", "b c/é\n.js", "sub/a.js", "x.js"}},
		{"glob never brings back", nil, []string{"**/*.js", "!sub"}, []string{"--pre=x/a.js", "-w.js", ".z.js", "b c/é\n.js", "x.js"}},
	} {
		for _, whole := range []bool{false, true} {
			a, err := Search(t.Context(), engine(t), Query{Dir: dir, Paths: tt.paths, Globs: tt.globs, Lang: "js", Pattern: "foo($A)", Whole: whole})
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			var got []string
			for _, m := range a.Matches {
				got = append(got, m.Path)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s, without pre-filter %v: got %q, want %q", tt.name, whole, got, tt.want)
			}
		}
	}
}

// A pattern's comment is no word that must be there.
func TestCommentInPattern(t *testing.T) {
	for _, pattern := range []string{"foo(/* unheard */ $A)", "foo(\n  // unheard of\n  $A)"} {
		a, err := find(t, "javascript", "foo(1)\n", Query{Pattern: pattern})
		b, err2 := find(t, "javascript", "foo(1)\n", Query{Pattern: pattern, Whole: true})
		if err != nil || err2 != nil || a.Total != b.Total || a.Parsed != 1 {
			t.Errorf("%q: %v, %v, %v, %v", pattern, a, b, err, err2)
		}
	}
}

func TestLimits(t *testing.T) {
	files := map[string]string{}
	for i := range 6 {
		files[fmt.Sprintf("%d.js", i)] = strings.Repeat("foo(1)\n", 100)
	}
	dir := tree(t, files)
	var got []string
	q := Query{Dir: dir, Lang: "js", Pattern: "foo($A)"}
	for {
		a, err := Search(t.Context(), engine(t), q)
		if err != nil {
			t.Fatal(err)
		}
		if a.Total != 600 || a.Files != 6 {
			t.Fatalf("total %d, files %d", a.Total, a.Files)
		}
		for _, m := range a.Matches {
			got = append(got, fmt.Sprintf("%s:%d", m.Path, m.Line))
		}
		if q.Offset == 0 && (len(a.Matches) != 500 || a.Reason != "max_matches" || !strings.Contains(a.String(), "Found 600 matches in 6 files (showing 500: max_matches; narrow the pattern or pass offset=500)")) {
			t.Errorf("the first page: %d, %s, %.200s", len(a.Matches), a.Reason, a.String()[len(a.String())-200:])
		}
		if a.Next == 0 {
			break
		}
		q.Offset = a.Next
		q.Limit = 33
	}
	want := make([]string, 0, 600)
	for i := range 600 {
		want = append(want, fmt.Sprintf("%d.js:%d", i/100, i%100+1))
	}
	if !slices.Equal(got, want) {
		t.Errorf("the pages have %d matches, in order: %v", len(got), slices.IsSorted(got))
	}
	q.Offset = 5000
	if a, err := Search(t.Context(), engine(t), q); err != nil || !strings.Contains(a.String(), "is past the last") {
		t.Errorf("%v, %v", a, err)
	}
}

func TestTimeoutAndCancel(t *testing.T) {
	dir := tree(t, map[string]string{"a.js": strings.Repeat("foo(1)\n", 20_000)})
	a, err := Search(t.Context(), engine(t), Query{Dir: dir, Lang: "js", Pattern: "foo($A)", Timeout: time.Nanosecond})
	if !errors.Is(err, errTimeout) && (err != nil || a.Reason != "timeout") {
		t.Errorf("%v, %v", a, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	start := time.Now()
	if _, err := Search(ctx, engine(t), Query{Dir: dir, Lang: "js", Pattern: "$A"}); !errors.Is(err, context.Canceled) || time.Since(start) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
}

func TestSkippedFiles(t *testing.T) {
	dir := tree(t, map[string]string{
		"big.js": "foo(1)\n" + strings.Repeat("// padding here\n", 210_000),
		"l1.js":  "foo('\xe9')",
		"ok.js":  "foo(2)",
	})
	a, err := Search(t.Context(), engine(t), Query{Dir: dir, Lang: "js", Pattern: "foo($A)"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Search(t.Context(), engine(t), Query{Dir: dir, Lang: "js", Pattern: "foo($A)", Whole: true})
	if err != nil || a.Total != 1 || b.Total != 1 {
		t.Fatalf("%v, %v, %v", a, b, err)
	}
	want := "(not searched, though the pattern's words are there: 1 file over 3 MB and 200,000 lines: big.js; 1 file not in UTF-8: l1.js)"
	if !strings.Contains(a.String(), want) {
		t.Errorf("got %s", a)
	}
}

func TestText(t *testing.T) {
	a, err := find(t, "javascript", "foo(1);\n\nx = foo(\n  2)\n\nfoo('"+strings.Repeat("é", 120)+"\x1b')\n", Query{Pattern: "foo($A)", Context: 1})
	if err != nil {
		t.Fatal(err)
	}
	want := `a.cjs:
  1: foo(1)
  --
  2- 
  3-4: foo(\n  2)
  --
  5- 
  6: foo('` + strings.Repeat("é", 95) + `...

Found 3 matches in 1 file`
	if a.String() != want {
		t.Errorf("got\n%s\nwant\n%s", a, want)
	}
}

// A pattern that is no whole code can match all the same, by chance. Nothing is
// written for it.
func TestBrokenPattern(t *testing.T) {
	const source = "x = a => b\n"
	dir := tree(t, map[string]string{"a.ts": source})
	a, err := Search(t.Context(), engine(t), Query{Dir: dir, Lang: "ts", Pattern: "$A =>"})
	if err != nil || a.Total != 1 || !strings.Contains(a.String(), "these may be chance matches") {
		t.Errorf("%v, %v", a, err)
	}
	r, err := replace(t, dir, "ts", "$A =>", "f($A)", ReplaceOptions{Apply: true})
	if err != nil || !r.Failed() || !strings.Contains(r.String(), "Nothing was written: a part of the pattern could not be parsed") || read(t, dir, "a.ts") != source {
		t.Errorf("%v, %v, %q", r, err, read(t, dir, "a.ts"))
	}
}
