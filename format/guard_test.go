package format

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/internal/state"
)

// session drives the guard as a host would.
type session struct {
	*project
	kit   whet.Kit
	s     whet.Session
	calls int
}

func newSession(t *testing.T, o Options) *session {
	p := newProject(t)
	return &session{
		project: p,
		kit:     whet.Kit{Guards: []whet.Guard{Guard(o)}},
		s:       whet.Session{ID: "s", Dir: p.dir, Worktree: p.dir, Store: state.Memory()},
	}
}

// edit replaces the file's text as a call of the tool and returns the note.
func (s *session) edit(tool, name, text string) string {
	s.t.Helper()
	s.calls++
	c := &whet.Call{ID: fmt.Sprint(s.calls), Tool: tool, Path: name, Args: []byte(`{}`), Session: s.s}
	if err := s.kit.Before(s.t.Context(), c); err != nil {
		s.t.Fatal(err)
	}
	s.write(name, text)
	r := &whet.Result{Text: "done", Changed: []string{filepath.Join(s.dir, name)}}
	s.kit.After(s.t.Context(), c, r)
	return strings.TrimPrefix(strings.TrimPrefix(r.Text, "done"), "\n\n")
}

func TestGuard(t *testing.T) {
	const clean, bad = "package a\n\nfunc f() {\n\tprintln(1)\n}\n", "package a\nfunc  f( ) {\n  println(1)\n}\n"
	for _, c := range []struct {
		name, tool       string
		before, after    string // before "": no file
		want, note       string
		scope            string
		notBefore        bool // the host doesn't tell before
		host, openCodeIs string
	}{
		{name: "new file", tool: "write", after: bad, want: "package a\n\nfunc f() {\n\tprintln(1)\n}\n", note: "[format] a.go: gofmt changed lines 2-4 after your edit; the file now reads:\n2: \n3: func f() {\n4: \tprintln(1)"},
		{name: "formatted file", tool: "edit", before: clean, after: strings.Replace(clean, "(1)", "( 2 )", 1), want: strings.Replace(clean, "1", "2", 1), note: "[format] a.go: gofmt changed line 4 after your edit; the file now reads:\n4: \tprintln(2)"},
		{name: "nothing to do", tool: "edit", before: clean, after: strings.Replace(clean, "1", "2", 1), want: strings.Replace(clean, "1", "2", 1)},
		{name: "badly formatted file", tool: "edit", before: bad, after: strings.Replace(bad, "(1)", "( 2 )", 1), want: "package a\nfunc  f( ) {\n\tprintln(2)\n}\n", note: "[format] a.go: gofmt changed line 3 after your edit; the file now reads:\n3: \tprintln(2)"},
		{name: "badly formatted file, all of it", scope: Whole, tool: "edit", before: bad, after: strings.Replace(bad, "1", "2", 1), want: strings.Replace(clean, "1", "2", 1), note: "[format] a.go: gofmt changed lines 2-4 after your edit"},
		{name: "formatted file, alignment of neighbours", tool: "edit", before: "package a\n\ntype t struct {\n\ta int\n\tb int\n}\n", after: "package a\n\ntype t struct {\n\ta int\n\tlonger int\n}\n", want: "package a\n\ntype t struct {\n\ta      int\n\tlonger int\n}\n", note: "[format] a.go: gofmt changed line 4 after"},
		{name: "the same, only the edited lines", scope: Changed, tool: "edit", before: "package a\n\ntype t struct {\n\ta int\n\n\tb int\n}\n", after: "package a\n\ntype t struct {\n\ta int\n\n\tlonger  int\n}\n", want: "package a\n\ntype t struct {\n\ta int\n\n\tlonger int\n}\n", note: "[format] a.go: gofmt changed line 6 after"},
		{name: "syntax error", tool: "edit", before: clean, after: clean + "func {", want: clean + "func {", note: "[format] a.go is not formatted: gofmt failed: 6:6: expected 'IDENT', found '{'"},
		{name: "not told before, and no commit", tool: "edit", notBefore: true, before: bad, after: strings.Replace(bad, "1", "2", 1), want: strings.Replace(bad, "1", "2", 1)},
		{name: "not told before, written as a whole", tool: "write", notBefore: true, before: bad, after: bad, want: clean, note: "[format] a.go: gofmt changed"},
		{name: "OpenCode formats itself", tool: "write", host: "opencode", openCodeIs: `{"formatter": {}}`, after: bad, want: bad},
		{name: "OpenCode doesn't", tool: "write", host: "opencode", openCodeIs: `{"formatter": false}`, after: bad, want: clean, note: "[format]"},
		{name: "OpenCode's file is hostile", tool: "write", host: "opencode", openCodeIs: strings.Repeat("[", 1<<20), after: bad, want: clean, note: "[format]"},
		{name: "OpenCode by default", tool: "write", host: "opencode", openCodeIs: `{/* nothing */}`, after: bad, want: clean, note: "[format]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("XDG_CONFIG_HOME", t.TempDir())
			s := newSession(t, Options{Scope: c.scope})
			s.s.Host = c.host
			if c.openCodeIs != "" {
				s.write("opencode.jsonc", c.openCodeIs)
			}
			if c.before != "" {
				s.write("a.go", c.before)
			}
			if c.notBefore {
				s.kit.Guards[0].Before = nil
			}
			note := s.edit(c.tool, "a.go", c.after)
			if got := s.read("a.go"); got != c.want {
				t.Errorf("the file is %q, want %q", got, c.want)
			}
			if !strings.HasPrefix(note, c.note) || c.note == "" && note != "" {
				t.Errorf("got note %q, want %q", note, c.note)
			}
		})
	}
}

