package format

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func randomText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(12) {
		b.WriteString([]string{"", " ", "\t", "  "}[r.IntN(4)] + string(rune('a'+r.IntN(4))) + []string{"", " "}[r.IntN(2)] + []string{"\n", "\n", "\r\n"}[r.IntN(3)])
	}
	if r.IntN(3) == 0 {
		b.WriteString("end")
	}
	return b.String()
}

// Applying all differences gives the other text, by either way of comparing;
// applying none gives the same bytes.
func TestApply(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		a, b := randomText(r), randomText(r)
		now, want := read([]byte(a)), split(b)
		for _, ss := range [][]span{exact(now.lines, want), pieces(now.lines, want)} {
			got := now.apply(ss, want)
			if strings.Join(read(got).lines, "") != strings.Join(want, "") {
				t.Fatalf("%q to %q by %v: got %q", a, b, ss, got)
			}
		}
		if got := now.apply(nil, want); string(got) != a {
			t.Fatalf("%q with nothing applied: %q", a, got)
		}
	}
}

func TestLargeDiff(t *testing.T) {
	var a, b []string
	for i := range 20000 {
		a = append(a, strings.Repeat("x", i%97)+"\n")
		b = append(b, strings.Repeat("y", i%89)+"\n")
	}
	got := source{raw: a, lines: a, eol: "\n"}.apply(exact(a, b), b)
	if string(got) != strings.Join(b, "") {
		t.Error("not the other text")
	}
}

func TestRebase(t *testing.T) {
	for _, c := range []struct{ name, written, formatted, patched, want string }{
		{"apart", "a  b\nc\nd\n", "a b\nc\nd\n", "a  b\nc\nD\n", "a b\nc\nD\n"},
		{"the same line", "a  b\nc\n", "a b\nc\n", "a  B\nc\n", "a  B\nc\n"},
		{"lines joined by the formatter", "f(\n a,\n)\nx\ny\n", "f(a)\nx\ny\n", "f(\n a,\n)\nx\nz\n", "f(a)\nx\nz\n"},
		{"inside joined lines", "f(\n a,\n)\nx\n", "f(a)\nx\n", "f(\n b,\n)\nx\n", "f(\n b,\n)\nx\n"},
		{"lines inserted", "a\nb\nc\n", "a\n\nb\nc\n", "a\nb\nnew\nc\n", "a\n\nb\nnew\nc\n"},
		{"lines removed", "a  \nb\nc\n", "a\nb\nc\n", "a  \nc\n", "a\nc\n"},
		{"line ends of the file", "a  \r\nb\r\nc\r\n", "a\r\nb\r\nc\r\n", "a  \nb\nC\n", "a\r\nb\r\nC\r\n"},
		{"nothing formatted", "a\nb\n", "a\nb\n", "a\nc\n", "a\nc\n"},
		{"nothing patched", "a  \nb\n", "a\nb\n", "a  \nb\n", "a\nb\n"},
	} {
		if got := Rebase([]byte(c.written), []byte(c.formatted), []byte(c.patched)); string(got) != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// Whatever the texts: with no patch the formatted text comes out, and with no
// formatting the patched one; and a patch far from all formatting keeps both.
func TestRebaseProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	lf := func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
	for range 20000 {
		w, f, p := lf(randomText(r)), lf(randomText(r)), lf(randomText(r))
		if got := string(Rebase([]byte(w), []byte(f), []byte(w))); got != f {
			t.Fatalf("%q formatted as %q, no patch: got %q", w, f, got)
		}
		if got := string(Rebase([]byte(w), []byte(w), []byte(p))); got != p {
			t.Fatalf("%q patched to %q, no formatting: got %q", w, p, got)
		}
		const middle = "\n1\n2\n3\n"
		if got := string(Rebase([]byte(w+middle+"tail"), []byte(f+middle+"tail"), []byte(w+middle+p))); got != f+middle+p {
			t.Fatalf("%q formatted as %q, tail patched to %q: got %q", w, f, p, got)
		}
	}
}
