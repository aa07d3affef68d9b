package applypatch

import (
	"fmt"
	"strings"
)

// Diff shows the plan as a unified diff, for people to read: a final newline
// that comes or goes isn't shown.
func (p *Plan) Diff() string {
	var b strings.Builder
	for i := range p.Files {
		p.Files[i].diff(&b)
	}
	return b.String()
}

func (f *File) diff(b *strings.Builder) {
	before, from, to := f.Old, "a/"+f.Path, "b/"+f.Path
	es := f.edits
	switch f.Op {
	case Add:
		from = "/dev/null"
		es = []edit{{add: newText(f.New).all()}}
	case Delete:
		to = "/dev/null"
		es = []edit{{n: newText(f.Old).lines()}}
	case Move:
		before, from = f.moved, "a/"+f.From
	}
	fmt.Fprintf(b, "--- %s\n+++ %s\n", from, to)
	t := newText(before)
	delta := 0
	for _, h := range t.windows(es) {
		first := delta
		var body strings.Builder
		at := h.lo
		for _, e := range h.edits {
			t.quoteLines(&body, ' ', at, e.line)
			t.quoteLines(&body, '-', e.line, e.line+e.n)
			for _, a := range e.add {
				body.WriteString("+" + a + "\n")
			}
			delta += len(e.add) - e.n
			at = e.line + e.n
		}
		t.quoteLines(&body, ' ', at, h.hi)
		old, now := h.hi-h.lo, h.hi-h.lo+delta-first
		fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n%s", h.lo+boolInt(old > 0), old, h.lo+first+boolInt(now > 0), now, body.String())
	}
}

func (t *text) all() []string {
	ls := make([]string, t.lines())
	for i := range ls {
		ls[i] = string(t.line(i))
	}
	return ls
}

func (t *text) quoteLines(b *strings.Builder, op byte, from, to int) {
	for i := from; i < to; i++ {
		b.WriteByte(op)
		b.Write(t.line(i))
		b.WriteByte('\n')
	}
}
