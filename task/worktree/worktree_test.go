package worktree_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/worktree"
)

// A repo is a real repository with what a person does in it.
type repo struct {
	*testing.T
	g    *worktree.Git
	root string
}

func newRepo(t *testing.T) *repo {
	t.Helper()
	g, err := worktree.Find(t.Context())
	if err != nil {
		t.Skip(err)
	}
	r := &repo{T: t, g: g, root: filepath.Join(t.TempDir(), "a project")}
	r.write("f.txt", lines("one", "two", "three", "four", "five"))
	r.write("doomed.txt", "x\n")
	r.write(".gitignore", "*.log\n/secret\n")
	r.git("init", "--quiet", "--initial-branch=main")
	r.git("add", "--all")
	r.git("commit", "--quiet", "--message=first")
	return r
}

func lines(l ...string) string { return strings.Join(l, "\n") + "\n" }

func (r *repo) git(args ...string) string {
	r.Helper()
	return r.gitIn(r.root, args...)
}

func (r *repo) gitIn(dir string, args ...string) string {
	r.Helper()
	cmd := exec.CommandContext(r.Context(), "git", append([]string{"-c", "user.name=p", "-c", "user.email=p@localhost", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func put(t *testing.T, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (r *repo) write(name, text string) { r.Helper(); put(r.T, filepath.Join(r.root, name), text) }

// want checks a file; "" means that it must not be there.
func want(t *testing.T, path, text string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if text == "" && errors.Is(err, os.ErrNotExist) {
		return
	}
	if err != nil || string(b) != text {
		t.Errorf("%s holds %q (%v), want %q", path, b, err, text)
	}
}

// checkout makes a worktree of the repository at root.
func (r *repo) checkout(root string) *task.Checkout {
	r.Helper()
	c := &task.Checkout{Home: root, Root: root, Dir: filepath.Join(r.TempDir(), "state", "tsk_1")}
	base, err := r.g.Add(r.Context(), c)
	if err != nil {
		r.Fatal(err)
	}
	c.Base = base
	return c
}

func (r *repo) merge(c *task.Checkout) worktree.Merge {
	r.Helper()
	m, err := r.g.Merge(r.Context(), c, func([]string) error { return nil })
	if err != nil {
		r.Fatal(err)
	}
	return m
}

// The person's own state survives everything: what is staged, what isn't, what
// is untracked, and the stash.
func TestRoundTrip(t *testing.T) {
	r := newRepo(t)
	r.write("f.txt", lines("ONE", "two", "three", "four", "five"))
	r.git("add", "f.txt")
	r.write("f.txt", lines("ONE", "TWO", "three", "four", "five"))
	r.write("new/untracked.txt", "mine\n")
	r.write("run.log", "ignored\n")
	index, head := r.git("ls-files", "--stage"), r.git("rev-parse", "HEAD")
	c := r.checkout(r.root)
	in := func(name string) string { return filepath.Join(c.Dir, name) }
	want(t, in("f.txt"), lines("ONE", "TWO", "three", "four", "five"))
	want(t, in("new/untracked.txt"), "mine\n")
	want(t, in("run.log"), "")

	if changed, err := r.g.Save(t.Context(), c); err != nil || len(changed) > 0 {
		t.Errorf("nothing was done: %v, %v", changed, err)
	}
	put(t, in("f.txt"), lines("ONE", "TWO", "three", "four", "FIVE"))
	put(t, in("made here.txt"), "\x00binary\xff")
	put(t, in("tool.sh"), "#!/bin/sh\n")
	if err := errors.Join(os.Remove(in("doomed.txt")), os.Chmod(in("tool.sh"), 0o755)); err != nil {
		t.Fatal(err)
	}
	changed, err := r.g.Save(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"doomed.txt", "f.txt", "made here.txt", "tool.sh"}, changed); d != "" {
		t.Error(d)
	}
	r.write("f.txt", lines("ONE", "TWO", "3", "four", "five")) // meanwhile
	m := r.merge(c)
	if d := cmp.Diff(changed, m.Files); d != "" || len(m.Conflicts) > 0 {
		t.Error(m.Conflicts, d)
	}
	want(t, filepath.Join(r.root, "f.txt"), lines("ONE", "TWO", "3", "four", "FIVE"))
	want(t, filepath.Join(r.root, "made here.txt"), "\x00binary\xff")
	want(t, filepath.Join(r.root, "doomed.txt"), "")
	want(t, filepath.Join(r.root, "run.log"), "ignored\n")
	if info, err := os.Stat(filepath.Join(r.root, "tool.sh")); err != nil || info.Mode()&0o100 == 0 && runtime.GOOS != "windows" {
		t.Errorf("%v, %v", info, err)
	}
	if got := r.git("ls-files", "--stage"); got != index {
		t.Errorf("the index was touched:\n%s\nwas\n%s", got, index)
	}
	if got := r.git("rev-parse", "HEAD"); got != head || r.git("stash", "list") != "" || r.git("branch", "--all") != "* main" {
		t.Errorf("history was touched: %s", r.git("log", "--all", "--oneline"))
	}
	if m := r.merge(c); len(m.Files) > 0 || len(m.Conflicts) > 0 {
		t.Errorf("a second merge finds something to do: %+v", m)
	}
	if err := r.g.Remove(t.Context(), c); err != nil {
		t.Error(err)
	}
	if got := r.git("worktree", "list"); strings.Count(got, "\n") != 0 {
		t.Errorf("worktrees are left:\n%s", got)
	}
}

// A conflict is listed and changes nothing; brought into the worktree and
// resolved there, it merges.
func TestConflict(t *testing.T) {
	r := newRepo(t)
	c := r.checkout(r.root)
	put(t, filepath.Join(c.Dir, "f.txt"), lines("theirs", "two", "three", "four", "five"))
	put(t, filepath.Join(c.Dir, "other.txt"), "fine\n")
	mine := lines("mine", "two", "three", "four", "five")
	r.write("f.txt", mine)
	for range 2 {
		if m := r.merge(c); !cmp.Equal(m.Conflicts, []string{"f.txt"}) {
			t.Errorf("%+v", m)
		}
		want(t, filepath.Join(r.root, "f.txt"), mine)
		want(t, filepath.Join(r.root, "other.txt"), "")
	}
	base, conflicts, err := r.g.Update(t.Context(), c)
	if err != nil || !cmp.Equal(conflicts, []string{"f.txt"}) {
		t.Fatal(conflicts, err)
	}
	c.Base = base
	b, err := os.ReadFile(filepath.Join(c.Dir, "f.txt"))
	if err != nil || !strings.Contains(string(b), "<<<<<<<") || !strings.Contains(string(b), "mine") || !strings.Contains(string(b), "theirs") {
		t.Errorf("%s, %v", b, err)
	}
	want(t, filepath.Join(c.Dir, "other.txt"), "fine\n")
	both := lines("mine and theirs", "two", "three", "four", "five")
	put(t, filepath.Join(c.Dir, "f.txt"), both)
	if m := r.merge(c); len(m.Conflicts) > 0 {
		t.Errorf("%+v", m)
	}
	want(t, filepath.Join(r.root, "f.txt"), both)
	want(t, filepath.Join(r.root, "other.txt"), "fine\n")
}

// Whatever history the task makes in its worktree, its changes are the same and
// no branch moves.
func TestTaskThatCommits(t *testing.T) {
	r := newRepo(t)
	c := r.checkout(r.root)
	put(t, filepath.Join(c.Dir, "a.txt"), "a\n")
	r.gitIn(c.Dir, "checkout", "--quiet", "-b", "idea")
	r.gitIn(c.Dir, "add", "--all")
	r.gitIn(c.Dir, "commit", "--quiet", "--message=mine")
	idea := r.gitIn(c.Dir, "rev-parse", "idea")
	put(t, filepath.Join(c.Dir, "b.txt"), "b\n")
	if changed, err := r.g.Save(t.Context(), c); err != nil || !cmp.Equal(changed, []string{"a.txt", "b.txt"}) {
		t.Error(changed, err)
	}
	r.gitIn(c.Dir, "reset", "--quiet", "--soft", "main")
	if m := r.merge(c); !cmp.Equal(m.Files, []string{"a.txt", "b.txt"}) {
		t.Errorf("%+v", m)
	}
	if got := r.git("rev-parse", "idea"); got != idea {
		t.Error("the task's branch was moved")
	}
}

// What git ignores is never written over.
func TestIgnoredInTheWay(t *testing.T) {
	r := newRepo(t)
	c := r.checkout(r.root)
	r.write("secret", "the person's\n")
	put(t, filepath.Join(c.Dir, ".gitignore"), "*.log\n")
	put(t, filepath.Join(c.Dir, "secret"), "the task's\n")
	if m := r.merge(c); !cmp.Equal(m.Conflicts, []string{"secret"}) {
		t.Errorf("%+v", m)
	}
	want(t, filepath.Join(r.root, "secret"), "the person's\n")
	want(t, filepath.Join(r.root, ".gitignore"), "*.log\n/secret\n")
}

// .worktreeinclude brings along what git ignores.
func TestInclude(t *testing.T) {
	r := newRepo(t)
	r.write(".worktreeinclude", "secret\nlogs/\n!logs/b.log\n")
	r.write("secret", "key\n")
	r.write("logs/a.log", "a")
	r.write("logs/x/c.log", "c")
	r.write("other.log", "o")
	if err := os.Symlink("secret", filepath.Join(r.root, "l.log")); err != nil {
		t.Skip(err)
	}
	c := r.checkout(r.root)
	for name, text := range map[string]string{"secret": "key\n", "logs/a.log": "a", "logs/x/c.log": "c", "other.log": "", "l.log": ""} {
		want(t, filepath.Join(c.Dir, name), text)
	}
	put(t, filepath.Join(c.Dir, "secret"), "other\n")
	if changed, err := r.g.Save(t.Context(), c); err != nil || len(changed) > 0 {
		t.Error(changed, err)
	}
}

func TestFirstCommitIsMissing(t *testing.T) {
	r := newRepo(t)
	root := filepath.Join(t.TempDir(), "empty")
	put(t, filepath.Join(root, "a.txt"), "a\n")
	r.gitIn(root, "init", "--quiet")
	c := r.checkout(root)
	put(t, filepath.Join(c.Dir, "a.txt"), "b\n")
	if m := r.merge(c); !cmp.Equal(m.Files, []string{"a.txt"}) {
		t.Errorf("%+v", m)
	}
	want(t, filepath.Join(root, "a.txt"), "b\n")
}

// A worktree is made of the repository that holds the files, submodules and
// repositories inside others included; never of several.
func TestRepository(t *testing.T) {
	r := newRepo(t)
	lib := filepath.Join(t.TempDir(), "lib")
	put(t, filepath.Join(lib, "l.txt"), "l\n")
	r.gitIn(lib, "init", "--quiet")
	r.gitIn(lib, "add", "--all")
	r.gitIn(lib, "commit", "--quiet", "--message=l")
	r.git("submodule", "--quiet", "add", lib, "vendor/lib")
	r.write("inner/i.txt", "i\n")
	r.gitIn(filepath.Join(r.root, "inner"), "init", "--quiet") // without a commit
	outside := t.TempDir()
	for _, tt := range []struct {
		dir   string
		files []string
		want  string // below the root, or what the error says
	}{
		{r.root, nil, "."},
		{r.root, []string{"f.txt", "new/**"}, "."},
		{r.root, []string{"vendor/lib/**"}, "vendor/lib"},
		{r.root, []string{"vendor/lib/*.txt"}, "vendor/lib"},
		{r.root, []string{"inner/{a,b}.txt"}, "inner"},
		{filepath.Join(r.root, "inner"), nil, "inner"},
		{r.root, []string{"f.txt", "inner/x"}, "several repositories: "},
		{r.root, []string{"**"}, "several repositories: "},
		{r.root, []string{"vendor/**"}, "several repositories: "},
		{outside, nil, "not in a git repository"},
		{outside, []string{"a/b"}, "not in a git repository"},
	} {
		root, err := r.g.Repository(t.Context(), tt.dir, tt.files)
		if err != nil {
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v: %v, want %s", tt.files, err, tt.want)
			}
			continue
		}
		if root != filepath.Join(r.root, tt.want) {
			t.Errorf("%v: %s, want %s", tt.files, root, tt.want)
		}
	}
	for _, sub := range []string{".", "vendor/lib", "inner"} {
		root := filepath.Join(r.root, sub)
		c := r.checkout(root)
		put(t, filepath.Join(c.Dir, "made.txt"), sub)
		if m := r.merge(c); !cmp.Equal(m.Files, []string{"made.txt"}) || len(m.Conflicts) > 0 {
			t.Errorf("%s: %+v", sub, m)
		}
		want(t, filepath.Join(root, "made.txt"), sub)
		if err := r.g.Remove(t.Context(), c); err != nil {
			t.Error(err)
		}
	}
	if got := r.gitIn(filepath.Join(r.root, "vendor", "lib"), "status", "--porcelain"); got != "?? made.txt" {
		t.Errorf("the submodule says %q", got)
	}
}

// A lock that somebody else's git holds, a hook, and a file that changes while
// a merge is under way.
func TestInTheWay(t *testing.T) {
	r := newRepo(t)
	r.write(".git/hooks/post-checkout", "#!/bin/sh\ntouch "+filepath.Join(r.root, "hooked")+"\n")
	if err := os.Chmod(filepath.Join(r.root, ".git/hooks/post-checkout"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.write(".git/index.lock", "")
	c := r.checkout(r.root)
	want(t, filepath.Join(r.root, "hooked"), "")
	put(t, filepath.Join(c.Dir, "f.txt"), lines("one", "two", "three", "four", "5"))
	tries := 0
	m, err := r.g.Merge(t.Context(), c, func([]string) error {
		if tries++; tries == 1 {
			r.write("f.txt", lines("1", "two", "three", "four", "five"))
		}
		return nil
	})
	if err != nil || tries != 2 || len(m.Conflicts) > 0 {
		t.Errorf("%+v, %v after %d tries", m, err, tries)
	}
	want(t, filepath.Join(r.root, "f.txt"), lines("1", "two", "three", "four", "5"))
	put(t, filepath.Join(c.Dir, "g.txt"), "g\n")
	no := errors.New("no")
	if _, err := r.g.Merge(t.Context(), c, func([]string) error { return no }); !errors.Is(err, no) {
		t.Error(err)
	}
	want(t, filepath.Join(r.root, "g.txt"), "")
}

// What was begun is made anew; what is gone is no trouble.
func TestCutOff(t *testing.T) {
	r := newRepo(t)
	c := r.checkout(r.root)
	put(t, filepath.Join(c.Dir, "half"), "x")
	if base, err := r.g.Add(t.Context(), c); err != nil || base == "" {
		t.Fatal(err)
	}
	want(t, filepath.Join(c.Dir, "half"), "")
	if err := errors.Join(os.RemoveAll(c.Dir)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.g.Save(t.Context(), c); err == nil {
		t.Error("a worktree that is gone can be saved")
	}
	if _, err := r.g.Add(t.Context(), c); err != nil {
		t.Error(err)
	}
	if err := os.RemoveAll(filepath.Join(r.root, ".git")); err != nil {
		t.Fatal(err)
	}
	if err := r.g.Remove(t.Context(), c); err != nil {
		t.Error(err)
	}
	want(t, filepath.Join(c.Dir, "f.txt"), "")
}

// Without git, or with one that is too old, one sentence says so.
func TestFind(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a POSIX shell")
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	for version, says := range map[string]string{
		"":                       "git is not installed",
		"git version 2.30.2":     "git is 2.30, and worktrees of tasks need 2.38",
		"git version 1.99.0":     "git is 1.99, and worktrees of tasks need 2.38",
		"hello":                  `is no git that we know: it says "hello"`,
		"git version 2.38.0":     "",
		"git version 2.51.GIT":   "",
		"git version 10.0 (new)": "",
	} {
		if version != "" {
			put(t, filepath.Join(dir, "git"), "#!/bin/sh\necho '"+version+"'\n")
			if err := os.Chmod(filepath.Join(dir, "git"), 0o755); err != nil {
				t.Fatal(err)
			}
		} else {
			_ = os.Remove(filepath.Join(dir, "git"))
		}
		_, err := worktree.Find(t.Context())
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", version, err)
		}
	}
}
