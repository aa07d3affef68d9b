package search

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// An automaton finds lines that may match, at a few hundred megabytes a
// second. It is a deterministic automaton over bytes, built as text asks for
// its states from the program that package regexp would run.
//
// It never misses a line that matches, and is exact for ASCII text. Beyond
// ASCII it takes a character for any run of high bytes and any place for the
// edge of a word, which keeps it small; the caller looks again at such lines.
// It is for one goroutine.
type automaton struct {
	prog   *syntax.Prog
	class  [256]uint8 // bytes that no instruction tells apart share a class
	stride int        // classes
	high   []bool     // by instruction: takes characters beyond ASCII
	edges  bool       // some instruction asks for the edge of a word

	next   []int32 // by state*stride+class: the state to go to, times stride
	states []autoState
	index  map[string]int32
	start  int32 // the state at the start of a line

	mark  []uint32 // by instruction: the round that last met it
	round uint32
	stack []uint32

	steps     int
	cancelled func() bool // then scan may return anything, soon
}

// An autoState is the instructions that may come next, and what the last byte
// was, which decides on the edges of words.
type autoState struct {
	insts []uint32
	last  byteKind
	start bool // no byte of the line has been read
}

type byteKind byte

const (
	other byteKind = iota
	wordByte
	highByte // part of a character beyond ASCII, of either kind
)

func kindOf(c byte) byteKind {
	switch {
	case c >= utf8.RuneSelf:
		return highByte
	case isWord(rune(c)):
		return wordByte
	}
	return other
}

// The values in next that aren't states.
const (
	unknown = -1
	found   = -2 // the line may match; nothing more need be read of it
)

const maxStates = 4000 // then all are forgotten; bounds the memory to some MB

func newAutomaton(prog *syntax.Prog, cancelled func() bool) *automaton {
	a := &automaton{prog: prog, cancelled: cancelled, high: make([]bool, len(prog.Inst)), mark: make([]uint32, len(prog.Inst))}
	a.classify()
	a.reset()
	return a
}

// classify finds which bytes the instructions tell apart.
func (a *automaton) classify() {
	var edge [257]bool // a class begins at this byte
	edge[0], edge['\n'], edge['\n'+1], edge['\r'], edge['\r'+1], edge[utf8.RuneSelf] = true, true, true, true, true, true
	for b := byte(1); b < utf8.RuneSelf; b++ {
		if kindOf(b) != kindOf(b-1) {
			edge[b] = true
		}
	}
	for i := range a.prog.Inst {
		in := &a.prog.Inst[i]
		if in.Op == syntax.InstEmptyWidth && syntax.EmptyOp(in.Arg)&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0 {
			a.edges = true
		}
		if !takesRune(in) {
			continue
		}
		taken := false
		for b := range rune(utf8.RuneSelf) {
			if now := takes(in, b); now != taken {
				edge[b], taken = true, now
			}
		}
		a.high[i] = takesHigh(in)
	}
	n := -1
	for b := range 256 {
		if edge[b] {
			n++
		}
		a.class[b] = uint8(n)
	}
	a.stride = n + 1
}

func takesRune(in *syntax.Inst) bool {
	switch in.Op {
	case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return true
	}
	return false
}

func takes(in *syntax.Inst, r rune) bool {
	switch in.Op {
	case syntax.InstRuneAny:
		return true
	case syntax.InstRuneAnyNotNL:
		return r != '\n'
	}
	return in.MatchRune(r)
}

func takesHigh(in *syntax.Inst) bool {
	if in.Op == syntax.InstRuneAny || in.Op == syntax.InstRuneAnyNotNL {
		return true
	}
	if len(in.Rune) == 1 && syntax.Flags(in.Arg)&syntax.FoldCase != 0 {
		return true // k and s fold to characters beyond ASCII
	}
	return in.Rune[len(in.Rune)-1] >= utf8.RuneSelf
}

func (a *automaton) reset() {
	a.next, a.states, a.index = a.next[:0], a.states[:0], map[string]int32{}
	a.begin()
	a.follow(uint32(a.prog.Start), syntax.EmptyBeginLine)
	a.start = a.state(other, true)
}

func (a *automaton) begin() {
	a.round++
	a.stack = a.stack[:0]
}

// follow adds to the stack the instructions that are reached from pc without
// reading, where cond holds.
func (a *automaton) follow(pc uint32, cond syntax.EmptyOp) {
	todo := []uint32{pc}
	for len(todo) > 0 {
		pc = todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if a.mark[pc] == a.round {
			continue
		}
		a.mark[pc] = a.round
		switch in := &a.prog.Inst[pc]; in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			todo = append(todo, in.Arg, in.Out)
		case syntax.InstNop, syntax.InstCapture:
			todo = append(todo, in.Out)
		case syntax.InstEmptyWidth:
			a.stack = append(a.stack, pc) // the next byte may fulfil it yet
			if holds(syntax.EmptyOp(in.Arg), cond) {
				todo = append(todo, in.Out)
			}
		case syntax.InstFail:
		default:
			a.stack = append(a.stack, pc)
		}
	}
}

