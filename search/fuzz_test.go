package search

import (
	"bytes"
	"context"
	"testing"
)

// The sieves together find what the regular expression alone finds.
func FuzzMatcher(f *testing.F) {
	for _, p := range treePatterns {
		f.Add(p, "func foo(a *b) String() {\n\tfmt.Println(\"x\\n\") // TODO(me)\n}\nüber ß\r\n\nimport (", false, false)
	}
	f.Add(`\bber|\w+$`, "über\nbär x\r\nnil\n", true, false)
	f.Add(`$^`, "\na\n", false, true)
	f.Add("caf.", "caf\xe9 hello\ncafé\n", false, false)
	f.Fuzz(func(t *testing.T, pattern, text string, ignoreCase, word bool) {
		if len(pattern) > 200 || len(text) > 20_000 || pattern == "" || isBinary([]byte(text)) {
			return
		}
		p, err := compilePattern(&Query{Pattern: pattern, IgnoreCase: ignoreCase, Word: word})
		if err != nil {
			return
		}
		want := 0
		for line := range bytes.Lines([]byte(text)) {
			line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
			if start, _ := p.find(line, 0); start >= 0 {
				want++
			}
		}
		m := p.matcher(context.Background(), false)
		if got := m.count([]byte(text)); got != want {
			t.Errorf("%q in %q: %d lines, want %d", pattern, text, got, want)
		}
		if start, end := p.find([]byte(text), 0); start > end || end > len(text) {
			t.Errorf("%q: found %d to %d of %d bytes", pattern, start, end, len(text))
		}
	})
}

func FuzzWindow(f *testing.F) {
	f.Add("needle", bytes.Repeat([]byte("é needle "), 300))
	f.Add("^x|y$", bytes.Repeat([]byte("x\xff"), 5000))
	f.Fuzz(func(t *testing.T, pattern string, line []byte) {
		if len(pattern) > 100 || len(line) > 100_000 || pattern == "" || bytes.ContainsAny(line, "\n\x00") {
			return
		}
		p, err := compilePattern(&Query{Pattern: pattern})
		if err != nil {
			return
		}
		m := p.matcher(context.Background(), false)
		want, _ := p.find(line, 0)
		text, column, clipped := m.clip(line)
		if len(text) > longLine || clipped != (len(line) > longLine) {
			t.Errorf("%d bytes of %d, clipped %v", len(text), len(line), clipped)
		}
		if column != max(want, 0)+1 {
			t.Errorf("%q: column %d, the match is at byte %d of %d", pattern, column, want, len(line))
		}
	})
}
