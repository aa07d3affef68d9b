package applypatch

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A driftLine is a line with an identity that survives edits of its text. The
// base file's lines are 0, 1, ...; inserted ones are negative.
type driftLine struct {
	id   int
	text string
}

// drift is one case: a hunk made from base, and the file as somebody else has
// changed it meanwhile.
type drift struct {
	chunk    Chunk
	file     []driftLine
	from, to int // the base lines that the hunk deletes
	add      []string
	stale    bool // somebody edited a line that the hunk deletes
}

// newDrift cuts a hunk out of base and lets one to four other edits happen,
// most of them in or beside the hunk.
func newDrift(rng *rand.Rand, base []string) drift {
	d := drift{}
	for i, l := range base {
		d.file = append(d.file, driftLine{i, l})
	}
	d.from = rng.IntN(len(base))
	d.to = min(len(base), d.from+rng.IntN(4))
	for range rng.IntN(4) {
		d.add = append(d.add, mutate(rng, base[rng.IntN(len(base))]))
	}
	if d.from == d.to && d.add == nil {
		d.add = []string{mutate(rng, base[d.from])}
	}
	lo, hi := max(0, d.from-1-rng.IntN(3)), min(len(base), d.to+rng.IntN(4))
	for i := lo; i < hi; i++ {
		op := byte(' ')
		if i >= d.from && i < d.to {
			op = '-'
		}
		if i == d.to {
			d.chunk.Lines = append(d.chunk.Lines, plus(d.add)...)
		}
		d.chunk.Lines = append(d.chunk.Lines, Line{Op: op, Text: base[i]})
	}
	if hi == d.to {
		d.chunk.Lines = append(d.chunk.Lines, plus(d.add)...)
	}
	for n := range 1 + rng.IntN(4) {
		i := rng.IntN(len(d.file))
		if rng.IntN(10) < 7 {
			i = min(len(d.file)-1, max(0, lo-2+rng.IntN(hi-lo+4)))
		}
		inHunk := d.file[i].id >= d.from && d.file[i].id < d.to
		switch rng.IntN(4) {
		case 0:
			d.file[i].text = mutate(rng, d.file[i].text)
			d.stale = d.stale || inHunk
		case 1:
			d.file = slices.Insert(d.file, i, driftLine{-1 - n, mutate(rng, base[rng.IntN(len(base))])})
		case 2:
			d.stale = d.stale || inHunk
			d.file = slices.Delete(d.file, i, i+1)
		case 3:
			d.file[i].text += " "
		}
		if len(d.file) == 0 {
			break
		}
	}
	return d
}

func plus(add []string) (ls []Line) {
	for _, a := range add {
		ls = append(ls, Line{Op: '+', Text: a})
	}
	return ls
}

// mutate changes a word of a line.
func mutate(rng *rand.Rand, l string) string {
	words := strings.Fields(l)
	if len(words) == 0 {
		return fmt.Sprintf("x%d := %d", rng.IntN(1000), rng.IntN(1000))
	}
	w := words[rng.IntN(len(words))]
	return strings.Replace(l, w, fmt.Sprintf("%sX%d", w, rng.IntN(100)), 1)
}

// truths are the right outcomes: the hunk's lines gone, its additions between
// the nearest base lines that survive around them, everything else as it is.
func (d *drift) truths() (all []string) {
	left := -1
	for i, l := range d.file {
		if l.id >= 0 && l.id < d.from {
			left = i
		}
	}
	right := len(d.file)
	for i := len(d.file) - 1; i > left; i-- {
		if d.file[i].id >= d.to {
			right = i
		}
	}
	for at := left + 1; at <= right; at++ {
		var b strings.Builder
		for i := 0; i <= len(d.file); i++ {
			if i == at {
				for _, a := range d.add {
					b.WriteString(a + "\n")
				}
			}
			if i < len(d.file) && (d.file[i].id < d.from || d.file[i].id >= d.to) {
				b.WriteString(d.file[i].text + "\n")
			}
		}
		all = append(all, b.String())
	}
	return all
}

