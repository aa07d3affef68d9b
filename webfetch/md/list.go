package md

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

func (r *renderer) list(n *html.Node) {
	kind, mark := bullets, byte('-')
	if n.DataAtom == atom.Ol {
		kind, mark = numbers, '.'
	}
	// Two lists in a row would be read as one: the second gets another mark.
	if r.in.last == kind && r.in.mark == mark {
		mark = map[byte]byte{'-': '*', '.': ')'}[mark]
	}
	number, step := 1, 1
	if kind == numbers {
		if v, err := strconv.Atoi(attr(n, "start")); err == nil && v >= 0 && v < 1e9 {
			number = v
		}
		if hasAttr(n, "reversed") {
			step = -1
		}
	}
	items := listItems(n)
	if len(items) == 0 {
		return
	}
	r.begin(kind, !empty(items[0]) && (kind == bullets || number == 1))
	r.in.mark = mark
	tight := r.tightList(items)
	r.lists++
	for i, li := range items {
		if i > 0 && !tight {
			r.begin(kind, false)
		}
		m := string(mark) + " "
		if kind == numbers {
			m = strconv.Itoa(max(number, 0)) + string(mark) + " "
			number += step
		}
		r.within(m, strings.Repeat(" ", len(m)), tight, func() { r.item(li) })
	}
	r.lists--
}

func (r *renderer) item(li *html.Node) {
	if li.DataAtom == atom.Ul || li.DataAtom == atom.Ol {
		r.list(li) // a list put straight into a list, as old pages do
		return
	}
	if isBlock(li) && li.DataAtom != atom.Li {
		r.block(li)
		return
	}
	r.children(li)
}

// listItems returns the elements that are the list's items, whatever their name.
func listItems(n *html.Node) []*html.Node {
	var items []*html.Node
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode && !skipped(c) {
			items = append(items, c)
		}
	}
	return items
}

// tightList reports whether no item holds paragraphs of its own.
func (r *renderer) tightList(items []*html.Node) bool {
	for _, li := range items {
		for c := li.FirstChild; c != nil; c = c.NextSibling {
			if c.DataAtom == atom.P && c.NextSibling != nil && nextElement(c) != nil {
				return false
			}
			if c.DataAtom == atom.Table || c.DataAtom == atom.Hr {
				return false
			}
		}
	}
	return true
}

func nextElement(n *html.Node) *html.Node {
	for n = n.NextSibling; n != nil; n = n.NextSibling {
		if n.Type == html.ElementNode && n.DataAtom != atom.Ul && n.DataAtom != atom.Ol {
			return n
		}
	}
	return nil
}

// definitions renders a dl as a bullet list: the term, then what it means.
func (r *renderer) definitions(n *html.Node) {
	mark := "- "
	if r.in.last == bullets && r.in.mark == '-' {
		mark = "* "
	}
	if empty(n) {
		return
	}
	r.begin(bullets, true)
	r.in.mark = mark[0]
	r.lists++
	r.definitionGroup(n, mark)
	r.lists--
}

func (r *renderer) definitionGroup(n *html.Node, mark string) {
	c := n.FirstChild
	for c != nil {
		switch {
		case c.Type != html.ElementNode || skipped(c):
			c = c.NextSibling
		case c.DataAtom == atom.Dt || c.DataAtom == atom.Dd:
			start := c
			r.within(mark, "  ", true, func() {
				for ; c != nil && (c == start || c.Type != html.ElementNode || c.DataAtom == atom.Dd); c = c.NextSibling {
					if c.DataAtom == atom.Dt {
						r.paragraphWrapped(c, "**")
					} else if c.DataAtom == atom.Dd {
						r.children(c)
					}
				}
			})
		default:
			r.definitionGroup(c, mark) // a div may wrap each term and its meanings
			c = c.NextSibling
		}
	}
}
