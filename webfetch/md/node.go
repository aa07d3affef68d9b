package md

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key && a.Namespace == "" {
			return a.Val
		}
	}
	return ""
}

func hasAttr(n *html.Node, key string) bool {
	for _, a := range n.Attr {
		if a.Key == key {
			return true
		}
	}
	return false
}

func hasClass(n *html.Node, names ...string) bool {
	for c := range strings.FieldsSeq(attr(n, "class")) {
		for _, want := range names {
			if c == want {
				return true
			}
		}
	}
	return false
}

// isBlock reports whether an element is laid out as a block of its own.
func isBlock(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Body, atom.Center, atom.Dd, atom.Details,
		atom.Dialog, atom.Dir, atom.Div, atom.Dl, atom.Dt, atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer,
		atom.Form, atom.Frameset, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Header, atom.Hgroup,
		atom.Hr, atom.Html, atom.Legend, atom.Li, atom.Listing, atom.Main, atom.Menu, atom.Nav, atom.Ol, atom.P,
		atom.Pre, atom.Search, atom.Section, atom.Summary, atom.Table, atom.Ul, atom.Xmp,
		atom.Tbody, atom.Thead, atom.Tfoot, atom.Tr, atom.Td, atom.Th, atom.Caption:
		return n.Type == html.ElementNode
	case atom.Math:
		return attr(n, "display") == "block"
	}
	return n.Type == html.ElementNode && attr(n, "data-math") == "display"
}

// skipped reports whether an element has nothing to read in it.
func skipped(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Head, atom.Meta, atom.Link, atom.Title,
		atom.Select, atom.Datalist, atom.Option, atom.Textarea, atom.Button, atom.Canvas, atom.Svg, atom.Object,
		atom.Embed, atom.Base, atom.Noframes:
		return true
	}
	return false
}

// rawText appends all text below n, each br as a newline.
func rawText(b *strings.Builder, n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode:
			b.WriteString(c.Data)
		case c.DataAtom == atom.Br:
			b.WriteByte('\n')
		case c.Type == html.ElementNode && !skipped(c):
			rawText(b, c)
		}
	}
}

func textOf(n *html.Node) string {
	var b strings.Builder
	rawText(&b, n)
	return b.String()
}

// empty reports whether nothing below n would be shown.
func empty(n *html.Node) bool {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode && strings.TrimSpace(c.Data) != "":
			return false
		case c.DataAtom == atom.Img || c.DataAtom == atom.Hr || c.DataAtom == atom.Pre || c.DataAtom == atom.Input:
			return false
		case c.Type == html.ElementNode && !skipped(c) && !empty(c):
			return false
		}
	}
	return true
}
