package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/whet-dev/whet/internal/plainfile"
	"github.com/whet-dev/whet/task"
)

// An index is a copy of a checkout's index that git works on in its place.
type index struct {
	g       *Git
	dir     string // the checkout's root
	scratch string
	commit  string // what was last recorded with it
}

// snapshot records all that the checkout at dir holds now as a commit with the
// given parents, in an index of its own. The caller must drop it.
func (g *Git) snapshot(ctx context.Context, dir string, parents ...string) (x *index, err error) {
	scratch, err := os.MkdirTemp("", "whet-index-*")
	if err != nil {
		return nil, err
	}
	x = &index{g: g, dir: dir, scratch: scratch}
	defer func() {
		if err != nil {
			x.drop()
		}
	}()
	real, err := g.run(ctx, dir, nil, "rev-parse", "--path-format=absolute", "--git-path", "index")
	if err != nil {
		return nil, err
	}
	if err := x.copy(strings.TrimRight(real, "\r\n")); err != nil {
		return nil, err
	}
	nested, err := g.nested(ctx, dir)
	if err != nil {
		return nil, err
	}
	add := []string{"add", "--all", "--", "."}
	for _, n := range nested {
		if !n.tracked { // it belongs to nobody's history
			add = append(add, ":(top,exclude,literal)"+n.path)
		}
	}
	if _, err := x.run(ctx, add...); err != nil {
		return nil, err
	}
	tree, err := x.run(ctx, "write-tree")
	if err != nil {
		return nil, err
	}
	x.commit, err = g.record(ctx, dir, tree, parents...)
	return x, err
}

// copy takes over the checkout's index, which need not be there. Its time goes
// along: by that, git knows which files may have changed unseen.
func (x *index) copy(real string) error {
	const maxIndex = 1 << 30 // bytes; that of a million files has a tenth
	b, err := plainfile.Read(real, maxIndex)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = os.WriteFile(x.path(), b, 0o600)
	}
	if err != nil {
		return err
	}
	info, err := os.Stat(real)
	if err != nil {
		return err
	}
	return os.Chtimes(x.path(), info.ModTime(), info.ModTime())
}

func (x *index) path() string { return filepath.Join(x.scratch, "index") }

func (x *index) drop() { _ = os.RemoveAll(x.scratch) }

func (x *index) run(ctx context.Context, args ...string) (string, error) {
	out, err := x.g.run(ctx, x.dir, []string{"GIT_INDEX_FILE=" + x.path()}, args...)
	return strings.TrimSpace(out), err
}

// record makes a commit, which no branch points to.
func (g *Git) record(ctx context.Context, dir, tree string, parents ...string) (string, error) {
	args := []string{"commit-tree", "-m", "whet: what a task began with or has changed", tree}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	out, err := g.run(ctx, dir, nil, args...)
	return strings.TrimSpace(out), err
}

// head returns the commit that is checked out at dir, nil before the first.
func (g *Git) head(ctx context.Context, dir string) []string {
	out, err := g.run(ctx, dir, nil, "rev-parse", "--quiet", "--verify", "HEAD^{commit}")
	if err != nil {
		return nil
	}
	return []string{strings.TrimSpace(out)}
}

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
	x, err := g.snapshot(ctx, c.Root, g.head(ctx, c.Root)...)
	if err != nil {
		return "", err
	}
	defer x.drop()
	if _, err := g.run(ctx, c.Root, nil, "worktree", "add", "--force", "--detach", c.Dir, x.commit); err != nil {
		return "", errors.Join(err, g.Remove(context.WithoutCancel(ctx), c))
	}
	return x.commit, g.include(ctx, c)
}

// include copies what .worktreeinclude names and git doesn't track: files like
// .env, without which nothing runs.
func (g *Git) include(ctx context.Context, c *task.Checkout) error {
	const list = ".worktreeinclude"
	if info, err := os.Lstat(filepath.Join(c.Root, list)); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	out, err := g.run(ctx, c.Root, nil, "ls-files", "--others", "--ignored", "--exclude-from="+list, "-z")
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
	for _, name := range fields(out) {
		if err := copyFile(from, to, filepath.FromSlash(name)); err != nil {
			return fmt.Errorf("copying %s, which %s names: %w", name, list, err)
		}
	}
	return nil
}

// Save commits all that was done in the checkout, there alone, and returns the
// files that differ from what it began with, relative to its root.
func (g *Git) Save(ctx context.Context, c *task.Checkout) (changed []string, err error) {
	_, changed, err = g.save(ctx, c)
	return changed, err
}

