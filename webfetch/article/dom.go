package article

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

func attr(n *html.Node, key string) string {
	for i := range n.Attr {
		if n.Attr[i].Key == key {
			return n.Attr[i].Val
		}
	}
	return ""
}

func setAttr(n *html.Node, key, val string) {
	for i := range n.Attr {
		if n.Attr[i].Key == key {
			n.Attr[i].Val = val
			return
		}
	}
	n.Attr = append(n.Attr, html.Attribute{Key: key, Val: val})
}

func newElement(a atom.Atom) *html.Node {
	return &html.Node{Type: html.ElementNode, DataAtom: a, Data: a.String()}
}

func rename(n *html.Node, a atom.Atom) { n.DataAtom, n.Data = a, a.String() }

func remove(n *html.Node) {
	if n.Parent != nil {
		n.Parent.RemoveChild(n)
	}
}

func replace(old, with *html.Node) {
	if old != nil && old.Parent != nil {
		old.Parent.InsertBefore(with, old)
		old.Parent.RemoveChild(old)
	}
}

func move(n, to *html.Node) {
	remove(n)
	to.AppendChild(n)
}

func clone(n *html.Node) *html.Node {
	c := &html.Node{Type: n.Type, DataAtom: n.DataAtom, Data: n.Data, Namespace: n.Namespace, Attr: slices.Clone(n.Attr)}
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		c.AppendChild(clone(k))
	}
	return c
}

func isElement(n *html.Node) bool { return n != nil && n.Type == html.ElementNode }

func firstChild(n *html.Node) *html.Node {
	c := n.FirstChild
	for c != nil && c.Type != html.ElementNode {
		c = c.NextSibling
	}
	return c
}

func nextSibling(n *html.Node) *html.Node {
	n = n.NextSibling
	for n != nil && n.Type != html.ElementNode {
		n = n.NextSibling
	}
	return n
}

func children(n *html.Node) []*html.Node {
	var s []*html.Node
	for c := firstChild(n); c != nil; c = nextSibling(c) {
		s = append(s, c)
	}
	return s
}

// next is the element after n in document order, not leaving root.
func next(n, root *html.Node, skipChildren bool) *html.Node {
	if !skipChildren {
		if c := firstChild(n); c != nil {
			return c
		}
	}
	for n != nil && n != root {
		if s := nextSibling(n); s != nil {
			return s
		}
		n = n.Parent
	}
	return nil
}

func removeAndNext(n, root *html.Node) *html.Node {
	after := next(n, root, true)
	remove(n)
	return after
}

// tagged lists the elements below n with one of the names, in document order.
func tagged(n *html.Node, atoms ...atom.Atom) []*html.Node {
	var s []*html.Node
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.Type == html.ElementNode && slices.Contains(atoms, c.DataAtom) {
				s = append(s, c)
			}
			walk(c)
		}
	}
	walk(n)
	return s
}

func count(n *html.Node, a atom.Atom) int {
	total := 0
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom == a && c.Type == html.ElementNode {
			total++
		}
		total += count(c, a)
	}
	return total
}

func firstTag(n *html.Node, atoms ...atom.Atom) *html.Node {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode && slices.Contains(atoms, c.DataAtom) {
			return c
		}
		if f := firstTag(c, atoms...); f != nil {
			return f
		}
	}
	return nil
}

// A measure counts text as if runs of white space were one and the ends were
// trimmed, in the units of JavaScript strings, which the thresholds are in.
type measure struct {
	length, commas int
	space, started bool
}

func (m *measure) add(n *html.Node) {
	if n.Type == html.TextNode {
		for _, r := range n.Data {
			if unicode.IsSpace(r) || r == '\ufeff' {
				m.space = true
				continue
			}
			if m.space && m.started {
				m.length++
			}
			m.space, m.started = false, true
			m.length++
			switch r {
			case ',':
				m.commas++
			case '\u060c', '\ufe50', '\ufe10', '\ufe11', '\u2e41', '\u2e34', '\u2e32', '\uff0c':
				m.commas += 1 << 20 // counted apart from the ASCII comma
			default:
				if r > 0xffff {
					m.length++
				}
			}
		}
		return
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		m.add(c)
	}
}

func textLen(n *html.Node) int {
	var m measure
	m.add(n)
	return m.length
}

// commas counts commas of all scripts, and the ASCII ones.
func (m *measure) all() int   { return m.commas>>20 + m.commas&(1<<20-1) }
func (m *measure) ascii() int { return m.commas & (1<<20 - 1) }

func rawText(n *html.Node) string {
	if n.Type == html.TextNode {
		return n.Data
	}
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.Type == html.TextNode {
				b.WriteString(c.Data)
			}
			walk(c)
		}
	}
	walk(n)
	return b.String()
}

func text(n *html.Node) string { return strings.Join(strings.Fields(rawText(n)), " ") }

func blank(n *html.Node) bool {
	if n.Type == html.TextNode {
		return strings.TrimSpace(n.Data) == ""
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.CommentNode && !blank(c) {
			return false
		}
	}
	return true
}

