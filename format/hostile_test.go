package format

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Whatever a formatter does, the edit stays, nothing else changes, and it ends.
func TestHostileFormatters(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the formatters are shell scripts")
	}
	const text = "alpha  beta gamma delta epsilon zeta eta theta\nalpha  beta gamma delta epsilon zeta eta theta\n"
	for _, c := range []struct {
		name   string
		script string // $1 is the file
		filter bool
		why    string // in the error
	}{
		{"prints nothing", "cat >/dev/null", true, "printed nothing"},
		{"prints only space", "echo; echo ' '", true, "printed nothing"},
		{"prints half", "head -n 1", true, "lacks a part"},
		{"prints garbage", "head -c 90 /dev/zero | tr '\\0' x", true, "lacks a part"},
		{"prints binary", "printf 'alpha beta gamma delta epsilon zeta eta theta \\377\\376'; cat", true, "not UTF-8"},
		{"prints without end", "yes alpha", true, "more than four times"},
		{"prints and fails", "sed 's/  */ /g'; echo 'bad thing' >&2; echo more >&2; exit 3", true, "failed (exit 3): bad thing"},
		{"says why on the wrong stream", "echo; echo 'bad thing'; exit 3", true, "failed (exit 3): bad thing"},
		{"fails silently", "exit 4", true, "failed (exit 4)"},
		{"fails with escapes", "printf '\\033[31mred\\033[0m' >&2; exit 1", true, "failed (exit 1): [31mred"},
		{"is killed", "kill -9 $$", true, "failed (exit -1)"},
		{"sleeps", "sleep 60", true, "was stopped after 500ms"},
		{"is deaf", "trap '' TERM INT HUP; sleep 60; sleep 60", true, "was stopped after 500ms"},
		{"doesn't read", "exec sleep 60 <&-", true, "was stopped after 500ms"},
		{"truncates and dies", ": >\"$1\"; exit 1", false, "failed (exit 1)"},
		{"truncates", ": >\"$1\"", false, "printed nothing"},
		{"removes the file", "rm \"$1\"", false, "no such file"},
		{"halves the file", "head -n 1 \"$1\" >\"$1.new\"; mv \"$1.new\" \"$1\"", false, "lacks a part"},
		{"truncates and sleeps", ": >\"$1\"; sleep 60", false, "was stopped after 500ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProject(t)
			p.use(c.script, c.filter)
			if strings.Contains(c.why, "stopped") {
				p.engine.TimeoutMs = 500
			}
			p.write("a.x", text)
			if err := p.root.Chmod("a.x", 0o640); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			o, err := p.format("a.x", Edit{})
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("got error %v, want one with %q", err, c.why)
			} else if strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("not a plain line: %q", err)
			}
			if o.Changed() || p.read("a.x") != text {
				t.Errorf("the file became %q", p.read("a.x"))
			}
			if info, err := p.root.Stat("a.x"); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("took %v", took)
			}
			if es, err := fs.ReadDir(p.root.FS(), "."); err != nil || len(es) != 1 && c.name != "halves the file" {
				t.Errorf("left behind: %v, %v", es, err)
			}
		})
	}
}

// A formatter that leaves a daemon behind is a success; the daemon is ended.
func TestDaemon(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the formatter is a shell script")
	}
	p := newProject(t)
	p.use(`sed 's/  */ /g'; sleep 60 & echo $! >"$(dirname "$1")/pid"`, true)
	p.write("a.x", "some   words\n")
	start := time.Now()
	if _, err := p.format("a.x", Edit{}); err != nil {
		t.Fatal(err)
	}
	if got := p.read("a.x"); got != "some words\n" {
		t.Errorf("got %q", got)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
	pid := strings.TrimSpace(p.read("pid"))
	if stat, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil && !strings.Contains(string(stat), ") Z ") {
		t.Errorf("the daemon %s is still there", pid)
	}
}

// In place or as a filter: odd names, links, modes and line ends are kept.
func TestForm(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the formatters are shell scripts")
	}
	for _, script := range []struct {
		name, text string
		filter     bool
	}{
		{"filter", `sed 's/  */ /g'`, true},
		{"in place", `sed 's/  */ /g' "$1" >"$1.new" && chmod 600 "$1.new" && mv "$1.new" "$1"`, false},
	} {
		for _, name := range []string{"a.x", "with space.x", "$&.x", "-rf.x", "new\nline.x", "$(touch pwned).x", ";touch pwned;.x", "ünï.x"} {
			t.Run(script.name+" "+name, func(t *testing.T) {
				p := newProject(t)
				p.use(script.text, script.filter)
				p.write(name, "\ufeffsome   words\r\nas they are\r\nmixed   up\n")
				if err := p.root.Chmod(name, 0o640); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(name, filepath.Join(p.dir, "link.x")); err != nil {
					t.Fatal(err)
				}
				if _, err := p.format("link.x", Edit{}); err != nil {
					t.Fatal(err)
				}
				if got, want := p.read(name), "\ufeffsome words\r\nas they are\r\nmixed up\r\n"; got != want {
					t.Errorf("got %q, want %q", got, want)
				}
				if info, err := p.root.Lstat("link.x"); err != nil || info.Mode()&fs.ModeSymlink == 0 {
					t.Errorf("the link is gone: %v, %v", info.Mode(), err)
				}
				if info, err := p.root.Stat(name); err != nil || info.Mode().Perm() != 0o640 {
					t.Errorf("mode %v, %v", info.Mode(), err)
				}
				if es, err := fs.ReadDir(p.root.FS(), "."); err != nil || len(es) != 2 {
					t.Errorf("left behind: %v, %v", es, err)
				}
			})
		}
	}
}

// What somebody else wrote meanwhile stays.
func TestRaced(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the formatter is a shell script")
	}
	p := newProject(t)
	p.use(`sed 's/  */ /g'; echo other >"$1"`, true)
	p.write("a.x", "some   words\n")
	if _, err := p.format("a.x", Edit{}); !errors.Is(err, ErrRaced) {
		t.Errorf("got %v", err)
	}
	if got := p.read("a.x"); got != "other\n" {
		t.Errorf("got %q", got)
	}
}

func TestSkipped(t *testing.T) {
	p := newProject(t)
	p.engine.Ignore = []string{"**/gen/**", "*.gen.go", "sub/skip.go"}
	const bad = "package  a\n"
	for name, text := range map[string]string{
		"empty.go": " \n", "binary.go": "package  a\x00\n", "large.go": bad + strings.Repeat("// more\n", maxSize/8),
		"made.go": "// Code generated by x. DO NOT EDIT.\n" + bad, "x/gen/a.go": bad, "a.gen.go": bad, "sub/b.gen.go": bad, "sub/skip.go": bad,
	} {
		p.write(name, text)
		if _, err := p.format(name, Edit{}); !errors.Is(err, ErrSkipped) {
			t.Errorf("%s: got %v, want ErrSkipped", name, err)
		}
		if p.read(name) != text {
			t.Errorf("%s was changed", name)
		}
	}
	p.write("skip.go", bad)
	if _, err := p.format("skip.go", Edit{}); err != nil || p.read("skip.go") != "package a\n" {
		t.Errorf("skip.go: %q, %v", p.read("skip.go"), err)
	}
}
