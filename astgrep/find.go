package astgrep

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/whet-dev/whet/internal/escape"
	"github.com/whet-dev/whet/internal/proc"
)

// What "whet setup" installs.
const (
	Package = "@ast-grep/cli" // on npm
	Version = "0.51.1"
)

// minMinor is the oldest 0.x of the engine whose output is read.
const minMinor = 45

// An Engine is an ast-grep that works.
type Engine struct {
	Path    string // absolute
	Version string
}

// A Finder finds the engine, and remembers it for as long as the file stays
// the same.
type Finder struct {
	Path string // the only program to try, if set
	// Known keeps between processes which program is which version, so that one
	// need not be asked again as long as its file stays the same. May be nil.
	Known interface {
		Get(key string) (value []byte, ok bool)
		Put(key string, value []byte) error
	}

	mu    sync.Mutex
	found Engine
	info  os.FileInfo
}

// NoEngineError says that there is no ast-grep to search with, and what was
// found in its place.
type NoEngineError struct{ Rejected []string }

func (e *NoEngineError) Error() string {
	text := "ast-grep is not installed, so nothing was searched or changed. To get it, a person runs: whet setup (it installs " +
		Package + "@" + Version + " through npm into whet's own folder), or installs ast-grep by any other way so that it is on PATH. Until then use grep."
	if len(e.Rejected) > 0 {
		text += " Not usable: " + strings.Join(e.Rejected, "; ") + "."
	}
	return text
}

// Find returns the engine: the configured one, or else the first that works of
// ast-grep and sg on PATH, an npm package beside whet itself, and whet's own
// folder of tools. A project's own node_modules is not searched: what a
// repository brings must not run because somebody searches in it. Its error is
// a *[NoEngineError] unless ctx ends.
func (f *Finder) Find(ctx context.Context) (Engine, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.info != nil {
		if info, err := os.Stat(f.found.Path); err == nil && os.SameFile(info, f.info) && info.ModTime().Equal(f.info.ModTime()) {
			return f.found, nil
		}
		f.info = nil
	}
	none := &NoEngineError{}
	for _, path := range f.candidates() {
		e, err := f.probe(ctx, path)
		if ctx.Err() != nil {
			return Engine{}, context.Cause(ctx)
		}
		if err != nil {
			none.Rejected = append(none.Rejected, fmt.Sprintf("%s: %v", escape.Text(path), err))
			continue
		}
		if info, err := os.Stat(path); err == nil {
			f.found, f.info = e, info
		}
		return e, nil
	}
	return Engine{}, none
}

func (f *Finder) candidates() (paths []string) {
	if f.Path != "" {
		return []string{f.Path}
	}
	exe := ""
	if runtime.GOOS == "windows" {
		exe = ".exe" // not a .cmd: its arguments would go through a shell
	}
	for _, name := range []string{"ast-grep", "sg"} {
		if p, err := exec.LookPath(name + exe); err == nil && filepath.IsAbs(p) {
			paths = append(paths, p)
		}
	}
	var dirs []string
	if self, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(self); err == nil {
			self = real
		}
		for d := filepath.Dir(self); d != filepath.Dir(d); d = filepath.Dir(d) {
			dirs = append(dirs, d)
		}
	}
	if d, err := ToolDir(); err == nil {
		dirs = append(dirs, d)
	}
	for _, d := range dirs {
		found, _ := filepath.Glob(filepath.Join(d, "node_modules", "@ast-grep", "cli-*", "ast-grep"+exe))
		paths = append(paths, found...)
	}
	return paths
}

// ToolDir is whet's own folder of tools, where "whet setup" installs.
func ToolDir() (string, error) {
	if data := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(data) {
		return filepath.Join(data, "whet", "tools"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".local", "share", "whet", "tools"), nil
}

// probe finds out what the program is, from Known or by asking it.
func (f *Finder) probe(ctx context.Context, path string) (Engine, error) {
	info, err := os.Stat(path)
	if err != nil || f.Known == nil {
		return probe(ctx, path)
	}
	key := fmt.Sprintf("%s\x00%d\x00%d", path, info.Size(), info.ModTime().UnixNano())
	if version, ok := f.Known.Get(key); ok {
		return Engine{path, string(version)}, nil
	}
	e, err := probe(ctx, path)
	if err == nil {
		_ = f.Known.Put(key, []byte(e.Version)) // else it is asked again
	}
	return e, err
}

// probe asks the program what it is: another one is called sg on many systems.
func probe(ctx context.Context, path string) (Engine, error) {
	r, err := proc.Run(ctx, proc.Command{Path: path, Args: []string{"--version"}, Dir: os.TempDir(), Env: cleanEnv(os.Environ()), Timeout: 10 * time.Second, MaxOutput: 4 << 10})
	if err != nil {
		return Engine{}, err
	}
	if r.TimedOut {
		return Engine{}, fmt.Errorf("did not answer --version")
	}
	rest, ok := strings.CutPrefix(strings.TrimSpace(string(r.Output)), "ast-grep ")
	if !ok || r.Code != 0 {
		return Engine{}, fmt.Errorf("is not ast-grep")
	}
	version, _, _ := strings.Cut(rest, "\n")
	major, minor, _ := strings.Cut(version, ".")
	minor, _, _ = strings.Cut(minor, ".")
	n, err := strconv.Atoi(minor)
	if m, merr := strconv.Atoi(major); cmp.Or(err, merr) != nil || m == 0 && n < minMinor {
		return Engine{}, fmt.Errorf("is ast-grep %s, older than 0.%d", escape.Text(version), minMinor)
	}
	return Engine{path, version}, nil
}

// cleanEnv leaves only what the engine needs to find the person's global
// ignore file.
func cleanEnv(env []string) []string {
	var out []string
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		switch strings.ToUpper(name) {
		case "HOME", "XDG_CONFIG_HOME", "PATH", "TMPDIR", "TEMP", "TMP", "USERPROFILE", "SYSTEMROOT", "APPDATA":
			out = append(out, v)
		}
	}
	return out
}