func isSpace(n *html.Node) bool {
	return n.Type == html.TextNode && strings.TrimSpace(n.Data) == "" || n.DataAtom == atom.Br
}

func trimEnd(n *html.Node) {
	for n.LastChild != nil && isSpace(n.LastChild) {
		n.RemoveChild(n.LastChild)
	}
}

// skipSpace returns n or the first sibling after it that is an element or has text.
func skipSpace(n *html.Node) *html.Node {
	for n != nil && n.Type != html.ElementNode && strings.TrimSpace(n.Data) == "" {
		n = n.NextSibling
	}
	return n
}

func isPhrasing(n *html.Node) bool {
	if n.Type == html.TextNode {
		return true
	}
	switch n.DataAtom {
	case atom.Abbr, atom.Audio, atom.B, atom.Bdo, atom.Br, atom.Button, atom.Cite, atom.Code, atom.Data, atom.Datalist,
		atom.Dfn, atom.Em, atom.Embed, atom.I, atom.Img, atom.Input, atom.Kbd, atom.Label, atom.Mark, atom.Math,
		atom.Meter, atom.Noscript, atom.Object, atom.Output, atom.Progress, atom.Q, atom.Ruby, atom.Samp, atom.Script,
		atom.Select, atom.Small, atom.Span, atom.Strong, atom.Sub, atom.Sup, atom.Textarea, atom.Time, atom.Var, atom.Wbr:
		return n.Type == html.ElementNode
	case atom.A, atom.Del, atom.Ins:
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if !isPhrasing(c) {
				return false
			}
		}
		return true
	}
	return false
}

// only returns the single element child of n if it has that name and there is
// no text beside it.
func only(n *html.Node, atoms ...atom.Atom) *html.Node {
	c := firstChild(n)
	if c == nil || nextSibling(c) != nil || !slices.Contains(atoms, c.DataAtom) {
		return nil
	}
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		if k.Type == html.TextNode && strings.TrimSpace(k.Data) != "" {
			return nil
		}
	}
	return c
}

func withoutContent(n *html.Node) bool {
	if firstChild(n) == nil {
		return blank(n)
	}
	for c := firstChild(n); c != nil; c = nextSibling(c) {
		if c.DataAtom != atom.Br && c.DataAtom != atom.Hr {
			return false
		}
	}
	return blank(n)
}

func hasBlockChild(n *html.Node) bool {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.DataAtom {
		case atom.Blockquote, atom.Dl, atom.Div, atom.Img, atom.Ol, atom.P, atom.Pre, atom.Table, atom.Ul:
			return true
		}
		if hasBlockChild(c) {
			return true
		}
	}
	return false
}

// hasAncestor looks at most depth+1 elements up, at all with a negative depth.
func hasAncestor(n *html.Node, a atom.Atom, depth int, match func(*html.Node) bool) bool {
	for i, p := 0, n.Parent; p != nil; i, p = i+1, p.Parent {
		if depth >= 0 && i > depth {
			return false
		}
		if p.DataAtom == a && (match == nil || match(p)) {
			return true
		}
	}
	return false
}

func linkDensity(n *html.Node) float64 {
	total := textLen(n)
	if total == 0 {
		return 0
	}
	return linkLen(n) / float64(total)
}

func linkLen(n *html.Node) float64 {
	sum := 0.0
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom == atom.A {
			sum += float64(textLen(c)) * linkWeight(c)
		}
		sum += linkLen(c)
	}
	return sum
}

// linkWeight counts links within the page less.
func linkWeight(a *html.Node) float64 {
	if h := attr(a, "href"); len(h) > 1 && h[0] == '#' {
		return 0.3
	}
	return 1
}

// densities is the link density of every element below n, in one pass: the
// length of each is what the measure of the whole grew by from its first
// character on.
func densities(n *html.Node) map[*html.Node]float64 {
	out := map[*html.Node]float64{}
	var m measure
	var waiting []*int // starts of the open elements without a character yet
	var walk func(n *html.Node) (links float64, length int)
	walk = func(n *html.Node) (links float64, length int) {
		if n.Type == html.TextNode {
			before := m
			m.add(n)
			if m.length > before.length {
				at := before.length
				if before.started && (before.space || startsWithSpace(n.Data)) {
					at++ // the space before the first character
				}
				for _, w := range waiting {
					*w = at
				}
				waiting = waiting[:0]
			}
			return 0, 0
		}
		start := -1
		waiting = append(waiting, &start)
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			l, n := walk(c)
			links += l
			if c.DataAtom == atom.A {
				links += float64(n) * linkWeight(c)
			}
		}
		if start < 0 {
			waiting = waiting[:len(waiting)-1]
			return 0, 0
		}
		length = m.length - start
		if links > 0 {
			out[n] = links / float64(length)
		}
		return links, length
	}
	walk(n)
	return out
}

func startsWithSpace(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsSpace(r) || r == '\ufeff'
}

func textDensity(n *html.Node, atoms ...atom.Atom) float64 {
	total := textLen(n)
	if total == 0 {
		return 0
	}
	sum := 0
	for _, c := range tagged(n, atoms...) {
		sum += textLen(c)
	}
	return float64(sum) / float64(total)
}
