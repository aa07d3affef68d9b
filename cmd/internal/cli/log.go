package cli

import (
	"io"
	"log/slog"
	"os"
)

// Logger writes to the file that $WHET_LOG names, or else warnings to w. A hook
// gives it nowhere: hosts show what a hook writes to standard error.
func Logger(w io.Writer) *slog.Logger {
	level := slog.LevelWarn
	if path := os.Getenv("WHET_LOG"); path != "" {
		if f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err == nil {
			w, level = f, slog.LevelDebug
		}
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}
