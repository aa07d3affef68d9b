package applypatch

// block is a chunk made ready for matching.
type block struct {
	*Chunk
	number int   // in its section, 1-based
	keys   []key // the old lines: context and deletions
	del    []bool
	plus   []bool // additions stand before this old line; one more than keys
	exact  bool   // has lines without a prefix: only a byte-equal place will do
}

func newBlock(c *Chunk, number int) *block {
	b := &block{Chunk: c, number: number, plus: []bool{false}}
	for _, l := range c.Lines {
		if l.Op != '+' {
			b.keys = append(b.keys, newKey(l.Text))
			b.del = append(b.del, l.Op == '-')
			b.plus = append(b.plus, false)
		} else {
			b.plus[len(b.plus)-1] = true
		}
		b.exact = b.exact || l.suspect
	}
	return b
}

// index knows where in a file the lines of some blocks occur.
type index struct {
	*text
	slot  map[uint64]int
	lists [][]int32
}

// occ returns the lines with the hash of a line of the blocks.
func (ix *index) occ(h uint64) []int32 {
	if k, ok := ix.slot[h]; ok {
		return ix.lists[k]
	}
	return nil
}

// newIndex finds every occurrence of the blocks' lines and anchors in one pass.
func newIndex(t *text, blocks []*block) *index {
	ix := &index{text: t, slot: map[uint64]int{}}
	var mask [1024]uint64 // a first, cheap no for most lines
	want := func(h uint64) {
		if _, ok := ix.slot[h]; !ok {
			ix.slot[h] = len(ix.slot)
			mask[h>>6&1023] |= 1 << (h & 63)
		}
	}
	for _, b := range blocks {
		for _, l := range b.Lines {
			want(hash([]byte(l.Text)))
		}
		for _, a := range b.Anchors {
			want(hash([]byte(a)))
		}
	}
	ix.lists = make([][]int32, len(ix.slot))
	starts := t.table()
	for i := range len(starts) - 1 {
		h := hash(t.b[starts[i]:starts[i+1]])
		if mask[h>>6&1023]>>(h&63)&1 == 0 {
			continue
		}
		if k, ok := ix.slot[h]; ok {
			ix.lists[k] = append(ix.lists[k], int32(i))
		}
	}
	return ix
}

// rarest is the first n old lines' line that occurs least, and where.
func (ix *index) rarest(b *block, n int) (j int, at []int32) {
	for i := range n {
		if o := ix.occ(b.keys[i].hash); i == 0 || len(o) < len(at) {
			j, at = i, o
		}
	}
	return j, at
}

// contiguous finds the places where the first n old lines stand together, and
// returns those that are alike at the best likeness that any of them reaches.
func (ix *index) contiguous(b *block, n int) (best likeness, at []int) {
	best = different
	if n == 0 {
		return best, nil
	}
	j, occ := ix.rarest(b, n)
	for _, o := range occ {
		p := int(o) - j
		if p < 0 || p+n > ix.lines() {
			continue
		}
		worst := same
		for k := 0; k < n && worst <= best && worst < sameBlind; k++ {
			worst = max(worst, b.keys[k].like(ix.line(p+k), ix.utf8()))
		}
		switch {
		case worst >= sameBlind || b.exact && worst > same:
		case worst < best:
			best, at = worst, append(at[:0], p)
		case worst == best:
			at = append(at, p)
		}
	}
	return best, at
}
