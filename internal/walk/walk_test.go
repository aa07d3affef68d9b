package walk

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet/internal/peer"
)

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	p := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func files(t testing.TB, dir string, o Options) ([]string, Counts) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	o.Root = root
	var mu sync.Mutex
	out := []string{}
	counts, err := Walk(context.Background(), o, func(_ int, e Entry) {
		mu.Lock()
		defer mu.Unlock()
		out = append(out, e.Path)
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out, counts
}

// rgFiles lists dir's files as ripgrep does. Its environment has no
// configuration of the person's own.
func rgFiles(t testing.TB, dir string, args ...string) []string {
	t.Helper()
	cmd := exec.Command(peer.Find(t, "rg"), append([]string{"--no-config", "--files", "--null", "--glob=!.git"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); ok && bytes.Contains(exit.Stderr, []byte("error parsing glob")) {
		err = nil // a bad rule above the root: told, and skipped
	}
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("rg %q: %v", args, err)
	}
	list := []string{}
	for p := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if p != "" {
			list = append(list, strings.TrimPrefix(filepath.ToSlash(p), "./"))
		}
	}
	slices.Sort(list)
	return list
}

func noConfig(t testing.TB) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
}

func TestWalk(t *testing.T) {
	noConfig(t)
	dir := t.TempDir()
	write(t, dir, ".git/HEAD", "")
	write(t, dir, ".git/info/exclude", "local.txt\n")
	write(t, dir, ".gitignore", "node_modules/\n*.log\n!keep.log\n/top\n!.github\n")
	write(t, dir, "sub/.gitignore", "!x.log\n")
	write(t, dir, "sub/.ignore", "y.txt\n")
	write(t, dir, "nested/.git/HEAD", "")
	for _, name := range []string{
		"a.txt", "x.log", "keep.log", "top/a.txt", "sub/top/a.txt", "sub/x.log", "sub/y.txt", "local.txt",
		"node_modules/m/i.js", ".github/ci.yml", ".hidden/h.txt", ".h.txt", "nested/n.log",
	} {
		write(t, dir, name, "x")
	}
	if err := os.Symlink("..", filepath.Join(dir, "sub", "loop")); err != nil {
		t.Skip(err)
	}
	got, counts := files(t, dir, Options{})
	want := []string{".github/ci.yml", "a.txt", "keep.log", "nested/n.log", "sub/top/a.txt", "sub/x.log"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
	// node_modules, x.log, top, local.txt, sub/y.txt; .hidden, .h.txt and the
	// three files of rules.
	if d := cmp.Diff(Counts{Files: 6, Ignored: 5, Hidden: 5, Links: 1}, counts); d != "" {
		t.Errorf("counts (-want +got):\n%s", d)
	}
	all, _ := files(t, dir, Options{Hidden: true, NoIgnore: true})
	marked, again := files(t, dir, Options{LeftOut: true})
	if d := cmp.Diff(all, marked); d != "" {
		t.Errorf("LeftOut yields other files than everything (-all +marked):\n%s", d)
	}
	if d := cmp.Diff(counts, again); d != "" {
		t.Errorf("LeftOut counts differently (-without +with):\n%s", d)
	}
	for _, args := range [][]string{{}, {"--hidden"}, {"--no-ignore"}, {"--hidden", "--no-ignore"}} {
		got, _ := files(t, dir, Options{Hidden: slices.Contains(args, "--hidden"), NoIgnore: slices.Contains(args, "--no-ignore")})
		if d := cmp.Diff(rgFiles(t, dir, args...), got); d != "" {
			t.Errorf("rg --files %q (-rg +ours):\n%s", args, d)
		}
	}
}

// A directory swapped for a link while the walk is under way must not lead it
// out of the root.
func TestWalkStaysInRoot(t *testing.T) {
	noConfig(t)
	base := t.TempDir()
	dir := filepath.Join(base, "proj")
	write(t, base, "secret/key.txt", "x")
	write(t, dir, "a/inner/key.txt", "x")
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	w := &walker{Options: Options{Root: root}, abs: dir, wake: sync.NewCond(&sync.Mutex{})}
	var c Counts
	w.list(job{}, &c)
	if err := os.RemoveAll(filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../secret", filepath.Join(dir, "a")); err != nil {
		t.Skip(err)
	}
	j, ok := w.pop()
	if !ok || j.path != "a" {
		t.Fatalf("next is %+v", j)
	}
	w.list(j, &c)
	if len(w.jobs) > 0 || c.Unreadable != 1 {
		t.Errorf("the walk went through the link: %+v, %+v", w.jobs, c)
	}
}

func TestWalkCancel(t *testing.T) {
	noConfig(t)
	dir := t.TempDir()
	for i := range 300 {
		write(t, dir, fmt.Sprintf("d%d/f", i), "x")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	ctx, cancel := context.WithCancel(context.Background())
	n := 0
	_, err = Walk(ctx, Options{Root: root, Workers: 1}, func(int, Entry) {
		if n++; n == 5 {
			cancel()
			for ctx.Err() == nil {
			}
		}
	})
	if err != context.Canceled || n > 200 {
		t.Errorf("visited %d files after the end, error %v", n, err)
	}
}

const seeds = 80

// Random trees with random rules, as ripgrep lists them.
func TestPeerRipgrepFiles(t *testing.T) {
	noConfig(t)
	peer.Find(t, "rg")
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			dir := t.TempDir()
			r := rand.New(rand.NewPCG(seed, 1))
			randomTree(t, r, dir)
			start := ""
			if seed%3 == 0 {
				start = "start"
				randomTree(t, r, filepath.Join(dir, start))
			}
			got, _ := files(t, filepath.Join(dir, start), Options{Hidden: seed%2 == 0})
			args := []string{}
			if seed%2 == 0 {
				args = append(args, "--hidden")
			}
			if d := cmp.Diff(rgFiles(t, filepath.Join(dir, start), args...), got); d != "" {
				t.Errorf("(-rg +ours):\n%s\nrules:\n%s", d, showRules(dir))
			}
		})
	}
}

