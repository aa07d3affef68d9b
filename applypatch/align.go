package applypatch

import (
	"cmp"
	"slices"
)

// The scores of the alignment. A line alike in all but white space counts a
// little less than an equal one; punctuation and blank lines count little.
const (
	scoreSkipContext = -1.0  // a context line of the patch that the file lacks
	scoreSkipBlank   = -0.2  // the same, blank
	scoreSkipFile    = -0.35 // a file line between that the patch lacks
	scoreSkipAtPlus  = -0.7  // the same where the patch inserts
	scoreSimilar     = 2.0   // times the similarity, for context only
	minSimilar       = 0.6   // below it two lines are different lines

	slack     = 12      // file lines looked at beyond the block's own length, each side
	maxBlock  = 400     // old lines in an aligned block
	maxSeeds  = 512     // places tried
	maxCells  = 8 << 20 // of the alignment tables
	rareLimit = 64      // a context line more frequent than this starts no search
)

var likeScore = [...]float64{same: 4, sameRight: 3.9, sameFold: 3.8, sameTrim: 3.5, sameBlind: 3.4, different: 0}

func (k *key) scale() float64 {
	switch {
	case k.trimmed == "":
		return 0.15
	case k.weight < 1:
		return 0.4
	case len(k.blind) < 3:
		return 0.8
	}
	return 1
}

// score is what a pair of lines is worth. Punctuation is told apart by its
// indentation alone: without it half is lost.
func (k *key) score(l likeness) float64 {
	if k.weight < 1 && k.trimmed != "" && l >= sameTrim {
		return 2 * k.scale()
	}
	return likeScore[l] * k.scale()
}

// alignment maps each old line of a block to a file line, or to -1.
type alignment struct {
	at    []int
	how   []likeness // different where the pair is only similar, or at is -1
	score float64
}

// aligner aligns one block with places in a file. Context lines may be missing,
// extra or changed a little; deletions must be there, and those of one run must
// stand together.
type aligner struct {
	r     *resolver
	b     *block
	stale bool // a deletion may meet a different line
	loose bool // a deletion may be missing: only to show the nearest place
	cells int

	score []float64 // (old lines + 1) x (window + 1)
	back  []byte
	pair  []float64 // old lines x window
	how   []likeness
	trim  []string // the window's lines, folded and trimmed, as needed
}

const (
	fromNone = iota
	fromSkipOld
	fromMatch
	fromSkipFile
)

const never = -1e9

// through returns the best alignment that puts old line j0 at file line p0.
func (a *aligner) through(j0, p0 int) (alignment, bool) {
	m := len(a.b.keys)
	lo, hi := max(0, p0-j0-slack), min(a.r.lines(), p0+(m-j0)+slack)
	w := hi - lo
	if a.cells += m * w; a.cells > maxCells {
		return alignment{}, false
	}
	a.pairs(lo, hi, j0, p0)
	a.fill(m, w, j0, p0-lo)
	row := a.score[m*(w+1) : (m+1)*(w+1)]
	e := 0
	for i := range row {
		if row[i] > row[e] {
			e = i
		}
	}
	if row[e] <= 0 {
		return alignment{}, false
	}
	al := alignment{at: make([]int, m), how: make([]likeness, m), score: row[e]}
	for i, j := e, m; j > 0; {
		switch a.back[j*(w+1)+i] {
		case fromMatch:
			i, j = i-1, j-1
			al.at[j], al.how[j] = lo+i, a.how[j*w+i]
		case fromSkipOld:
			j--
			al.at[j], al.how[j] = -1, different
		default:
			i--
		}
	}
	return al, true
}

// pairs scores every old line against every line of the window [lo, hi).
func (a *aligner) pairs(lo, hi, j0, p0 int) {
	m, w := len(a.b.keys), hi-lo
	a.pair = zeroed(a.pair, m*w)
	a.how = zeroed(a.how, m*w)
	a.trim = zeroed(a.trim, w)
	for j := range m {
		k := &a.b.keys[j]
		equal := false
		occ := a.r.occ(k.hash)
		first, _ := slices.BinarySearch(occ, int32(lo))
		for _, p := range occ[first:] {
			if int(p) >= hi {
				break
			}
			i := int(p) - lo
			if l := k.like(a.r.line(int(p)), true); l < different {
				a.pair[j*w+i], a.how[j*w+i] = k.score(l), l
				equal = true
			}
		}
		if equal || k.weight == 0 || a.b.del[j] && !a.stale && !a.loose {
			continue
		}
		a.similar(j, lo, w, p0-j0+j)
	}
}

