// Search measures grep and glob beside ripgrep, as whole processes: rg itself,
// whet with rg, and whet without. It also holds the own engine, in this
// process, against spawning rg on a small tree.
//
//	go run ./bench/search [DIR ...]    default: the sources of Go
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/whet-dev/whet/internal/measure"
	"github.com/whet-dev/whet/search"
)

func main() {
	measure.Main("search", func(ctx context.Context, w io.Writer) error { return run(ctx, w, os.Args[1:]) })
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
	whet, err := measure.BuildWhet(ctx, scratch)
	if err != nil {
		return err
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
	if err := b.small(filepath.Join(sources, "net")); err != nil {
		return err
	}
	if err := b.growth(sources); err != nil {
		return err
	}
	return b.selectivity(sources)
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
	fmt.Fprintf(b.w, "### `%s`, %s; medians of %d\n\n| | rg | whet with rg | whet without |\n|---|---:|---:|---:|\n", filepath.Base(dir), b.files(dir), rounds)
	for _, p := range patterns {
		rows, err := b.grep(dir, p.args)
		if err != nil {
			return err
		}
		fmt.Fprintf(b.w, "| %s `%s` | %v | %.2f | %.2f |\n", p.name, strings.ReplaceAll(p.args[len(p.args)-1], "|", `\|`), measure.Round(rows[0].Median), rows[1].Ratio, rows[2].Ratio)
	}
	for _, pattern := range []string{"*.h", "**/net/**/*.go"} {
		rows, err := measure.Compare(rounds,
			b.process("rg --files -g", dir, b.rg, []string{"--files", "--glob=" + pattern}),
			b.process("whet glob", dir, b.whet, []string{"glob", "--limit=100", pattern}),
		)
		if err != nil {
			return err
		}
		fmt.Fprintf(b.w, "| glob `%s` | %v | | %.2f |\n", pattern, measure.Round(rows[0].Median), rows[1].Ratio)
	}
	_, err := fmt.Fprintln(b.w)
	return err
}

// grep runs the three contenders.
func (b *bench) grep(dir string, args []string) ([]measure.Row, error) {
	return measure.Compare(rounds,
		b.process("rg", dir, b.rg, slices.Concat([]string{"--line-number", "--column"}, args)),
		b.process("whet with rg", dir, b.whet, slices.Concat([]string{"grep", "--limit=100"}, args), filepath.Dir(b.rg)),
		b.process("whet without", dir, b.whet, slices.Concat([]string{"grep", "--limit=100"}, args)),
	)
}

// files says how many files rg looks at.
func (b *bench) files(dir string) string {
	out, err := b.output(dir, "--files")
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d files", len(out))
}

// output returns the lines that rg prints.
func (b *bench) output(dir string, args ...string) ([]string, error) {
	cmd := exec.CommandContext(b.ctx, b.rg, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		return nil, fmt.Errorf("rg %s: %w", strings.Join(args, " "), err)
	}
	return strings.Fields(string(out)), nil
}

// growth measures ever larger parts of a tree.
func (b *bench) growth(sources string) error {
	files, err := b.output(sources, "--files", "--sort=path")
	if err != nil {
		return err
	}
	curve := measure.Curve{Title: "A search against the size of its tree", X: "files", Y: "milliseconds, median of 7", Names: []string{"rg", "whet with rg", "whet without"}}
	part := filepath.Join(b.home, "part")
	done := 0
	for _, n := range []int{10, 100, 1000, 10_000} {
		for ; done < min(n, len(files)); done++ {
			text, err := os.ReadFile(filepath.Join(sources, files[done]))
			if err != nil {
				return err
			}
			to := filepath.Join(part, files[done])
			if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, text, 0o600)); err != nil {
				return err
			}
		}
		rows, err := b.grep(part, []string{`[A-Z]+_SUSPEND`})
		if err != nil {
			return err
		}
		curve.Add(float64(n), milliseconds(rows)...)
	}
	return curve.Write(b.w, "search-size")
}

// selectivity measures words that ever more files hold.
func (b *bench) selectivity(sources string) error {
	curve := measure.Curve{Title: "A search against how many files match", X: "files that match", Y: "milliseconds, median of 7", Names: []string{"rg", "whet with rg", "whet without"}}
	for _, word := range []string{"PM_RESUME", "NewReplacer", "Mutex", "Println", "error", "func"} {
		hits, err := b.output(sources, "--files-with-matches", word)
		if err != nil {
			return err
		}
		rows, err := b.grep(sources, []string{word})
		if err != nil {
			return err
		}
		curve.Add(float64(len(hits)), milliseconds(rows)...)
	}
	return curve.Write(b.w, "search-selectivity")
}

func milliseconds(rows []measure.Row) (ms []float64) {
	for _, r := range rows {
		ms = append(ms, r.Median.Seconds()*1000)
	}
	return ms
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
