package format

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/whet-dev/whet/internal/escape"
	"github.com/whet-dev/whet/internal/plainfile"
	"github.com/whet-dev/whet/internal/proc"
)

// grace is how long a formatter that ran out of time may take to end.
const grace = 300 * time.Millisecond

// A Failure says that a formatter didn't format. The file is as it was.
type Failure struct {
	Formatter string
	Text      string // one line
	TimedOut  bool
}

func (f *Failure) Error() string { return f.Formatter + " " + f.Text }

func failed(c Choice, format string, a ...any) error {
	return &Failure{Formatter: c.Formatter, Text: fmt.Sprintf(format, a...)}
}

// run returns the text as the formatter wants it. Whoever does it in place
// leaves the file itself as it was.
func (e *Engine) run(ctx context.Context, c Choice, f file, text string) (out string, err error) {
	switch {
	case c.row.inside != nil && c.Program == "":
		if out, err = c.row.inside(ctx, f.path, text); err != nil {
			return "", failed(c, "failed: %s", firstLine([]byte(err.Error())))
		}
	case c.InPlace:
		out, err = e.runInPlace(ctx, c, f, text)
	default:
		out, err = e.filter(ctx, c, f, text)
	}
	if err != nil {
		return "", err
	}
	out = strings.ReplaceAll(strings.TrimPrefix(out, bom), "\r\n", "\n")
	if why := sane(text, out); why != "" {
		return "", failed(c, "failed: %s", why)
	}
	return out, nil
}

func (e *Engine) filter(ctx context.Context, c Choice, f file, text string) (string, error) {
	if c.row.resident {
		out, handled, err := e.pool.prettier(ctx, c, f.path, text)
		switch {
		case handled && ctx.Err() != nil:
			return "", e.late(ctx, c)
		case handled && err != nil && !errors.Is(err, ErrNone):
			return "", failed(c, "failed: %s", err)
		case handled:
			return out, err
		}
	}
	out := &limited{max: 4*len(text) + 2<<10}
	err := e.process(ctx, c, strings.NewReader(text), out)
	if out.over {
		return "", failed(c, "failed: it printed more than four times the text")
	}
	return string(out.kept), err
}

// process runs the formatter's command to its end.
func (e *Engine) process(ctx context.Context, c Choice, in *strings.Reader, out *limited) error {
	cmd := proc.Command{Path: c.Program, Args: c.Args, Dir: c.Dir, Env: environ(c), Grace: grace}
	if in != nil {
		cmd.Stdin, cmd.Stdout = in, out
	}
	r, err := proc.Run(ctx, cmd)
	switch {
	case ctx.Err() != nil:
		return e.late(ctx, c)
	case err != nil:
		return failed(c, "did not start: %v", err)
	case r.Code != 0 && !slices.Contains(c.row.ok, r.Code):
		if bytes.Contains(r.Output, []byte("No parser could be inferred")) {
			return ErrNone
		}
		why := firstLine(r.Output)
		if why == "" && out != nil {
			why = firstLine(out.kept)
		}
		return failed(c, "failed (exit %d): %s", r.Code, cmp.Or(why, "it did not say why"))
	}
	return nil
}

// late says why the context ended.
func (e *Engine) late(ctx context.Context, c Choice) error {
	if err := context.Cause(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &Failure{Formatter: c.Formatter, TimedOut: true, Text: fmt.Sprintf("was stopped after %v", e.timeout())}
}

// runInPlace lets the command change the file, takes what it wrote, and puts
// the file back: only the caller decides what becomes of it.
func (e *Engine) runInPlace(ctx context.Context, c Choice, f file, text string) (out string, err error) {
	if err := f.write([]byte(text)); err != nil {
		return "", err
	}
	defer func() {
		if back := f.restore(); back != nil && err == nil {
			err = fmt.Errorf("putting %s back: %w", f.name, back)
		}
	}()
	if err := e.process(ctx, c, nil, nil); err != nil {
		return "", err
	}
	b, err := plainfile.ReadIn(f.root, f.name, maxSize)
	return string(b), err
}

// environ is this process's environment and what the formatter needs.
func environ(c Choice) []string {
	return slices.Concat(os.Environ(), []string{"NO_COLOR=1"}, c.Env)
}

// limited takes up to max bytes. Who writes more hears that nobody listens.
type limited struct {
	kept []byte
	max  int
	over bool
}

func (l *limited) Write(p []byte) (int, error) {
	if l.over = len(l.kept)+len(p) > l.max; l.over {
		return 0, io.ErrShortWrite
	}
	l.kept = append(l.kept, p...)
	return len(p), nil
}

// firstLine returns the first line that says something, fit to be shown.
func firstLine(out []byte) string {
	const longest = 200
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(strings.Map(func(r rune) rune {
			if escape.Hidden(r) {
				return ' '
			}
			return r
		}, line))
		if r := []rune(line); len(r) > longest {
			line = string(r[:longest]) + "…"
		}
		if line != "" {
			return line
		}
	}
	return ""
}

// lookPath finds a program by PATH only.
func lookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil && !filepath.IsAbs(path) {
		err = exec.ErrDot
	}
	return path, err
}
