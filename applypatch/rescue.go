package applypatch

import (
	"fmt"
	"slices"
)

// The proof that an aligned place is the right one.
const (
	enough    = 0.55 // share of the block's own score that the place must reach
	marginMin = 1.0  // lead over the next place, at least
	marginOf  = 0.08 // and at least this share of the block's own score
)

func (b *block) fullScore() (s float64) {
	for j := range b.keys {
		s += likeScore[same] * b.keys[j].scale()
	}
	return s
}

// aligned places a block that is nowhere in one piece.
func (r *resolver) aligned(b *block) ([]placement, error) {
	if len(b.keys) > maxBlock {
		return nil, r.notFound(b, NotFound)
	}
	ps, err := r.align(&aligner{r: r, b: b})
	if err == nil || r.opt.Stale == StaleRefuse || CodeOf(err) == Ambiguous {
		return ps, err
	}
	if stale, serr := r.align(&aligner{r: r, b: b, stale: true}); serr == nil || CodeOf(serr) == Ambiguous {
		return stale, serr
	}
	return nil, err
}

func (r *resolver) align(a *aligner) ([]placement, error) {
	b := a.b
	als, left := a.best()
	full := b.fullScore()
	margin := max(marginMin, marginOf*full)
	if a.cells > maxCells || len(als) == 0 || als[0].score < enough*full {
		return nil, r.notFound(b, NotFound)
	}
	top := als[0].score
	var ps []placement // those without edits are rivals that can't be settled
	reason := ""
	for i := range als {
		if top-als[i].score >= margin {
			break
		}
		p, why := r.settle(a, &als[i])
		if i == 0 {
			reason = why
		}
		p.score = als[i].score / full
		if len(ps) == 0 || !sameEdits(&p, &ps[0]) || p.edits == nil {
			ps = append(ps, p)
		}
	}
	switch {
	case left > 0 && top-left < margin:
		return nil, r.notFound(b, Ambiguous)
	case len(ps) == 1 && reason != "":
		return nil, r.conflict(b, &als[0], reason)
	case len(ps) == 1:
		return r.restrict(b, ps), nil
	}
	sortByStart(ps)
	ps = r.restrict(b, ps) // what is left is for the assignment to decide
	if slices.ContainsFunc(ps, func(p placement) bool { return p.edits == nil }) {
		return nil, r.ambiguous(b, ps)
	}
	return ps, nil
}

// settle turns an alignment into edits; why names what is unproved.
func (r *resolver) settle(a *aligner, al *alignment) (p placement, why string) {
	p = placement{tier: Aligned, start: -1}
	for _, at := range al.at {
		if at >= 0 {
			if p.start < 0 {
				p.start = at
			}
			p.end = at + 1
		}
	}
	b := a.b
	if why := r.witnessed(b, al); why != "" {
		return p, why
	}
	if b, why = r.fitIndent(b, al); why != "" {
		return p, why
	}
	var es []edit
	old := 0
	for i := 0; i < len(b.Lines); {
		if b.Lines[i].Op == ' ' {
			old, i = old+1, i+1
			continue
		}
		run := run{first: old}
		for ; i < len(b.Lines) && b.Lines[i].Op != ' '; i++ {
			if b.Lines[i].Op == '-' {
				old++
				continue
			}
			run.add = append(run.add, b.Lines[i].Text)
		}
		run.last = old
		e, why := r.edit(a, al, run)
		if why != "" {
			return p, why
		}
		if a.stale {
			p.stale = append(p.stale, r.staleLines(b, al, run)...)
		}
		es = append(es, e)
	}
	p.edits = es
	if len(p.stale) > 0 {
		p.tier = StaleReplace
	}
	p.locate(r.text)
	return p, ""
}

// run is one run of deletions and additions: old lines [first, last) and what
// replaces them.
type run struct {
	first, last int
	add         []string
}

