package webfetch

import (
	"context"
	"strings"
	"time"

	"github.com/whet-dev/whet/webfetch/article"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	maxElements   = 150_000 // pages with more are not searched for an article
	articleBudget = 2 * time.Second
)

// An extraction is the part of a page that is worth reading.
type extraction struct {
	root     *html.Node
	how      string  // "docs", "article", "main", "body"
	title    string  // as the article's metadata has it
	coverage float64 // of the visible text
	low      bool    // little of the page is in it
	large    bool    // the page was too large to be searched
}

// A docsRoot is the element that holds the text of a page in one documentation
// system.
type docsRoot func(n *html.Node) bool

func classRoot(names ...string) docsRoot {
	return func(n *html.Node) bool { return hasClass(n, names...) }
}

func docsRoots() []docsRoot {
	return []docsRoot{
		func(n *html.Node) bool { return n.DataAtom == atom.Article && hasClass(n, "markdown-body") },
		classRoot("theme-doc-markdown"),
		classRoot("md-content__inner"),
		func(n *html.Node) bool { return attr(n, "itemprop") == "articleBody" && reference(n) },
		func(n *html.Node) bool { return attr(n, "role") == "main" && hasClass(n, "body") },
		classRoot("bd-article"),
		classRoot("vp-doc"),
		classRoot("sl-markdown-content"),
		classRoot("td-content"),
		func(n *html.Node) bool { return attr(n, "id") == "content-area" && reference(n) },
		func(n *html.Node) bool { return hasClass(n, "document") && within(n, "rst-content") },
		func(n *html.Node) bool { return attr(n, "id") == "main-content" && reference(n) },
		classRoot("Documentation-content"),
		func(n *html.Node) bool { return hasClass(n, "main-page-content", "reference-layout__body") },
		func(n *html.Node) bool {
			return attr(n, "id") == "content" && (n.DataAtom == atom.Main || firstTag(n, atom.Main) != nil) && reference(n)
		},
		func(n *html.Node) bool { return n.DataAtom == atom.Main && within(n, "javadoc") },
		classRoot("cooked"),
		func(n *html.Node) bool {
			return attr(n, "id") == "question" || hasClass(n, "answer") && attr(n, "data-answerid") != ""
		},
	}
}

// reference reports whether an element that articles have as well looks like
// documentation: it has code or definitions.
func reference(n *html.Node) bool { return firstTag(n, atom.Pre, atom.Dl) != nil }

func within(n *html.Node, class string) bool {
	for p := n.Parent; p != nil; p = p.Parent {
		if p.Type == html.ElementNode && hasClass(p, class) {
			return true
		}
	}
	return false
}

// extractMain chooses the part of a prepared page that is its content. The
// tree is taken apart; again makes another if the first choice was wrong.
func extractMain(ctx context.Context, doc *html.Node, again func() *html.Node) extraction {
	body := bodyOf(doc)
	visible := textLen(body)
	mainNode := mainElement(body)
	mainLen := visible
	if mainNode != nil {
		mainLen = textLen(mainNode)
	}
	if e, ok := fromDocsRoot(body, mainLen, visible); ok {
		return e
	}
	if countElements(body) > maxElements {
		e := fallback(body, visible)
		e.large = true
		return e
	}
	all := prose(body)
	if mainNode != nil && mainLen*2 >= visible {
		all = prose(mainNode)
	}
	ctx, cancel := context.WithTimeout(ctx, articleBudget)
	defer cancel()
	cost := price(body)
	a, err := article.Extract(ctx, doc)
	if err != nil {
		e := fallback(bodyOf(again()), visible)
		e.large = ctx.Err() != nil
		return e
	}
	e := extraction{root: a.Content, how: "article", title: a.Title}
	length := textLen(a.Content)
	e.coverage = ratio(length, visible)
	if cost != "" && !strings.Contains(oneLineText(a.Content), cost) {
		a.Content.AppendChild(newElement(atom.P, newText("Price: "+cost))) // it stands beside the text of a product
	}
	if part := ratio(prose(a.Content), all); part >= 0.6 || part >= 0.4 && a.Length >= 1500 {
		e.low = part < 0.5
		return e
	}
	f := fallback(bodyOf(again()), visible)
	f.title = a.Title
	return f
}

// price is what the page asks for what it sells, "" if it sells nothing.
func price(body *html.Node) string {
	n := first(body, func(n *html.Node) bool {
		return attr(n, "itemprop") == "price" || hasClass(n, "price", "product-price")
	})
	if n == nil {
		return ""
	}
	if t := oneLineText(n); len(t) < 60 && strings.ContainsAny(t, "0123456789") {
		return t
	}
	return ""
}

func ratio(part, whole int) float64 {
	if whole == 0 {
		return 1
	}
	return min(1, float64(part)/float64(whole))
}

// prose counts the letters that are read as text: runs of some length outside
// of links, and code. Menus, teasers and labels have little of it.
func prose(n *html.Node) int {
	switch n.Type {
	case html.TextNode:
		if l := letters(n.Data); l >= 25 {
			return l
		}
		return 0
	case html.ElementNode:
		switch n.DataAtom {
		case atom.A, atom.Nav, atom.Footer, atom.Aside, atom.Button:
			return 0
		case atom.Pre, atom.Dt, atom.Td, atom.Th, atom.H1, atom.H2, atom.H3:
			return textLen(n)
		}
		if notShown(n) {
			return 0
		}
	}
	count := 0
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		count += prose(c)
	}
	return count
}

