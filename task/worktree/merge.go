package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/whet-dev/whet/internal/git"
	"github.com/whet-dev/whet/task"
)

// Of a checkout: the person's, and the task's own.
func rootOf(c *task.Checkout) git.Dir { return git.Dir{Path: c.Root} }
func ownOf(c *task.Checkout) git.Dir  { return git.Dir{Path: c.Dir} }

// Add makes the checkout, from all that c.Root holds now, and returns the
// commit of that. What may be there from an attempt that was cut off is
// replaced.
func (g *Git) Add(ctx context.Context, c *task.Checkout) (base string, err error) {
	if err := g.Remove(ctx, c); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(c.Dir), 0o700); err != nil {
		return "", err
	}
	x, err := rootOf(c).Snapshot(ctx, rootOf(c).Resolve(ctx, "HEAD"))
	if err != nil {
		return "", err
	}
	defer x.Drop()
	if _, err := rootOf(c).Run(ctx, "worktree", "add", "--force", "--detach", c.Dir, x.Commit); err != nil {
		return "", errors.Join(err, g.Remove(context.WithoutCancel(ctx), c))
	}
	return x.Commit, include(ctx, c)
}

// include copies what .worktreeinclude names and git doesn't track: files like
// .env, without which nothing runs.
func include(ctx context.Context, c *task.Checkout) error {
	const list = ".worktreeinclude"
	if info, err := os.Lstat(filepath.Join(c.Root, list)); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	out, err := rootOf(c).Run(ctx, "ls-files", "--others", "--ignored", "--exclude-from="+list, "-z")
	if err != nil {
		return err
	}
	from, err := os.OpenRoot(c.Root)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenRoot(c.Dir)
	if err != nil {
		return err
	}
	defer to.Close()
	for _, name := range git.Fields(out) {
		if err := copyFile(from, to, filepath.FromSlash(name)); err != nil {
			return fmt.Errorf("copying %s, which %s names: %w", name, list, err)
		}
	}
	return nil
}

// Save commits all that was done in the checkout, there alone, and returns the
// files that differ from what it began with, relative to its root.
func (g *Git) Save(ctx context.Context, c *task.Checkout) (changed []string, err error) {
	_, changed, err = save(ctx, c)
	return changed, err
}

func save(ctx context.Context, c *task.Checkout) (tree string, changed []string, err error) {
	if _, err := ownOf(c).Run(ctx, "add", "--all"); err != nil {
		return "", nil, err
	}
	if tree, err = ownOf(c).Run(ctx, "write-tree"); err != nil {
		return "", nil, err
	}
	if out, err := ownOf(c).Run(ctx, "diff", "--name-only", "-z", "--no-renames", "HEAD", tree); err != nil || out != "" {
		commit, err := ownOf(c).Record(ctx, tree, ownOf(c).Resolve(ctx, "HEAD"))
		if err == nil { // no branch that the task may have made moves
			_, err = ownOf(c).Run(ctx, "update-ref", "--no-deref", "-m", "whet: kept", "HEAD", commit)
		}
		if err != nil {
			return "", nil, err
		}
	}
	out, err := ownOf(c).Run(ctx, "diff", "--name-only", "-z", "--no-renames", c.Base, tree)
	return tree, git.Fields(out), err
}

// A Merge is how the changes of a checkout fit into the person's own.
type Merge struct {
	Files     []string // that are changed in the person's checkout, relative to its root
	Conflicts []string // files in which they don't fit; then nothing is changed
}

// mergeTries is how often a merge begins anew because files changed meanwhile.
const mergeTries = 3

// Merge brings the checkout's changes into c.Root as it is now, all or nothing,
// and commits nothing there. may is asked before anything is written, with the
// files in question; its error ends the merge.
func (g *Git) Merge(ctx context.Context, c *task.Checkout, may func(files []string) error) (Merge, error) {
	tree, _, err := save(ctx, c)
	if err != nil {
		return Merge{}, err
	}
	// Whatever history the task has made, its changes are those since its base.
	theirs, err := ownOf(c).Record(ctx, tree, c.Base)
	if err != nil {
		return Merge{}, err
	}
	for try := 1; ; try++ {
		m, err := mergeNow(ctx, c, theirs, may)
		var f *git.Failure
		if !errors.As(err, &f) || f.Command != "read-tree" || try == mergeTries {
			return m, err
		}
	}
}

