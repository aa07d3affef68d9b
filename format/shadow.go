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
		if len(theirs) == 0 || len(ours) > 0 && ours[0].a1 < theirs[0].a0 {
			s := ours[0]
			ours = ours[1:]
			upTo(s.a0)
			b.WriteString(strings.Join(f.raw[s.b0:s.b1], ""))
			i, fi = s.a1, s.b1-s.a1
			continue
		}
		// What meets the next change is one with it.
		lo, hi, fd, pd := theirs[0].a0, theirs[0].a1, fi, pi
		for grown := true; grown; {
			grown = false
			for len(ours) > 0 && ours[0].a0 <= hi {
				lo, hi, fd = min(lo, ours[0].a0), max(hi, ours[0].a1), ours[0].b1-ours[0].a1
				ours, grown = ours[1:], true
			}
			for len(theirs) > 0 && theirs[0].a0 <= hi {
				hi, pd = max(hi, theirs[0].a1), theirs[0].b1-theirs[0].a1
				theirs, grown = theirs[1:], true
			}
		}
		upTo(lo)
		for _, l := range p.lines[lo+pi : hi+pd] {
			body, ended := strings.CutSuffix(l, "\n")
			b.WriteString(body)
			if ended {
				b.WriteString(f.eol)
			}
		}
		i, fi, pi = hi, fd, pd
	}
	upTo(len(w.lines))
	if f.bom {
		return []byte(bom + b.String())
	}
	return []byte(b.String())
}