// goFiles returns some of the Go tree's own files: real code, always there.
func goFiles(t *testing.T, n int) (all [][]string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("there is no go command to say where the Go tree is")
	}
	root := filepath.Join(strings.TrimSpace(string(out)), "src")
	var names []string
	_ = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(p, ".go") {
			names = append(names, p)
		}
		return nil
	})
	if len(names) == 0 {
		t.Skip("the Go tree's sources are not installed")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for len(all) < n {
		b, err := os.ReadFile(names[rng.IntN(len(names))])
		if err != nil {
			t.Fatal(err)
		}
		if len(b) < 100<<10 && len(b) > 500 && !strings.Contains(string(b), "\r") {
			all = append(all, strings.Split(strings.TrimSuffix(string(b), "\n"), "\n"))
		}
	}
	return all
}

// score counts a tier's outcomes.
type score struct{ right, wrong int }

func (s score) rate() float64 { return float64(s.wrong) / float64(max(1, s.right+s.wrong)) }

// TestDrift is the acceptance gate of the rescue under edits by others: mostly
// right, and wrong, where the evidence isn't byte-equal text, almost never.
func TestDrift(t *testing.T) {
	cases := 8000
	if testing.Short() {
		cases = 1500
	}
	// A bounded rescue may take a line that somebody put where the deleted one
	// was; that is what its name warns of.
	for stale, most := range map[string]float64{StaleSimilar: 0.01, StaleBounded: 0.06} {
		t.Run(stale, func(t *testing.T) {
			bases := goFiles(t, 400)
			rng := rand.New(rand.NewPCG(77, 5))
			tiers := map[Tier]*score{}
			refused := 0
			for range cases {
				d := newDrift(rng, bases[rng.IntN(len(bases))])
				var b strings.Builder
				for _, l := range d.file {
					b.WriteString(l.text + "\n")
				}
				tx := newText([]byte(b.String()))
				ps, err := resolve(tx, "f", []Chunk{d.chunk}, Options{Stale: stale})
				if err != nil {
					refused++
					continue
				}
				s := tiers[ps[0].tier]
				if s == nil {
					s = &score{}
					tiers[ps[0].tier] = s
				}
				if slices.Contains(d.truths(), string(tx.apply(edits(ps), keepNewline))) {
					s.right++
				} else if s.wrong++; os.Getenv("WHET_SHOW") != "" && ps[0].tier != Exact {
					t.Logf("%s %d-%d score %.2f\n%v\nfile:\n%v", ps[0].tier, ps[0].start, ps[0].end, ps[0].score, show(d.chunk), strings.Join(strings.Split(b.String(), "\n")[max(0, ps[0].start-3):ps[0].end+3], "\n"))
				}
			}
			right, wrong := 0, 0
			for tier, s := range tiers {
				t.Logf("%-14s right %5d wrong %4d  %.2f %%", tier, s.right, s.wrong, 100*s.rate())
				right, wrong = right+s.right, wrong+s.wrong
			}
			t.Logf("of %d: right %d, refused %d, wrong %d", cases, right, refused, wrong)
			get := func(tier Tier) score {
				if s := tiers[tier]; s != nil {
					return *s
				}
				return score{}
			}
			if testing.Short() {
				return // too few cases to judge rates by
			}
			if r := get(Aligned).rate(); r > 0.005 {
				t.Errorf("aligned is wrong in %.2f %%, at most 0.5 %% is allowed", 100*r)
			}
			if r := get(StaleReplace).rate(); r > most {
				t.Errorf("stale_replace is wrong in %.2f %%, at most %.0f %% is allowed", 100*r, 100*most)
			}
			if got := float64(right) / float64(cases); got < 0.70 {
				t.Errorf("%.1f %% right, want at least 70 %%", 100*got)
			}
		})
	}
}

func show(c Chunk) string {
	var b strings.Builder
	for _, l := range c.Lines {
		b.WriteString(string(l.Op) + l.Text + "\n")
	}
	return b.String()
}
