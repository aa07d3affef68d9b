// Bench measures whet beside its peers, part by part.
//
//	go run ./bench [-write] [PART ...]    default: every part
//
// With -write, what the parts print replaces their places in
// docs/benchmarks.md, and the numbers behind the curves and the curves
// themselves those in docs/benchmarks. scripts/peers installs the peers.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

// parts are the benchmarks, in the order of the page.
var parts = []string{"hook", "rescue", "applypatch", "search", "astgrep", "webfetch", "format", "task", "market"}

// arguments keep a part's time to a few minutes.
var arguments = map[string][]string{
	"astgrep":  {"-rounds", "3"},
	"format":   {"-rounds", "21"},
	"webfetch": {"-pages", "40"},
}

const (
	page   = "docs/benchmarks.md"
	curves = "docs/benchmarks"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	write := flag.Bool("write", false, "replace what docs/benchmarks.md says")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: go run ./bench [-write] [PART ...]\n\nparts: %s\n\n", strings.Join(parts, " "))
		flag.PrintDefaults()
	}
	flag.Parse()
	if err := run(ctx, *write, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, write bool, which []string) error {
	for _, p := range which {
		if !slices.Contains(parts, p) {
			return fmt.Errorf("no part is called %q; there are %s", p, strings.Join(parts, ", "))
		}
	}
	if len(which) == 0 {
		which = parts
	}
	for _, p := range which {
		fmt.Fprintf(os.Stderr, "bench: %s\n", p)
		var out bytes.Buffer
		cmd := exec.CommandContext(ctx, "go", append([]string{"run", "./bench/" + p}, arguments[p]...)...)
		cmd.Stdout, cmd.Stderr = io.MultiWriter(os.Stdout, &out), os.Stderr
		if write {
			dir, err := filepath.Abs(curves)
			if err != nil {
				return err
			}
			cmd.Env = append(os.Environ(), "WHET_CURVES="+dir)
		}
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		if write {
			if err := replace(p, out.String()); err != nil {
				return err
			}
		}
	}
	if write {
		return plot(ctx)
	}
	return nil
}

// replace puts what a part printed into its place on the page.
func replace(part, text string) error {
	b, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	begin, end := fmt.Sprintf("<!-- bench %s -->\n", part), fmt.Sprintf("<!-- end of bench %s -->", part)
	before, rest, ok := strings.Cut(string(b), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return fmt.Errorf("%s has no place for %s: want %q and %q", page, part, strings.TrimSpace(begin), end)
	}
	return os.WriteFile(page, []byte(before+begin+"\n"+strings.TrimSpace(text)+"\n\n"+end+after), 0o644)
}

// plot draws the curves anew.
func plot(ctx context.Context) error {
	files, err := filepath.Glob(filepath.Join(curves, "*.csv"))
	if err != nil {
		return err
	}
	args := []string{"run", "-C", "bench/plot", "."}
	for _, f := range files {
		abs, err := filepath.Abs(f)
		if err != nil {
			return err
		}
		args = append(args, abs)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stderr = os.Stderr
	return cmd.Run()
}
