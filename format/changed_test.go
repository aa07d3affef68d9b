package format_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/whet-dev/whet/format"
)

// A corpus is real files that a formatter would change in many places.
type corpus struct {
	real  string // whose project it is
	files string // glob
	edits int
	spoil bool // they are well formatted: spoil them first
}

// Of 500 one-line edits in badly formatted real files at least 98 in 100 can be
// formatted alone, and verified; the others are left as they are.
func TestPeerChangedLines(t *testing.T) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	goroot := strings.TrimSpace(string(out))
	npm := filepath.Join("..", ".peers", "node_modules")
	var done, verified atomic.Int64
	t.Cleanup(func() { // the corpora are worked on at the same time
		t.Logf("%d of %d one-line edits were verified", verified.Load(), done.Load())
		if verified.Load()*100 < done.Load()*98 {
			t.Errorf("only %d of %d one-line edits were verified, want 98 in 100", verified.Load(), done.Load())
		}
	})
	for _, c := range []corpus{
		{real: "gofmt", files: filepath.Join(goroot, "src/net/http/*.go"), edits: 310, spoil: true},
		{real: "shfmt", files: filepath.Join(goroot, "src/*.bash"), edits: 100},
		{real: "prettier", files: filepath.Join(npm, "*/*/*.js"), edits: 50},
		{real: "clang-format", files: "/usr/include/*.h", edits: 25},
		{real: "oxfmt", files: filepath.Join(npm, "*/*/*.js"), edits: 10},
		{real: "black", files: "/usr/lib/python3*/*.py", edits: 5},
	} {
		t.Run(c.real, func(t *testing.T) {
			t.Parallel()
			d, v := c.run(t)
			t.Logf("%d of %d", v, d)
			done.Add(int64(d))
			verified.Add(int64(v))
		})
	}
}

func (c corpus) run(t *testing.T) (done, verified int) {
	r := reals[slices.IndexFunc(reals, func(r real) bool { return r.name == c.real })]
	root, e := r.make(t, "")
	names, err := filepath.Glob(c.files)
	if err != nil || len(names) == 0 {
		t.Skipf("there are no files %s, %v", c.files, err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for tries := 0; done < c.edits && tries < 5*c.edits; tries++ {
		b, err := os.ReadFile(names[rnd.IntN(len(names))])
		if err != nil || len(b) > 24000 || len(b) < 300 {
			continue
		}
		before := string(b)
		if c.spoil {
			before = spoil(rnd, before)
		}
		after := edit(rnd, before)
		if after == before {
			continue
		}
		put(t, filepath.Join(root.Name(), r.file), after)
		job := format.Edit{Root: root, Name: r.file, Before: []byte(before), Check: true} // writing costs more than formatting
		o, err := e.Format(t.Context(), job)
		failure := (*format.Failure)(nil)
		switch {
		case errors.As(err, &failure) || errors.Is(err, format.ErrSkipped):
			continue // the edit broke the program, or there is nothing to format
		case err != nil:
			t.Fatal(err)
		}
		done++
		if !o.Unverified {
			verified++
			continue
		}
		job.Check = false
		if o, err = e.Format(t.Context(), job); err != nil || !o.Unverified {
			t.Fatalf("not verified and then %+v, %v", o, err)
		}
		if got := get(t, root, r.file); got != after {
			t.Fatalf("not verified, and yet written: %q", got)
		}
	}
	return done, verified
}

// spoil changes white space in many lines.
func spoil(rnd *rand.Rand, text string) string {
	lines := strings.Split(text, "\n")
	raw := false
	for i, l := range lines {
		if strings.Count(l, "`")%2 == 1 {
			raw = !raw
			continue
		}
		if raw || rnd.IntN(3) > 0 || strings.Contains(l, "`") || strings.HasPrefix(strings.TrimSpace(l), "//") || strings.Contains(l, "*/") || strings.Contains(l, "/*") {
			continue
		}
		switch rnd.IntN(3) {
		case 0:
			lines[i] = strings.Replace(l, "\t", "    ", 1)
		case 1:
			lines[i] = "  " + l
		case 2:
			if strings.Contains(l, " = ") {
				lines[i] = strings.Replace(l, " = ", "  =   ", 1)
			}
		}
	}
	return strings.Join(lines, "\n")
}

// edit changes one line.
func edit(rnd *rand.Rand, text string) string {
	lines := strings.Split(text, "\n")
	i := rnd.IntN(len(lines))
	l := lines[i]
	if strings.TrimSpace(l) == "" {
		return text
	}
	switch rnd.IntN(5) {
	case 0: // the line once more
		lines[i] = l + "\n" + l
	case 1: // a word longer
		w := strings.FieldsFunc(l, func(r rune) bool { return !(r >= 'a' && r <= 'z') })
		if len(w) > 0 {
			word := w[rnd.IntN(len(w))]
			lines[i] = strings.Replace(l, word, word+"Longer", 1)
		}
	case 2: // spaces
		lines[i] = strings.Replace(l, ", ", ",", 1)
	case 3:
		lines[i] = "   " + strings.TrimLeft(l, " \t")
	case 4:
		lines = append(lines[:i], lines[i+1:]...)
	}
	return strings.Join(lines, "\n")
}
