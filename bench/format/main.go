// Format measures what a formatted edit costs beside the bare formatter: the
// formatter's own process over the same text, against whet finding the
// formatter, running it, checking its output and replacing the file.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/whet-dev/whet/format"
	"github.com/whet-dev/whet/internal/measure"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench/format:", err)
		os.Exit(1)
	}
}

// A job is a formatter and a text for it.
type job struct {
	name, file, config, content string
	args                        []string // of the bare command; FILE is the path
	line                        string   // of the text, well formatted
	bad                         string   // the edited line
	head, tail                  string
}

var jobs = []job{
	{name: "gofmt", file: "a.go", head: "package a\n\nfunc f() {\n", line: "\tprintln(\"some text\", 1, 2, 3)\n", bad: "  println( \"edited\" ,1)\n", tail: "}\n"},
	{name: "clang-format", file: "a.c", config: ".clang-format", content: "BasedOnStyle: LLVM\n", args: []string{"--assume-filename=FILE"}, head: "int main(void) {\n", line: "  f(\"some text\", 1, 2, 3);\n", bad: "f( \"edited\" ,1);\n", tail: "}\n"},
	{name: "rustfmt", file: "a.rs", args: []string{"--emit", "stdout", "--edition", "2021"}, head: "fn main() {\n", line: "    f(\"some text\", 1, 2, 3);\n", bad: "  f( \"edited\" ,1);\n", tail: "}\n"},
	{name: "biome", file: "a.ts", config: "biome.json", content: `{"formatter":{"indentStyle":"space"}}`, args: []string{"format", "--stdin-file-path=FILE"}, head: "function f() {\n", line: "  g(\"some text\", 1, 2, 3);\n", bad: "g( \"edited\" ,1);\n", tail: "}\n"},
	{name: "oxfmt", file: "a.ts", config: ".oxfmtrc.json", content: "{}", args: []string{"--stdin-filepath", "FILE"}, head: "function f() {\n", line: "  g(\"some text\", 1, 2, 3);\n", bad: "g( \"edited\" ,1);\n", tail: "}\n"},
	{name: "black", file: "a.py", config: "pyproject.toml", content: "[tool.black]\n", args: []string{"-q", "--stdin-filename", "FILE", "-"}, head: "def f():\n", line: "    g(\"some text\", 1, 2, 3)\n", bad: "    g( \"edited\" ,1)\n"},
	{name: "prettier", file: "a.ts", config: ".prettierrc", content: "{}", args: []string{"--stdin-filepath", "FILE"}, head: "function f() {\n", line: "  g(\"some text\", 1, 2, 3);\n", bad: "g( \"edited\" ,1);\n", tail: "}\n"},
}

func run(ctx context.Context, w io.Writer) error {
	fmt.Fprintf(w, "%s\n\n", measure.Machine())
	for _, j := range jobs {
		program := find(j.name)
		if program == "" {
			fmt.Fprintf(w, "%s is not installed; scripts/peers installs it\n\n", j.name)
			continue
		}
		rows, err := j.compare(ctx, program)
		if err != nil {
			return fmt.Errorf("%s: %w", j.name, err)
		}
		if err := measure.Print(w, "One edited line in 300, "+j.name, rows); err != nil {
			return err
		}
	}
	return nil
}

func find(name string) string {
	for _, dir := range []string{".peers/node_modules/.bin", ".peers/bin"} {
		if p, err := filepath.Abs(filepath.Join(dir, name)); err == nil {
			if _, err := os.Stat(p); err == nil {
				return p
			}
		}
	}
	p, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return p
}

func (j job) compare(ctx context.Context, program string) ([]measure.Row, error) {
	dir, err := os.MkdirTemp("", "whet-bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if modules := filepath.Dir(filepath.Dir(program)); filepath.Base(modules) == "node_modules" {
		if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
			return nil, err
		}
	}
	if j.config != "" {
		if err := os.WriteFile(filepath.Join(dir, j.config), []byte(j.content), 0o600); err != nil {
			return nil, err
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	before := j.head + strings.Repeat(j.line, 300) + j.tail
	after := j.head + strings.Repeat(j.line, 150) + j.bad + strings.Repeat(j.line, 149) + j.tail
	path := filepath.Join(dir, j.file)
	var args []string
	for _, a := range j.args {
		args = append(args, strings.ReplaceAll(a, "FILE", path))
	}
	engine := format.Engine{Trusted: func(string, []string) error { return nil }}
	defer engine.Close()
	return measure.Compare(25,
		measure.Contender{Name: "the bare formatter", Run: func() error {
			cmd := exec.CommandContext(ctx, program, args...)
			cmd.Dir, cmd.Stdin = dir, strings.NewReader(after)
			out, err := cmd.Output()
			if err == nil && bytes.Contains(out, []byte(j.bad)) {
				err = fmt.Errorf("it did not format")
			}
			return err
		}},
		measure.Contender{Name: "whet, the formatted edit", Run: func() error {
			if err := root.WriteFile(j.file, []byte(after), 0o600); err != nil {
				return err
			}
			o, err := engine.Format(ctx, format.Edit{Root: root, Name: j.file, Before: []byte(before)})
			if err == nil && (!o.Changed() || o.Formatter != j.name) {
				err = fmt.Errorf("not formatted by %q", o.Formatter)
			}
			return err
		}},
	)
}
