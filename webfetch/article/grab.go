package article

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// grab takes the article out of the page under the strategy in force.
func (x *extractor) grab(body *html.Node) *html.Node {
	var candidates []*html.Node
	for i, n := range x.collect() {
		if i%256 == 0 && x.ctx.Err() != nil {
			return newElement(atom.Div)
		}
		x.score(n, &candidates)
	}
	top := x.best(candidates)
	whole := len(top) == 0 || top[0].DataAtom == atom.Body
	var chosen *html.Node
	if whole {
		chosen = newElement(atom.Div)
		for body.FirstChild != nil {
			move(body.FirstChild, chosen)
		}
		body.AppendChild(chosen)
		x.init(chosen)
	} else {
		chosen = x.widen(top)
	}
	content := x.joinSiblings(chosen)
	x.clean(content)
	return content
}

// collect walks the page, removes what is unlikely to be of the article, makes
// paragraphs of loose text and returns the elements that give points.
func (x *extractor) collect() []*html.Node {
	var score []*html.Node
	titleSeen := false
	root := x.doc
	for n := firstChild(root); n != nil; {
		if x.ctx.Err() != nil {
			return nil
		}
		match := strings.ToLower(attr(n, "class") + " " + attr(n, "id"))
		if hidden(n) || attr(n, "aria-modal") == "true" && attr(n, "role") == "dialog" || x.takeByline(n, match) {
			n = removeAndNext(n, root)
			continue
		}
		if !titleSeen && x.repeatsTitle(n) {
			titleSeen = true
			n = removeAndNext(n, root)
			continue
		}
		if x.stripUnlikely && unlikely(n, match) {
			n = removeAndNext(n, root)
			continue
		}
		switch n.DataAtom {
		case atom.Div, atom.Section, atom.Header, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
			if withoutContent(n) {
				n = removeAndNext(n, root)
				continue
			}
		}
		switch n.DataAtom {
		case atom.Section, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.P, atom.Td, atom.Pre:
			score = append(score, n)
		case atom.Div:
			n = paragraphs(n, &score)
		}
		n = next(n, root, false)
	}
	return score
}

// paragraphs wraps the loose text in a div, or makes the div a paragraph if it
// is nothing else.
func paragraphs(div *html.Node, score *[]*html.Node) *html.Node {
	var p *html.Node
	for c := div.FirstChild; c != nil; {
		after := c.NextSibling
		switch {
		case isPhrasing(c) && p != nil:
			move(c, p)
		case isPhrasing(c) && !isSpace(c):
			p = newElement(atom.P)
			replace(c, p)
			p.AppendChild(c)
		case isPhrasing(c):
		case p != nil:
			trimEnd(p)
			p = nil
		}
		c = after
	}
	if c := only(div, atom.P); c != nil && linkDensity(div) < 0.25 {
		div.RemoveChild(c)
		replace(div, c)
		*score = append(*score, c)
		return c
	}
	if !hasBlockChild(div) {
		rename(div, atom.P)
		*score = append(*score, div)
	}
	return div
}

func hidden(n *html.Node) bool {
	style := strings.ToLower(strings.ReplaceAll(attr(n, "style"), " ", ""))
	if strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden") {
		return true
	}
	for _, a := range n.Attr {
		if a.Key == "hidden" || a.Key == "aria-hidden" && a.Val == "true" && !strings.Contains(attr(n, "class"), "fallback-image") {
			return true
		}
	}
	return false
}

// unlikely reports whether an element's names or role say that it isn't of the
// article.
func unlikely(n *html.Node, match string) bool {
	switch attr(n, "role") {
	case "menu", "menubar", "complementary", "navigation", "alert", "alertdialog", "dialog":
		return true
	}
	return containsAny(match, "-ad-", "ai2html", "banner", "breadcrumbs", "combx", "comment", "community", "cover-wrap", "disqus",
		"extra", "footer", "gdpr", "header", "legends", "menu", "related", "remark", "replies", "rss", "shoutbox", "sidebar",
		"skyscraper", "social", "sponsor", "supplemental", "ad-break", "agegate", "pagination", "pager", "popup", "yom-remote") &&
		!containsAny(match, "and", "article", "body", "column", "content", "main", "mathjax", "shadow") &&
		!hasAncestor(n, atom.Table, 3, nil) && !hasAncestor(n, atom.Code, 3, nil) &&
		n.DataAtom != atom.Body && n.DataAtom != atom.A
}

// takeByline remembers the author's name where it stands in the page.
func (x *extractor) takeByline(n *html.Node, match string) bool {
	if x.byline != "" || x.meta.byline != "" {
		return false
	}
	if attr(n, "rel") != "author" && !strings.Contains(attr(n, "itemprop"), "author") &&
		!containsAny(match, "byline", "author", "dateline", "writtenby") {
		return false
	}
	t := strings.TrimSpace(rawText(n))
	if t == "" || len([]rune(t)) >= 100 {
		return false
	}
	x.byline = strings.Join(strings.Fields(t), " ")
	for c := next(n, n, false); c != nil; c = next(c, n, false) {
		if strings.Contains(attr(c, "itemprop"), "name") {
			x.byline = text(c)
			break
		}
	}
	return true
}

// repeatsTitle reports whether a heading says again what the title says.
func (x *extractor) repeatsTitle(n *html.Node) bool {
	if n.DataAtom != atom.H1 && n.DataAtom != atom.H2 {
		return false
	}
	a, b := tokens(x.meta.title), tokens(rawText(n))
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	var fresh []string
	for _, t := range b {
		if !slices.Contains(a, t) {
			fresh = append(fresh, t)
		}
	}
	return 1-float64(len(strings.Join(fresh, " ")))/float64(len(strings.Join(b, " "))) > 0.75
}

