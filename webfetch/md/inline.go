package md

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// A span collects inline text: white space is collapsed, '\n' is a hard break.
type span struct {
	b      strings.Builder
	prev   rune // the last rune before or in the span; ' ' at its beginning
	space  bool // white space is due before the next text
	lead   bool // the span began with white space
	marks  string
	inLink bool
	inCell bool
}

// inline renders nodes as the text of one paragraph. "\n" is a hard break and
// "\n\n" the end of a paragraph.
func (r *renderer) inline(nodes []*html.Node) string {
	s := &span{prev: ' '}
	card := r.card
	s.inLink = card != nil
	for _, n := range nodes {
		r.span(s, n)
	}
	out := strings.Trim(s.b.String(), "\n ")
	if card != nil && out != "" {
		r.card = nil
		out = "[" + strings.ReplaceAll(out, "\n", " ") + "](" + target(attr(card, "href")) + ")"
	}
	return out
}

// write adds markup or finished text, after the white space that is due.
func (s *span) write(t string) {
	if t == "" {
		return
	}
	if s.space {
		if s.b.Len() == 0 {
			s.lead = true
		} else if s.prev != '\n' {
			s.b.WriteByte(' ')
		}
		s.space = false
	}
	s.b.WriteString(t)
	s.prev, _ = utf8.DecodeLastRuneInString(t)
}

func (s *span) before() rune {
	if s.space {
		return ' '
	}
	return s.prev
}

func (r *renderer) span(s *span, n *html.Node) {
	switch n.Type {
	case html.TextNode:
		r.text(s, n)
		return
	case html.ElementNode:
	default:
		return
	}
	if skipped(n) {
		return
	}
	switch n.DataAtom {
	case atom.Br:
		s.hardBreak()
	case atom.Em, atom.I, atom.Cite, atom.Var, atom.Dfn:
		r.emphasis(s, n, "*")
	case atom.Strong, atom.B:
		r.emphasis(s, n, "**")
	case atom.Del, atom.S, atom.Strike:
		r.emphasis(s, n, "~~")
	case atom.Code, atom.Kbd, atom.Samp, atom.Tt:
		r.code(s, n)
	case atom.A:
		r.link(s, n)
	case atom.Img:
		r.image(s, n)
	case atom.Sup, atom.Sub:
		r.script(s, n)
	case atom.Q:
		s.write("\"")
		r.spans(s, n)
		s.write("\"")
	case atom.Rt:
		s.write("(")
		r.spans(s, n)
		s.write(")")
	case atom.Rp, atom.Wbr:
	case atom.Input:
		if strings.EqualFold(attr(n, "type"), "checkbox") {
			s.write(map[bool]string{true: "[x]", false: "[ ]"}[hasAttr(n, "checked")])
			s.space = true
		}
	case atom.Math:
		r.math(s, n)
	case atom.Iframe, atom.Video, atom.Audio:
		r.media(s, n)
	default:
		if attr(n, "data-math") != "" {
			r.math(s, n)
			return
		}
		if isBlock(n) { // a block where only text fits, as in a heading
			s.space = true
			r.spans(s, n)
			s.space = true
			return
		}
		r.spans(s, n)
	}
}

func (r *renderer) spans(s *span, n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		r.span(s, c)
	}
}

func (s *span) hardBreak() {
	s.space = false
	if s.b.Len() == 0 {
		s.lead = true
		return
	}
	if s.marks != "" || s.inLink {
		if s.prev == '\n' {
			return
		}
	}
	t := s.b.String()
	if strings.HasSuffix(t, "\n\n") {
		return
	}
	s.b.WriteByte('\n')
	s.prev = '\n'
}

func (r *renderer) text(s *span, n *html.Node) {
	d := n.Data
	for d != "" {
		size, marked := word(d)
		if size == 0 {
			s.space = true
			_, size = utf8.DecodeRuneInString(d)
			d = d[size:]
			continue
		}
		w := d[:size]
		d = d[size:]
		if r.o.Plain || !marked {
			s.write(w)
			continue
		}
		next := ' '
		if d == "" && following(n) != ' ' {
			next = -1 // whatever comes next
		}
		s.write(escape(w, s.before(), next, s.inLink))
	}
}

// word measures the text before the first white space, and says whether it
// holds characters that may need an escape.
func word(d string) (size int, marked bool) {
	for size < len(d) {
		switch c := d[size]; {
		case c <= ' ':
			if isSpace(rune(c)) {
				return size, marked
			}
			size++
		case c < utf8.RuneSelf:
			marked = marked || markup[c]
			size++
		default:
			r, n := utf8.DecodeRuneInString(d[size:])
			if isSpace(r) {
				return size, marked
			}
			size += n
		}
	}
	return size, marked
}

