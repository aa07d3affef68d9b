// Format measures what a formatted edit costs beside a host that formats by
// itself: the edit written and the formatter's own command over the file,
// against the edit written and the whole of whet's guard, which keeps the text
// before, finds the formatter, runs it, checks what it made, replaces the file
// and tells the agent.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/format"
	"github.com/whet-dev/whet/internal/measure"
	"github.com/whet-dev/whet/internal/peer"
	"github.com/whet-dev/whet/internal/state"
)

func main() {
	rounds := flag.Int("rounds", 41, "edits of each contender, in turns")
	flag.Parse()
	measure.Main("format", func(ctx context.Context, w io.Writer) error { return run(ctx, w, *rounds, flag.Args()) })
}

// A job is a formatter and a text for it.
type job struct {
	name, file, config, content string
	inPlace                     []string // arguments of the bare command; the file follows
	head, line, loose, tail     string   // a text; loose is a line that the formatter would change
	bad                         string   // the edited line
}

var jobs = []job{
	{name: "gofmt", file: "a.go", inPlace: []string{"-w"}, head: "package a\n\nfunc f() {\n", line: "\tprintln(\"some text\", 1, 2, 3)\n", loose: "\tprintln( \"loose\" )\n", bad: "  println( \"edited\" ,1)\n", tail: "}\n"},
	{name: "clang-format", file: "a.c", config: ".clang-format", content: "BasedOnStyle: LLVM\n", inPlace: []string{"-i"}, head: "int main(void) {\n", line: "  f(\"some text\", 1, 2, 3);\n", loose: "  f( \"loose\" );\n", bad: "f( \"edited\" ,1);\n", tail: "}\n"},
	{name: "rustfmt", file: "a.rs", inPlace: []string{"--edition", "2021"}, head: "fn main() {\n", line: "    f(\"some text\", 1, 2, 3);\n", loose: "    f( \"loose\" );\n", bad: "  f( \"edited\" ,1);\n", tail: "}\n"},
	{name: "biome", file: "a.ts", config: "biome.json", content: `{"formatter":{"indentStyle":"space"}}`, inPlace: []string{"format", "--write"}, head: "function f() {\n", line: "  g(\"some text\", 1, 2, 3);\n", loose: "  g( \"loose\" );\n", bad: "g( \"edited\" ,1);\n", tail: "}\n"},
	{name: "oxfmt", file: "a.ts", config: ".oxfmtrc.json", content: "{}", head: "function f() {\n", line: "  g(\"some text\", 1, 2, 3);\n", loose: "  g( \"loose\" );\n", bad: "g( \"edited\" ,1);\n", tail: "}\n"},
	{name: "black", file: "a.py", config: "pyproject.toml", content: "[tool.black]\n", inPlace: []string{"-q"}, head: "def f():\n", line: "    g(\"some text\", 1, 2, 3)\n", loose: "    g( \"loose\" )\n", bad: "    g( \"edited\" ,1)\n"},
	{name: "prettier", file: "a.ts", config: ".prettierrc", content: "semi: true\n", inPlace: []string{"--write", "--log-level=error"}, head: "function f() {\n", line: "  g(\"some text\", 1, 2, 3);\n", loose: "  g( \"loose\" );\n", bad: "g( \"edited\" ,1);\n", tail: "}\n"},
}

// text returns the job's text of 300 lines with the line in its middle and the
// first of them.
func (j job) text(first, middle string) string {
	return j.head + first + strings.Repeat(j.line, 149) + middle + strings.Repeat(j.line, 149) + j.tail
}

func run(ctx context.Context, w io.Writer, rounds int, only []string) error {
	state, err := os.MkdirTemp("", "whet-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(state)
	if err := os.Setenv("WHET_STATE", state); err != nil {
		return err
	}
	fmt.Fprintf(w, "%s\n\n", measure.Machine())
	for _, j := range jobs {
		if len(only) > 0 && !slices.Contains(only, j.name) {
			continue
		}
		program := peer.Lookup(j.name)
		if program == "" {
			fmt.Fprintf(w, "%s is not installed; scripts/peers installs it\n\n", j.name)
			continue
		}
		// The guard finds it as the bare command does; the project's own would
		// have to be trusted.
		if err := os.Setenv("PATH", filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH")); err != nil {
			return err
		}
		for _, kind := range []struct{ title, first string }{
			{"One edited line in 300, ", j.line},
			{"The same in a badly formatted file, ", j.loose},
		} {
			rows, err := j.compare(ctx, rounds, program, kind.first)
			if err != nil {
				return fmt.Errorf("%s: %w", j.name, err)
			}
			if err := measure.Print(w, kind.title+j.name, rows); err != nil {
				return err
			}
		}
	}
	return nil
}

// compare edits a line of a file again and again, each time anew badly.
func (j job) compare(ctx context.Context, rounds int, program, first string) ([]measure.Row, error) {
	dir, err := os.MkdirTemp("", "whet-bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if j.config != "" {
		if err := os.WriteFile(filepath.Join(dir, j.config), []byte(j.content), 0o600); err != nil {
			return nil, err
		}
	}
	bare, path := filepath.Join(dir, "bare-"+j.file), filepath.Join(dir, j.file)
	edited := []byte(j.text(first, j.bad))
	if err := os.WriteFile(path, []byte(j.text(first, j.line)), 0o600); err != nil {
		return nil, err
	}
	guard := format.Guard(format.Options{})
	kit := whet.Kit{Guards: []whet.Guard{guard}}
	session := whet.Session{ID: "bench", Dir: dir, Worktree: dir, Store: state.Memory()}
	calls := 0
	return measure.Compare(rounds,
		measure.Contender{Name: "the bare formatter", Run: func() error {
			if err := os.WriteFile(bare, edited, 0o600); err != nil {
				return err
			}
			cmd := exec.CommandContext(ctx, program, append(slices.Clone(j.inPlace), bare)...)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			return j.formatted(bare)
		}},
		measure.Contender{Name: "whet, the formatted edit", Run: func() error {
			calls++
			c := &whet.Call{ID: fmt.Sprint(calls), Tool: "edit", Path: path, Args: []byte("{}"), Session: session}
			if err := kit.Before(ctx, c); err != nil {
				return err
			}
			if err := os.WriteFile(path, edited, 0o600); err != nil {
				return err
			}
			r := &whet.Result{Changed: []string{path}}
			kit.After(ctx, c, r)
			if !strings.HasPrefix(r.Text, "[format] "+j.file+": "+j.name+" changed line") {
				return fmt.Errorf("not told that it was formatted: %q", r.Text)
			}
			return j.formatted(path)
		}},
	)
}

// formatted returns an error if the edited line in the file is still bad.
func (j job) formatted(path string) error {
	b, err := os.ReadFile(path)
	if err == nil && bytes.Contains(b, []byte(j.bad)) {
		err = errors.New("it did not format")
	}
	return err
}
