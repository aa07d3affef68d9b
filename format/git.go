package format

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/whet-dev/whet/internal/proc"
)

// Committed returns the file's text in the last commit. ok is false if it has
// none, or none can be had.
func Committed(ctx context.Context, path string) (text []byte, ok bool) {
	git, err := lookPath("git")
	if err != nil {
		return nil, false
	}
	out := &limited{max: maxSize}
	r, err := proc.Run(ctx, proc.Command{
		Path: git, Args: []string{"cat-file", "blob", "HEAD:./" + filepath.Base(path)}, Dir: filepath.Dir(path),
		Env:     append(os.Environ(), "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0"),
		Timeout: 5 * time.Second, Stdin: bytes.NewReader(nil), Stdout: out,
	})
	return append([]byte{}, out.kept...), err == nil && r.Code == 0 && !r.TimedOut && !out.over
}