// fromDocsRoot takes the content element of a documentation system.
func fromDocsRoot(body *html.Node, within, visible int) (extraction, bool) {
	for _, found := range outermost(body, docsRoots()) {
		length := 0
		for _, n := range found {
			length += textLen(n)
		}
		if len(found) == 0 || length < 150 || length*10 < within*4 {
			continue
		}
		root := found[0]
		if len(found) > 1 { // a discussion: all its posts, in order
			root = newElement(atom.Div)
			for _, n := range found {
				remove(n)
				root.AppendChild(n)
			}
		}
		prune(root)
		return extraction{root: root, how: "docs", coverage: ratio(textLen(root), visible)}, true
	}
	return extraction{}, false
}

// outermost lists, for each matcher, the elements that match and aren't inside
// another that does.
func outermost(n *html.Node, matchers []docsRoot) [][]*html.Node {
	found := make([][]*html.Node, len(matchers))
	inside := make([]bool, len(matchers))
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		var entered []int
		if n.Type == html.ElementNode && len(n.Attr) > 0 || n.DataAtom == atom.Main {
			for i, match := range matchers {
				if !inside[i] && match(n) {
					found[i] = append(found[i], n)
					inside[i] = true
					entered = append(entered, i)
				}
			}
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
		for _, i := range entered {
			inside[i] = false
		}
	}
	walk(n)
	return found
}

// mainElement is what the page marks as its main content, if there is one.
func mainElement(body *html.Node) *html.Node {
	if m := first(body, func(n *html.Node) bool { return n.DataAtom == atom.Main || attr(n, "role") == "main" }); m != nil {
		return m
	}
	if as := all(body, func(n *html.Node) bool { return n.DataAtom == atom.Article }); len(as) == 1 {
		return as[0]
	}
	return nil
}

// fallback takes the main element or the body, without what surrounds the text.
func fallback(body *html.Node, visible int) extraction {
	e := extraction{root: body, how: "body"}
	if mainNode := mainElement(body); mainNode != nil && textLen(mainNode)*4 >= visible {
		e.root, e.how = mainNode, "main"
	}
	before := textLen(e.root)
	whole := cloneTree(e.root)
	prune(e.root)
	after := textLen(e.root)
	if after*10 < before*3 { // the page is made of what was pruned
		e.root, after = whole, before
	}
	e.coverage = ratio(after, visible)
	e.low = e.coverage < 0.25
	return e
}

// prune removes navigation and other surroundings from a content element.
func prune(root *html.Node) {
	for c := root.FirstChild; c != nil; {
		next := c.NextSibling
		descend(c, func(n *html.Node) bool {
			if n.Type == html.ElementNode && surrounds(n) {
				remove(n)
				return false
			}
			return true
		})
		c = next
	}
}

func surrounds(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Nav, atom.Dialog:
		return true
	case atom.Footer, atom.Aside:
		return firstTag(n, atom.Pre, atom.Table) == nil
	case atom.Header:
		return firstTag(n, atom.H1, atom.H2) == nil && linkShare(n) > 0.3
	}
	switch attr(n, "role") {
	case "navigation", "search", "banner", "contentinfo", "menu", "menubar", "dialog", "alertdialog":
		return firstTag(n, atom.H1) == nil
	}
	class := attr(n, "class") + " " + attr(n, "id")
	if class == " " || n.DataAtom == atom.Body || n.DataAtom == atom.Main || n.DataAtom == atom.Article {
		return false
	}
	for c := range strings.FieldsSeq(strings.ToLower(class)) {
		switch c {
		case "toc", "table-of-contents", "tableofcontents", "breadcrumb", "breadcrumbs", "pagination", "pagination-nav", "sidebar",
			"edit-page", "edit-this-page", "page-nav", "prev-next-footer", "prev-next-area", "related-pages", "feedback", "cookie-banner", "skip-link", "skiplink",
			"sphinxsidebar", "theme-doc-footer", "nav-buttons", "nav-wrapper", "md-source-file", "headerlink", "share-buttons", "social-share",
			"sidebar-primary", "sidebar-secondary", "wy-breadcrumbs", "rst-footer-buttons", "on-this-page", "page-toc", "local-toc", "bd-toc",
			"article-footer", "doc-footer", "vpdocfooter", "out-of-band", "src-rightside", "mw-editsection", "navbox", "catlinks", "printfooter", "jump-link", "article-actions":
			return firstTag(n, atom.H1) == nil
		}
	}
	return false
}

// linkShare is how much of an element's text is links.
func linkShare(n *html.Node) float64 {
	total := textLen(n)
	if total == 0 {
		return 0
	}
	links := 0
	for _, a := range all(n, func(c *html.Node) bool { return c.DataAtom == atom.A }) {
		links += textLen(a)
	}
	return float64(links) / float64(total)
}

func cloneTree(n *html.Node) *html.Node {
	c := &html.Node{Type: n.Type, DataAtom: n.DataAtom, Data: n.Data, Namespace: n.Namespace, Attr: append([]html.Attribute(nil), n.Attr...)}
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		c.AppendChild(cloneTree(k))
	}
	return c
}
