package search

import (
	"bytes"
	"context"
	"fmt"
	"go/build"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet/internal/peer"
)

// rgLines runs the real rg with the pattern as it is, and returns path:line of
// each matching line. It returns false for a pattern that rg doesn't take.
func rgLines(t testing.TB, dir string, args ...string) (out []string, ok bool) {
	t.Helper()
	cmd := exec.Command(peer.Find(t, "rg"), append([]string{
		"--no-config", "--null", "--line-number", "--no-heading", "--color=never", "--crlf", "--glob=!.git", "--max-filesize=10M", "--max-columns=1",
	}, args...)...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		if strings.Contains(stderr.String(), "regex parse error") || strings.Contains(stderr.String(), "error parsing") {
			return nil, false
		}
		t.Fatalf("rg %q: %v %s", args, err, &stderr)
	}
	for len(text) > 0 {
		name, rest, found := bytes.Cut(text, []byte{0})
		if !found {
			break
		}
		if i := bytes.LastIndex(name, []byte(": WARNING: stopped searching binary file")); i >= 0 {
			_, name, _ = bytes.Cut(name[i:], []byte("\n"))
		}
		line, after, _ := bytes.Cut(rest, []byte("\n"))
		number, _, _ := bytes.Cut(line, []byte(":"))
		out = append(out, strings.TrimPrefix(string(name), "./")+":"+string(number))
		text = after
	}
	slices.Sort(out)
	return out, true
}

func ourLines(t testing.TB, q Query) []string {
	t.Helper()
	q.Limit = -1
	a, err := Grep(context.Background(), q)
	if err != nil {
		t.Fatalf("%s, %q: %v", q.Engine, q.Pattern, err)
	}
	if a.Total != len(a.Matches) {
		t.Errorf("%s, %q: counted %d, shown %d", q.Engine, q.Pattern, a.Total, len(a.Matches))
	}
	var out []string
	for _, m := range a.Matches {
		out = append(out, m.Path+":"+strconv.Itoa(m.Line))
	}
	slices.Sort(out)
	return out
}

// compare holds both engines against the real rg.
func compare(t *testing.T, q Query, args ...string) (matches int) {
	t.Helper()
	want, ok := rgLines(t, q.Root, append(args, "-e", q.Pattern, "--", ".")...)
	if !ok {
		return 0
	}
	// A file that turns out to be binary after a match is left out whole here.
	want = slices.DeleteFunc(want, func(l string) bool { return binaryFile(filepath.Join(q.Root, l[:strings.LastIndexByte(l, ':')])) })
	for _, e := range []string{EngineOwn, EngineRipgrep} {
		q.Engine = e
		if got := ourLines(t, q); !slices.Equal(want, got) {
			t.Errorf("%s, %+q %q (-rg +ours):\n%.2000s", e, q.Pattern, args, cmp.Diff(want, got))
		}
	}
	return len(want)
}

func binaryFile(p string) bool {
	b, _ := os.ReadFile(p)
	return isBinary(decode(b))
}

func withRipgrep(t *testing.T) {
	t.Helper()
	sealed(t)
	t.Setenv("PATH", filepath.Dir(peer.Find(t, "rg")))
}

func TestPeerRandomPatterns(t *testing.T) {
	withRipgrep(t)
	dirs := make([]string, 4)
	for i := range dirs {
		dirs[i] = t.TempDir()
		randomText(t, rand.New(rand.NewPCG(uint64(i), 2)), dirs[i])
	}
	found := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		q := Query{Root: dirs[r.IntN(len(dirs))], Pattern: randomPattern(r, 0)}
		var args []string
		if r.IntN(4) == 0 {
			q.IgnoreCase = true
			args = append(args, "--ignore-case")
		}
		if r.IntN(6) == 0 {
			q.Word = true
			args = append(args, "--word-regexp")
		}
		p, err := compilePattern(&q)
		if err != nil || q.Word && p.re.MatchString("") {
			continue // at an empty word rg looks at the line break too
		}
		if afterEnd.MatchString(q.Pattern) {
			continue // see boundary.go
		}
		if compare(t, q, args...) > 0 {
			found++
		}
	}
	if found < 70 {
		t.Errorf("only %d of the patterns matched anything", found)
	}
}

var afterEnd = regexp.MustCompile(`\$.*\\b`)

var words = []string{
	"foo", "Foo", "bar", "err", "nil", "return", "x", "_x1", "über", "Straße", "漢字", "İ", "ſ", "K", "k", "s", "a b", "foo.bar()", "0x1F",
	"", "\t", "--", "é", "e\u0301", "{", "}", "[i]", "1", "٣", "\u00a0", "\u2028", "caf\xe9",
}

func randomText(t testing.TB, r *rand.Rand, dir string) {
	for f := range 12 {
		var b strings.Builder
		ending := []string{"\n", "\n", "\r\n"}[r.IntN(3)]
		for range r.IntN(60) {
			for range r.IntN(6) {
				b.WriteString(words[r.IntN(len(words))] + []string{" ", "", ",", ".", "("}[r.IntN(5)])
			}
			b.WriteString(ending)
		}
		text := b.String()
		if r.IntN(3) == 0 {
			text = strings.TrimSuffix(text, ending)
		}
		write(t, dir, fmt.Sprintf("d%d/f%d.txt", f%3, f), text)
	}
}

