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
// It never misses a line that matches, and is exact for ASCII text and a
// pattern without word boundaries. Beyond ASCII it takes a character for any
// run of high bytes, which keeps it small; the caller looks again at such
// lines. It is for one goroutine.
type automaton struct {
	prog   *syntax.Prog
	class  [256]uint8 // bytes that no instruction tells apart share a class
	stride int        // classes
	high   []bool     // by instruction: takes characters beyond ASCII

	next   []int32 // by state*stride+class: the state to go to, times stride
	states [][]uint32
	index  map[string]int32
	start  int32 // the state at the start of a line

	mark  []uint32 // by instruction: the round that last met it
	round uint32
	stack []uint32

	steps     int
	cancelled func() bool // then scan may return anything, soon
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
	for i := range a.prog.Inst {
		in := &a.prog.Inst[i]
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
	a.start = a.state()
}

func (a *automaton) begin() {
	a.round++
	a.stack = a.stack[:0]
}

// follow adds to the stack the instructions that are reached from pc without
// reading, where cond holds. A word boundary always holds: see the type.
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
			a.stack = append(a.stack, pc) // an end of line may come yet
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
	if want&(syntax.EmptyBeginText|syntax.EmptyBeginLine) != 0 && cond&syntax.EmptyBeginLine == 0 {
		return false
	}
	return want&(syntax.EmptyEndText|syntax.EmptyEndLine) == 0 || cond&syntax.EmptyEndLine != 0
}

// state returns the offset in next of the state that the stack describes.
func (a *automaton) state() int32 {
	slices.Sort(a.stack)
	key := make([]byte, 0, 4*len(a.stack))
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
	a.states = append(a.states, slices.Clone(a.stack))
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

func (a *automaton) leads(from []uint32, c byte) int32 {
	if c == '\n' || c == '\r' {
		if a.endsLine(from) {
			return found
		}
		if c == '\n' {
			return a.start
		}
	}
	a.begin()
	for _, pc := range from {
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
	return a.state()
}

// endsLine tells whether a match is complete if the line ends here.
func (a *automaton) endsLine(from []uint32) bool {
	a.begin()
	for _, pc := range from {
		in := &a.prog.Inst[pc]
		if in.Op == syntax.InstEmptyWidth && holds(syntax.EmptyOp(in.Arg), syntax.EmptyEndLine) {
			a.follow(in.Out, syntax.EmptyEndLine)
		}
	}
	return slices.ContainsFunc(a.stack, func(pc uint32) bool { return a.prog.Inst[pc].Op == syntax.InstMatch })
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
		s = to
	}
	if a.endsLine(a.states[int(s)/a.stride]) {
		return len(text)
	}
	return -1
}
