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

// BuildWhet builds whet in dir, and returns its path. The working directory must
// be the repository's root.
func BuildWhet(ctx context.Context, dir string) (string, error) {
	whet := filepath.Join(dir, "whet")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", whet, "./cmd/whet").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building whet: %w\n%s", err, out)
	}
	return whet, nil
}