func TestGuardPatch(t *testing.T) {
	s := newSession(t, Options{})
	const bad = "package a\nfunc  f( ) {\n  println(1)\n}\n"
	var patch strings.Builder
	patch.WriteString("*** Begin Patch\n")
	var changed []string
	for i := range 12 {
		name := fmt.Sprintf("f%d.go", i)
		s.write(name, bad)
		fmt.Fprintf(&patch, "*** Update File: %s\n@@\n", name)
		changed = append(changed, filepath.Join(s.dir, name))
	}
	s.write("old.go", bad)
	patch.WriteString("*** Update File: old.go\n*** Move to: moved.go\n*** Add File: new.go\n*** End Patch")
	changed = append(changed, filepath.Join(s.dir, "moved.go"), filepath.Join(s.dir, "new.go"))
	c := &whet.Call{ID: "1", Tool: "apply_patch", Args: fmt.Appendf(nil, `{"patch": %q}`, patch.String()), Session: s.s}
	if err := s.kit.Before(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	edited := strings.Replace(bad, "(1)", "( 2 )", 1)
	for _, f := range changed {
		s.write(filepath.Base(f), edited)
	}
	r := &whet.Result{Text: "done", Changed: changed}
	s.kit.After(t.Context(), c, r)
	for _, f := range changed {
		want := "package a\nfunc  f( ) {\n\tprintln(2)\n}\n"
		if filepath.Base(f) == "new.go" {
			want = "package a\n\nfunc f() {\n\tprintln(2)\n}\n"
		}
		if got := s.read(filepath.Base(f)); got != want {
			t.Errorf("%s is %q, want %q", f, got, want)
		}
	}
	if strings.Count(r.Text, "[format]") != 1 || !strings.Contains(r.Text, "14 files were formatted after your edit") {
		t.Errorf("want one summary, got %q", r.Text)
	}
}

// The patch that follows was written against the text before formatting.
func TestShadow(t *testing.T) {
	s := newSession(t, Options{})
	const written, formatted = "package a\n\nvar  a = 1\n\nvar b = 1\n", "package a\n\nvar a = 1\n\nvar b = 1\n"
	s.edit("write", "a.go", written)
	w, f, ok := Shadow(s.s, "a.go")
	if !ok || string(w) != written || string(f) != formatted || s.read("a.go") != formatted {
		t.Fatalf("got %q, %q, %v", w, f, ok)
	}
	if got := Rebase(w, f, []byte("package a\n\nvar  a = 1\n\nvar b = 2\n")); string(got) != "package a\n\nvar a = 1\n\nvar b = 2\n" {
		t.Errorf("got %q", got)
	}
	if _, _, ok := Shadow(s.s, "b.go"); ok {
		t.Error("a shadow of a file that was never formatted")
	}
}

// A formatter that undoes itself is left out for the rest of the session.
func TestUnstable(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the formatter is a shell script")
	}
	script := filepath.Join(t.TempDir(), "flip")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nsed -e 's/^ one/XX/; t' -e 's/^one/ one/; t' | sed 's/^XX/one/'\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	s := newSession(t, Options{Use: map[string]Use{"flip": {Command: []string{script}, Stdin: true, Extensions: []string{".x"}}}})
	if note := s.edit("write", "a.x", "one\ntwo\nthree\n"); !strings.Contains(note, "flip changed line 1 ") {
		t.Fatalf("got %q", note)
	}
	if note := s.edit("edit", "a.x", " one\ntwo\nTHREE\n"); !strings.Contains(note, "flip changes its own output") {
		t.Errorf("got %q", note)
	}
	if note := s.edit("edit", "a.x", " one\ntwo\nTHREE\nfour\n"); note != "" {
		t.Errorf("it is still used: %q", note)
	}
	if got := s.read("a.x"); got != " one\ntwo\nTHREE\nfour\n" {
		t.Errorf("got %q", got)
	}
}

