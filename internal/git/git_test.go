package git_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet/internal/git"
)

// repository makes a repository with one commit of one file.
func repository(t *testing.T) git.Dir {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	d := git.Dir{Path: t.TempDir()}
	run(t, d, "init", "--quiet")
	write(t, d, "kept.txt", "one\n")
	run(t, d, "add", "kept.txt")
	run(t, d, "commit", "--quiet", "-m", "first")
	return d
}

func run(t *testing.T, d git.Dir, args ...string) string {
	t.Helper()
	out, err := d.Run(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func write(t *testing.T, d git.Dir, name, text string) {
	t.Helper()
	path := filepath.Join(d.Path, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// A snapshot holds what is changed and what is new, not what is ignored or
// another repository's; the person's index stays as it was.
func TestSnapshot(t *testing.T) {
	d := repository(t)
	write(t, d, "kept.txt", "two\n")
	write(t, d, "a new one.txt", "new\n")
	write(t, d, ".gitignore", "*.log\n")
	write(t, d, "x.log", "ignored\n")
	write(t, d, "inner/file", "not ours\n")
	run(t, git.Dir{Path: filepath.Join(d.Path, "inner")}, "init", "--quiet")
	before := run(t, d, "status", "--porcelain")

	s, err := d.Snapshot(t.Context(), d.Resolve(t.Context(), "HEAD"))
	if err != nil {
		t.Fatal(err)
	}
	s.Drop()
	files := git.Fields(run(t, d, "ls-tree", "-r", "-z", "--name-only", s.Commit))
	if diff := cmp.Diff([]string{".gitignore", "a new one.txt", "kept.txt"}, files); diff != "" {
		t.Error(diff)
	}
	if got := run(t, d, "show", s.Commit+":kept.txt"); got != "two" {
		t.Errorf("kept.txt is %q in the snapshot", got)
	}
	if after := run(t, d, "status", "--porcelain"); after != before {
		t.Errorf("the person's index changed:\n%s\nwas\n%s", after, before)
	}
}

// A repository without a commit has no HEAD and no index.
func TestSnapshotOfNothing(t *testing.T) {
	repository(t) // there is a git
	d := git.Dir{Path: t.TempDir()}
	run(t, d, "init", "--quiet")
	s, err := d.Snapshot(t.Context(), d.Resolve(t.Context(), "HEAD"))
	if err != nil {
		t.Fatal(err)
	}
	s.Drop()
	if got := run(t, d, "ls-tree", s.Commit); got != "" {
		t.Errorf("it holds %q", got)
	}
}

// What a hook or a shell has set for some other repository is not heeded.
func TestEnvironment(t *testing.T) {
	d := repository(t)
	t.Setenv("GIT_DIR", filepath.Join(t.TempDir(), "elsewhere"))
	t.Setenv("GIT_INDEX_FILE", filepath.Join(t.TempDir(), "index"))
	if got := run(t, d, "ls-files"); got != "kept.txt" {
		t.Errorf("ls-files says %q", got)
	}
	if got := run(t, d.With("GIT_AUTHOR_NAME=me"), "var", "GIT_AUTHOR_IDENT"); !strings.HasPrefix(got, "me <") {
		t.Errorf("the author is %q", got)
	}
}

func TestFailure(t *testing.T) {
	_, err := repository(t).Run(t.Context(), "cat-file", "-p", "no-such-name")
	var f *git.Failure
	if !errors.As(err, &f) || f.Code != 128 || err.Error() != "git cat-file: Not a valid object name no-such-name" {
		t.Errorf("%#v: %v", f, err)
	}
}

// What git can't read is an error, and nothing stays behind.
func TestSnapshotOfADamagedIndex(t *testing.T) {
	d := repository(t)
	write(t, d, ".git/index", "no index")
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	if s, err := d.Snapshot(t.Context()); err == nil || s != nil {
		t.Errorf("%v, %v", s, err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
