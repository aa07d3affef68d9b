//go:build unix

package search

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A tree with everything in it that isn't a file.
func TestGrepSpecialFiles(t *testing.T) {
	engines(t, func(t *testing.T, engine string) {
		dir := t.TempDir()
		write(t, dir, "a.txt", "hello\n")
		link(t, ".", filepath.Join(dir, "loop"))
		link(t, "gone", filepath.Join(dir, "broken"))
		link(t, "/etc", filepath.Join(dir, "etc"))
		if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("unix", filepath.Join(dir, "sock"))
		if err != nil {
			t.Skip(err)
		}
		defer func() { _ = l.Close() }()
		done := make(chan *Answer, 1)
		go func() {
			a, err := Grep(context.Background(), Query{Root: dir, Pattern: "hello", Engine: engine})
			if err != nil {
				t.Error(err)
			}
			done <- a
		}()
		select {
		case a := <-done:
			if got := strings.Join(lines(a), " "); got != "a.txt:1:1" {
				t.Errorf("found %s", got)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("the search hangs")
		}
		a, err := Grep(context.Background(), Query{Root: dir, Pattern: "nowhere", Engine: engine})
		want := "0 matches in 1 file searched (3 symbolic links, 2 pipes, sockets or devices)"
		if err != nil || a.String() != want {
			t.Errorf("got %v %s\nwant %s", err, a, want)
		}
		if _, err := Grep(context.Background(), Query{Root: dir, Path: "pipe", Pattern: "x", Engine: engine}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("a pipe by name: %v", err)
		}
	})
}

// Files that can't be read, and directories: told, and no failure.
func TestGrepUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	engines(t, func(t *testing.T, engine string) {
		dir := t.TempDir()
		write(t, dir, "a.txt", "hello\n")
		write(t, dir, "locked.txt", "hello\n")
		write(t, dir, "dir/b.txt", "hello\n")
		for _, name := range []string{"locked.txt", "dir"} {
			if err := os.Chmod(filepath.Join(dir, name), 0); err != nil {
				t.Fatal(err)
			}
		}
		t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "dir"), 0o755) })
		a, err := Grep(context.Background(), Query{Root: dir, Pattern: "hello", Engine: engine})
		want := "Found 1 match in 1 file\na.txt\n  1: hello\n(partial: some files or directories could not be read)"
		if err != nil || a.String() != want {
			t.Errorf("got %v %s", err, a)
		}
		a, err = Grep(context.Background(), Query{Root: dir, Pattern: "nowhere", Engine: engine})
		want = "0 matches in 1 file searched (1 unreadable files, 1 unreadable directories)"
		if err != nil || a.String() != want {
			t.Errorf("got %v %s", err, a)
		}
	})
}

// A file of 2 GB, nearly all of it a hole.
func TestGrepHugeFile(t *testing.T) {
	engines(t, func(t *testing.T, engine string) {
		dir := t.TempDir()
		write(t, dir, "a.txt", "hello\n")
		write(t, dir, "huge.log", "hello\n")
		if err := os.Truncate(filepath.Join(dir, "huge.log"), 2<<30); err != nil {
			t.Skip(err)
		}
		a, err := Grep(context.Background(), Query{Root: dir, Pattern: "hello", Engine: engine})
		if err != nil || strings.Join(lines(a), " ") != "a.txt:1:1" {
			t.Errorf("%v %s", err, a)
		}
		a, err = Grep(context.Background(), Query{Root: dir, Pattern: "nowhere", Engine: engine})
		if err != nil || a.String() != "0 matches in 1 file searched (1 over 10 MB)" {
			t.Errorf("%v %s", err, a)
		}
		a, err = Grep(context.Background(), Query{Root: dir, Path: "huge.log", Pattern: "hello", Engine: engine})
		if err != nil || !strings.HasPrefix(a.String(), "Binary file matches: huge.log") {
			t.Errorf("%v %s", err, a)
		}
	})
}