func randomPattern(r *rand.Rand, depth int) string {
	atoms := []string{
		`foo`, `Foo`, `bar`, `err`, `nil`, `x`, `über`, `ß`, `漢`, `k`, `s`, `K`, `.`, `\w`, `\W`, `\d`, `\s`, `\S`, `\D`, `[a-z]`, `[^a-z]`, `[A-Z0-9_]`, `\(`, `\.`,
		`\b`, `^`, `$`, `[[:alpha:]]`, `\p{L}`, `\pN`, `[\w.]`, `[^\s,]`, `1`, ` `, `é`, `a b`, `[é-ü]`, `--`, `\x41`, `\t`,
	}
	var b strings.Builder
	for range 1 + r.IntN(4) {
		atom := atoms[r.IntN(len(atoms))]
		if depth < 2 && r.IntN(4) == 0 {
			atom = "(" + randomPattern(r, depth+1) + ")"
			if r.IntN(2) == 0 {
				atom = "(?:" + randomPattern(r, depth+1) + "|" + randomPattern(r, depth+1) + ")"
			}
		}
		b.WriteString(atom)
		if !slices.Contains([]string{`\b`, `^`, `$`}, atom) {
			b.WriteString([]string{"", "", "", "*", "+", "?", "{2}", "{1,3}", "+?"}[r.IntN(9)])
		}
	}
	return b.String()
}

// Patterns as people write them, on real trees: Go's own, and those that
// WHET_TREES names (separated like PATH).
func TestPeerTrees(t *testing.T) {
	withRipgrep(t)
	trees := []string{filepath.Join(build.Default.GOROOT, "src")}
	patterns := treePatterns
	if testing.Short() {
		t.Skip("searches a large tree")
	}
	if more := os.Getenv("WHET_TREES"); more != "" {
		trees = append(trees, filepath.SplitList(more)...)
	} else {
		patterns = patterns[:9]
	}
	for _, dir := range trees {
		for _, p := range patterns {
			compare(t, Query{Root: dir, Pattern: p})
		}
		compare(t, Query{Root: dir, Pattern: "todo", IgnoreCase: true}, "--ignore-case")
		compare(t, Query{Root: dir, Pattern: "err", Word: true, Include: []string{"*_test.go"}}, "--word-regexp", "--glob=*_test.go")
	}
}

var treePatterns = []string{
	`fmt\.Println`, `func \(\w+ \*?\w+\) String\(`, `\berr\b.*nil$`, `^import \(`, `[A-Z][a-z]+[0-9]{2}_[a-z]+\(`, `[0-9a-f]{8}-[0-9a-f]{4}`,
	`(struct|interface)\s*\{$`, `\bß|\bü`, `"[^"]*\\n"`, `\d+\.\d+\.\d+`, `^\s*//.*TODO\(\w+\)`, `x{3,}`, `go:(build|embed|generate)`, `\w+@\w+\.\w+`,
	`^\W+$`, `[^\x00-\x7F]`, `\s$`, `^.{200,}$`, `(a|b|c|d)\1?`, `foo|bar|baz`, `(?i)license`, `=>\s*\{`, `require\(['"][^'"]+['"]\)`, `\bexport (default )?(async )?function\b`,
}

func TestPeerCancelKillsRipgrep(t *testing.T) {
	withRipgrep(t)
	engines(t, func(t *testing.T, engine string) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		q := Query{Root: filepath.Join(build.Default.GOROOT, "src"), Pattern: `\w+\s+\w+`, Engine: engine, Timeout: 1}
		a, err := Grep(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		if !a.Partial || !strings.Contains(a.String(), "partial") {
			t.Errorf("not said to be partial:\n%s", a)
		}
	})
}

// A configuration of ripgrep that the environment names could make it run
// programs (--pre) or hide files: it is not for us.
func TestPeerRipgrepIgnoresItsEnvironment(t *testing.T) {
	sealed(t)
	rg := peer.Find(t, "rg")
	dir := t.TempDir()
	write(t, dir, "a.txt", "hello\n")
	conf := filepath.Join(t.TempDir(), "rc")
	ran := filepath.Join(t.TempDir(), "ran")
	pre := filepath.Join(t.TempDir(), "pre")
	if err := os.WriteFile(pre, []byte("#!/bin/sh\ntouch '"+ran+"'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(conf, []byte("--pre="+pre+"\n--glob=!*.txt\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("RIPGREP_CONFIG_PATH", conf)
	t.Setenv("PATH", filepath.Dir(rg)+string(os.PathListSeparator)+os.Getenv("PATH"))
	a, err := Grep(t.Context(), Query{Root: dir, Pattern: "hello", Engine: "ripgrep"})
	if err != nil || a.Total != 1 {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the program that the configuration names has run")
	}
}
