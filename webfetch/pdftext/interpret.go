package pdftext

import (
	"bytes"
	"math"
)

type matrix [6]float64

var identity = matrix{1, 0, 0, 1, 0, 0}

func (m matrix) mul(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

type textState struct {
	ctm                               matrix
	font                              *font
	size, charSpace, wordSpace, scale float64
	leading, rise                     float64
}

// An interpreter follows the operators of a page that place text.
type interpreter struct {
	f       *file
	fonts   map[int]*font
	layout  *layout
	state   textState
	stack   []textState
	tm, tlm matrix
	depth   int
	ops     int
}

const maxOperators = 5_000_000 // of one page

func (in *interpreter) page(p page) {
	in.state = textState{ctm: identity, scale: 1}
	var content []byte
	for _, c := range in.f.list(p.dict["Contents"]) {
		if s, ok := in.f.resolve(c).(stream); ok {
			if data, err := in.f.decode(s); err == nil {
				content = append(append(content, data...), '\n')
			}
		}
		if len(content) > maxStream {
			break
		}
	}
	in.run(content, p.resources)
}

func (in *interpreter) run(content []byte, resources dict) {
	l := &lexer{b: content}
	var args []any
	for !l.done() {
		v := l.value(0)
		o, isOp := v.(op)
		if !isOp {
			if len(args) < 64 {
				args = append(args, v)
			}
			continue
		}
		if in.ops++; in.ops > maxOperators || in.ops%1024 == 0 && in.f.ctx.Err() != nil {
			return
		}
		if o == "BI" {
			skipImage(l)
		} else {
			in.operator(o, args, resources)
		}
		args = args[:0]
	}
}

// skipImage passes over an image inside the content.
func skipImage(l *lexer) {
	i := bytes.Index(l.b[l.at:], []byte("ID"))
	if i < 0 {
		l.at = len(l.b)
		return
	}
	for at := l.at + i + 2; ; {
		j := bytes.Index(l.b[at:], []byte("EI"))
		if j < 0 {
			l.at = len(l.b)
			return
		}
		at += j + 2
		if isSpace(l.b[at-3]) && (at >= len(l.b) || isSpace(l.b[at])) {
			l.at = at
			return
		}
	}
}

func num(args []any, i int) float64 {
	if i < 0 || i >= len(args) {
		return 0
	}
	n, _ := args[i].(float64)
	if math.Abs(n) > 1e9 {
		return 0
	}
	return n
}

func sixNumbers(args []any) matrix {
	return matrix{num(args, 0), num(args, 1), num(args, 2), num(args, 3), num(args, 4), num(args, 5)}
}

func (in *interpreter) operator(o op, args []any, resources dict) {
	s := &in.state
	switch o {
	case "q":
		if len(in.stack) < 512 {
			in.stack = append(in.stack, *s)
		}
	case "Q":
		if n := len(in.stack); n > 0 {
			*s, in.stack = in.stack[n-1], in.stack[:n-1]
		}
	case "cm":
		s.ctm = sixNumbers(args).mul(s.ctm)
	case "BT":
		in.tm, in.tlm = identity, identity
	case "Tf":
		if len(args) >= 2 {
			n, _ := args[0].(name)
			s.font, s.size = in.font(in.f.dict(resources["Font"])[n]), num(args, 1)
		}
	case "Tc":
		s.charSpace = num(args, 0)
	case "Tw":
		s.wordSpace = num(args, 0)
	case "Tz":
		s.scale = num(args, 0) / 100
	case "TL":
		s.leading = num(args, 0)
	case "Ts":
		s.rise = num(args, 0)
	case "Td":
		in.move(num(args, 0), num(args, 1))
	case "TD":
		s.leading = -num(args, 1)
		in.move(num(args, 0), num(args, 1))
	case "Tm":
		in.tm = sixNumbers(args)
		in.tlm = in.tm
	case "T*":
		in.move(0, -s.leading)
	case "Tj", "'", "\"":
		if o != "Tj" {
			if o == "\"" {
				s.wordSpace, s.charSpace = num(args, 0), num(args, 1)
			}
			in.move(0, -s.leading)
		}
		if len(args) > 0 {
			in.show(args[len(args)-1])
		}
	case "TJ":
		if len(args) > 0 {
			a, _ := args[0].(array)
			for _, v := range a {
				if n, ok := v.(float64); ok {
					in.advance(-n / 1000 * s.size * s.scale)
				} else {
					in.show(v)
				}
			}
		}
	case "Do":
		if len(args) > 0 {
			n, _ := args[0].(name)
			in.form(in.f.dict(resources["XObject"])[n], resources)
		}
	}
}

// form draws a part that a page has by reference.
func (in *interpreter) form(v any, resources dict) {
	s, ok := in.f.resolve(v).(stream)
	if !ok || in.f.resolve(s.dict["Subtype"]) != name("Form") || in.depth > 8 {
		return
	}
	data, err := in.f.decode(s)
	if err != nil {
		return
	}
	if r := in.f.dict(s.dict["Resources"]); r != nil {
		resources = r
	}
	saved, stack, tm, tlm := in.state, in.stack, in.tm, in.tlm
	in.stack = nil
	if m, ok := in.f.resolve(s.dict["Matrix"]).(array); ok && len(m) == 6 {
		in.state.ctm = sixNumbers(m).mul(in.state.ctm)
	}
	in.depth++
	in.run(data, resources)
	in.depth--
	in.state, in.stack, in.tm, in.tlm = saved, stack, tm, tlm
}

func (in *interpreter) move(x, y float64) {
	in.tlm = matrix{1, 0, 0, 1, x, y}.mul(in.tlm)
	in.tm = in.tlm
}

func (in *interpreter) advance(w float64) { in.tm = matrix{1, 0, 0, 1, w, 0}.mul(in.tm) }

func (in *interpreter) show(v any) {
	t, ok := v.(str)
	s := &in.state
	if !ok || s.font == nil {
		return
	}
	for _, g := range s.font.glyphs(string(t)) {
		m := matrix{s.size * s.scale, 0, 0, s.size, 0, s.rise}.mul(in.tm).mul(s.ctm)
		w := g.width/1000*s.size + s.charSpace
		if g.space {
			w += s.wordSpace
		}
		w *= s.scale
		size := math.Hypot(m[2], m[3])
		scale := math.Hypot(m[0], m[1])
		in.layout.put(g.text, m[4], m[5], g.width/1000*scale, size, math.Atan2(m[1], m[0]))
		in.advance(w)
	}
}
