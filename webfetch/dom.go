package webfetch

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxDepth is how deep elements may nest: the parser refuses more than 512.
const maxDepth = 400

// parseHTML parses a page. Degraded says that its nesting was too deep and
// elements without meaning were dropped to get it.
func parseHTML(s string) (root *html.Node, degraded bool, err error) {
	scripting := html.ParseOptionEnableScripting(false) // noscript is content
	if root, err = html.ParseWithOptions(strings.NewReader(s), scripting); err == nil {
		return root, false, nil
	}
	root, err = html.ParseWithOptions(strings.NewReader(flatten(s)), scripting)
	if err != nil {
		return nil, true, fmt.Errorf("parsing the page: %w", err)
	}
	return root, true, nil
}

// flatten rewrites a page without the tags that lie too deep.
func flatten(s string) string {
	z := html.NewTokenizer(strings.NewReader(s))
	var b strings.Builder
	var open []string
	dropped := map[string]int{}
	for {
		tt := z.Next()
		if tt == html.ErrorToken { // of a string, that is its end
			return b.String()
		}
		raw := string(z.Raw())
		name, _ := z.TagName()
		tag := string(name)
		switch {
		case tt == html.StartTagToken && !isVoid(tag):
			if len(open) >= maxDepth/2 {
				dropped[tag]++
				b.WriteByte(' ')
				continue
			}
			open = append(open, tag)
		case tt == html.EndTagToken:
			if dropped[tag] > 0 {
				dropped[tag]--
				b.WriteByte(' ')
				continue
			}
			if i := slices.Index(open, tag); i >= 0 {
				for len(open) > 0 && open[len(open)-1] != tag {
					open = open[:len(open)-1]
				}
				open = open[:len(open)-1]
			}
		}
		b.WriteString(raw)
	}
}

func isVoid(tag string) bool {
	return strings.Contains(" area base br col embed hr img input link meta param source track wbr ", " "+tag+" ")
}

func attr(n *html.Node, key string) string {
	for i := range n.Attr {
		if n.Attr[i].Key == key && n.Attr[i].Namespace == "" {
			return n.Attr[i].Val
		}
	}
	return ""
}

func hasAttr(n *html.Node, key string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == key })
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

func delAttr(n *html.Node, key string) {
	n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool { return a.Key == key })
}

func hasClass(n *html.Node, names ...string) bool {
	c := attr(n, "class")
	if c == "" {
		return false
	}
	for f := range strings.FieldsSeq(c) {
		if slices.Contains(names, f) {
			return true
		}
	}
	return false
}

func isElement(n *html.Node, atoms ...atom.Atom) bool {
	return n != nil && n.Type == html.ElementNode && (len(atoms) == 0 || slices.Contains(atoms, n.DataAtom))
}

// descend calls f for n and everything below it until f says not to go deeper.
// f may remove the node it is given.
func descend(n *html.Node, f func(*html.Node) bool) {
	if !f(n) {
		return
	}
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		descend(c, f)
		c = next
	}
}

// first returns the first element below n that matches.
func first(n *html.Node, match func(*html.Node) bool) *html.Node {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode && match(c) {
			return c
		}
		if f := first(c, match); f != nil {
			return f
		}
	}
	return nil
}

func firstTag(n *html.Node, atoms ...atom.Atom) *html.Node {
	return first(n, func(c *html.Node) bool { return slices.Contains(atoms, c.DataAtom) })
}

// all returns the elements below n that match, outermost only.
func all(n *html.Node, match func(*html.Node) bool) []*html.Node {
	var found []*html.Node
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode && match(c) {
			found = append(found, c)
			continue
		}
		found = append(found, all(c, match)...)
	}
	return found
}

func remove(n *html.Node) {
	if n.Parent != nil {
		n.Parent.RemoveChild(n)
	}
}

func replace(old, with *html.Node) {
	if old.Parent != nil {
		old.Parent.InsertBefore(with, old)
		old.Parent.RemoveChild(old)
	}
}

// unwrap puts an element's children in its place.
func unwrap(n *html.Node) {
	for c := n.FirstChild; c != nil; c = n.FirstChild {
		n.RemoveChild(c)
		n.Parent.InsertBefore(c, n)
	}
	remove(n)
}

func newElement(a atom.Atom, children ...*html.Node) *html.Node {
	n := &html.Node{Type: html.ElementNode, DataAtom: a, Data: a.String()}
	for _, c := range children {
		n.AppendChild(c)
	}
	return n
}

func newText(s string) *html.Node { return &html.Node{Type: html.TextNode, Data: s} }

// notShown are elements whose text nobody sees.
func notShown(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Head, atom.Title, atom.Textarea, atom.Option:
		return true
	}
	return false
}

// textOf is the visible text below n.
func textOf(n *html.Node) string {
	var b strings.Builder
	appendText(&b, n)
	return b.String()
}

func appendText(b *strings.Builder, n *html.Node) {
	switch n.Type {
	case html.TextNode:
		b.WriteString(n.Data)
		return
	case html.ElementNode:
		if notShown(n) {
			return
		}
		if n.DataAtom == atom.Br {
			b.WriteByte('\n')
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		appendText(b, c)
	}
}

// oneLineText is the visible text with white space collapsed.
func oneLineText(n *html.Node) string { return strings.Join(strings.Fields(textOf(n)), " ") }

// textLen counts the letters and digits of the visible text: a measure that
// white space and markup don't change.
func textLen(n *html.Node) int {
	if n.Type == html.TextNode {
		return letters(n.Data)
	}
	if n.Type == html.ElementNode && notShown(n) {
		return 0
	}
	count := 0
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		count += textLen(c)
	}
	return count
}

func letters(s string) int {
	count := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' {
				count++
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			count++
		}
		i += size
	}
	return count
}

func bodyOf(n *html.Node) *html.Node {
	if b := firstTag(n, atom.Body, atom.Frameset); b != nil {
		return b
	}
	return n
}

func countElements(n *html.Node) int {
	count := 0
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode {
			count++
		}
		count += countElements(c)
	}
	return count
}

func renderHTML(n *html.Node) string {
	var b strings.Builder
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if html.Render(&b, c) != nil {
			break
		}
	}
	return b.String()
}
