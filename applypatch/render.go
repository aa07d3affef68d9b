package applypatch

import (
	"bytes"
	"strings"
)

// A Dialect names the applier that a rendered patch is for.
type Dialect string

// The dialects. OpenCode has shipped three engines; any of them may stand
// behind its tool.
const (
	Codex        Dialect = "codex"
	OpenCodeV1   Dialect = "opencode-v1"
	OpenCodeCore Dialect = "opencode-core"
	OpenCodeNext Dialect = "opencode-next"
	OpenCode     Dialect = "opencode" // v1 and next
	AnyDialect   Dialect = "any"
)

// DialectOf returns the dialect of a host by its name; [AnyDialect] if unknown.
func DialectOf(host string) Dialect {
	switch d := Dialect(host); d {
	case Codex, OpenCodeV1, OpenCodeCore, OpenCodeNext, OpenCode:
		return d
	}
	return AnyDialect
}

const (
	contextLines = 3
	maxGrow      = 40 // more context than this isn't added for uniqueness alone
)

// render prints the plan canonically: one section a file, chunks with context
// that occurs once, no anchors, no end-of-file marks. noMove tells a move as a
// removal and an addition.
func (p *Plan) render(noMove bool) string {
	var b strings.Builder
	b.WriteString(beginMark + "\n")
	if p.env != "" {
		b.WriteString(envMark + " " + p.env + "\n")
	}
	for i := range p.Files {
		p.Files[i].render(&b, noMove)
	}
	b.WriteString(endMark)
	return b.String()
}

func (f *File) render(b *strings.Builder, noMove bool) {
	switch {
	case f.Op == Delete:
		b.WriteString(delMark + " " + f.Path + "\n")
	case f.Op == Add:
		f.renderAdd(b)
	case f.Op == Move && (noMove || len(f.moved) == 0):
		b.WriteString(delMark + " " + f.From + "\n")
		f.renderAdd(b)
	case f.Op == Move:
		b.WriteString(updMark + " " + f.From + "\n" + moveMark + " " + f.Path + "\n")
		f.renderChunks(b, f.moved)
	default:
		b.WriteString(updMark + " " + f.Path + "\n")
		f.renderChunks(b, f.Old)
	}
}

func (f *File) renderAdd(b *strings.Builder) {
	b.WriteString(addMark + " " + f.Path + "\n")
	t := newText(f.New)
	for i := range t.lines() {
		b.WriteString("+" + string(t.line(i)) + "\n")
	}
}

// hunk is one chunk of a rendering: old lines [lo, hi) and the edits in them.
type hunk struct {
	lo, hi int
	edits  []edit
}

func (f *File) renderChunks(b *strings.Builder, old []byte) {
	t, now := newText(old), newText(f.New)
	es := f.edits
	if t.bom && len(es) > 0 && es[0].line == 0 && es[0].n == 0 && t.lines() > 0 {
		// the mark stays first: the line that had it is written anew
		es = append([]edit{{n: 1, add: append(append([]string{}, es[0].add...), string(t.line(0)))}}, es[1:]...)
	}
	if len(es) == 0 { // only moved: some line must be there
		es = []edit{{}}
	}
	delta := 0
	for _, h := range t.hunks(es) {
		b.WriteString("@@\n")
		at := h.lo
		for _, e := range h.edits {
			t.renderContext(b, at, e.line)
			for i := e.line; i < e.line+e.n; i++ {
				t.renderLine(b, '-', i, string(t.line(i)))
			}
			for k, a := range e.add {
				now.renderLine(b, '+', e.line+delta+k, a)
			}
			delta += len(e.add) - e.n
			at = e.line + e.n
		}
		t.renderContext(b, at, h.hi)
	}
}

func (t *text) renderContext(b *strings.Builder, from, to int) {
	for i := from; i < to; i++ {
		l := string(t.line(i))
		if s := strings.TrimSpace(l); s == endMark || s == beginMark {
			// some appliers take the mark for syntax even as context
			t.renderLine(b, '-', i, l)
			t.renderLine(b, '+', i, l)
			continue
		}
		t.renderLine(b, ' ', i, l)
	}
}

// renderLine writes line i of t with its byte order mark and carriage return:
// the appliers that would lose them take them from the patch, the others strip
// them.
func (t *text) renderLine(b *strings.Builder, op byte, i int, l string) {
	b.WriteByte(op)
	if i == 0 && t.bom {
		b.WriteString(utf8BOM)
	}
	b.WriteString(l)
	if i < t.lines() && t.eol(i) == "\r\n" {
		b.WriteByte('\r')
	}
	b.WriteByte('\n')
}

// windows groups edits that share context.
func (t *text) windows(es []edit) (hs []hunk) {
	for _, e := range es {
		h := hunk{lo: max(0, e.line-contextLines), hi: min(t.lines(), e.line+e.n+contextLines), edits: []edit{e}}
		if n := len(hs); n > 0 && h.lo < hs[n-1].hi {
			hs[n-1] = hs[n-1].join(h)
			continue
		}
		hs = append(hs, h)
	}
	return hs
}

// hunks gives each window enough context to occur once.
func (t *text) hunks(es []edit) []hunk {
	hs := t.windows(es)
	for i := 0; i < len(hs); {
		lo, hi := 0, t.lines()
		if i > 0 {
			lo = hs[i-1].hi
		}
		if i+1 < len(hs) {
			hi = hs[i+1].lo
		}
		switch {
		case t.grow(&hs[i], lo, hi):
			i++
		case i+1 < len(hs):
			hs[i] = hs[i].join(hs[i+1])
			hs = append(hs[:i+1], hs[i+2:]...)
		case i > 0:
			hs[i-1] = hs[i-1].join(hs[i])
			hs = hs[:i]
			i--
		default: // the whole file
			hs[i].lo, hs[i].hi = 0, t.lines()
			i++
		}
	}
	return hs
}

func (h hunk) join(o hunk) hunk {
	return hunk{lo: h.lo, hi: o.hi, edits: append(h.edits, o.edits...)}
}

// grow widens h within [lo, hi) until its old lines occur once in the file; in
// the end it is enough that they don't occur between lo and h.
func (t *text) grow(h *hunk, lo, hi int) bool {
	for range maxGrow {
		if h.hi > h.lo && t.first(h, 0) && !t.again(h) {
			return true
		}
		if h.lo == lo && h.hi == hi {
			break
		}
		h.lo, h.hi = max(lo, h.lo-1), min(hi, h.hi+1)
	}
	return h.hi > h.lo && t.first(h, lo) || t.lines() == 0
}

// first reports whether h's lines are their own first occurrence from line lo on.
func (t *text) first(h *hunk, lo int) bool {
	return t.occurs(h, t.offset(lo)) == t.offset(h.lo)
}

func (t *text) again(h *hunk) bool { return t.occurs(h, t.offset(h.lo)+1) >= 0 }

// occurs is the offset of the first place from off on where h's lines stand.
func (t *text) occurs(h *hunk, off int) int {
	block := t.b[t.offset(h.lo):t.offset(h.hi)]
	block = block[:len(block)-len(t.terminator(block))]
	for off <= len(t.b) {
		i := bytes.Index(t.b[off:], block)
		if i < 0 {
			return -1
		}
		at := off + i
		end := at + len(block)
		if (at == 0 || t.b[at-1] == t.sep) && (end == len(t.b) || t.b[end] == t.sep || t.b[end] == '\r') {
			return at
		}
		off = at + 1
	}
	return -1
}