func mergeNow(ctx context.Context, c *task.Checkout, theirs string, may func([]string) error) (m Merge, err error) {
	now, err := rootOf(c).Snapshot(ctx, c.Base)
	if err != nil {
		return m, err
	}
	defer now.Drop()
	merged, conflicts, err := mergeTree(ctx, rootOf(c), now.Commit, theirs)
	if err != nil {
		return m, err
	}
	added, files, err := difference(ctx, rootOf(c), now.Commit, merged)
	if err != nil {
		return m, err
	}
	m.Files = files
	for _, f := range added { // the snapshot doesn't have it: it is there, and ignored
		if _, err := os.Lstat(filepath.Join(c.Root, filepath.FromSlash(f))); err == nil && !slices.Contains(conflicts, f) {
			conflicts = append(conflicts, f)
		}
	}
	if m.Conflicts = conflicts; len(conflicts) > 0 || len(files) == 0 {
		return m, nil
	}
	if err := may(files); err != nil {
		return m, err
	}
	// Only files that differ are written, and none if one of them has changed
	// since the snapshot.
	_, err = now.Run(ctx, "read-tree", "-m", "-u", now.Commit, merged)
	return m, err
}

// mergeTree merges two commits without any checkout.
func mergeTree(ctx context.Context, d git.Dir, ours, theirs string) (tree string, conflicts []string, err error) {
	out, err := d.Run(ctx, "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs)
	var f *git.Failure
	if errors.As(err, &f) && f.Code == 1 {
		err = nil
	}
	if err != nil {
		return "", nil, err
	}
	parts := git.Fields(out)
	if len(parts) == 0 {
		return "", nil, errors.New("git merge-tree printed nothing")
	}
	return parts[0], parts[1:], nil
}

// difference lists the files that b adds to a, and all that differ.
func difference(ctx context.Context, d git.Dir, a, b string) (added, all []string, err error) {
	out, err := d.Run(ctx, "diff", "--name-status", "-z", "--no-renames", a, b)
	parts := git.Fields(out)
	for i := 0; i+1 < len(parts); i += 2 {
		all = append(all, parts[i+1])
		if parts[i] == "A" {
			added = append(added, parts[i+1])
		}
	}
	return added, all, err
}

// Update brings what c.Root holds now into the checkout, conflicts marked in
// the files, so that the task can resolve them. It returns the new base, and
// the files with conflicts.
func (g *Git) Update(ctx context.Context, c *task.Checkout) (base string, conflicts []string, err error) {
	tree, _, err := save(ctx, c)
	if err != nil {
		return "", nil, err
	}
	theirs, err := ownOf(c).Record(ctx, tree, c.Base)
	if err != nil {
		return "", nil, err
	}
	now, err := rootOf(c).Snapshot(ctx, c.Base)
	if err != nil {
		return "", nil, err
	}
	defer now.Drop()
	both, conflicts, err := mergeTree(ctx, ownOf(c), now.Commit, theirs)
	if err != nil {
		return "", nil, err
	}
	if _, err := ownOf(c).Run(ctx, "read-tree", "-m", "-u", tree, both); err != nil {
		return "", nil, err
	}
	head, err := ownOf(c).Record(ctx, both, now.Commit)
	if err != nil {
		return "", nil, err
	}
	_, err = ownOf(c).Run(ctx, "update-ref", "--no-deref", "-m", "whet: updated", "HEAD", head)
	return now.Commit, conflicts, err
}

// Remove removes the checkout with all that is in it. One that isn't there, or
// whose repository is gone, is no error.
func (g *Git) Remove(ctx context.Context, c *task.Checkout) error {
	// What git can't remove, because it doesn't know it, is removed below.
	_, _ = rootOf(c).Run(ctx, "worktree", "remove", "--force", "--force", c.Dir)
	return os.RemoveAll(c.Dir)
}
