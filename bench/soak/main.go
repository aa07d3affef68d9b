//go:build linux

// Soak lives with whet for a while: random valid and hostile calls over MCP, rpc
// and hooks at once, to the real program, in a project that changes meanwhile
// and with a web site that means harm. It watches the memory, open files,
// threads and children of every process that lives long, and says at the end
// whether each request had exactly one answer, nothing crashed, nothing grew,
// nothing outside of the project was read or changed, and nothing was left
// running. For Linux only: it reads /proc.
//
//	go run ./bench/soak -for 1h -csv soak.csv
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"golang.org/x/term"
)

// settings say what a run is.
type settings struct {
	long  time.Duration
	seed  uint64
	rate  float64 // calls a second, all faces together
	whet  string  // the program
	csv   io.Writer
	out   io.Writer
	every time.Duration // between two lines of progress; 0 for none
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends it at once
	ok, err := command(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/soak:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func command(ctx context.Context) (ok bool, err error) {
	s := settings{out: os.Stdout, csv: io.Discard, every: time.Minute}
	var csv string
	flag.DurationVar(&s.long, "for", 3*time.Minute, "how long")
	flag.Uint64Var(&s.seed, "seed", uint64(time.Now().Unix()), "seed of all that is random")
	flag.Float64Var(&s.rate, "rate", 20, "calls a second, all together")
	flag.StringVar(&csv, "csv", "", "`file` for the samples")
	flag.StringVar(&s.whet, "whet", "", "the `program`; built from the tree if not given")
	flag.Parse()
	if s.rate <= 0 || s.long <= 0 {
		return false, fmt.Errorf("-rate and -for must be more than nothing")
	}
	if term.IsTerminal(int(os.Stdout.Fd())) {
		s.every = 10 * time.Second
	}
	if csv != "" {
		f, err := os.Create(csv)
		if err != nil {
			return false, err
		}
		defer f.Close()
		s.csv = f
	}
	if s.whet == "" {
		dir, err := os.MkdirTemp("", "whet-soak")
		if err != nil {
			return false, err
		}
		defer os.RemoveAll(dir)
		if s.whet, err = build(ctx, dir); err != nil {
			return false, err
		}
	}
	sum, err := soak(ctx, s)
	if err != nil {
		return false, err
	}
	sum.print(s.out)
	return sum.faults.none(), nil
}

// build makes whet and whet-hook from the tree.
func build(ctx context.Context, dir string) (string, error) {
	whet := filepath.Join(dir, "whet")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", dir+string(filepath.Separator), "github.com/whet-dev/whet/cmd/...").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return whet, nil
}
