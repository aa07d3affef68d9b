package walk

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var fuzzTree = []string{
	"a/z", "b.txt", "foo/bar.txt", "foo/a/b/c.log", "foo/b", "a b/c d", "build/x.o", "src/build/y.o", ".h/x", ".env", "x.log", "[x]/y", "foo/.h/z", "a-b/c_d", "!x", "#y", "src/a/b/c/d/e", "{z}", "c,d",
}

// The rules of a fuzzed ignore file, as ripgrep takes them.
func FuzzIgnore(f *testing.F) {
	for _, s := range []string{
		"*.log\n!x.log", "/foo/", "foo/**\n!foo/b", "**/build", "a b\\ ", "[a-c]*", "{foo,src}/", "src/**/e", "\\!x\n\\#y", "!/a\n*", "foo/*/b/", "/**", "**", "*/", "[!a]", "[]a]", "a?b", "x\\", "*.{log,txt", "[", "[a-]", "[^a-]b",
	} {
		f.Add(s)
	}
	dir := f.TempDir()
	fuzz(f, func(t *testing.T, rules string) {
		if !plainASCII(rules) {
			t.Skip("? is a byte to ripgrep and a character here")
		}
		if err := os.WriteFile(filepath.Join(dir, ".ignore"), []byte(rules), 0o644); err != nil {
			t.Fatal(err)
		}
		got, _ := files(t, dir, Options{Hidden: true})
		if d := cmp.Diff(rgFiles(t, dir, "--hidden"), got); d != "" {
			t.Errorf("%q (-rg +ours):\n%s", rules, d)
		}
	}, dir)
}

// A fuzzed glob, as ripgrep's --glob takes it.
func FuzzGlob(f *testing.F) {
	for _, s := range []string{
		"*.txt", "foo/**", "**/b", "foo/**/c.log", "{a,b}*", "{foo/a,src}/**", "[!a-f]*", "a?b", "?", "**/a/**", "/foo/*", "*/b*", "[]x]", "{a,{b,c}}.txt", "\\{z\\}", "c\\,d", "foo/", "***", "a**", "**a/b", "{,a}", "{**/b,x}", "foo/**b", "[a-c-e]",
	} {
		f.Add(s)
	}
	dir := f.TempDir()
	fuzz(f, func(t *testing.T, pattern string) {
		if !plainASCII(pattern) || strings.ContainsAny(pattern, "\r\n") || strings.ContainsAny(pattern[:min(1, len(pattern))], "!#") || strings.HasSuffix(pattern, "/") || pattern != strings.TrimSpace(pattern) || strings.HasPrefix(pattern, "./") || strings.HasPrefix(pattern, "//") || pattern == "" {
			t.Skip("means another thing there")
		}
		c, err := CompileFilter(pattern, true)
		if err != nil {
			return
		}
		want := rgFiles(t, dir, "--hidden", "--no-ignore", "--glob="+pattern)
		got := []string{}
		all, _ := files(t, dir, Options{Hidden: true, NoIgnore: true})
		for _, p := range all {
			if c.Match(p) {
				got = append(got, p)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q (-rg +ours):\n%s", pattern, d)
		}
	}, dir)
}

// fuzz fills the tree and runs test.
func fuzz(f *testing.F, test func(*testing.T, string), dir string) {
	f.Helper()
	noConfig(f)
	for _, name := range fuzzTree {
		write(f, dir, name, "")
	}
	rgFiles(f, dir) // skips without rg
	f.Fuzz(test)
}

func plainASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 || s[i] < ' ' && s[i] != '\n' && s[i] != '\r' && s[i] != '\t' {
			return false
		}
	}
	return true
}
