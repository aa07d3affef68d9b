package pdftext

import (
	"math"
	"strings"
)

// A layout puts glyphs, in the order that the page draws them, into words,
// lines and paragraphs by the gaps between them.
type layout struct {
	b            strings.Builder
	x, y, size   float64 // end of the last glyph
	angle        float64
	started      bool
	lineHasSpace bool
}

func (l *layout) put(text string, x, y, width, size, angle float64) {
	if text == "" || math.IsNaN(x) || math.IsNaN(y) || l.b.Len() > maxText {
		return
	}
	// Turn the page so that the text runs to the right.
	sin, cos := math.Sincos(-angle)
	x, y = x*cos-y*sin, x*sin+y*cos
	em := math.Max(size, 0.1)
	if l.started {
		l.gap(x, y, em, angle)
	}
	if text != " " || !l.lineHasSpace {
		l.b.WriteString(text)
	}
	l.lineHasSpace = strings.HasSuffix(text, " ")
	l.x, l.y, l.size, l.angle, l.started = x+width, y, em, angle, true
}

// gap writes what separates the last glyph from one at x, y.
func (l *layout) gap(x, y, em, angle float64) {
	dy := l.y - y
	tall := math.Max(em, l.size)
	switch {
	case math.Abs(angle-l.angle) > 0.02, dy > 1.75*tall, dy < -0.7*tall:
		l.newline(2)
	case math.Abs(dy) > 0.45*tall:
		l.newline(1)
	case x-l.x > 0.16*em || x < l.x-2*em:
		if !l.lineHasSpace {
			l.b.WriteByte(' ')
			l.lineHasSpace = true
		}
	}
}

func (l *layout) newline(n int) {
	l.b.WriteString(strings.Repeat("\n", n))
	l.lineHasSpace = true
}

// String is the text, a line each, with blank lines between paragraphs.
func (l *layout) String() string {
	var b strings.Builder
	blank := true
	for line := range strings.SplitSeq(l.b.String(), "\n") {
		line = strings.Join(strings.Fields(line), " ")
		if line == "" {
			if !blank {
				b.WriteByte('\n')
			}
			blank = true
			continue
		}
		blank = false
		b.WriteString(line + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}
