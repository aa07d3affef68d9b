package search

import (
	"bytes"
	"context"
	"unicode/utf8"
)

// A matcher applies a pattern to text, for one goroutine.
type matcher struct {
	*pattern
	ctx       context.Context
	multiline bool
	auto      *automaton // made when first needed
}

func (p *pattern) matcher(ctx context.Context, multiline bool) *matcher {
	return &matcher{pattern: p, ctx: ctx, multiline: multiline}
}

func (m *matcher) cancelled() bool { return m.ctx.Err() != nil }

// count returns how many lines of text match or, for a multiline query, how
// many matches there are.
func (m *matcher) count(text []byte) (n int) {
	m.each(text, func(int, int) bool {
		n++
		return true
	})
	return n
}

// each calls use with every matching line, without its line break, until it
// returns false. For a multiline query it is every match.
func (m *matcher) each(text []byte, use func(start, end int) bool) {
	if m.multiline {
		m.eachMatch(text, use)
		return
	}
	for from := 0; from < len(text) && !m.cancelled(); {
		start, end := m.next(text, from)
		if start < 0 || !use(start, trimCR(text, start, end)) {
			return
		}
		from = end + 1
	}
}

func (m *matcher) eachMatch(text []byte, use func(start, end int) bool) {
	if len(m.literal) > 0 && !bytes.Contains(text, m.literal) {
		return
	}
	find := m.in(text)
	for from := 0; from <= len(text) && !m.cancelled(); {
		start, end := find(from)
		if start < 0 || start == len(text) || !use(start, end) {
			return
		}
		from = end
		if end == start {
			from++
		}
	}
}

// next returns the first matching line of text at or after from, where a line
// begins.
func (m *matcher) next(text []byte, from int) (start, end int) {
	for from < len(text) {
		at := m.candidate(text[from:])
		if at < 0 {
			break
		}
		at += from
		start = from + bytes.LastIndexByte(text[from:at], '\n') + 1
		if start == len(text) || m.cancelled() {
			break
		}
		if end = bytes.IndexByte(text[at:], '\n'); end < 0 {
			end = len(text)
		} else {
			end += at
		}
		if m.confirm(text[start:end]) {
			return start, end
		}
		from = end + 1
	}
	return -1, -1
}

// candidate returns a position in the first line that may match.
func (m *matcher) candidate(text []byte) int {
	if len(m.literal) > 0 {
		return bytes.Index(text, m.literal)
	}
	return m.automaton().scan(text)
}

// confirm tells whether a candidate line matches.
func (m *matcher) confirm(line []byte) bool {
	if m.pure {
		return true
	}
	if len(m.literal) > 0 && m.automaton().scan(line) < 0 {
		return false
	}
	if isASCII(line) && bytes.IndexByte(line, '\r') < 0 {
		return true
	}
	start, _ := m.locate(bytes.TrimSuffix(line, []byte("\r")), 0)
	return start >= 0
}

// around is how much of a long line is looked at, in bytes on either side of
// where the automaton saw a match.
const around = 4 << 10

// locate is find for lines of any length: the regular expression is too slow
// for the megabytes of a minified file.
func (m *matcher) locate(line []byte, from int) (start, end int) {
	if len(line)-from <= 2*around {
		return m.find(line, from)
	}
	at := m.candidate(line[from:])
	if at < 0 {
		return -1, -1
	}
	lo, hi := max(0, from+at-around), min(len(line), from+at+around)
	for lo > 0 && !utf8.RuneStart(line[lo]) {
		lo--
	}
	start, end = m.find(line[lo:hi], max(0, from-lo))
	if start < 0 || start == 0 && lo > 0 || end == hi-lo && hi < len(line) {
		return m.find(line, from) // the match may be larger than the window
	}
	return lo + start, lo + end
}

func (m *matcher) automaton() *automaton {
	if m.auto == nil {
		m.auto = newAutomaton(m.prog, m.cancelled)
	}
	return m.auto
}

func trimCR(text []byte, start, end int) int {
	if end > start && text[end-1] == '\r' {
		end--
	}
	return end
}
