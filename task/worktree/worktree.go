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

	"github.com/whet-dev/whet/internal/git"
	"github.com/whet-dev/whet/task"
)

// Git is a git that can do it all, which Find has seen to.
type Git struct{}

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
	out, err := git.Dir{Path: os.TempDir()}.Run(ctx, "version")
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
	return &Git{}, nil
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
		nested, err := git.Dir{Path: roots[0]}.Nested(ctx)
		if err != nil {
			return "", err
		}
		claim := task.Claim{Dir: dir, Files: files}
		for _, n := range nested {
			inside := filepath.Join(roots[0], filepath.FromSlash(n.Path))
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
