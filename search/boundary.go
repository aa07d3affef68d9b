package search

import (
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// Go's \b knows only ASCII words: in "über" it sees an edge after the ü, and
// \büber\b finds nothing. And Go's dot matches a byte that isn't UTF-8, where
// ripgrep's doesn't. For lines beyond ASCII where that matters, a copy of the
// text is searched, in which the edges of words are NUL bytes, which no text
// has, and bytes that aren't UTF-8 a character that no pattern takes. The
// pattern is changed to match: \b is a NUL, and every other character may have
// some before it. There are several at each edge, since \b\b may meet it twice.
// (After $ there is no edge left: $\b finds nothing in such a line.)

const (
	mark  = 0
	alien = '\ufffe' // by Unicode's word never a character
)

// strict returns the pattern whose classes don't take an alien.
func strict(re *syntax.Regexp) *syntax.Regexp {
	out := *re
	switch re.Op {
	case syntax.OpCharClass:
		out.Rune = without(alien, re.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		out.Op, out.Rune = syntax.OpCharClass, without(alien, []rune{0, utf8.MaxRune})
		if re.Op == syntax.OpAnyCharNotNL {
			out.Rune = without('\n', out.Rune)
		}
	}
	out.Sub = make([]*syntax.Regexp, len(re.Sub))
	for i, sub := range re.Sub {
		out.Sub[i] = strict(sub)
	}
	return &out
}

// without takes r out of the ranges of a class.
func without(r rune, ranges []rune) (out []rune) {
	for i := 0; i < len(ranges); i += 2 {
		lo, hi := ranges[i], ranges[i+1]
		if r < lo || r > hi {
			out = append(out, lo, hi)
			continue
		}
		if lo < r {
			out = append(out, lo, r-1)
		}
		if r < hi {
			out = append(out, r+1, hi)
		}
	}
	return out
}

// marks returns a strict pattern for text with marks.
func marks(re *syntax.Regexp) *syntax.Regexp {
	literal := func(r rune) *syntax.Regexp {
		return &syntax.Regexp{Op: syntax.OpLiteral, Rune: []rune{r}}
	}
	any := &syntax.Regexp{Op: syntax.OpStar, Sub: []*syntax.Regexp{literal(mark)}}
	after := func(char *syntax.Regexp) *syntax.Regexp {
		return &syntax.Regexp{Op: syntax.OpConcat, Sub: []*syntax.Regexp{any, char}}
	}
	out := *re
	switch re.Op {
	case syntax.OpWordBoundary:
		return literal(mark)
	case syntax.OpNoWordBoundary:
		return &syntax.Regexp{Op: syntax.OpEmptyMatch}
	case syntax.OpEndLine, syntax.OpEndText:
		return after(&out)
	case syntax.OpLiteral:
		all := &syntax.Regexp{Op: syntax.OpConcat}
		for _, r := range re.Rune {
			char := literal(r)
			char.Flags = re.Flags
			all.Sub = append(all.Sub, after(char))
		}
		return all
	case syntax.OpCharClass:
		out.Rune = without(mark, re.Rune)
		return after(&out)
	}
	out.Sub = make([]*syntax.Regexp, len(re.Sub))
	for i, sub := range re.Sub {
		out.Sub[i] = marks(sub)
	}
	return &out
}

// inMarked is in for text beyond ASCII.
func (p *pattern) inMarked(text []byte) func(from int) (start, end int) {
	re := p.re
	if p.marked != nil {
		re = p.marked
	}
	marked, origin := copyMarked(text, p.marked != nil)
	return func(from int) (start, end int) {
		first, _ := slices.BinarySearch(origin, from)
		m := re.FindSubmatchIndex(marked[first:])
		if m == nil {
			return -1, -1
		}
		return origin[first+m[2*p.group]], origin[first+m[2*p.group+1]]
	}
}

type textKind byte

const (
	offWord textKind = iota
	inWord
	neither // not UTF-8: no edge of a word beside it, as in ripgrep
)

func runeKind(r rune) textKind {
	if isWord(r) {
		return inWord
	}
	return offWord
}

// copyMarked copies text with an alien for every byte that isn't UTF-8 and, if
// edges is set, a mark at every edge of a word. Origin has for each byte of
// the copy, and its end, where it was in text.
func copyMarked(text []byte, edges bool) (marked []byte, origin []int) {
	put := func(at int, c byte) {
		marked = append(marked, c)
		origin = append(origin, at)
	}
	edge := func(at int) {
		for range 3 {
			put(at, mark)
		}
	}
	before := runeKind(' ')
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		kind := runeKind(r)
		if r == utf8.RuneError && n == 1 {
			kind, r = neither, alien
		}
		if edges && kind != before && kind != neither && before != neither {
			edge(i)
		}
		before = kind
		for j, c := range utf8.AppendRune(nil, r) {
			put(i+min(j, n-1), c)
		}
		i += n
	}
	if edges && before == inWord {
		edge(len(text))
	}
	return marked, append(origin, len(text))
}