// edit places one run.
func (r *resolver) edit(a *aligner, al *alignment, u run) (edit, string) {
	left, right := -1, -1
	if u.first > 0 {
		left = al.at[u.first-1]
	}
	if u.last < len(al.at) {
		right = al.at[u.last]
	}
	e := edit{add: u.add, n: u.last - u.first}
	if e.n > 0 {
		e.line = al.at[u.first]
		if a.stale && !r.staleAllowed(a.b, al, u) {
			return e, "the lines to delete are not in the file as the patch has them"
		}
		telling := slices.ContainsFunc(a.b.keys[u.first:u.last], func(k key) bool { return k.weight == 1 })
		if !telling && (u.first > 0 && left != e.line-1 || u.last < len(al.at) && right != e.line+e.n) {
			return e, "it deletes lines that say nothing, and the lines beside them differ"
		}
		return e, ""
	}
	switch {
	case left >= 0 && right >= 0:
		if right != left+1 {
			return e, "the file has other lines where the patch inserts"
		}
		e.line = right
	case left >= 0 && r.oneSided(a.b, al, u.first-1, u.last == len(al.at)):
		e.line = left + 1
	case right >= 0 && r.oneSided(a.b, al, u.last, u.first == 0):
		e.line = right
	default:
		return e, "the lines around the insertion are not in the file"
	}
	return e, ""
}

// oneSided reports whether old line j alone proves an insertion beside it: it is
// a telling line of the file, or the patch too has nothing on the other side
// and there the file ends (or begins).
func (r *resolver) oneSided(b *block, al *alignment, j int, edge bool) bool {
	if al.how[j] < different && b.keys[j].weight == 1 {
		return true
	}
	return !edge || r.blankFrom(al.at[j]+1) || al.at[j] == 0
}

// witnessed demands evidence that can't be chance: enough telling lines, none of
// them standing, once, somewhere else, and where the block isn't in one piece a
// line that the file has only once at a fixed distance from every change.
func (r *resolver) witnessed(b *block, al *alignment) string {
	const least = 2
	sum, unique, first, last := 0.0, false, -1, -1
	broken := false
	for j, at := range al.at {
		k := &b.keys[j]
		switch {
		case r.elsewhere(b, al, j):
			return fmt.Sprintf("line %d of the file speaks for another place", r.occ(k.hash)[0]+1)
		case at < 0:
			broken = broken || k.weight == 1
			continue
		case al.how[j] == different:
			sum += k.weight / 2
			broken = broken || k.weight == 1
		default:
			sum += k.weight
			unique = unique || r.once(k)
		}
		broken = broken || last >= 0 && at != last+1
		if first < 0 {
			first = at
		}
		last = at
	}
	anchored := len(b.Anchors) > 0 && slices.ContainsFunc(r.anchored(b), func(q int) bool { return q <= first && r.inScope(q, first) })
	if sum += float64(boolInt(unique) + boolInt(anchored)); sum < least {
		return "too few of its lines are in the file to be sure of the place"
	}
	if broken && !r.fixed(b, al, anchored) {
		return "lines of it are missing or others stand between, and none near the change is in the file only once"
	}
	return ""
}

// once reports whether k is a telling line that the file has only once.
func (r *resolver) once(k *key) bool { return k.weight == 1 && len(r.occ(k.hash)) == 1 }

// elsewhere reports whether old line j isn't where al puts the block but, once,
// far from it.
func (r *resolver) elsewhere(b *block, al *alignment, j int) bool {
	const distinctive = 10 // shorter lines are unique by chance
	if !r.once(&b.keys[j]) || len(b.keys[j].blind) < distinctive || al.at[j] >= 0 && al.how[j] < different {
		return false
	}
	there := int(r.occ(b.keys[j].hash)[0])
	for i, at := range al.at {
		if at >= 0 && abs(at-there) <= slack+abs(i-j) {
			return false
		}
	}
	return true
}

