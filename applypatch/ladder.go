package applypatch

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// resolver finds the chunks of one section in one file.
type resolver struct {
	*index
	opt    Options
	path   string
	blocks []*block
}

// resolve returns the edits that the chunks make, sorted.
func resolve(t *text, path string, chunks []Chunk, opt Options) ([]placement, error) {
	r := &resolver{opt: opt, path: path}
	for i := range chunks {
		r.blocks = append(r.blocks, newBlock(&chunks[i], i+1))
	}
	if ps := quick(t, r.blocks); ps != nil {
		return ps, nil
	}
	r.index = newIndex(t, r.blocks)
	cands := make([][]placement, len(r.blocks))
	for i, b := range r.blocks {
		var err error
		if cands[i], err = r.candidates(b); err != nil {
			return nil, err
		}
	}
	return r.assign(cands)
}

func (r *resolver) at(b *block) At {
	return At{Path: r.path, Chunk: b.number, Chunks: len(r.blocks), PatchLine: b.At}
}

// candidates are the places where b may go, by the strongest evidence there is.
func (r *resolver) candidates(b *block) ([]placement, error) {
	if len(b.keys) == 0 {
		return r.insertion(b)
	}
	n := len(b.keys)
	like, at := r.contiguous(b, n)
	if like > sameFold && b.keys[n-1].raw == "" && !b.del[n-1] && n > 1 {
		// an empty line at the end is more often sloppy than meant
		if l, a := r.contiguous(b, n-1); l <= sameFold {
			like, at, b = l, a, b.withoutLast()
		}
	}
	if like <= sameFold {
		ps := r.restrict(b, r.placeAll(b, tierOf(like), at))
		if b.says() < 1 && slices.Contains(ps[0].notes, anchorIgnored) {
			return nil, r.notFound(b, NotFound) // punctuation alone, against the anchor
		}
		return ps, nil
	}
	if b.exact {
		return nil, r.suspect(b)
	}
	if r.utf8() && len(r.b) <= maxRescue {
		if ps := r.numbered(b); ps != nil {
			return ps, nil
		}
		if like == sameTrim && b.says() >= 2 && r.opt.Indent != "off" {
			if ps := r.indented(b, at); ps != nil {
				return r.restrict(b, ps), nil
			}
		}
		return r.aligned(b)
	}
	return nil, r.notFound(b, NotFound)
}

// withoutLast is b without its last old line.
func (b *block) withoutLast() *block {
	c := *b.Chunk
	c.Lines = slices.Clone(b.Lines)
	i := len(c.Lines) - 1
	for c.Lines[i].Op == '+' {
		i--
	}
	c.Lines = slices.Delete(c.Lines, i, i+1)
	return newBlock(&c, b.number)
}

const anchorIgnored = "anchor_ignored"

// says is how much the old lines tell.
func (b *block) says() (w float64) {
	for i := range b.keys {
		w += b.keys[i].weight
	}
	return w
}

const maxRescue = 64 << 20 // bytes; bigger files are matched exactly or not at all

func tierOf(l likeness) Tier {
	switch l {
	case same:
		return Exact
	case sameRight:
		return RightTrimmed
	}
	return Folded
}

func (r *resolver) placeAll(b *block, tier Tier, at []int) []placement {
	ps := make([]placement, len(at))
	for i, p := range at {
		ps[i] = b.place(r.text, tier, p)
	}
	return ps
}

// suspect is the error for a line without a prefix that the file doesn't have.
func (r *resolver) suspect(b *block) error {
	for _, l := range b.Lines {
		if l.suspect {
			e := invalid(UnexpectedLine, l.At, "%s has no space, - or + before it and isn't a line of the file there", quote(l.Text))
			e.At.Path, e.At.Chunk, e.At.Chunks = r.path, b.number, len(r.blocks)
			return e
		}
	}
	return nil
}

var lineNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*(\d+)(?:\||:|→|\t) ?`) })

// numbered matches a chunk whose lines were copied from a listing with line
// numbers. Every old line must have one, rising by one.
func (r *resolver) numbered(b *block) []placement {
	if len(b.keys) < 2 {
		return nil
	}
	c := *b.Chunk
	c.Lines = nil
	prev, adds, stripped := 0, 0, 0
	for _, l := range b.Lines {
		m := lineNumber().FindStringSubmatch(l.Text)
		if l.Op != '+' {
			n := 0
			if m != nil {
				n = atoi(m[1])
			}
			if m == nil || prev > 0 && n != prev+1 {
				return nil
			}
			prev = n
		} else if adds++; m != nil {
			stripped++
		}
		c.Lines = append(c.Lines, l)
	}
	if stripped != 0 && stripped != adds {
		return nil
	}
	for i, l := range c.Lines {
		if l.Op != '+' || stripped > 0 {
			c.Lines[i].Text = l.Text[len(lineNumber().FindString(l.Text)):]
		}
	}
	nb := newBlock(&c, b.number)
	ix := newIndex(r.text, []*block{nb})
	if like, at := ix.contiguous(nb, len(nb.keys)); like <= sameFold && len(at) == 1 {
		return r.placeAll(nb, LineNumbers, at)
	}
	return nil
}

func atoi(s string) (n int) {
	for i := 0; i < len(s) && n < 1<<30; i++ {
		n = n*10 + int(s[i]-'0')
	}
	return n
}

// insertion places a chunk of additions alone: after its anchor, else at the end.
func (r *resolver) insertion(b *block) ([]placement, error) {
	at := []int{r.lines()}
	switch {
	case b.EOF:
	case len(b.Anchors) > 0:
		at = nil
		for _, q := range r.anchored(b) {
			at = append(at, q+1)
		}
		if len(at) == 0 {
			return nil, r.notFound(b, NotFound)
		}
	case b.Unified && b.Hint != r.lines():
		return nil, r.notFound(b, NotFound)
	}
	return r.placeAll(b, Exact, at), nil
}

// restrict drops the candidates that anchors, end-of-file mark or line number
// speak against. They choose among places but never veto the last one.
func (r *resolver) restrict(b *block, ps []placement) []placement {
	if b.EOF {
		if end := keep(ps, func(p *placement) bool { return r.blankFrom(p.end) }); len(end) > 0 {
			ps = end
		} else if len(ps) == 1 {
			ps[0].notes = append(ps[0].notes, "end_of_file_ignored")
		}
	}
	if len(b.Anchors) > 0 && len(ps) > 0 {
		if in := r.underAnchor(b, ps); len(in) > 0 {
			ps = in
		} else if len(ps) == 1 {
			ps[0].notes = append(ps[0].notes, anchorIgnored)
		}
	}
	if len(ps) > 1 && b.Hint > 0 && ps[0].tier == Exact {
		hit := keep(ps, func(p *placement) bool { return p.start == b.Hint-1 })
		near := keep(ps, func(p *placement) bool { return abs(p.start-(b.Hint-1)) <= 3 })
		if len(hit) == 1 && len(near) == 1 {
			return hit
		}
	}
	return ps
}

func abs(n int) int { return max(n, -n) }

func keep(ps []placement, ok func(*placement) bool) (kept []placement) {
	for i := range ps {
		if ok(&ps[i]) {
			kept = append(kept, ps[i])
		}
	}
	return kept
}

// blankFrom reports whether only blank lines follow from line i on.
func (r *resolver) blankFrom(i int) bool {
	for ; i < r.lines(); i++ {
		if strings.TrimSpace(string(r.line(i))) != "" {
			return false
		}
	}
	return true
}
