package source

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/whet-dev/whet/internal/proc"
)

const gitTime = 60 * time.Second

// bundle reads a commit of a git bundle: it is fetched into a repository in a
// temporary directory, and its objects are read from there. git archive isn't
// used: it follows export-ignore and export-subst, so that the files would not
// be those of the commit.
func (c *collector) bundle(file, part string, data []byte) (commit string, err error) {
	ref, sub, err := splitPart(part)
	if err != nil {
		return "", err
	}
	path, err := exec.LookPath("git")
	if err != nil {
		return "", refuse("git-not-found", file, "a bundle is read with git, and it isn't on PATH")
	}
	dir, err := os.MkdirTemp("", "whet-bundle-")
	if err != nil {
		return "", refuse("unreadable", file, "%s", reason(err))
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeoutCause(c.ctx, gitTime, refuse("unreadable", file, "reading it took longer than %s", gitTime))
	defer cancel()
	g := git{ctx, path, dir, file, c.max.packed()}

	format := "sha1"
	if bytes.Contains(data[:min(len(data), 256)], []byte("\n@object-format=sha256\n")) {
		format = "sha256"
	}
	if _, err := g.run(nil, "init", "--quiet", "--bare", "--object-format="+format); err != nil {
		return "", err
	}
	heads, err := g.run(nil, "bundle", "list-heads", file)
	if err != nil {
		return "", err
	}
	full, err := choose(file, ref, string(heads))
	if err != nil {
		return "", err
	}
	if _, err := g.run(nil, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", file, "+"+full+":refs/whet/read"); err != nil {
		return "", err
	}
	id, err := g.run(nil, "rev-parse", "--verify", "refs/whet/read^{commit}")
	if err != nil {
		return "", err
	}
	commit = strings.TrimSpace(string(id))
	return commit, c.gitTree(g, commit, sub)
}

// splitPart reads "#ref:directory"; both may be missing.
func splitPart(part string) (ref, sub string, err error) {
	ref, sub, _ = strings.Cut(strings.TrimPrefix(part, "#"), ":")
	if sub == "" {
		return ref, "", nil
	}
	sub, err = clean(sub)
	return ref, sub, err
}

// choose finds the ref that a person means among those that the bundle has.
func choose(file, ref, heads string) (string, error) {
	var names []string
	ids := map[string]string{}
	for line := range strings.Lines(heads) {
		if id, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			names, ids[name] = append(names, name), id
		}
	}
	want := []string{ref, "refs/heads/" + ref, "refs/tags/" + ref}
	if ref == "" {
		want = []string{"HEAD", "refs/heads/main", "refs/heads/master"}
		if len(names) == 1 {
			want = names
		}
	}
	for _, w := range want {
		if ids[w] != "" {
			return w, nil
		}
	}
	for _, name := range names {
		if len(ref) >= 7 && strings.HasPrefix(ids[name], ref) {
			return name, nil
		}
	}
	return "", refuse("no-such-ref", file, "the bundle has no %s; it has %s; choose one with FILE#REF", orHead(ref), strings.Join(names, ", "))
}

func orHead(ref string) string {
	if ref == "" {
		return "HEAD"
	}
	return ref
}

// gitTree takes the files of a commit, below sub.
func (c *collector) gitTree(g git, commit, sub string) error {
	list, err := g.run(nil, "ls-tree", "-r", "-l", "-z", commit+":"+sub)
	if err != nil {
		return err
	}
	type blob struct {
		name string
		mode fs.FileMode
		size int64
	}
	var blobs []blob
	var ids bytes.Buffer
	var total int64
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		head, name, ok := strings.Cut(entry, "\t")
		field := strings.Fields(head)
		if !ok || len(field) != 4 {
			continue
		}
		if err := c.count(name); err != nil {
			return err
		}
		as, err := clean(name)
		if err != nil {
			return err
		}
		b := blob{name: as}
		switch field[0] {
		case "160000":
			c.note("submodule-not-included", as, "a submodule's files aren't in a bundle")
			continue
		case "120000":
			b.mode = fs.ModeSymlink
		case "100755":
			b.mode = 0o755
		case "100644", "100664":
		default:
			return refuse("not-regular", as, "its mode is %s", field[0])
		}
		if b.size, err = strconv.ParseInt(field[3], 10, 64); err != nil {
			return refuse("unreadable", as, "git doesn't say how large it is")
		}
		if total += b.size; b.size > c.max.file {
			return refuse("file-too-large", as, "the file has more than %d bytes", c.max.file)
		} else if total > c.max.total {
			return refuse("package-too-large", as, "the files have more than %d bytes", c.max.total)
		}
		blobs = append(blobs, b)
		fmt.Fprintln(&ids, field[2])
	}
	out, err := g.run(&ids, "cat-file", "--batch")
	if err != nil {
		return err
	}
	for _, b := range blobs {
		head, rest, ok := bytes.Cut(out, []byte("\n"))
		field := strings.Fields(string(head))
		if !ok || len(field) != 3 || field[1] != "blob" || field[2] != strconv.FormatInt(b.size, 10) || int64(len(rest)) < b.size+1 {
			return refuse("unreadable", b.name, "the bundle doesn't hold its content")
		}
		data := rest[:b.size:b.size]
		out = rest[b.size+1:]
		if b.mode == fs.ModeSymlink {
			err = c.link(b.name, string(data))
		} else {
			err = c.add(b.name, b.mode, bytes.NewReader(data))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// git runs git in the temporary repository.
type git struct {
	ctx  context.Context
	path string
	dir  string
	file string // the bundle, for errors
	max  int64  // bytes that it may print
}

// run returns what git printed. Nothing of the person's configuration and of
// the environment has an influence.
func (g git) run(stdin *bytes.Buffer, args ...string) ([]byte, error) {
	out := &limited{left: g.max}
	cmd := proc.Command{
		Path: g.path,
		Args: append([]string{
			"-c", "transfer.fsckObjects=true", "-c", "core.hooksPath=" + os.DevNull, "-c", "protocol.allow=never",
			"-c", "protocol.file.allow=always", "-c", "fetch.unpackLimit=1", "-c", "core.fsmonitor=false", "-c", "gc.auto=0",
		}, args...),
		Dir:    g.dir,
		Env:    g.environment(),
		Stdout: out,
	}
	if stdin != nil {
		cmd.Stdin = stdin
	}
	res, err := proc.Run(g.ctx, cmd)
	switch {
	case err != nil:
		return nil, err
	case out.left < 0:
		return nil, refuse("package-too-large", g.file, "it holds far more than a package may have")
	case res.Code != 0:
		return nil, refuse("unreadable", g.file, "git %s: %s", args[0], firstLine(res.Output))
	}
	return out.Bytes(), nil
}

func (g git) environment() []string {
	env := []string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_TERMINAL_PROMPT=0", "GIT_ATTR_NOSYSTEM=1",
		"GIT_DIR=" + g.dir, "HOME=" + g.dir, "LC_ALL=C",
	}
	for _, name := range []string{"PATH", "SystemRoot", "TMPDIR", "TEMP", "TMP"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// limited keeps what is written up to a limit, and fails after it.
type limited struct {
	bytes.Buffer
	left int64
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, fmt.Errorf("too much output")
	}
	return l.Buffer.Write(p)
}

func firstLine(b []byte) string {
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line != "" {
			return printable(line)
		}
	}
	return "no reason given"
}