func (g *Git) save(ctx context.Context, c *task.Checkout) (tree string, changed []string, err error) {
	if _, err := g.run(ctx, c.Dir, nil, "add", "--all"); err != nil {
		return "", nil, err
	}
	out, err := g.run(ctx, c.Dir, nil, "write-tree")
	if err != nil {
		return "", nil, err
	}
	tree = strings.TrimSpace(out)
	head := g.head(ctx, c.Dir)
	if out, err := g.run(ctx, c.Dir, nil, "diff", "--name-only", "-z", "--no-renames", "HEAD", tree); err != nil || out != "" {
		commit, err := g.record(ctx, c.Dir, tree, head...)
		if err == nil { // no branch that the task may have made moves
			_, err = g.run(ctx, c.Dir, nil, "update-ref", "--no-deref", "-m", "whet: kept", "HEAD", commit)
		}
		if err != nil {
			return "", nil, err
		}
	}
	out, err = g.run(ctx, c.Dir, nil, "diff", "--name-only", "-z", "--no-renames", c.Base, tree)
	return tree, fields(out), err
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
	tree, _, err := g.save(ctx, c)
	if err != nil {
		return Merge{}, err
	}
	// Whatever history the task has made, its changes are those since its base.
	theirs, err := g.record(ctx, c.Dir, tree, c.Base)
	if err != nil {
		return Merge{}, err
	}
	for try := 1; ; try++ {
		m, err := g.mergeNow(ctx, c, theirs, may)
		var f *failure
		if !errors.As(err, &f) || f.what != "read-tree" || try == mergeTries {
			return m, err
		}
	}
}

func (g *Git) mergeNow(ctx context.Context, c *task.Checkout, theirs string, may func([]string) error) (m Merge, err error) {
	now, err := g.snapshot(ctx, c.Root, c.Base)
	if err != nil {
		return m, err
	}
	defer now.drop()
	merged, conflicts, err := g.mergeTree(ctx, c.Root, now.commit, theirs)
	if err != nil {
		return m, err
	}
	added, files, err := g.difference(ctx, c.Root, now.commit, merged)
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
	_, err = now.run(ctx, "read-tree", "-m", "-u", now.commit, merged)
	return m, err
}

// mergeTree merges two commits without any checkout.
func (g *Git) mergeTree(ctx context.Context, dir, ours, theirs string) (tree string, conflicts []string, err error) {
	out, err := g.run(ctx, dir, nil, "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs)
	var f *failure
	if errors.As(err, &f) && f.code == 1 {
		err = nil
	}
	if err != nil {
		return "", nil, err
	}
	parts := fields(out)
	if len(parts) == 0 {
		return "", nil, errors.New("git merge-tree printed nothing")
	}
	return parts[0], parts[1:], nil
}

// difference lists the files that b adds to a, and all that differ.
func (g *Git) difference(ctx context.Context, dir, a, b string) (added, all []string, err error) {
	out, err := g.run(ctx, dir, nil, "diff", "--name-status", "-z", "--no-renames", a, b)
	parts := fields(out)
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
	tree, _, err := g.save(ctx, c)
	if err != nil {
		return "", nil, err
	}
	theirs, err := g.record(ctx, c.Dir, tree, c.Base)
	if err != nil {
		return "", nil, err
	}
	now, err := g.snapshot(ctx, c.Root, c.Base)
	if err != nil {
		return "", nil, err
	}
	defer now.drop()
	both, conflicts, err := g.mergeTree(ctx, c.Dir, now.commit, theirs)
	if err != nil {
		return "", nil, err
	}
	if _, err := g.run(ctx, c.Dir, nil, "read-tree", "-m", "-u", tree, both); err != nil {
		return "", nil, err
	}
	head, err := g.record(ctx, c.Dir, both, now.commit)
	if err != nil {
		return "", nil, err
	}
	_, err = g.run(ctx, c.Dir, nil, "update-ref", "--no-deref", "-m", "whet: updated", "HEAD", head)
	return now.commit, conflicts, err
}

// Remove removes the checkout with all that is in it. One that isn't there, or
// whose repository is gone, is no error.
func (g *Git) Remove(ctx context.Context, c *task.Checkout) error {
	// What git can't remove, because it doesn't know it, is removed below.
	_, _ = g.run(ctx, c.Root, nil, "worktree", "remove", "--force", "--force", c.Dir)
	return os.RemoveAll(c.Dir)
}