func tokens(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return !(r == '_' || r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r)))
	})
}

// score gives an element's points to the five elements around it.
func (x *extractor) score(n *html.Node, candidates *[]*html.Node) {
	if !isElement(n.Parent) {
		return
	}
	var m measure
	m.add(n)
	if m.length < 25 {
		return
	}
	points := float64(2 + m.all() + min(m.length/100, 3))
	for level, p := 0, n.Parent; level < 5 && isElement(p) && isElement(p.Parent); level, p = level+1, p.Parent {
		if _, ok := x.scores[p]; !ok {
			x.init(p)
			*candidates = append(*candidates, p)
		}
		x.scores[p] += points / []float64{1, 2, 6, 9, 12}[level]
	}
}

func (x *extractor) init(n *html.Node) {
	s := 0.0
	switch n.DataAtom {
	case atom.Div:
		s = 5
	case atom.Pre, atom.Td, atom.Blockquote:
		s = 3
	case atom.Address, atom.Ol, atom.Ul, atom.Dl, atom.Dd, atom.Dt, atom.Li, atom.Form:
		s = -3
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Th:
		s = -5
	}
	x.scores[n] = s + float64(x.classWeight(n))
}

func (x *extractor) classWeight(n *html.Node) int {
	if !x.weighClasses {
		return 0
	}
	w := 0
	for _, s := range []string{attr(n, "class"), attr(n, "id")} {
		if s == "" {
			continue
		}
		s = strings.ToLower(s)
		if s == "hid" || strings.HasSuffix(s, " hid") || strings.Contains(s, " hid ") || strings.HasPrefix(s, "hid ") ||
			containsAny(s, "-ad-", "hidden", "banner", "combx", "comment", "com-", "contact", "footer", "gdpr", "masthead",
				"meta", "outbrain", "promo", "related", "share", "shoutbox", "sidebar", "skyscraper", "sponsor",
				"shopping", "tags", "widget") {
			w -= 25
		}
		if containsAny(s, "article", "body", "content", "entry", "main", "page", "pagination", "post", "text", "blog", "story") {
			w += 25
		}
	}
	return w
}

// best scales the points by how much of each candidate is links, and returns
// the five with the most.
func (x *extractor) best(candidates []*html.Node) []*html.Node {
	var top []*html.Node
	density := densities(x.doc)
	for _, c := range candidates {
		s := x.scores[c] * (1 - density[c])
		x.scores[c] = s
		at := slices.IndexFunc(top, func(t *html.Node) bool { return s > x.scores[t] })
		if at < 0 {
			at = len(top)
		}
		if at < 5 {
			top = slices.Insert(top, at, c)
			top = top[:min(len(top), 5)]
		}
	}
	return top
}

// widen looks for an element around the best candidate that holds more of the
// article.
func (x *extractor) widen(top []*html.Node) *html.Node {
	chosen := top[0]
	var near []*html.Node
	for _, t := range top[1:] {
		if x.scores[t]/x.scores[chosen] >= 0.75 {
			near = append(near, t)
		}
	}
	inBody := func(n *html.Node) bool { return isElement(n) && n.DataAtom != atom.Body && n.DataAtom != atom.Html }
	if len(near) >= 3 {
		for p := chosen.Parent; inBody(p); p = p.Parent {
			holds := 0
			for _, t := range near {
				if isAncestor(p, t) {
					holds++
				}
			}
			if holds >= 3 {
				chosen = p
				break
			}
		}
	}
	if _, ok := x.scores[chosen]; !ok {
		x.init(chosen)
	}
	last := x.scores[chosen]
	threshold := last / 3
	for p := chosen.Parent; inBody(p); p = p.Parent {
		s, ok := x.scores[p]
		if !ok {
			continue
		}
		if s < threshold {
			break
		}
		if s > last {
			chosen = p
			break
		}
		last = s
	}
	for p := chosen.Parent; inBody(p) && len(children(p)) == 1; p = chosen.Parent {
		chosen = p
	}
	if _, ok := x.scores[chosen]; !ok {
		x.init(chosen)
	}
	return chosen
}

func isAncestor(a, n *html.Node) bool {
	for p := n.Parent; p != nil; p = p.Parent {
		if p == a {
			return true
		}
	}
	return false
}

// joinSiblings puts the chosen element and those beside it that belong to the
// article into a new div.
func (x *extractor) joinSiblings(chosen *html.Node) *html.Node {
	content := newElement(atom.Div)
	score := x.scores[chosen]
	threshold := max(10, score*0.2)
	class := attr(chosen, "class")
	for _, s := range children(chosen.Parent) {
		if s != chosen && !x.belongs(s, class, score*0.2, threshold) {
			continue
		}
		switch s.DataAtom {
		case atom.Div, atom.Article, atom.Section, atom.P, atom.Ol, atom.Ul:
		default:
			rename(s, atom.Div)
		}
		move(s, content)
	}
	return content
}

func (x *extractor) belongs(s *html.Node, class string, bonus, threshold float64) bool {
	if class == "" || attr(s, "class") != class {
		bonus = 0
	}
	if v, ok := x.scores[s]; ok && v+bonus >= threshold {
		return true
	}
	if s.DataAtom != atom.P {
		return false
	}
	t := text(s)
	n, density := textLen(s), linkDensity(s)
	return n > 80 && density < 0.25 || n < 80 && n > 0 && density == 0 && (strings.Contains(t, ". ") || strings.HasSuffix(t, "."))
}