// Two hosts that hear of the same edit at the same time run one formatter.
func TestTwoHosts(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the formatter is a shell script")
	}
	runs := filepath.Join(t.TempDir(), "runs")
	script := filepath.Join(t.TempDir(), "slow")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho run >>"+runs+"\nsleep 0.2\nsed 's/  */ /g'\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	s := newSession(t, Options{Use: map[string]Use{"slow": {Command: []string{script}, Stdin: true, Extensions: []string{".x"}}}})
	s.write("a.x", "some   words\n")
	var notes atomic.Int32
	done := make(chan bool)
	for host := range 4 {
		go func() {
			defer func() { done <- true }()
			kit := whet.Kit{Guards: []whet.Guard{Guard(Options{Use: map[string]Use{"slow": {Command: []string{script}, Stdin: true, Extensions: []string{".x"}}}})}}
			r := &whet.Result{Changed: []string{filepath.Join(s.dir, "a.x")}}
			kit.After(t.Context(), &whet.Call{ID: fmt.Sprint(host), Tool: "write", Session: whet.Session{ID: fmt.Sprint(host), Dir: s.dir, Store: state.Memory()}}, r)
			notes.Add(int32(strings.Count(r.Text, "[format]")))
		}()
	}
	for range 4 {
		<-done
	}
	if got := slurp(t, runs); got != "run\n" {
		t.Errorf("it ran %d times", strings.Count(got, "\n"))
	}
	if got := s.read("a.x"); got != "some words\n" || notes.Load() != 1 {
		t.Errorf("got %q and %d notes", got, notes.Load())
	}
}

