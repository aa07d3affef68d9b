package format_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/whet-dev/whet/format"
)

// A corpus is real files that a formatter would change in many places.
type corpus struct {
	real   string // whose project it is
	files  string // glob
	edits  int
	spoil  bool // they are well formatted: spoil them first
	ending string
}

func TestPeerChangedLines(t *testing.T) {
	goroot := runtime.GOROOT()
	npm := filepath.Join(repo(t), ".peers", "node_modules")
	var done, verified int
	for _, c := range []corpus{
		{real: "gofmt", files: filepath.Join(goroot, "src/net/http/*.go"), edits: 230, spoil: true},
		{real: "shfmt", files: filepath.Join(goroot, "src/*.bash"), edits: 100},
		{real: "clang-format", files: "/usr/include/*.h", edits: 60},
		{real: "oxfmt", files: filepath.Join(npm, "*/*/*.js"), edits: 60},
		{real: "prettier", files: filepath.Join(npm, "*/*/*.js"), edits: 50},
		{real: "black", files: "/usr/lib/python3*/*.py", edits: 20},
	} {
		t.Run(c.real, func(t *testing.T) {
			d, v := c.run(t)
			t.Logf("%d of %d verified", v, d)
			done, verified = done+d, verified+v
		})
	}
	t.Logf("%d of %d one-line edits were verified", verified, done)
}

func repo(t *testing.T) string {
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(wd)
}

func (c corpus) run(t *testing.T) (done, verified int) {
	var r real
	for _, x := range reals {
		if x.name == c.real {
			r = x
		}
	}
	names, _ := filepath.Glob(c.files)
	rnd := rand.New(rand.NewPCG(1, 2))
	root, e := r.make(t, "")
	moved := 0
	for tries := 0; done < c.edits && tries < 5*c.edits; tries++ {
		b, err := os.ReadFile(names[rnd.IntN(len(names))])
		if err != nil || len(b) > 60000 || len(b) < 300 {
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
		o, err := e.Format(t.Context(), format.Edit{Root: root, Name: r.file, Before: []byte(before)})
		if failure := (*format.Failure)(nil); errors.As(err, &failure) {
			continue
		}
		if err == format.ErrSkipped {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		done++
		if o.Unverified {
			t.Logf("UNVERIFIED %s", diffOf(before, after))
			if get(t, root, r.file) != after {
				t.Fatal("unverified and yet written")
			}
			continue
		}
		verified++
		for _, l := range o.Lines {
			moved += l.Last - l.First + 1
		}
	}
	t.Logf("%d lines moved", moved)
	return done, verified
}

func diffOf(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range x {
		if i >= len(y) || x[i] != y[i] {
			return fmt.Sprintf("line %d: %q -> %q", i+1, x[i], y[min(i, len(y)-1)])
		}
	}
	return ""
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