// fixed reports whether each run of changes has a witness on its diagonal.
func (r *resolver) fixed(b *block, al *alignment, anchored bool) bool {
	for j := 0; j <= len(b.keys); j++ {
		change := b.plus[j] || j < len(b.keys) && b.del[j]
		if !change {
			continue
		}
		if !(j < len(b.keys) && r.witness(b, al, j, anchored)) && !(j > 0 && r.witness(b, al, j-1, anchored)) {
			return false
		}
	}
	return true
}

// witness reports whether a unique line, or under the anchor a
// telling line's worth, stands on the diagonal of old line j.
func (r *resolver) witness(b *block, al *alignment, j int, anchored bool) bool {
	if al.at[j] < 0 {
		return false
	}
	sum := 0.0
	for i, at := range al.at {
		if at < 0 || at-i != al.at[j]-j || al.how[i] == different {
			continue
		}
		if sum += b.keys[i].weight; r.once(&b.keys[i]) || anchored && sum >= 1 {
			return true
		}
	}
	return false
}

// fitIndent decides what indentation the additions get: their own, unless the
// lines around show that the patch lost its indentation by one rule.
func (r *resolver) fitIndent(b *block, al *alignment) (*block, string) {
	const lost = "its indentation differs from the file's in a way that leaves that of the new lines open"
	var pairs [][2]string
	off, delOff, delOn := false, false, false
	for j, at := range al.at {
		if at < 0 || b.keys[j].trimmed == "" || al.how[j] == different {
			continue
		}
		p := [2]string{indentation(b.keys[j].raw), indentation(string(r.line(at)))}
		pairs = append(pairs, p)
		off = off || p[0] != p[1]
		if b.del[j] {
			delOff = delOff || p[0] != p[1]
			delOn = delOn || p[0] == p[1] && (p[0] != "" || b.flat())
		}
	}
	if !off || len(b.Lines) == len(b.keys) || delOn && !delOff {
		return b, ""
	}
	if rule, ok := findReindent(pairs); ok && r.opt.Indent != "off" && len(pairs) > 1 {
		if nb, ok := rule.convert(b); ok {
			return nb, ""
		}
		return nil, lost
	}
	if delOff || !b.flat() {
		return nil, lost
	}
	return b, ""
}

// staleAllowed decides whether deletions that differ from the file may go: only
// between lines that match directly on both sides, and alike on the whole.
func (r *resolver) staleAllowed(b *block, al *alignment, u run) bool {
	const maxStale, minAlike, minLength = 8, 0.75, 8
	n, sum := 0, 0.0
	for j := u.first; j < u.last; j++ {
		if al.how[j] < different {
			continue
		}
		k := &b.keys[j]
		if k.weight == 1 && len(r.occ(k.hash)) > 0 {
			return false // it is somewhere else
		}
		if !al.beside(j, -1) || !al.beside(j, 1) {
			return false
		}
		n++
		if len(k.trimmed) >= minLength { // shorter lines are alike by chance
			sum += dice(k.trimmed, newKey(string(r.line(al.at[j]))).trimmed)
		}
	}
	switch {
	case n == 0 || n <= maxStale && sum/float64(n) >= minAlike:
		return true
	case n > 1 || r.opt.Stale != StaleBounded:
		return false
	}
	j := u.first
	for al.how[j] < different {
		j++
	}
	sure := func(j int) bool { return b.keys[j].weight == 1 && len(r.occ(b.keys[j].hash)) == 1 }
	return sure(j-1) && sure(j+1)
}

// beside reports whether the nearest old line on one side of the different
// lines around j matches, with no file line between.
func (al *alignment) beside(j, step int) bool {
	for i := j + step; i >= 0 && i < len(al.at); i += step {
		if al.at[i] != al.at[i-step]+step {
			return false
		}
		if al.how[i] < different {
			return true
		}
	}
	return false
}

func (r *resolver) staleLines(b *block, al *alignment, u run) (ls [][2]string) {
	for j := u.first; j < u.last; j++ {
		if al.how[j] == different {
			ls = append(ls, [2]string{b.keys[j].raw, string(r.line(al.at[j]))})
		}
	}
	return ls
}
