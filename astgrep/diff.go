package astgrep

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/whet-dev/whet/internal/escape"
)

// around is how many unchanged lines a diff shows beside changed ones.
const around = 3

// Diff returns all changes as a unified diff.
func (r *Replacement) Diff() string {
	var b strings.Builder
	rest := r.all
	for _, e := range r.edits {
		n := 0
		for n < len(rest) && rest[n].Path == rest[0].Path {
			n++
		}
		fmt.Fprintf(&b, "--- a/%s\n+++ b/%s\n", escape.Text(rest[0].Path), escape.Text(rest[0].Path))
		diffFile(&b, e.Old, rest[:n])
		rest = rest[n:]
	}
	return b.String()
}

// A region is whole lines of a file and what they become.
type region struct {
	from, to int // lines, from 0; to is after the last
	text     string
}

func diffFile(b *strings.Builder, old []byte, changes []Change) {
	lines := bytes.SplitAfter(old, []byte("\n"))
	if last := len(lines) - 1; len(lines[last]) == 0 {
		lines = lines[:last]
	}
	regions := regionsOf(old, lines, changes)
	shift := 0 // lines that the file has grown by so far
	for len(regions) > 0 {
		n := 1
		for n < len(regions) && regions[n].from-regions[n-1].to <= 2*around {
			n++
		}
		shift += hunk(b, lines, regions[:n], shift)
		regions = regions[n:]
	}
}

// regionsOf joins the changes that touch the same lines.
func regionsOf(old []byte, lines [][]byte, changes []Change) (out []region) {
	starts := make([]int, len(lines)+1)
	for i, l := range lines {
		starts[i+1] = starts[i] + len(l)
	}
	line := 0
	for i := 0; i < len(changes); {
		for line+1 < len(lines) && starts[line+1] <= changes[i].Start {
			line++
		}
		r := region{from: line, to: line + 1}
		at := starts[line]
		var text strings.Builder
		for i < len(changes) && changes[i].Start < starts[r.to] || i < len(changes) && r.to == len(lines) {
			text.Write(old[at:changes[i].Start])
			text.WriteString(changes[i].New)
			at = changes[i].End
			for r.to < len(lines) && starts[r.to] < at {
				r.to++
			}
			i++
		}
		text.Write(old[at:starts[r.to]])
		r.text = text.String()
		line = r.to - 1
		out = append(out, r)
	}
	return out
}

// hunk prints regions that lie close together, and returns how many lines they
// add.
func hunk(b *strings.Builder, lines [][]byte, regions []region, shift int) (added int) {
	from, to := max(0, regions[0].from-around), min(len(lines), regions[len(regions)-1].to+around)
	var body strings.Builder
	put := func(mark byte, text string) {
		for l := range strings.Lines(text) {
			body.WriteByte(mark)
			body.WriteString(l)
			if !strings.HasSuffix(l, "\n") {
				body.WriteString("\n\\ No newline at end of file\n")
			}
		}
	}
	count := func(s string) int {
		n := strings.Count(s, "\n")
		if s != "" && !strings.HasSuffix(s, "\n") {
			n++
		}
		return n
	}
	join := func(from, to int) string { return string(bytes.Join(lines[from:to], nil)) }
	at := from
	for _, r := range regions {
		put(' ', join(at, r.from))
		put('-', join(r.from, r.to))
		put('+', r.text)
		added += count(r.text) - (r.to - r.from)
		at = r.to
	}
	put(' ', join(at, to))
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n%s", from+1, to-from, from+1+shift, to-from+added, body.String())
	return added
}
