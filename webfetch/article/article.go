// Package article finds the part of a web page that is its article.
//
// The method is that of Mozilla's Readability, which readers know from
// Firefox: paragraphs give points to the elements around them, the element with
// the most points and what belongs to it beside it is the article, and what
// looks like decoration inside it is removed. Its score on Mozilla's own test
// pages is measured in bench/webfetch. Nothing is compiled or built when the
// package is loaded, and a context ends the work on hostile pages.
//
// The package doesn't resolve links, judge whether a page has an article at
// all, or keep forms and media players.
package article

import (
	"context"
	"errors"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// An Article is what was found.
type Article struct {
	Title   string
	Byline  string
	Content *html.Node // a div, no longer part of the page; its length is Length
	Length  int        // characters of text
}

// ErrNone says that the page has no text that could be an article.
var ErrNone = errors.New("the page has no article")

// enough is how many characters an article has that is accepted without
// trying again with fewer elements removed.
const enough = 500

type strategy struct {
	stripUnlikely, weighClasses, cleanConditionally bool
}

type extractor struct {
	strategy
	ctx    context.Context
	doc    *html.Node
	meta   metadata
	byline string
	scores map[*html.Node]float64
	data   map[*html.Node]bool // tables that hold data
}

// Extract finds the article of a parsed page, which it takes apart.
func Extract(ctx context.Context, doc *html.Node) (*Article, error) {
	x := &extractor{ctx: ctx, doc: doc}
	x.meta = readMetadata(doc)
	prepare(doc)
	body := firstTag(doc, atom.Body)
	if body == nil {
		return nil, ErrNone
	}
	var best *Article
	strategies := []strategy{{true, true, true}, {false, true, true}, {false, false, true}, {false, false, false}}
	for i, s := range strategies {
		keep := body
		if i < len(strategies)-1 {
			keep = clone(body)
		}
		x.strategy, x.scores, x.data = s, map[*html.Node]float64{}, map[*html.Node]bool{}
		content := x.grab(body)
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		a := &Article{Title: x.meta.title, Content: content, Length: textLen(content)}
		if best == nil || a.Length > best.Length {
			best = a
		}
		if a.Length >= enough {
			best = a
			break
		}
		if keep != body {
			replace(firstTag(doc, atom.Body), keep)
			body = keep
		}
	}
	if best == nil || best.Length == 0 {
		return nil, ErrNone
	}
	best.Byline = x.meta.byline
	if best.Byline == "" {
		best.Byline = x.byline
	}
	simplify(best.Content)
	return best, nil
}

// prepare removes what has no text and turns chains of breaks into paragraphs.
func prepare(doc *html.Node) {
	for _, n := range tagged(doc, atom.Script, atom.Noscript, atom.Style, atom.Template) {
		remove(n)
	}
	if body := firstTag(doc, atom.Body); body != nil {
		for _, br := range tagged(body, atom.Br) {
			if br.Parent != nil {
				replaceBreaks(br)
			}
		}
	}
	for _, n := range tagged(doc, atom.Font) {
		rename(n, atom.Span)
	}
}

// replaceBreaks makes a paragraph of what follows two breaks or more.
func replaceBreaks(br *html.Node) {
	chain := false
	next := br.NextSibling
	for next = skipSpace(next); next != nil && next.DataAtom == atom.Br; next = skipSpace(next) {
		chain = true
		after := next.NextSibling
		remove(next)
		next = after
	}
	if !chain {
		return
	}
	p := newElement(atom.P)
	replace(br, p)
	for next = p.NextSibling; next != nil; {
		if next.DataAtom == atom.Br {
			if n := skipSpace(next.NextSibling); n != nil && n.DataAtom == atom.Br {
				break
			}
		}
		if !isPhrasing(next) {
			break
		}
		sibling := next.NextSibling
		move(next, p)
		next = sibling
	}
	trimEnd(p)
	if p.Parent.DataAtom == atom.P {
		rename(p.Parent, atom.Div)
	}
}

// simplify removes the elements that only wrap one other.
func simplify(content *html.Node) {
	for n := next(content, content, false); n != nil; {
		if n.DataAtom == atom.Div || n.DataAtom == atom.Section {
			if withoutContent(n) {
				n = removeAndNext(n, content)
				continue
			}
			if child := only(n, atom.Div, atom.Section); child != nil {
				for _, a := range n.Attr {
					setAttr(child, a.Key, a.Val)
				}
				n.RemoveChild(child)
				replace(n, child)
				n = child
				continue
			}
		}
		n = next(n, content, false)
	}
}

// words reports whether s contains one of the words, all lower case.
func containsAny(s string, words ...string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
