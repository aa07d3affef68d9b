package search

import (
	"strings"
	"unicode/utf8"
)

// A line longer than this is shown in part, around what matched in it.
const longLine = 400 // bytes

const (
	maxWindows = 3
	lookAhead  = 1 << 20 // bytes of a long line in which further matches are sought
)

// clip returns the line as it is shown and the byte, from 1, where its first
// match begins.
func (m *matcher) clip(line []byte) (text string, column int, clipped bool) {
	start, end := m.locate(line, 0)
	if start < 0 {
		start, end = 0, 0
	}
	if len(line) <= longLine {
		return string(line), start + 1, false
	}
	return cut(line, m.apart(line, start, end)), start + 1, true
}

type span struct{ start, end int }

// apart returns up to three matches that would not fit into one window.
func (m *matcher) apart(line []byte, start, end int) []span {
	spans := []span{{start, end}}
	rest := line[:min(len(line), start+lookAhead)]
	for len(spans) < maxWindows && end < len(rest) {
		from := end
		if end == start {
			from++
		}
		if start, end = m.locate(rest, from); start < 0 {
			break
		}
		if start-spans[len(spans)-1].start > longLine/maxWindows {
			spans = append(spans, span{start, end})
		}
	}
	return spans
}

// cut shows the spans of line, each in the middle of its share of the room.
func cut(line []byte, spans []span) string {
	const ellipsis = "…"
	room := longLine/len(spans) - 2*len(ellipsis)
	var b strings.Builder
	shown := 0
	for _, s := range spans {
		s.end = min(s.end, s.start+room)
		from := max(shown, s.start-(room-(s.end-s.start))/2)
		to := min(len(line), from+room)
		from = max(shown, min(from, to-room))
		for from > 0 && from < len(line) && !utf8.RuneStart(line[from]) && s.start-from < room {
			from++
		}
		for to < len(line) && to > from && !utf8.RuneStart(line[to]) {
			to--
		}
		if to <= from {
			continue
		}
		if from > shown {
			b.WriteString(ellipsis)
		}
		b.Write(line[from:to])
		shown = to
	}
	if shown < len(line) {
		b.WriteString(ellipsis)
	}
	return b.String()
}