// A large file that is named is searched in blocks; line numbers go on.
func TestGrepLargeTextFile(t *testing.T) {
	dir := t.TempDir()
	line := strings.Repeat("x", 1023) + "\n"
	write(t, dir, "big.log", strings.Repeat(line, 70<<10)+"hello\n")
	a, err := Grep(context.Background(), Query{Root: dir, Path: "big.log", Pattern: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(lines(a), " "), fmt.Sprintf("big.log:%d:1", 70<<10+1); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A pattern made to be slow, on a line made for it.
func TestGrepSlowPattern(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.txt", strings.Repeat("a", 200_000)+"\n")
	begun := time.Now()
	for _, p := range []string{`(a*)*b`, `(a|a)*b`, `(a+)+$b`, `([a-z]|a){1,100}[^a]`} {
		if _, err := Grep(context.Background(), Query{Root: dir, Pattern: p, Engine: EngineOwn, Timeout: 2 * time.Second}); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
	if took := time.Since(begun); took > 40*time.Second {
		t.Errorf("took %v", took)
	}
}

// The second look at a tree that gave nothing may run out of time. What it has
// counted by then must not pass for what was searched.
func TestGrepSecondLookCut(t *testing.T) {
	a := &Answer{query: &Query{Pattern: "y", Include: []string{"*.md"}}, Searched: 50, leftOut: &leftOut{Partial: true, Binary: 2}}
	a.leftOut.Files = 7
	if got, want := a.String(), "0 matches in 50 files searched (at least 2 binary)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A broken rg is told apart from one that finds nothing: whet does without.
func TestGrepBrokenRipgrep(t *testing.T) {
	for name, script := range map[string]string{
		"fails":   "#!/bin/sh\necho 'unrecognized flag' >&2\nexit 2\n",
		"garbage": "#!/bin/sh\nprintf 'what\\0is this\\n'\n",
		"crashes": "#!/bin/sh\nkill -SEGV $$\n",
		"no exec": "not a program",
	} {
		t.Run(name, func(t *testing.T) {
			sealed(t)
			bin := t.TempDir()
			write(t, bin, "rg", script)
			if err := os.Chmod(filepath.Join(bin, "rg"), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", bin)
			dir := t.TempDir()
			write(t, dir, "a.txt", "hello\n")
			a, err := Grep(context.Background(), Query{Root: dir, Pattern: "hello"})
			if err != nil || a.Engine != EngineOwn || strings.Join(lines(a), " ") != "a.txt:1:1" {
				t.Errorf("%v %+v", err, a)
			}
		})
	}
}

// A search that is cancelled gives what it has, and leaves no child behind.
func TestGrepCancel(t *testing.T) {
	sealed(t)
	bin := t.TempDir()
	pidFile := filepath.Join(bin, "pid")
	write(t, bin, "rg", "#!/bin/sh\necho $$ >'"+pidFile+"'\nprintf './a.txt\\0001\\n'\nexec sleep 60\n")
	if err := os.Chmod(filepath.Join(bin, "rg"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	dir := t.TempDir()
	write(t, dir, "a.txt", "hello\n")
	a, err := Grep(context.Background(), Query{Root: dir, Pattern: "hello", Timeout: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if !a.Partial || !strings.Contains(a.String(), "  1: hello\n(partial: the search was stopped after") {
		t.Errorf("got %s", a)
	}
	text, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(string(text), &pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err == nil {
		t.Errorf("process %d still runs", pid)
	}
}

// What grows with the square of a pattern or a file takes hours here, not
// milliseconds.
func TestGrepLargeInputs(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "ascii.txt", "alpha"+strings.Repeat("aaaaaaaaab", 200_000)+"\n")
	write(t, dir, "latin.txt", "caf\xe9 "+strings.Repeat("aaaaaaaaab ", 100_000)+"\n")
	for _, q := range []Query{
		{Pattern: strings.Repeat("alpha|", 8000) + "x"},
		{Pattern: strings.Repeat("(", 250) + "x" + strings.Repeat("|y)", 250)},
		{Pattern: "a", Path: "ascii.txt", Multiline: true},
		{Pattern: "(a|aa)*b", Path: "ascii.txt", Multiline: true, Context: 20},
		{Pattern: `\ba+b\b`, Path: "latin.txt", Multiline: true},
		{Pattern: `\ba+b\b`, Path: "latin.txt"},
	} {
		q.Root, q.Engine = dir, "own"
		done := make(chan error, 1)
		go func() {
			_, err := Grep(t.Context(), q)
			done <- err
		}()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("%.30q: %v", q.Pattern, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%.30q in %q goes on and on", q.Pattern, q.Path)
		}
	}
}

// A model that sends a huge pattern doesn't get it back.
func TestErrorsAreShort(t *testing.T) {
	_, err := Grep(t.Context(), Query{Root: t.TempDir(), Pattern: strings.Repeat("(", 60_000)})
	if err == nil || len(err.Error()) > 4*maxQuoted {
		t.Errorf("%d bytes: %.200s", len(err.Error()), err)
	}
}
