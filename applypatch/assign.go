package applypatch

import (
	"bytes"
	"cmp"
	"slices"
)

const (
	maxAssignments = 16   // more ways than this to place a section's chunks are too many to compare
	maxPlaces      = 2000 // places of one chunk
)

func sortByStart(ps []placement) {
	slices.SortStableFunc(ps, func(a, b placement) int { return cmp.Compare(a.start, b.start) })
}

// assign picks one place for each chunk so that all stand in the patch's order
// without overlap. Several ways are fine if they give the same bytes.
func (r *resolver) assign(cands [][]placement) ([]placement, error) {
	for i, ps := range cands {
		if len(ps) > maxPlaces {
			return nil, r.ambiguous(r.blocks[i], ps)
		}
	}
	ways := inOrder(cands)
	switch {
	case len(ways) == 0:
		return r.outOfOrder(cands)
	case len(ways) == 1:
		return ways[0], nil
	case len(ways) > maxAssignments:
		return nil, r.ambiguousAmong(cands, ways)
	}
	want := r.apply(edits(ways[0]), keepNewline)
	for _, w := range ways[1:] {
		if !bytes.Equal(want, r.apply(edits(w), keepNewline)) {
			return nil, r.ambiguousAmong(cands, ways)
		}
	}
	return ways[0], nil
}

// edits returns all edits of placements that are in order.
func edits(ps []placement) (es []edit) {
	for i := range ps {
		es = append(es, ps[i].edits...)
	}
	slices.SortStableFunc(es, func(a, b edit) int { return cmp.Compare(a.line, b.line) })
	return es
}

// inOrder lists the ways to take one placement a chunk, each behind the one
// before; it stops soon after maxAssignments.
func inOrder(cands [][]placement) (ways [][]placement) {
	n := len(cands)
	// open[i][k]: can chunks i... be placed with chunk i at its k-th place?
	open := make([][]bool, n)
	for i := n - 1; i >= 0; i-- {
		open[i] = make([]bool, len(cands[i]))
		far := -1 // the last open place of the next chunk
		if i < n-1 {
			for k := range cands[i+1] {
				if open[i+1][k] {
					far = max(far, cands[i+1][k].firstEdit())
				}
			}
		}
		for k := range cands[i] {
			open[i][k] = i == n-1 || cands[i][k].lastEdit() <= far
		}
	}
	way := make([]placement, 0, n)
	var walk func(i, from int)
	walk = func(i, from int) {
		if i == n {
			ways = append(ways, slices.Clone(way))
			return
		}
		for k := range cands[i] {
			if p := cands[i][k]; open[i][k] && p.firstEdit() >= from && len(ways) <= maxAssignments {
				way = append(way, p)
				walk(i+1, p.lastEdit())
				way = way[:i]
			}
		}
	}
	walk(0, 0)
	return ways
}

// outOfOrder takes chunks that each have one place, wherever it is.
func (r *resolver) outOfOrder(cands [][]placement) ([]placement, error) {
	all := make([]placement, 0, len(cands))
	for i, ps := range cands {
		if len(ps) > 1 {
			return nil, r.ambiguous(r.blocks[i], ps)
		}
		p := ps[0]
		p.notes = append(p.notes, "reordered")
		all = append(all, p)
	}
	es := edits(all)
	for i := 1; i < len(es); i++ {
		if a, b := es[i-1], es[i]; a.line+a.n > b.line || a.line == b.line {
			return nil, r.overlap(all)
		}
	}
	return all, nil
}

func (r *resolver) overlap(all []placement) error {
	for i := range all {
		for j := range i {
			if all[i].firstEdit() < max(all[j].lastEdit(), all[j].firstEdit()+1) && all[j].firstEdit() < max(all[i].lastEdit(), all[i].firstEdit()+1) {
				return unverified(Overlap, r.at(r.blocks[i]), "it changes lines %d-%d, which chunk %d changes too", all[i].firstEdit()+1, all[i].lastEdit(), j+1)
			}
		}
	}
	return unverified(Overlap, At{Path: r.path}, "two chunks change the same lines")
}

// ambiguousAmong blames the first chunk that the ways place differently.
func (r *resolver) ambiguousAmong(cands, ways [][]placement) error {
	for i := range cands {
		var ps []placement
		for _, w := range ways {
			if !slices.ContainsFunc(ps, func(p placement) bool { return sameEdits(&p, &w[i]) }) {
				ps = append(ps, w[i])
			}
		}
		if len(ps) > 1 {
			return r.ambiguous(r.blocks[i], ps)
		}
	}
	return r.ambiguous(r.blocks[0], cands[0])
}
