package astgrep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/whet-dev/whet/internal/escape"
	"github.com/whet-dev/whet/internal/proc"
)

// A workspace is one call's use of the engine: where it runs, and a folder for
// the files that it is given.
type workspace struct {
	engine Engine
	dir    string // the engine's working directory; paths are relative to it
	temp   string
	until  time.Time
}

// open makes a workspace. Its folder holds a configuration of our own, because
// the engine would else read the project's sgconfig.yml, which can change what
// a language is, or load native code.
func open(e Engine, dir string, timeout time.Duration) (*workspace, error) {
	temp, err := os.MkdirTemp("", "whet-ast-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the engine: %w", err)
	}
	w := &workspace{engine: e, dir: dir, temp: temp, until: time.Now().Add(timeout)}
	if err := os.WriteFile(w.config(), []byte("ruleDirs: []\n"), 0o600); err != nil {
		w.close()
		return nil, fmt.Errorf("making a folder for the engine: %w", err)
	}
	return w, nil
}

func (w *workspace) config() string { return filepath.Join(w.temp, "sgconfig.yml") }

func (w *workspace) close() { _ = os.RemoveAll(w.temp) }

// errTimeout reports that the time of the call is used up.
var errTimeout = errors.New("the time for it is used up, so it is not known whether there are matches; narrow the paths, or raise astgrep.timeoutSeconds")

// errEnough is the cause with which a run is ended because there is no need
// for more.
var errEnough = errors.New("enough")

// run runs the engine's command with args, out getting what it prints.
// The text is what it says on standard error.
func (w *workspace) run(ctx context.Context, out io.Writer, args ...string) (text string, err error) {
	left := time.Until(w.until)
	if left <= 0 {
		return "", errTimeout
	}
	args = append([]string{args[0], "--config=" + w.config()}, args[1:]...)
	if out == nil {
		out = io.Discard
	}
	r, err := proc.Run(ctx, proc.Command{
		Path: w.engine.Path, Args: args, Dir: w.dir, Env: cleanEnv(os.Environ()),
		Timeout: left, MaxOutput: 1 << 20, Stdout: out, Grace: 100 * time.Millisecond,
	})
	text = stripEscapes(string(r.Output))
	switch {
	case err != nil && ctx.Err() != nil:
		return text, err
	case err != nil:
		return text, fmt.Errorf("running %s: %w; nothing was found out, which is not the same as no matches", w.engine.Path, err)
	case r.TimedOut:
		return text, errTimeout
	case r.Code == 0 || r.Code == 1 && !strings.Contains(text, "panicked at"):
		return text, nil
	}
	return text, &engineError{code: r.Code, text: text}
}

// An engineError is the engine's own refusal.
type engineError struct {
	code int
	text string
}

func (e *engineError) Error() string {
	if why := e.cause(); why != "" {
		return "ast-grep: " + escape.Text(why)
	}
	return fmt.Sprintf("ast-grep ended with status %d: %s", e.code, brief(strings.TrimSpace(e.text), 600))
}

// cause returns the reason that the engine gives, the last of its list.
func (e *engineError) cause() string {
	var reasons []string
	for line := range strings.Lines(e.text) {
		if reason, ok := strings.CutPrefix(strings.TrimSpace(line), "╰▻ "); ok {
			reasons = append(reasons, strings.TrimSpace(reason))
		}
	}
	if len(reasons) == 0 {
		return ""
	}
	return strings.Join(reasons, " ")
}

func stripEscapes(s string) string {
	if !strings.Contains(s, "\x1b") {
		return s
	}
	return regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]").ReplaceAllString(s, "")
}

// maxArgs is how many bytes of paths go into one command line.
func maxArgs() int {
	if runtime.GOOS == "windows" {
		return 16 << 10
	}
	return 256 << 10
}

// batches cuts paths into runs that fit a command line.
func batches(paths []string, most int) (out [][]string) {
	size, from := 0, 0
	for i, p := range paths {
		n := len(p) + 1 + 8 // the system counts a pointer too
		if size+n > most && i > from {
			out = append(out, paths[from:i])
			size, from = 0, i
		}
		size += n
	}
	if from < len(paths) {
		out = append(out, paths[from:])
	}
	return out
}
