// Applypatch measures how fast a patch is applied: whet, the real Codex applier
// and the published oh-my-opencode-slim engine, in turns, on a file of 200,000
// lines. Everything counts from reading the file to having written it, without
// flushing to the disk; Codex' own start is taken off.
package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/whet-dev/whet/applypatch"
	"github.com/whet-dev/whet/bench/appliers"
	"github.com/whet-dev/whet/internal/measure"
)

func main() { measure.Main("applypatch", run) }

const rounds = 9

// a contender applies patch to dir/f and says how long it took.
type contender struct {
	name  string
	apply func(dir, patch string) (took time.Duration, done bool, err error)
}

func run(ctx context.Context, w io.Writer) error {
	dir, err := os.MkdirTemp("", "whet-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cs := []contender{{"whet", func(dir, patch string) (time.Duration, bool, error) { return applyWhet(ctx, dir, patch) }}}
	if c, err := newCodex(ctx, dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		cs = append(cs, contender{appliers.CodexName, c})
	}
	if s, err := newSlim(ctx, dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		cs = append(cs, contender{appliers.SlimName, s})
	}
	fmt.Fprintf(w, "%s\n\n%d rounds in turns; median of each, and how many times whet's it is. (no) marks a patch that was refused.\n\n", measure.Machine(), rounds)
	fmt.Fprint(w, "| 200,000 lines |")
	for _, c := range cs {
		fmt.Fprintf(w, " %s |", c.name)
	}
	fmt.Fprint(w, "\n|---|"+strings.Repeat("---:|", len(cs))+"\n")
	file := lines(200_000)
	for _, r := range rows(file) {
		if err := ctx.Err(); err != nil {
			return err
		}
		medians, done, err := measureRow(dir, r, cs)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "| %s |", r.name)
		for i, m := range medians {
			mark := ""
			if !done[i] {
				mark = " (no)"
			}
			fmt.Fprintf(w, " %.1f ms%s, %.1f× |", float64(m.Microseconds())/1000, mark, float64(m)/float64(medians[0]))
		}
		fmt.Fprintln(w)
	}
	if err := small(ctx, w, dir); err != nil {
		return err
	}
	return growth(ctx, w, dir, cs)
}

// growth measures a hunk whose context is stale, near the end of ever larger
// files: what has to be looked for.
func growth(ctx context.Context, w io.Writer, dir string, cs []contender) error {
	curve := measure.Curve{Title: "A stale hunk against the size of its file", X: "lines", Y: "milliseconds, median of 9"}
	for _, c := range cs {
		curve.Names = append(curve.Names, c.name)
	}
	for _, n := range []int{100, 1000, 10_000, 100_000, 1_000_000} {
		if err := ctx.Err(); err != nil {
			return err
		}
		r := stale(lines(n), n-10)
		medians, _, err := measureRow(dir, r, cs)
		if err != nil {
			return err
		}
		var ms []float64
		for _, m := range medians {
			ms = append(ms, max(m, time.Microsecond).Seconds()*1000)
		}
		curve.Add(float64(n), ms...)
	}
	return curve.Write(w, "applypatch")
}

type row struct {
	name        string
	file, patch string
}

func lines(n int) []string {
	lines := make([]string, n)
	for i := range lines {
		switch i % 5 {
		case 0:
			lines[i] = fmt.Sprintf("func handler%d(w Writer) {", i)
		case 1:
			lines[i] = "\tif err != nil {"
		case 2:
			lines[i] = fmt.Sprintf("\t\treturn wrap(err, \"step %d\")", i)
		case 3:
			lines[i] = "\t}"
		default:
			lines[i] = "}"
		}
	}
	return lines
}

func text(lines []string) string { return strings.Join(lines, "\n") + "\n" }

// change is a hunk with context, for the five lines from at.
func change(file []string, at int) string {
	return "@@\n " + file[at] + "\n " + file[at+1] + "\n-" + file[at+2] + "\n+\t\treturn err\n " + file[at+3] + "\n " + file[at+4] + "\n"
}

func wrap(chunks string) string {
	return "*** Begin Patch\n*** Update File: f\n" + chunks + "*** End Patch"
}

// stale is a hunk one of whose context lines has changed in the file.
func stale(file []string, at int) row {
	now := slices.Clone(file)
	now[at+1] = "\tif err != nil && !retry {"
	return row{"a stale context line", text(now), wrap(change(file, at))}
}

// rows are the cases: what is asked of a file of 5 MB.
func rows(file []string) []row {
	const at = 195_000
	trailing := slices.Clone(file)
	trailing[at+1] += "  "
	typographic := slices.Clone(file)
	typographic[at+2] = "\t\treturn wrap(err, “step 195002”)"
	many := ""
	for i := range 199 {
		many += change(file, i*1000+500)
	}
	return []row{
		{"one exact hunk at line 195,000", text(file), wrap(change(file, at))},
		{"white space at a line's end", text(trailing), wrap(change(file, at))},
		{"typographic quotes", text(typographic), wrap(change(file, at))},
		stale(file, at),
		{"not in the file", text(file), wrap("@@\n func nothing() {\n-\tof the kind\n+\tx\n }\n")},
		{"199 exact hunks", text(file), wrap(many)},
	}
}