// holds tells whether all of want is in cond. Begin and end of the text are
// those of a line, since only lines are matched.
func holds(want, cond syntax.EmptyOp) bool {
	if want&syntax.EmptyBeginText != 0 {
		want = want&^syntax.EmptyBeginText | syntax.EmptyBeginLine
	}
	if want&syntax.EmptyEndText != 0 {
		want = want&^syntax.EmptyEndText | syntax.EmptyEndLine
	}
	return want&^cond == 0
}

// between returns what holds between two bytes of these kinds, apart from the
// ends of lines.
func between(a, b byteKind) syntax.EmptyOp {
	switch {
	case a == highByte || b == highByte:
		return syntax.EmptyWordBoundary | syntax.EmptyNoWordBoundary
	case a != b:
		return syntax.EmptyWordBoundary
	}
	return syntax.EmptyNoWordBoundary
}

// state returns the offset in next of the state that the stack describes.
func (a *automaton) state(last byteKind, start bool) int32 {
	slices.Sort(a.stack)
	key := make([]byte, 0, 4*len(a.stack)+2)
	if start {
		key = append(key, 's')
	}
	if a.edges {
		key = append(key, byte(last))
	}
	for _, pc := range a.stack {
		if a.prog.Inst[pc].Op == syntax.InstMatch {
			return found
		}
		key = binary.LittleEndian.AppendUint32(key, pc)
	}
	if s, ok := a.index[string(key)]; ok {
		return s
	}
	s := int32(len(a.next))
	a.index[string(key)] = s
	a.states = append(a.states, autoState{slices.Clone(a.stack), last, start})
	for range a.stride {
		a.next = append(a.next, unknown)
	}
	return s
}

// step computes where the byte c leads from s, and remembers it.
func (a *automaton) step(s int32, c byte) int32 {
	from := a.states[int(s)/a.stride]
	if a.steps++; a.steps%1024 == 0 && a.cancelled() {
		return found
	}
	if len(a.states) >= maxStates {
		a.reset()
		s = -1 // the state is gone; nothing to remember it by
	}
	to := a.leads(from, c)
	if s >= 0 {
		a.next[int(s)+int(a.class[c])] = to
	}
	return to
}

func (a *automaton) leads(from autoState, c byte) int32 {
	kind := kindOf(c)
	if c == '\n' || c == '\r' {
		if a.endsLine(from) {
			return found
		}
		if c == '\n' {
			return a.start
		}
	}
	if a.edges {
		cond := between(from.last, kind)
		if from.start {
			cond |= syntax.EmptyBeginLine
		}
		if from.insts = a.pass(from.insts, cond); a.matches(from.insts) {
			return found
		}
	}
	a.begin()
	for _, pc := range from.insts {
		in := &a.prog.Inst[pc]
		switch {
		case !takesRune(in):
		case c < utf8.RuneSelf:
			if takes(in, rune(c)) {
				a.follow(in.Out, 0)
			}
		case a.high[pc]:
			if a.mark[pc] != a.round { // it may go on with the next byte
				a.mark[pc] = a.round
				a.stack = append(a.stack, pc)
			}
			a.follow(in.Out, 0)
		}
	}
	a.follow(uint32(a.prog.Start), 0)
	return a.state(kind, false)
}

// pass returns insts with those that follow where cond holds.
func (a *automaton) pass(insts []uint32, cond syntax.EmptyOp) []uint32 {
	a.begin()
	for _, pc := range insts {
		a.follow(pc, cond)
	}
	return slices.Clone(a.stack)
}

func (a *automaton) matches(insts []uint32) bool {
	return slices.ContainsFunc(insts, func(pc uint32) bool { return a.prog.Inst[pc].Op == syntax.InstMatch })
}

// endsLine tells whether a match is complete if the line ends here.
func (a *automaton) endsLine(from autoState) bool {
	cond := syntax.EmptyEndLine | between(from.last, other)
	if from.start {
		cond |= syntax.EmptyBeginLine
	}
	return a.matches(a.pass(from.insts, cond))
}

// scan reads text, which begins at the start of a line, and returns the
// position of a byte in the first line that may match, or -1. The end of text
// ends a line.
func (a *automaton) scan(text []byte) int {
	s := a.start
	if s == found {
		return 0
	}
	next := a.next
	for i := 0; i < len(text); i++ {
		to := next[uint(s)+uint(a.class[text[i]])]
		if to < 0 {
			if to == unknown {
				to = a.step(s, text[i])
				next = a.next
			}
			if to == found {
				return i
			}
		}
		if to == s { // mostly so, and a state that stays needn't be waited for
			row := next[s : int(s)+a.stride]
			for i+1 < len(text) && row[a.class[text[i+1]]] == s {
				i++
			}
		}
		s = to
	}
	if a.endsLine(a.states[int(s)/a.stride]) {
		return len(text)
	}
	return -1
}