// similar scores old line j against the window's lines near file line mid.
func (a *aligner) similar(j, lo, w, mid int) {
	k := &a.b.keys[j]
	for i := max(0, mid-slack-lo); i < min(w, mid+slack-lo+1); i++ {
		if a.trim[i] == "" {
			a.trim[i] = newKey(string(a.r.line(lo + i))).trimmed
		}
		q := dice(k.trimmed, a.trim[i])
		if q >= minSimilar || a.stale && a.b.del[j] {
			a.pair[j*w+i], a.how[j*w+i] = max(0.05, scoreSimilar*q*k.scale()), different
		}
	}
}

// fill computes the table; old line j0 (0-based) is pinned to window line i0.
func (a *aligner) fill(m, w, j0, i0 int) {
	a.score = zeroed(a.score, (m+1)*(w+1))
	a.back = zeroed(a.back, (m+1)*(w+1))
	for j := 1; j <= m; j++ {
		k := &a.b.keys[j-1]
		prev, row := a.score[(j-1)*(w+1):j*(w+1)], a.score[j*(w+1):(j+1)*(w+1)]
		back := a.back[j*(w+1):]
		skip := scoreSkipContext
		if k.trimmed == "" {
			skip = scoreSkipBlank
		}
		gap := a.b.gap(j)
		maySkip := (!a.b.del[j-1] || a.loose) && j-1 != j0
		for i := range row {
			best, from := float64(never), byte(fromNone)
			if maySkip && prev[i] > never/2 {
				best, from = prev[i]+skip, fromSkipOld
			}
			if i > 0 {
				if s := a.pair[(j-1)*w+i-1]; s > 0 && prev[i-1] > never/2 && prev[i-1]+s > best && (j-1 != j0 || i-1 == i0) {
					best, from = prev[i-1]+s, fromMatch
				}
				if gap > never && row[i-1] > never/2 && row[i-1]+gap > best {
					best, from = row[i-1]+gap, fromSkipFile
				}
			}
			row[i], back[i] = best, from
		}
	}
}

// gap is the cost of a file line between old lines j-1 and j.
func (b *block) gap(j int) float64 {
	switch {
	case j >= len(b.keys):
		return scoreSkipFile
	case b.del[j-1] && b.del[j]:
		return never
	case b.plus[j] && !b.del[j-1] && !b.del[j]:
		return scoreSkipAtPlus
	}
	return scoreSkipFile
}

func zeroed[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}

// seed is a pair of lines that an alignment must go through.
type seed struct{ old, file int }

// seeds returns the places to try. Every acceptable alignment goes through one:
// if the rarest deletion is rare enough its occurrences are all there is to try;
// else those of the rare context lines. left is the most that a place could
// score that goes through none of them.
func (a *aligner) seeds() (seeds []seed, left float64) {
	del := -1
	for j := range a.b.keys {
		if a.b.del[j] && a.b.keys[j].weight > 0 && (del < 0 || a.count(j) < a.count(del)) {
			del = j
		}
	}
	if del >= 0 && !a.stale && a.count(del) <= maxSeeds {
		for _, p := range a.r.occ(a.b.keys[del].hash) {
			seeds = append(seeds, seed{del, int(p)})
		}
		return seeds, 0
	}
	order := make([]int, 0, len(a.b.keys))
	for j := range a.b.keys {
		k := &a.b.keys[j]
		if k.weight > 0 && a.count(j) <= rareLimit {
			order = append(order, j)
		} else {
			left += likeScore[same] * k.scale()
		}
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(a.count(x), a.count(y)) })
	for _, j := range order {
		for _, p := range a.r.occ(a.b.keys[j].hash) {
			seeds = append(seeds, seed{j, int(p)})
		}
	}
	return seeds[:min(len(seeds), maxSeeds)], left
}

func (a *aligner) count(j int) int { return len(a.r.occ(a.b.keys[j].hash)) }

// best returns the distinct alignments, best first, and what a place that was
// never tried could score at most.
func (a *aligner) best() (als []alignment, left float64) {
	seeds, left := a.seeds()
	for _, s := range seeds {
		if slices.ContainsFunc(als, func(al alignment) bool { return al.at[s.old] == s.file }) {
			continue
		}
		if al, ok := a.through(s.old, s.file); ok && !slices.ContainsFunc(als, func(o alignment) bool { return slices.Equal(o.at, al.at) }) {
			als = append(als, al)
		}
	}
	slices.SortStableFunc(als, func(x, y alignment) int { return cmp.Compare(y.score, x.score) })
	return als, left
}