// measureRow returns each contender's median, and whether it applied the patch.
func measureRow(dir string, r row, cs []contender) (medians []time.Duration, done []bool, err error) {
	f := filepath.Join(dir, "f")
	times := make([][]time.Duration, len(cs))
	done = make([]bool, len(cs))
	for round := range rounds + 1 {
		for i, c := range cs {
			if err := os.WriteFile(f, []byte(r.file), 0o600); err != nil {
				return nil, nil, err
			}
			took, ok, err := c.apply(dir, r.patch)
			if err != nil {
				return nil, nil, fmt.Errorf("%s, %s: %w", r.name, c.name, err)
			}
			done[i] = ok
			if round > 0 {
				times[i] = append(times[i], took)
			}
		}
	}
	for i := range cs {
		slices.Sort(times[i])
		medians = append(medians, times[i][rounds/2])
	}
	return medians, done, nil
}

func applyWhet(ctx context.Context, dir, patch string) (time.Duration, bool, error) {
	start := time.Now()
	no := false
	r, err := applypatch.Run(ctx, patch, applypatch.Job{Dir: dir, Options: applypatch.Options{Durable: &no}})
	if err != nil {
		return 0, false, err
	}
	return time.Since(start), r.OK, nil
}

// newCodex runs the real binary; a patch of a tiny file tells what its start costs.
func newCodex(ctx context.Context, dir string) (func(dir, patch string) (time.Duration, bool, error), error) {
	bin, err := appliers.Codex()
	if err != nil {
		return nil, err
	}
	once := func(dir, patch string) (time.Duration, bool) {
		start := time.Now()
		c := exec.CommandContext(ctx, bin)
		c.Args, c.Dir, c.Stdin, c.Env = []string{"apply_patch"}, dir, strings.NewReader(patch), append(os.Environ(), "HOME="+dir, "CODEX_HOME="+dir)
		err := c.Run()
		return time.Since(start), err == nil
	}
	return func(dir, patch string) (time.Duration, bool, error) {
		took, ok := once(dir, patch)
		if err := os.WriteFile(filepath.Join(dir, "tiny"), []byte("a\n"), 0o600); err != nil {
			return 0, false, err
		}
		start, _ := once(dir, "*** Begin Patch\n*** Update File: tiny\n@@\n-a\n+b\n*** End Patch")
		return max(0, took-start), ok, nil
	}, nil
}

//go:embed slim.mjs
var slimDriver []byte

// newSlim keeps one node process, which times itself.
func newSlim(ctx context.Context, dir string) (func(dir, patch string) (time.Duration, bool, error), error) {
	home := filepath.Join(dir, "slim")
	if err := os.Mkdir(home, 0o700); err != nil {
		return nil, err
	}
	if err := appliers.Slim(home, slimDriver); err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, "node", "slim.mjs")
	c.Dir, c.Stderr = home, os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	e, d := json.NewEncoder(in), json.NewDecoder(bufio.NewReader(out))
	return func(dir, patch string) (time.Duration, bool, error) {
		if err := e.Encode(map[string]string{"file": filepath.Join(dir, "f"), "patch": patch}); err != nil {
			return 0, false, err
		}
		var v struct {
			Ms float64
			OK bool
		}
		err := d.Decode(&v)
		return time.Duration(v.Ms * float64(time.Millisecond)), v.OK, err
	}, nil
}

// small times what is usual: a file of 1 KB.
func small(ctx context.Context, w io.Writer, dir string) error {
	const n = 2000
	f := filepath.Join(dir, "f")
	text := bytes.Repeat([]byte("0123456789 abcdefgh\n"), 25)
	text = append(text, "func x() {\n\treturn 1\n}\n"...)
	text = append(text, bytes.Repeat([]byte("0123456789 zyxwvuts\n"), 25)...)
	var times []time.Duration
	for range n {
		if err := os.WriteFile(f, text, 0o600); err != nil {
			return err
		}
		took, ok, err := applyWhet(ctx, dir, "*** Begin Patch\n*** Update File: f\n@@\n func x() {\n-\treturn 1\n+\treturn 2\n }\n*** End Patch")
		if err != nil || !ok {
			return errors.Join(err, errors.New("the small patch was refused"))
		}
		times = append(times, took)
	}
	slices.Sort(times)
	fmt.Fprintf(w, "\nA file of 1 KB, from the patch's text to the file in place: median %.3f ms, 95th percentile %.3f ms, of %d.\n\n",
		times[n/2].Seconds()*1000, times[n*95/100].Seconds()*1000, n)
	return nil
}
