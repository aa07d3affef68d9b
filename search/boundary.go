package search

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// Go's \b knows only ASCII words: in "über" it sees an edge after the ü, and
// \büber\b finds nothing. For lines beyond ASCII the edges are therefore
// written into a copy of the text as NUL bytes, which no text has, and the
// pattern is changed to match: \b is the NUL, and every other character may
// have one before it.

const mark = 0

// markedRegexp returns the pattern for text with marks.
func markedRegexp(body string) (*regexp.Regexp, error) {
	tree, err := parse(body)
	if err != nil {
		return nil, err
	}
	return regexp.Compile(marks(tree).String())
}

func marks(re *syntax.Regexp) *syntax.Regexp {
	literal := func(r rune) *syntax.Regexp {
		return &syntax.Regexp{Op: syntax.OpLiteral, Rune: []rune{r}}
	}
	optional := func() *syntax.Regexp {
		return &syntax.Regexp{Op: syntax.OpQuest, Sub: []*syntax.Regexp{literal(mark)}}
	}
	after := func(char *syntax.Regexp) *syntax.Regexp {
		return &syntax.Regexp{Op: syntax.OpConcat, Sub: []*syntax.Regexp{optional(), char}}
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
		out.Rune = withoutMark(re.Rune)
		return after(&out)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		class := &syntax.Regexp{Op: syntax.OpCharClass, Rune: []rune{mark + 1, utf8.MaxRune}}
		if re.Op == syntax.OpAnyCharNotNL {
			class.Rune = []rune{mark + 1, '\n' - 1, '\n' + 1, utf8.MaxRune}
		}
		return after(class)
	}
	out.Sub = nil
	for i, sub := range re.Sub {
		if i > 0 && sub.Op == syntax.OpWordBoundary && re.Sub[i-1].Op == syntax.OpWordBoundary {
			continue // one edge met twice
		}
		out.Sub = append(out.Sub, marks(sub))
	}
	return &out
}

func withoutMark(ranges []rune) []rune {
	if len(ranges) > 0 && ranges[0] == mark {
		ranges = slices.Clone(ranges)
		if ranges[0]++; ranges[0] > ranges[1] {
			ranges = ranges[2:]
		}
	}
	return ranges
}

// findMarked is find for text beyond ASCII.
func (p *pattern) findMarked(text []byte, from int) (start, end int) {
	marked, origin := markBoundaries(text)
	first := 0
	for first < len(origin)-1 && origin[first] < from {
		first++
	}
	m := p.marked.FindSubmatchIndex(marked[first:])
	if m == nil {
		return -1, -1
	}
	return origin[first+m[2*p.group]], origin[first+m[2*p.group+1]]
}

// markBoundaries copies text with a mark at every edge of a word. Origin has
// for each byte of the copy, and its end, where it was in text.
func markBoundaries(text []byte) (marked []byte, origin []int) {
	before := false
	put := func(at int, b ...byte) {
		for i, c := range b {
			marked = append(marked, c)
			origin = append(origin, at+i)
		}
	}
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if word := isWord(r); word != before {
			put(i, mark)
			before = word
		}
		put(i, text[i:i+n]...)
		i += n
	}
	if before {
		put(len(text), mark)
	}
	return marked, append(origin, len(text))
}