func randomTree(t testing.TB, r *rand.Rand, dir string) {
	names := []string{"a", "b", "foo", "bar.txt", "x.log", ".h", "build", "a b", "[x]", "é"}
	pick := func() string { return names[r.IntN(len(names))] }
	if r.IntN(4) > 0 {
		write(t, dir, ".git/HEAD", "")
		write(t, dir, ".git/info/exclude", randomRules(r, pick))
	}
	for range 60 {
		parts := make([]string, 1+r.IntN(4))
		for i := range parts {
			parts[i] = pick()
		}
		p := filepath.Join(dir, filepath.Join(parts...))
		_ = os.MkdirAll(filepath.Dir(p), 0o755)
		_ = os.WriteFile(p, []byte("x"), 0o644)
		if r.IntN(8) == 0 {
			kind := []string{".gitignore", ".gitignore", ".ignore", ".rgignore"}[r.IntN(4)]
			_ = os.WriteFile(filepath.Join(filepath.Dir(p), kind), []byte(randomRules(r, pick)), 0o644)
		}
		if r.IntN(40) == 0 {
			_ = os.Mkdir(filepath.Join(filepath.Dir(p), ".git"), 0o755)
		}
	}
}

func randomRules(r *rand.Rand, pick func() string) string {
	shapes := []string{
		"%s", "/%s", "%s/", "!%s", "!%s/", "*%s", "%s*", "%s/*", "%s/**", "**/%s", "%s/%s", "%s/**/%s", "!/%s/%s",
		"?%s", "*.{log,txt}", "[a-f]*", "[!a]*", "*", "!*/", "#%s", `\#%s`, `\!%s`, "%s ", `%s\ `, "*.*", "/*", "!**/%s", "{%s,%s}/", "[", "{a", "a**b", "***",
	}
	var b strings.Builder
	for range 1 + r.IntN(4) {
		s := shapes[r.IntN(len(shapes))]
		for strings.Contains(s, "%s") {
			s = strings.Replace(s, "%s", pick(), 1)
		}
		b.WriteString(s + []string{"\n", "\n", "\r\n"}[r.IntN(3)])
	}
	return b.String()
}

func showRules(dir string) string {
	var b strings.Builder
	_ = filepath.WalkDir(dir, func(p string, _ os.DirEntry, _ error) error {
		switch filepath.Base(p) {
		case ".gitignore", ".ignore", ".rgignore", "exclude":
			text, _ := os.ReadFile(p)
			fmt.Fprintf(&b, "%s: %q\n", strings.TrimPrefix(p, dir), text)
		case ".git":
			fmt.Fprintf(&b, "%s\n", strings.TrimPrefix(p, dir))
		}
		return nil
	})
	return b.String()
}