// What is outside the project, gone, or failed is nobody's business.
func TestGuardLeavesAlone(t *testing.T) {
	s := newSession(t, Options{})
	outside := filepath.Join(t.TempDir(), "a.go")
	if err := os.WriteFile(outside, []byte("package  a\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(s.dir, "link.go")); err != nil {
		t.Skip(err)
	}
	s.write("failed.go", "package  a\n")
	for _, r := range []*whet.Result{
		{Changed: []string{outside}},
		{Changed: []string{filepath.Join(s.dir, "gone.go")}},
		{Changed: []string{filepath.Join(s.dir, "failed.go")}, Failed: true},
		{},
	} {
		s.kit.After(t.Context(), &whet.Call{Tool: "write", Session: s.s}, r)
		if r.Text != "" {
			t.Errorf("%v: got %q", r.Changed, r.Text)
		}
	}
	s.kit.After(t.Context(), &whet.Call{Tool: "write", Session: s.s}, &whet.Result{Changed: []string{filepath.Join(s.dir, "link.go")}})
	if got := slurp(t, outside); got != "package  a\n" {
		t.Errorf("a file outside the project became %q", got)
	}
}

func TestNoteIsBounded(t *testing.T) {
	o := Outcome{Formatter: "gofmt", Edited: []byte("x"), Formatted: []byte(strings.Repeat("line\n", 1000))}
	for i := range 500 {
		o.Lines = append(o.Lines, Range{2*i + 1, 2*i + 1})
	}
	b := budget{maxNoteLines, maxNoteBytes}
	if got := b.note("a.go", o); got != "[format] a.go: gofmt changed lines 1, 3, 5, 7, 9, 11, 13, 15, and more after your edit; read them before the next edit." {
		t.Errorf("got %q", got)
	}
	if got := b.note("a.go", Outcome{Formatter: "gofmt", Formatted: []byte("a\n"), Lines: []Range{{2, 1}}}); got != "[format] a.go: gofmt removed lines before line 2 after your edit; read them before the next edit." {
		t.Errorf("got %q", got)
	}
}

// How often a formatter runs for an edit: as seldom as the rules allow.
func TestRuns(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the formatter is a shell script")
	}
	script := filepath.Join(t.TempDir(), "count")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho run >>$WHET_RUNS\nsed 's/  */ /g'\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	const clean, bad = "one a\ntwo b\nthree c\nfour d\nfive e\n", "one  a\ntwo b\nthree c\nfour  d\nfive e\n"
	type step struct {
		tool, text, want string
		runs             int
	}
	for _, c := range []struct {
		name, before string
		steps        []step
	}{
		{"a formatted file", clean, []step{
			{"edit", "one a\ntwo b\nthree  x\nfour d\nfive e\n", "one a\ntwo b\nthree x\nfour d\nfive e\n", 1},
			{"edit", "one a\ntwo  y\nthree x\nfour d\nfive e\n", "one a\ntwo y\nthree x\nfour d\nfive e\n", 1},
			{"edit", "one a\ntwo z\nthree x\nfour d\nfive e\n", "one a\ntwo z\nthree x\nfour d\nfive e\n", 1},
		}},
		{"a new file", "", []step{{"write", bad, "one a\ntwo b\nthree c\nfour d\nfive e\n", 1}}},
		{"a badly formatted file", bad, []step{
			// The text before, the text now, and the edited line's proof; then the first is known.
			{"edit", "one  a\ntwo b\nthree  x\nfour  d\nfive e\n", "one  a\ntwo b\nthree x\nfour  d\nfive e\n", 3},
			{"edit", "one  a\ntwo  y\nthree x\nfour  d\nfive e\n", "one  a\ntwo y\nthree x\nfour  d\nfive e\n", 2},
			{"edit", "one  a\ntwo z\nthree x\nfour  d\nfive e\n", "one  a\ntwo z\nthree x\nfour  d\nfive e\n", 1},
			{"edit", "one  a\ntwo z\nthree x\nfour  d\nfive  e\n", "one  a\ntwo z\nthree x\nfour  d\nfive e\n", 2},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			runs := filepath.Join(t.TempDir(), "runs")
			t.Setenv("WHET_RUNS", runs)
			s := newSession(t, Options{Use: map[string]Use{"count": {Command: []string{script}, Stdin: true, Extensions: []string{".x"}}}})
			if c.before != "" {
				s.write("a.x", c.before)
			}
			for i, step := range c.steps {
				s.edit(step.tool, "a.x", step.text)
				if got := s.read("a.x"); got != step.want {
					t.Errorf("step %d: got %q, want %q", i+1, got, step.want)
				}
				if got := strings.Count(slurp(t, runs), "run"); got != step.runs {
					t.Errorf("step %d: %d runs, want %d", i+1, got, step.runs)
				}
				if err := os.Remove(runs); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
