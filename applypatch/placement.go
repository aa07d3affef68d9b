package applypatch

import (
	"bytes"
	"slices"
	"strings"
)

// A Tier names the evidence that placed a chunk, strongest first.
type Tier string

// The tiers.
const (
	Exact        Tier = "exact"
	RightTrimmed Tier = "rtrim"
	Folded       Tier = "fold"
	LineNumbers  Tier = "line_numbers"
	Indented     Tier = "indent"
	Aligned      Tier = "aligned"
	StaleReplace Tier = "stale_replace"
)

// edit replaces n file lines from line on by authored lines.
type edit struct {
	line, n  int
	off, end int // the same in bytes
	add      []string
}

// placement is one place where a chunk could go, and what it would do there.
type placement struct {
	tier       Tier
	start, end int // the file lines that it was matched against
	edits      []edit
	score      float64
	notes      []string
	stale      [][2]string // deleted although different: patch text, file text
}

// firstEdit and lastEdit bound what the placement changes.
func (p *placement) firstEdit() int { return p.edits[0].line }

func (p *placement) lastEdit() int {
	e := p.edits[len(p.edits)-1]
	return e.line + e.n
}

// place builds the placement of b with its old lines at consecutive lines from p.
func (b *block) place(t *text, tier Tier, p int) placement {
	pl := placement{tier: tier, start: p, end: p, score: 1}
	var e *edit
	for _, l := range b.Lines {
		if l.Op == ' ' {
			e = nil
			pl.end++
			continue
		}
		if e == nil {
			pl.edits = append(pl.edits, edit{line: pl.end})
			e = &pl.edits[len(pl.edits)-1]
		}
		if l.Op == '-' {
			e.n++
			pl.end++
		} else {
			e.add = append(e.add, l.Text)
		}
	}
	pl.end = min(pl.end, t.lines())
	pl.locate(t)
	return pl
}

func (p *placement) locate(t *text) {
	if len(p.edits) == 0 { // only context: nothing to do, and it does it here
		p.edits = []edit{{line: p.start}}
	}
	for i := range p.edits {
		e := &p.edits[i]
		e.off, e.end = t.offset(e.line), t.offset(e.line+e.n)
	}
}

// sameEdits reports whether two placements do the same to the file.
func sameEdits(a, b *placement) bool {
	return slices.EqualFunc(a.edits, b.edits, func(x, y edit) bool {
		return x.line == y.line && x.n == y.n && slices.Equal(x.add, y.add)
	})
}

// finalNewline is what a patch says about the end of the file.
type finalNewline int8

const (
	keepNewline finalNewline = iota
	dropNewline
	addNewline
)

// apply returns the file with the edits made. They must be sorted and must not
// overlap. Lines outside them keep their bytes, terminators included; a new
// line takes the terminator of the line it replaces, else of the line above,
// else the file's first.
func (t *text) apply(edits []edit, fn finalNewline) []byte {
	size := len(t.b) + len(utf8BOM)
	for _, e := range edits {
		for _, a := range e.add {
			size += len(a) + 2
		}
	}
	out := make([]byte, 0, size)
	if t.bom {
		out = append(out, utf8BOM...)
	}
	head := len(out)
	first := t.firstEOL()
	pos := 0
	for _, e := range edits {
		out = append(out, t.b[pos:e.off]...)
		pos = e.end
		eol := first
		if e.off > 0 {
			if up := t.terminator(t.b[max(0, e.off-2):e.off]); up != "" {
				eol = up
			} else if len(e.add) > 0 {
				out = append(out, first...) // the line above was the last and had none
			}
		}
		old := t.b[e.off:e.end]
		for k, a := range e.add {
			if t.bom && e.off == 0 && k == 0 {
				a = strings.TrimPrefix(a, utf8BOM) // a patch may carry it for other appliers
			}
			own := ""
			if i := bytes.IndexByte(old, t.sep); i >= 0 {
				own = t.terminator(old[:i+1])
				old = old[i+1:]
			} else {
				old = nil
			}
			if own == "" {
				own = eol
			}
			out = append(append(out, a...), own...)
		}
	}
	out = append(out, t.b[pos:]...)
	return t.endLike(out, head, first, fn)
}

// endLike gives out the final newline that the file had, or that fn asks for.
func (t *text) endLike(out []byte, head int, first string, fn finalNewline) []byte {
	body := out[head:]
	if len(body) == 0 {
		return out
	}
	had := len(t.b) == 0 || t.b[len(t.b)-1] == t.sep
	end := t.terminator(body)
	switch want := had && fn != dropNewline || fn == addNewline; {
	case want && end == "":
		return append(out, first...)
	case !want:
		return out[:len(out)-len(end)]
	}
	return out
}