// markup are the characters that escape may put a backslash before.
var markup = [utf8.RuneSelf]bool{'\\': true, '`': true, '*': true, '_': true, '[': true, ']': true, '<': true, '&': true, '~': true, '!': true}

func isSpace(r rune) bool {
	return unicode.IsSpace(r) || r == '\u00a0' || r == 0
}

// emphasis renders n between two marks, or its other form where the rules for
// what may stand beside a mark would make it plain text.
func (r *renderer) emphasis(s *span, n *html.Node, mark string) {
	if r.o.Plain || strings.Contains(s.marks, mark[:1]+strings.TrimPrefix(mark, mark[:1])+"|") && mark == "~~" {
		r.spans(s, n)
		return
	}
	in := &span{prev: ' ', marks: s.marks + mark + "|", inLink: s.inLink, inCell: s.inCell}
	r.spans(in, n)
	t := strings.Trim(in.b.String(), "\n ")
	trail := in.space || strings.HasSuffix(in.b.String(), "\n")
	if in.lead {
		s.space = true
	}
	if t != "" {
		r.wrap(s, t, mark, nextRune(n, trail))
	}
	if trail || t == "" && in.space {
		s.space = true
	}
}

func (r *renderer) wrap(s *span, t, mark string, after rune) {
	before := s.before()
	first, _ := utf8.DecodeRuneInString(t)
	last, _ := utf8.DecodeLastRuneInString(t)
	if mark == "~~" {
		if flanks(before, first) && flanks(after, last) && first != '~' && last != '~' {
			s.write(mark + t + mark)
		} else {
			s.write("<del>" + t + "</del>")
		}
		return
	}
	star := before != '*' && after != '*' && first != '*' && last != '*' && flanks(before, first) && flanks(after, last)
	if !star && mark == "*" && !strings.Contains(s.marks, "*") && before != '*' && after != '*' {
		// "***a** b*" is read as it should be when only one side touches.
		star = (first != '*' || last != '*') && flanks(before, first) && flanks(after, last)
	}
	under := edge(before) && edge(after) && before != '_' && after != '_' && first != '_' && last != '_'
	switch {
	case star:
		s.write(mark + t + mark)
	case under:
		u := strings.ReplaceAll(mark, "*", "_")
		s.write(u + t + u)
	default:
		tag := map[string]string{"*": "em", "**": "strong"}[mark]
		s.write("<" + tag + ">" + t + "</" + tag + ">")
	}
}

// flanks reports whether a star between outside and inside opens or closes
// emphasis: CommonMark's left- and right-flanking rule.
func flanks(outside, inside rune) bool {
	return !isPunct(inside) || edge(outside)
}

func edge(r rune) bool { return r == 0 || isSpace(r) || isPunct(r) }

func isPunct(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }

// nextRune is the rune that will follow the element n in its paragraph.
func nextRune(n *html.Node, trail bool) rune {
	if trail {
		return ' '
	}
	return following(n)
}

// following looks for the first rune of what comes after n, without leaving the
// block it is in. Elements that will write a mark of their own answer with it.
func following(n *html.Node) rune {
	for steps := 0; n != nil && steps < 64; steps++ {
		next := n.NextSibling
		for next == nil {
			n = n.Parent
			if n == nil || n.Type != html.ElementNode || isBlock(n) {
				return ' '
			}
			if m := markOf(n); m != 0 {
				return m
			}
			next = n.NextSibling
		}
		n = next
		for n != nil {
			if n.Type == html.TextNode {
				if r, _ := utf8.DecodeRuneInString(n.Data); n.Data != "" {
					return r
				}
				break
			}
			if n.Type != html.ElementNode || skipped(n) {
				break
			}
			if isBlock(n) || n.DataAtom == atom.Br {
				return ' '
			}
			if m := markOf(n); m != 0 {
				return m
			}
			if n.FirstChild == nil {
				break
			}
			n = n.FirstChild
		}
	}
	return ' '
}

func markOf(n *html.Node) rune {
	switch n.DataAtom {
	case atom.Em, atom.I, atom.Cite, atom.Var, atom.Dfn, atom.Strong, atom.B:
		return '*'
	case atom.Del, atom.S, atom.Strike:
		return '~'
	case atom.Code, atom.Kbd, atom.Samp, atom.Tt:
		return '`'
	case atom.A, atom.Input:
		return '['
	case atom.Img:
		return '!'
	}
	return 0
}
