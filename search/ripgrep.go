package search

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ripgrep is the engine that runs rg. It asks for counts only, in plain text
// with NUL after each name: the least to print and to read, and no name or
// line can be mistaken for another. What is shown is read from the files
// afterwards, by the same code for both engines.
type ripgrep struct{ program string }

func (ripgrep) name() string { return EngineRipgrep }

// errEngine reports an rg that doesn't work as one should; the search is then
// done without it.
var errEngine = errors.New("ripgrep did not work")

// FindRipgrep returns the rg to use: the one on PATH, then one that a host
// brought, then whet's own. It returns "" if there is none.
func FindRipgrep() string {
	if p, err := exec.LookPath("rg"); err == nil && filepath.IsAbs(p) {
		return p
	}
	exe := ""
	if runtime.GOOS == "windows" {
		exe = ".exe"
	}
	home, _ := os.UserHomeDir()
	data := os.Getenv("XDG_DATA_HOME")
	if data == "" {
		data = filepath.Join(home, ".local", "share")
	}
	for _, pattern := range []string{
		filepath.Join(data, "opencode", "bin", "rg"+exe),
		filepath.Join(home, ".cache", "opencode", "bin", "rg"+exe),
		filepath.Join(data, "whet", "tools", "node_modules", "@vscode", "ripgrep*", "bin", "rg"+exe),
	} {
		found, _ := filepath.Glob(pattern)
		for _, p := range found {
			if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() {
				return p
			}
		}
	}
	return ""
}

func (r ripgrep) args(s *scope) []string {
	args := []string{
		"--no-config", "--count", "--null", "--with-filename", "--color=never", "--stats",
		"--no-ignore-messages", "--crlf", "--glob=!.git", "--max-filesize=" + strconv.Itoa(maxFileSize),
	}
	add := func(on bool, flag ...string) {
		if on {
			args = append(args, flag...)
		}
	}
	add(s.Hidden || s.filters.hidden, "--hidden")
	add(s.NoIgnore, "--no-ignore")
	add(s.Literal, "--fixed-strings")
	add(s.IgnoreCase, "--ignore-case")
	add(s.Word, "--word-regexp")
	add(s.Multiline, "--multiline", "--count-matches")
	for _, g := range typeGlobs(s.filters.names) {
		args = append(args, "--type-add=whet:"+g, "--type=whet")
	}
	// Not --regexp=: old versions eat an = that the pattern begins with.
	return append(args, "-e", s.pattern.rust, "--", ".")
}

// typeGlobs returns the names that the globs ask for, without their
// directories, if all of them ask for some. ripgrep's --glob would take back
// what .gitignore leaves out; its file types don't.
func typeGlobs(globs []string) []string {
	var out []string
	for _, g := range globs {
		name := g[strings.LastIndexByte(g, '/')+1:]
		if name == "" || strings.Contains(name, "**") || strings.ContainsAny(name, `:\`) || strings.ContainsAny(name, "{}") && strings.Contains(g, "/") {
			return nil
		}
		out = append(out, name)
	}
	return out
}

func (r ripgrep) search(ctx context.Context, s *scope, found func(hit)) (t tally, err error) {
	cmd := exec.CommandContext(ctx, r.program, r.args(s)...)
	cmd.Dir = s.dir.Name()
	cmd.Env = cleanEnv(os.Environ())
	cmd.WaitDelay = time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &limitedBuffer{buf: &stderr, left: 4 << 10}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return t, err
	}
	if err := cmd.Start(); err != nil {
		return t, fmt.Errorf("%w: %w", errEngine, err)
	}
	searched, perr := parseCounts(out, func(h hit) {
		if s.filters.match(h.path) {
			found(h)
		}
	})
	err = cmd.Wait()
	t = tally{max(searched, 0), bytes.Contains(stderr.Bytes(), []byte("(os error "))}
	switch code := cmd.ProcessState.ExitCode(); {
	case ctx.Err() != nil:
		return t, ctx.Err()
	case perr != nil:
		return t, fmt.Errorf("%w: %w", errEngine, perr)
	case code == 0 || code == 1, code == 2 && searched >= 0: // 2 with counts: some file could not be read
		return t, nil
	}
	return t, fmt.Errorf("%w: %w: %s", errEngine, err, strings.TrimSpace(stderr.String()))
}

// cleanEnv leaves only what rg needs to find the person's global ignore file.
func cleanEnv(env []string) []string {
	var out []string
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		switch strings.ToUpper(name) {
		case "HOME", "XDG_CONFIG_HOME", "PATH", "TMPDIR", "TEMP", "TMP", "LANG", "USERPROFILE", "SYSTEMROOT", "APPDATA":
			out = append(out, v)
		}
	}
	return out
}

var statsSearched = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^(\d+) files searched$`) })

// parseCounts reads "name NUL count LF" again and again, then rg's statistics.
// searched is -1 if those are missing.
func parseCounts(r io.Reader, found func(hit)) (searched int, err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		name, err := in.ReadString(0)
		if err == io.EOF {
			if m := statsSearched().FindStringSubmatch(name); m != nil {
				return strconv.Atoi(m[1])
			}
			return -1, nil
		}
		if err != nil {
			return -1, err
		}
		text, err := in.ReadString('\n')
		if err != nil {
			return -1, nil // killed
		}
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			return -1, fmt.Errorf("reading its output: %w", err)
		}
		name = strings.TrimSuffix(name, "\x00")
		found(hit{strings.TrimPrefix(strings.TrimPrefix(filepath.ToSlash(name), "./"), "/"), n})
	}
}

// A limitedBuffer keeps the beginning of what is written to it.
type limitedBuffer struct {
	buf  *bytes.Buffer
	left int
}

func (l *limitedBuffer) Write(b []byte) (int, error) {
	n := min(l.left, len(b))
	l.buf.Write(b[:n])
	l.left -= n
	return len(b), nil
}
