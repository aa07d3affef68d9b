// Search measures grep and glob beside ripgrep, as whole processes: rg itself,
// whet with rg, and whet without. It also holds the own engine, in this
// process, against spawning rg on a small tree.
//
//	go run ./bench/search [DIR ...]    default: the sources of Go
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/whet-dev/whet/internal/measure"
	"github.com/whet-dev/whet/search"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench/search:", err)
		os.Exit(1)
	}
}

const rounds = 7

func run(ctx context.Context, w io.Writer, dirs []string) error {
	rg, err := ripgrep()
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "whet-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	whet := filepath.Join(scratch, "whet")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", whet, "./cmd/whet").CombinedOutput(); err != nil {
		return fmt.Errorf("building whet: %w: %s", err, out)
	}
	b := &bench{ctx: ctx, w: w, rg: rg, whet: whet, home: scratch}
	fmt.Fprintf(w, "%s\n\n", measure.Machine())
	goroot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	sources := filepath.Join(strings.TrimSpace(string(goroot)), "src")
	if len(dirs) == 0 {
		dirs = []string{sources}
	}
	for _, dir := range dirs {
		if err := b.tree(dir); err != nil {
			return err
		}
	}
	return b.small(filepath.Join(sources, "net"))
}

// ripgrep returns the rg that scripts/peers installs, or the one on PATH.
func ripgrep() (string, error) {
	if p, err := filepath.Abs(".peers/bin/rg"); err == nil {
		if _, err := os.Stat(p); err == nil {
			return p, nil
		}
	}
	return exec.LookPath("rg")
}

type bench struct {
	ctx            context.Context
	w              io.Writer
	rg, whet, home string
}

// patterns are one for each way that a search goes. The flags are the same for
// rg and whet.
var patterns = []struct {
	name string
	args []string
}{
	{"literal", []string{"PM_RESUME"}},
	{"no match", []string{"zqzqzqzq_nowhere"}},
	{"prefix and class", []string{`[A-Z]+_SUSPEND`}},
	{"four literals", []string{"PM_RESUME|PM_SUSPEND|kfree_rcu|Println"}},
	{"ignore case", []string{"-i", "pm_resume"}},
	{"many hits", []string{`(struct|union)\s+\w+\s*\{`}},
	{"class-heavy", []string{`[A-Z][a-z]+[0-9]{2}_[a-z]+\(`}},
	{"hex-heavy", []string{`[0-9a-f]{8}-[0-9a-f]{4}`}},
}

func (b *bench) tree(dir string) error {
	for _, p := range patterns {
		rows, err := measure.Compare(rounds,
			b.process("rg", dir, b.rg, slices.Concat([]string{"--line-number", "--column"}, p.args)),
			b.process("whet grep, with rg", dir, b.whet, slices.Concat([]string{"grep", "--limit=100"}, p.args), filepath.Dir(b.rg)),
			b.process("whet grep, without", dir, b.whet, slices.Concat([]string{"grep", "--limit=100"}, p.args)),
		)
		if err != nil {
			return err
		}
		if err := measure.Print(b.w, fmt.Sprintf("%s, %s: `%s`", filepath.Base(dir), p.name, p.args[len(p.args)-1]), rows); err != nil {
			return err
		}
	}
	for _, pattern := range []string{"*.h", "**/net/**/*.go"} {
		rows, err := measure.Compare(rounds,
			b.process("rg --files -g", dir, b.rg, []string{"--files", "--glob=" + pattern}),
			b.process("whet glob", dir, b.whet, []string{"glob", "--limit=100", pattern}),
		)
		if err != nil {
			return err
		}
		if err := measure.Print(b.w, fmt.Sprintf("%s, glob: `%s`", filepath.Base(dir), pattern), rows); err != nil {
			return err
		}
	}
	return nil
}

// process runs a program in dir, which finds only what is in path. Status 1
// says that nothing matched.
func (b *bench) process(name, dir, program string, args []string, path ...string) measure.Contender {
	return measure.Contender{Name: name, Run: func() error {
		cmd := exec.CommandContext(b.ctx, program, args...)
		cmd.Dir = dir
		cmd.Env = []string{"HOME=" + b.home, "PATH=" + filepath.Join(slices.Concat(path)...)}
		if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 1 {
			return err
		}
		return nil
	}}
}

// small compares a search in this process with spawning rg.
func (b *bench) small(dir string) error {
	rows, err := measure.Compare(3*rounds,
		b.process("rg", dir, b.rg, []string{"--count", "Println"}),
		measure.Contender{Name: "own engine, in process", Run: func() error {
			_, err := search.Grep(b.ctx, search.Query{Root: dir, Pattern: "Println", Engine: search.EngineOwn, Output: search.Count})
			return err
		}},
	)
	if err != nil {
		return err
	}
	return measure.Print(b.w, "A small tree ("+filepath.Base(dir)+"): `Println`", rows)
}
