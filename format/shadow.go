package format

import "strings"

// Rebase carries a change over formatting: patched was made from written, and
// meanwhile written has been formatted. The result has both. Where they meet,
// patched is taken: what the model wrote counts, and is formatted again.
func Rebase(written, formatted, patched []byte) []byte {
	w, f, p := read(written), read(formatted), read(patched)
	ours, theirs := exact(w.lines, f.lines), exact(w.lines, p.lines)
	var b strings.Builder
	i, fi, pi := 0, 0, 0 // the line of written that is next, and how far off the others are
	upTo := func(line int) {
		for ; i < line; i++ {
			b.WriteString(f.raw[i+fi])
		}
	}
	for len(ours) > 0 || len(theirs) > 0 {
		// The next change, and all that meet it, are one.
		var g span
		if len(theirs) == 0 || len(ours) > 0 && earlier(ours[0], theirs[0]) {
			g = ours[0]
		} else {
			g = theirs[0]
		}
		fd, pd, patch := fi, pi, false
		for grown := true; grown; {
			grown = false
			for len(ours) > 0 && meet(ours[0], g) {
				g, fd = g.with(ours[0]), ours[0].b1-ours[0].a1
				ours, grown = ours[1:], true
			}
			for len(theirs) > 0 && meet(theirs[0], g) {
				g, pd, patch = g.with(theirs[0]), theirs[0].b1-theirs[0].a1, true
				theirs, grown = theirs[1:], true
			}
		}
		upTo(g.a0)
		if patch {
			for _, l := range p.lines[g.a0+pi : g.a1+pd] {
				body, ended := strings.CutSuffix(l, "\n")
				b.WriteString(body)
				if ended {
					b.WriteString(f.eol)
				}
			}
		} else {
			b.WriteString(strings.Join(f.raw[g.a0+fi:g.a1+fd], ""))
		}
		i, fi, pi = g.a1, fd, pd
	}
	upTo(len(w.lines))
	if f.bom {
		return []byte(bom + b.String())
	}
	return []byte(b.String())
}

func earlier(x, y span) bool { return x.a0 < y.a0 || x.a0 == y.a0 && x.a1 <= y.a1 }

// meet reports whether two changes of one text are about the same lines, or
// insert at the same place.
func meet(x, y span) bool {
	if x.a0 == x.a1 && y.a0 == y.a1 {
		return x.a0 == y.a0
	}
	return x.a0 < y.a1 && y.a0 < x.a1
}

func (s span) with(o span) span { return span{a0: min(s.a0, o.a0), a1: max(s.a1, o.a1)} }
