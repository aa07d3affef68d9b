package search

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// perlClass returns what \w, \d, \s and their opposites stand for in Unicode,
// as ranges to put into a class of Go's regexp, where they are ASCII only.
func perlClass(c byte) string { return perlClasses()[c] }

var perlClasses = sync.OnceValue(func() map[byte]string {
	// As Unicode's technical standard 18, annex C, defines them.
	word := []*unicode.RangeTable{
		unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic, unicode.Join_Control,
	}
	out := map[byte]string{}
	for c, tables := range map[byte][]*unicode.RangeTable{'w': word, 'd': {unicode.Nd}, 's': {unicode.White_Space}} {
		ranges := merge(tables)
		out[c] = classText(ranges)
		out[c-('a'-'A')] = classText(complement(ranges))
	}
	return out
})

type runes struct{ lo, hi rune }

func merge(tables []*unicode.RangeTable) []runes {
	var all []runes
	add := func(lo, hi, stride rune) {
		if stride == 1 {
			all = append(all, runes{lo, hi})
			return
		}
		for r := lo; r <= hi; r += stride {
			all = append(all, runes{r, r})
		}
	}
	for _, t := range tables {
		for _, r := range t.R16 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range t.R32 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	slices.SortFunc(all, func(a, b runes) int { return cmp.Compare(a.lo, b.lo) })
	var out []runes
	for _, r := range all {
		if n := len(out); n > 0 && r.lo <= out[n-1].hi+1 {
			out[n-1].hi = max(out[n-1].hi, r.hi)
			continue
		}
		out = append(out, r)
	}
	return out
}

func complement(ranges []runes) []runes {
	var out []runes
	next := rune(0)
	for _, r := range ranges {
		if r.lo > next {
			out = append(out, runes{next, r.lo - 1})
		}
		next = r.hi + 1
	}
	return append(out, runes{next, unicode.MaxRune})
}

func classText(ranges []runes) string {
	var b strings.Builder
	for _, r := range ranges {
		fmt.Fprintf(&b, `\x{%x}-\x{%x}`, r.lo, r.hi)
	}
	return b.String()
}

// isWord tells whether r is a word character, as \w has it.
func isWord(r rune) bool {
	if r < 0x80 {
		return r == '_' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z'
	}
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic, unicode.Join_Control)
}
