package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/whet-dev/whet/internal/git"
	"github.com/whet-dev/whet/task"
)

// Refs in a person's repository. What is older than keepTrees is removed.
const (
	refs       = "refs/whet/"
	baseRefs   = refs + "base/"   // the state of the project that a task began with
	resultRefs = refs + "result/" // what became of it, a commit on top
	historyRef = refs + "history/"
)

// A repo is a git repository that commands are run in.
type repo struct{ git.Dir }

// own is git in a person's repository, with their settings. What it hasn't got
// of a repository is not fetched.
func own(dir string) repo {
	return repo{git.Dir{Path: dir, Env: []string{"GIT_NO_LAZY_FETCH=1"}}}
}

// strange is git in a repository that came from elsewhere: nobody's settings
// hold in it.
func strange(dir string) repo {
	return own(dir).with("GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
}

func (r repo) with(env ...string) repo { return repo{r.With(env...)} }

// git runs a command, which may take ten minutes.
func (r repo) git(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 10*time.Minute, errors.New("it took longer than ten minutes"))
	defer cancel()
	return r.Run(ctx, args...)
}

// bundle writes what ref has beyond the commit without into a file that the
// caller removes.
func (r repo) bundle(ctx context.Context, ref, without string) (file string, err error) {
	dir, err := os.MkdirTemp("", "whet-bundle-*")
	if err != nil {
		return "", err
	}
	file = filepath.Join(dir, "bundle")
	args := []string{"bundle", "create", "--quiet", file, ref}
	if without != "" {
		args = append(args, "^"+without)
	}
	if _, err := r.git(ctx, args...); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return file, nil
}

// fetch takes what a bundle has as ref; it must be the commit want.
func (r repo) fetch(ctx context.Context, file, want, ref string) error {
	heads, err := r.git(ctx, "bundle", "list-heads", file)
	if err != nil {
		return err
	}
	for line := range strings.Lines(heads) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), want+" "); ok {
			_, err := r.git(ctx, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", file, "+"+name+":"+ref)
			if err == nil && r.Resolve(ctx, ref) != want {
				err = fmt.Errorf("%s is not what was said", want)
			}
			return err
		}
	}
	return fmt.Errorf("the bundle hasn't got %s", want)
}

// sweep removes old refs of ours.
func (r repo) sweep(ctx context.Context) {
	list, err := r.git(ctx, "for-each-ref", "--format=%(committerdate:unix) %(refname)", refs)
	if err != nil {
		return
	}
	for line := range strings.Lines(list) {
		when, ref, _ := strings.Cut(strings.TrimSpace(line), " ")
		if sec, err := strconv.ParseInt(when, 10, 64); err == nil && time.Since(time.Unix(sec, 0)) > keepTrees {
			_, _ = r.git(ctx, "update-ref", "-d", ref) // the next one tries again
		}
	}
}

// project finds the repository that a task's directory is in, and where in it.
func project(ctx context.Context, t *task.Task) (r repo, sub string, err error) {
	top, err := own(t.Dir).git(ctx, "rev-parse", "--show-toplevel")
	if err != nil || top == "" {
		return r, "", &task.Refusal{Reason: fmt.Sprintf("%s is in no git repository, so that it can't be sent to a worker on another machine; to work on it here, set task.agents.%s.backend to llm", t.Dir, t.Agent)}
	}
	sub, err = filepath.Rel(top, real(t.Dir))
	return own(top), filepath.ToSlash(sub), err
}

// real is a path as git says it.
func real(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	return path
}

// A checkout is a worker's copy of a project. What keeps its states lies apart
// from the files: who may write these can't change what whet runs on them.
type checkout struct {
	dir   string
	snaps repo // bare
	base  base
	at    string // the last state that was kept
}

func (k *checkout) files() string { return filepath.Join(k.dir, "project") }

// open makes the files of the state at, which is the base or a later one. get
// fetches bundles.
func (k *checkout) open(ctx context.Context, at string, get func(name string) (file string, err error)) error {
	k.snaps, k.at = strange(filepath.Join(k.dir, "states.git")), at
	if err := os.MkdirAll(k.snaps.Path, 0o700); err != nil {
		return err
	}
	if _, err := k.snaps.git(ctx, "init", "--quiet", "--bare"); err != nil {
		return err
	}
	for _, part := range []struct{ object, commit string }{
		{historyObject(k.base.Head), k.base.Head}, {baseObject, k.base.Commit}, {at, at},
	} {
		if part.commit == "" || k.snaps.Resolve(ctx, part.commit) != "" {
			continue
		}
		file, err := get(part.object)
		if err != nil {
			return err
		}
		err = k.snaps.fetch(ctx, file, part.commit, "refs/heads/"+part.commit)
		if err := errors.Join(err, os.RemoveAll(filepath.Dir(file))); err != nil {
			return err
		}
	}
	if _, err := strange(k.dir).git(ctx, "clone", "--quiet", "--no-checkout", "--", k.snaps.Path, k.files()); err != nil {
		return err
	}
	files := strange(k.files())
	if _, err := files.git(ctx, "checkout", "--quiet", "--detach", at); err != nil {
		return err
	}
	if k.base.Head != "" { // what was not committed there isn't here either
		if _, err := files.git(ctx, "reset", "--quiet", k.base.Head); err != nil {
			return err
		}
	}
	if _, err := files.git(ctx, "remote", "remove", "origin"); err != nil {
		return err
	}
	return os.MkdirAll(filepath.Join(k.files(), filepath.FromSlash(k.base.Sub)), 0o700)
}

// keep makes a bundle of the files as they are now. It returns "" if nothing
// has changed since the last one.
func (k *checkout) keep(ctx context.Context) (commit, file string, err error) {
	g := k.snaps.with("GIT_DIR="+k.snaps.Path, "GIT_WORK_TREE="+k.files())
	g.Path = k.files()
	if _, err := g.git(ctx, "add", "--all"); err != nil {
		return "", "", err
	}
	tree, err := g.git(ctx, "write-tree")
	if err != nil {
		return "", "", err
	}
	if was, err := g.git(ctx, "rev-parse", k.at+"^{tree}"); err != nil || was == tree {
		return "", "", err
	}
	if commit, err = g.Record(ctx, tree, k.base.Commit); err != nil {
		return "", "", err
	}
	if _, err := g.git(ctx, "update-ref", "refs/heads/state", commit); err != nil {
		return "", "", err
	}
	if file, err = k.snaps.bundle(ctx, "refs/heads/state", k.base.Commit); err == nil {
		k.at = commit
	}
	return commit, file, err
}

// Names in the object store; those of tasks are below the task's ID.
const baseObject = "base"

func historyObject(head string) string { return "history/" + head }
