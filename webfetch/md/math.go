package md

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// tex returns the TeX source of a formula: its annotation, or its text.
func tex(n *html.Node) string {
	if attr(n, "data-math") == "" {
		if a := texAnnotation(n); a != "" {
			return a
		}
		if a := attr(n, "alttext"); a != "" {
			return a
		}
	}
	return strings.Join(strings.Fields(textOf(n)), " ")
}

func texAnnotation(n *html.Node) string {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode {
			continue
		}
		if c.Data == "annotation" && strings.Contains(attr(c, "encoding"), "tex") {
			return strings.TrimSpace(textOf(c))
		}
		if a := texAnnotation(c); a != "" {
			return a
		}
	}
	return ""
}

func (r *renderer) math(s *span, n *html.Node) {
	t := tex(n)
	if t == "" {
		return
	}
	if r.o.Plain {
		s.write(t)
		return
	}
	if s.inCell {
		t = strings.ReplaceAll(t, "|", `\|`)
	}
	s.write("$" + t + "$")
}

func (r *renderer) displayMath(n *html.Node) {
	t := tex(n)
	if t == "" {
		return
	}
	r.begin(para, false)
	if r.o.Plain {
		r.line(t)
		return
	}
	r.line("$$")
	r.line(t)
	r.line("$$")
}

// script renders sub- and superscripts: Unicode's own where it has them, else
// the element as it is. A footnote mark keeps only its link.
func (r *renderer) script(s *span, n *html.Node) {
	if find(n, atom.A) != nil {
		r.spans(s, n)
		return
	}
	t := strings.TrimSpace(textOf(n))
	if t == "" {
		return
	}
	from, to := "0123456789+-=()n", []rune("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ")
	if n.DataAtom == atom.Sub {
		from, to = "0123456789+-=()", []rune("₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎")
	}
	if strings.Trim(t, from) == "" {
		s.write(strings.Map(func(c rune) rune { return to[strings.IndexRune(from, c)] }, t))
		return
	}
	if r.o.Plain {
		s.write(t)
		return
	}
	s.write("<" + n.Data + ">")
	r.spans(s, n)
	s.write("</" + n.Data + ">")
}
