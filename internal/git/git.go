// Package git runs the real git on people's repositories. Nothing that a
// repository brings along is run, and whatever has to be staged is staged in an
// index of our own: a person's index, branches and stash are never touched.
//
// It is no library of git's formats, and decides nothing.
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/whet-dev/whet/internal/proc"
)

// settings keep git from running what a repository brings along, from stopping
// over what we don't ask it about, and from tidying up while we wait.
var settings = []string{
	"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "core.safecrlf=false",
	"-c", "advice.addEmbeddedRepo=false", "-c", "core.quotePath=false", "-c", "gc.auto=0",
}

// A Dir is a directory that git is run in.
type Dir struct {
	Path string
	Env  []string // more of the environment, for git alone
}

// With returns the directory with more of an environment.
func (d Dir) With(env ...string) Dir { return Dir{d.Path, slices.Concat(d.Env, env)} }

// environment is ours without what points git at some other repository, and
// with who our commits are by.
func (d Dir) environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "GIT_") })
	return append(append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0",
		"GIT_AUTHOR_NAME=whet", "GIT_AUTHOR_EMAIL=whet@localhost", "GIT_COMMITTER_NAME=whet", "GIT_COMMITTER_EMAIL=whet@localhost"), d.Env...)
}

// A Failure is a git that ended with a status other than 0.
type Failure struct {
	Command string
	Code    int
	stderr  string
}

// Error is the first line that matters of what git said.
func (f *Failure) Error() string {
	lines := strings.Split(strings.TrimSpace(f.stderr), "\n")
	for _, l := range lines {
		if s, ok := strings.CutPrefix(l, "fatal: "); ok {
			return fmt.Sprintf("git %s: %.300s", f.Command, s)
		}
	}
	return fmt.Sprintf("git %s: %.300s (status %d)", f.Command, strings.TrimPrefix(lines[0], "error: "), f.Code)
}

// lockTries is how often a command is tried that finds a lock in its way.
const lockTries = 5

// Run runs git and returns what it printed, without the end of the last line.
// The error is a [*Failure] if git ended with a status other than 0.
func (d Dir) Run(ctx context.Context, args ...string) (string, error) {
	for try := 1; ; try++ {
		out, err := d.once(ctx, args)
		var f *Failure
		if !errors.As(err, &f) || try == lockTries || !strings.Contains(f.stderr, ".lock': File exists") {
			return out, err
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return "", err
		}
	}
}

func (d Dir) once(ctx context.Context, args []string) (string, error) {
	var stdout bytes.Buffer
	res, err := proc.Run(ctx, proc.Command{
		Path: "git", Dir: d.Path, Env: d.environment(), Stdout: &stdout,
		Args: slices.Concat(settings, args),
	})
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	if res.Code != 0 {
		err = &Failure{args[0], res.Code, string(res.Output)}
	}
	return strings.TrimRight(stdout.String(), "\r\n"), err
}

// Fields are the parts of an output that end with a NUL each.
func Fields(out string) []string {
	return slices.DeleteFunc(strings.Split(out, "\x00"), func(s string) bool { return s == "" })
}

// Resolve returns the commit that a name stands for, "" if none.
func (d Dir) Resolve(ctx context.Context, name string) string {
	commit, err := d.Run(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	if err != nil {
		return ""
	}
	return commit
}

// Record makes a commit, which no branch points to. A parent may be "", which
// is none.
func (d Dir) Record(ctx context.Context, tree string, parents ...string) (string, error) {
	args := []string{"commit-tree", "-m", "whet: what a task began with or has changed", tree}
	for _, p := range parents {
		if p != "" {
			args = append(args, "-p", p)
		}
	}
	return d.Run(ctx, args...)
}

// A Nest is a repository inside another.
type Nest struct {
	Path    string // relative to the outer one's root, with slashes
	Tracked bool   // a submodule
}

// Nested lists the repositories inside the one whose root the directory is.
func (d Dir) Nested(ctx context.Context) (out []Nest, err error) {
	staged, err := d.Run(ctx, "ls-files", "--stage", "-z")
	if err != nil {
		return nil, err
	}
	for _, line := range Fields(staged) { // mode, object, stage, tab, path
		if head, path, ok := strings.Cut(line, "\t"); ok && strings.HasPrefix(head, "160000 ") {
			out = append(out, Nest{path, true})
		}
	}
	others, err := d.Run(ctx, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}
	for _, path := range Fields(others) { // it lists no files inside another repository
		if dir, ok := strings.CutSuffix(path, "/"); ok {
			out = append(out, Nest{dir, false})
		}
	}
	return out, nil
}
