// Package worktree gives tasks checkouts of their own and brings their changes
// back, with the real git. A checkout begins with all that the person's own
// holds at that moment, changed and untracked files included. The person's
// index, branches and stash are never touched: whatever has to be staged is
// staged in an index of our own.
//
// It decides nothing: whether a task gets a checkout, and when its changes are
// merged, is the runner's business.
package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/whet-dev/whet/internal/proc"
	"github.com/whet-dev/whet/task"
)

// Git is a git that can do it all.
type Git struct{ path string }

// oldest is the first git whose merge-tree merges without a checkout: 2.38.
var oldest = [2]int{2, 38}

var versionOf = regexp.MustCompile(`^git version (\d+)\.(\d+)`)

// Find returns the git of this machine, or says in one sentence why it is of
// no use.
func Find(ctx context.Context) (*Git, error) {
	path, err := exec.LookPath("git")
	if err != nil {
		return nil, errors.New("git is not installed")
	}
	g := &Git{path}
	out, err := g.run(ctx, os.TempDir(), nil, "version")
	if err != nil {
		return nil, err
	}
	m := versionOf.FindStringSubmatch(out)
	if m == nil {
		return nil, fmt.Errorf("%s is no git that we know: it says %.80q", path, strings.TrimSpace(out))
	}
	major, _ := strconv.Atoi(m[1]) // digits
	minor, _ := strconv.Atoi(m[2])
	if major < oldest[0] || major == oldest[0] && minor < oldest[1] {
		return nil, fmt.Errorf("git is %d.%d, and worktrees of tasks need %d.%d", major, minor, oldest[0], oldest[1])
	}
	return g, nil
}

// settings keep git from running what a repository brings along, and from
// stopping over what we don't ask it about.
var settings = []string{
	"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "core.safecrlf=false",
	"-c", "advice.addEmbeddedRepo=false", "-c", "core.quotePath=false",
}

// environment is ours without what points git at some other repository, and
// with who our commits are by.
func environment(more []string) []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "GIT_") })
	return append(append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0",
		"GIT_AUTHOR_NAME=whet", "GIT_AUTHOR_EMAIL=whet@localhost", "GIT_COMMITTER_NAME=whet", "GIT_COMMITTER_EMAIL=whet@localhost"), more...)
}

// A failure is a git that ended with a status other than 0.
type failure struct {
	what   string
	code   int
	stderr string
}

func (f *failure) Error() string {
	lines := strings.Split(strings.TrimSpace(f.stderr), "\n")
	for _, l := range lines { // the first of the lines that matter
		if s, ok := strings.CutPrefix(l, "fatal: "); ok {
			return fmt.Sprintf("git %s: %s", f.what, s)
		}
	}
	return fmt.Sprintf("git %s: %s (status %d)", f.what, strings.TrimPrefix(lines[0], "error: "), f.code)
}

// lockTries is how often a command is tried that finds a lock in its way.
const lockTries = 5

// run runs git in dir and returns what it printed.
func (g *Git) run(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	for try := 1; ; try++ {
		out, err := g.once(ctx, dir, env, args...)
		var f *failure
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

func (g *Git) once(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	var stdout bytes.Buffer
	res, err := proc.Run(ctx, proc.Command{
		Path: g.path, Dir: dir, Env: environment(env), Stdout: &stdout,
		Args: slices.Concat(settings, args),
	})
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	if res.Code != 0 {
		err = &failure{args[0], res.Code, string(res.Output)}
	}
	return stdout.String(), err
}

// fields are the parts of an output that end with a NUL each.
func fields(out string) []string {
	return slices.DeleteFunc(strings.Split(out, "\x00"), func(s string) bool { return s == "" })
}

// Repository returns the root of the one repository that holds the files,
// globs relative to dir; without files, that of dir. Its error is a clause that
// says why there is none: of what lies in several, no worktree can be made.
func (g *Git) Repository(ctx context.Context, dir string, files []string) (string, error) {
	places := []string{dir}
	if len(files) > 0 {
		places = nil
		for _, f := range files {
			places = append(places, filepath.Join(dir, fixed(f)))
		}
	}
	var roots []string
	for _, p := range places {
		root := repositoryOf(p)
		if root == "" {
			return "", fmt.Errorf("%s is not in a git repository", p)
		}
		if !slices.Contains(roots, root) {
			roots = append(roots, root)
		}
	}
	if len(files) > 0 && len(roots) == 1 {
		nested, err := g.nested(ctx, roots[0])
		if err != nil {
			return "", err
		}
		claim := task.Claim{Dir: dir, Files: files}
		for _, n := range nested {
			inside := filepath.Join(roots[0], filepath.FromSlash(n.path))
			if claim.Meets(task.Claim{Dir: inside, Files: []string{"**"}}) != "" {
				roots = append(roots, inside)
			}
		}
	}
	if len(roots) > 1 {
		return "", fmt.Errorf("its files are in several repositories: %s", strings.Join(roots, ", "))
	}
	return roots[0], nil
}

// fixed is the part of a glob before its first wildcard, whole segments.
func fixed(glob string) string {
	segments := strings.Split(filepath.ToSlash(glob), "/")
	for i, s := range segments {
		if strings.ContainsAny(s, `*?[\{`) {
			return filepath.Join(segments[:i]...)
		}
	}
	return filepath.Join(segments...)
}

// repositoryOf returns the nearest directory at or above path that has a .git.
func repositoryOf(path string) string {
	for {
		if _, err := os.Lstat(filepath.Join(path, ".git")); err == nil {
			return path
		}
		up := filepath.Dir(path)
		if up == path {
			return ""
		}
		path = up
	}
}

// A nest is a repository inside another.
type nest struct {
	path    string // relative to the outer one's root, with slashes
	tracked bool   // a submodule
}

func (g *Git) nested(ctx context.Context, root string) (out []nest, err error) {
	staged, err := g.run(ctx, root, nil, "ls-files", "--stage", "-z")
	if err != nil {
		return nil, err
	}
	for _, line := range fields(staged) { // mode, object, stage, tab, path
		if head, path, ok := strings.Cut(line, "\t"); ok && strings.HasPrefix(head, "160000 ") {
			out = append(out, nest{path, true})
		}
	}
	others, err := g.run(ctx, root, nil, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}
	for _, path := range fields(others) { // it lists no files inside another repository
		if dir, ok := strings.CutSuffix(path, "/"); ok {
			out = append(out, nest{dir, false})
		}
	}
	return out, nil
}
