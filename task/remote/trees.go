package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/whet-dev/whet/internal/git"
	"github.com/whet-dev/whet/task"
)

// Metadata of a task's base.
const (
	commitMeta = "commit"
	headMeta   = "head"
)

// sendProject puts the project into the object store, if it isn't there yet: a
// bundle of the history up to HEAD, which all tasks from there share, and one
// of everything on top of it. A task that goes on does so in its own state.
func (c *conn) sendProject(ctx context.Context, t *task.Task) (b base, err error) {
	r, sub, err := project(ctx, t)
	if err != nil {
		return b, err
	}
	s, err := c.stores(ctx)
	if err != nil {
		return b, err
	}
	name := t.ID + "/" + baseObject
	info, err := s.trees.GetInfo(ctx, name)
	if err == nil {
		b = base{Commit: info.Metadata[commitMeta], Head: info.Metadata[headMeta], Sub: sub}
		if err := b.check(); err != nil {
			return b, &task.Refusal{Reason: fmt.Sprintf("the object %s on the NATS server is none of ours: %v", name, err)}
		}
		return b, c.sendHistory(ctx, s, r, t, b.Head)
	}
	if !errors.Is(err, jetstream.ErrObjectNotFound) {
		return b, err
	}
	r.sweep(ctx)
	b.Sub = sub
	if shallow, err := r.git(ctx, "rev-parse", "--is-shallow-repository"); err == nil && shallow == "false" {
		b.Head = r.Resolve(ctx, "HEAD")
	}
	if err := c.sendHistory(ctx, s, r, t, b.Head); err != nil {
		return b, err
	}
	now, err := r.Snapshot(ctx, b.Head)
	if err != nil {
		return b, &task.Refusal{Reason: "the project could not be packed: " + err.Error()}
	}
	now.Drop()
	b.Commit = now.Commit
	ref := baseRefs + t.ID
	if _, err := r.git(ctx, "update-ref", ref, b.Commit); err != nil {
		return b, err
	}
	file, err := r.bundle(ctx, ref, b.Head)
	if err != nil {
		return b, err
	}
	defer os.RemoveAll(filepath.Dir(file))
	return b, put(ctx, s, file, jetstream.ObjectMeta{Name: name, Metadata: map[string]string{commitMeta: b.Commit, headMeta: b.Head}})
}

func (c *conn) sendHistory(ctx context.Context, s *stores, r repo, t *task.Task, head string) error {
	if head == "" {
		return nil
	}
	c.packing.Lock()
	defer c.packing.Unlock()
	name := historyObject(head)
	if _, err := s.trees.GetInfo(ctx, name); !errors.Is(err, jetstream.ErrObjectNotFound) {
		return err
	}
	ref := historyRef + t.ID // a bundle wants a name
	if _, err := r.git(ctx, "update-ref", ref, head); err != nil {
		return err
	}
	file, err := r.bundle(ctx, ref, "")
	_, _ = r.git(ctx, "update-ref", "-d", ref) // the next sweep tries again
	if err != nil {
		return err
	}
	defer os.RemoveAll(filepath.Dir(file))
	return put(ctx, s, file, jetstream.ObjectMeta{Name: name})
}

// put stores a bundle.
func put(ctx context.Context, s *stores, file string, m jetstream.ObjectMeta) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = s.trees.Put(ctx, m, f)
	return err
}

// get fetches a bundle into a file that the caller removes, with its directory.
func get(ctx context.Context, s *stores, name string) (string, error) {
	info, err := s.trees.GetInfo(ctx, name)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if info.Size > maxTree {
		return "", fmt.Errorf("%s has %d bytes, more than %d", name, info.Size, int64(maxTree))
	}
	dir, err := os.MkdirTemp("", "whet-bundle-*")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "bundle")
	if err := s.trees.GetFile(ctx, name, file); err != nil {
		return "", errors.Join(fmt.Errorf("%s: %w", name, err), os.RemoveAll(dir))
	}
	return file, nil
}

// bring fetches what became of a task's files into its repository, as a ref, and
// from there into its worktree if it has one; else it says how to look at it.
// Nothing of the person's files changes.
func (c *conn) bring(ctx context.Context, t *task.Task, at string) (changed []string, hint string, err error) {
	if !commit.MatchString(at) {
		return nil, "", fmt.Errorf("%.80q is no commit", at)
	}
	r, _, err := project(ctx, t)
	if err != nil {
		return nil, "", err
	}
	ref := resultRefs + t.ID
	if r.Resolve(ctx, ref) != at {
		s, err := c.stores(ctx)
		if err != nil {
			return nil, "", err
		}
		file, err := get(ctx, s, t.ID+"/"+at)
		if err != nil {
			return nil, "", err
		}
		defer os.RemoveAll(filepath.Dir(file))
		if err := r.with("GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=fetch.fsckObjects", "GIT_CONFIG_VALUE_0=true").fetch(ctx, file, at, ref); err != nil {
			return nil, "", err
		}
		if base := r.Resolve(ctx, baseRefs+t.ID); base != "" && r.Resolve(ctx, ref+"^") != base {
			_, err := r.git(ctx, "update-ref", "-d", ref)
			return nil, "", errors.Join(fmt.Errorf("%s isn't made on top of what was sent", at), err)
		}
	}
	if t.Checkout.Kept() { // the task has a worktree of its own: what is done in it is merged from there
		_, err := r.git(ctx, "read-tree", "-u", "--reset", ref)
		return nil, "", err
	}
	names, err := own(t.Dir).git(ctx, "diff", "--name-only", "--relative", "-z", ref+"^", ref, "--")
	if err != nil {
		return nil, "", err
	}
	return git.Fields(names), fmt.Sprintf("(Another machine did this; its changes are not in your files yet. They are the commit %s, on top of your files as they were at the launch. "+
		"Look at them: git diff %s^ %s. Take them over: git diff %s^ %s | git apply --3way)", at[:12], ref, ref, ref, ref), nil
}
