package measure

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
)

// Main runs a benchmark, until Ctrl-C, and ends the process if it goes wrong.
func Main(name string, run func(ctx context.Context, w io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "bench/%s: %v\n", name, err)
		os.Exit(1)
	}
}

// BuildEmpty builds the program that does nothing in dir, and returns its path.
func BuildEmpty(ctx context.Context, dir string) (string, error) {
	source, empty := filepath.Join(dir, "empty.go"), filepath.Join(dir, "empty")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		return "", err
	}
	return empty, build(ctx, "-o", empty, source)
}

// BuildWhet builds whet in dir, and returns its path. The working directory must
// be the repository's root.
func BuildWhet(ctx context.Context, dir string) (string, error) {
	whet := filepath.Join(dir, "whet")
	return whet, build(ctx, "-o", whet, "./cmd/whet")
}

func build(ctx context.Context, args ...string) error {
	if out, err := exec.CommandContext(ctx, "go", append([]string{"build"}, args...)...).CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}
