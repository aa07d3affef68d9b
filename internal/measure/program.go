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

// BuildWhet builds whet and whet-hook in dir, as a release has them, and returns
// the path of whet. The working directory must be the repository's root.
func BuildWhet(ctx context.Context, dir string) (string, error) {
	return filepath.Join(dir, "whet"), build(ctx, "-trimpath", "-ldflags=-s -w", "-o", dir+string(filepath.Separator), "./cmd/...")
}

func build(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"build"}, args...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}
