package applypatch

import (
	"bytes"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// anchored returns the lines of b's innermost anchor that stand below its outer
// ones: for each outer anchor the first inner one after it.
func (r *resolver) anchored(b *block) []int {
	var at []int
	for i, a := range b.Anchors {
		here := r.findAnchor(a)
		if i > 0 {
			var next []int
			for _, q := range at {
				if k := sort.SearchInts(here, q+1); k < len(here) && (len(next) == 0 || next[len(next)-1] != here[k]) {
					next = append(next, here[k])
				}
			}
			here = next
		}
		at = here
	}
	return at
}

// findAnchor returns the lines that equal the anchor but for white space, else
// the lines that contain it.
func (r *resolver) findAnchor(anchor string) (at []int) {
	k := newKey(anchor)
	for _, i := range r.occ(k.hash) {
		if k.like(r.line(int(i)), r.utf8()) < different {
			at = append(at, int(i))
		}
	}
	want := []byte(strings.TrimSpace(anchor))
	if len(at) > 0 || len(want) < 4 {
		return at
	}
	for pos := 0; ; {
		i := bytes.Index(r.b[pos:], want)
		if i < 0 {
			return at
		}
		pos += i + len(want)
		line := sort.Search(r.lines(), func(l int) bool { return r.offset(l+1) >= pos })
		if len(at) == 0 || at[len(at)-1] != line {
			at = append(at, line)
		}
	}
}

// underAnchor keeps the candidates that stand in what an anchor line opens.
func (r *resolver) underAnchor(b *block, ps []placement) []placement {
	anchors := r.anchored(b)
	return keep(ps, func(p *placement) bool {
		i := sort.Search(len(anchors), func(i int) bool { return anchors[i] >= p.end })
		return i > 0 && r.inScope(anchors[i-1], p.start)
	})
}

// inScope reports whether line p is still in what line q opens: no line between
// starts something new at q's indentation or left of it. In a flat stretch,
// where nothing is indented, everything below q is.
func (r *resolver) inScope(q, p int) bool {
	left := indentWidth(r.line(q))
	flat, out := true, false
	for i := q + 1; i < p && i < r.lines(); i++ {
		l := r.line(i)
		t := bytes.TrimLeft(l, lineSpace)
		if len(t) == 0 {
			continue
		}
		if indentWidth(l) > left {
			flat = false
		} else if c, _ := utf8.DecodeRune(t); unicode.IsLetter(c) || unicode.IsDigit(c) || c == '_' || c == '@' || c == '#' {
			out = true
		}
		if out && !flat {
			return false
		}
	}
	return true
}

// indentWidth counts a tab as one column: it is only compared within a file.
func indentWidth(l []byte) int { return len(l) - len(bytes.TrimLeft(l, " \t")) }
