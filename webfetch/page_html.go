package webfetch

import (
	"context"
	"fmt"
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
	"github.com/whet-dev/whet/webfetch/md"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const maxHeadings = 12

// readHTML makes a document of a page.
func readHTML(ctx context.Context, d *document, source string, page *whatwg.Url, extractMainPart bool) error {
	d.Kind, d.Raw = "html", source
	doc, degraded, err := parseHTML(source)
	if err != nil {
		d.Markdown = tokenText(source)
		d.signal("degraded_parse")
		return nil
	}
	if degraded {
		d.signal("degraded_parse")
	}
	r := newResolver(doc, page)
	readHead(d, doc, r)
	shell := looksAtShell(doc, len(source))
	heading := ""
	if h := firstTag(doc, atom.H1); h != nil {
		heading = headingText(h)
	}
	var p prepass
	p.run(doc)
	d.Hidden = p.hidden
	visible := textLen(bodyOf(doc))
	e := extraction{root: bodyOf(doc), how: "body", coverage: 1}
	if extractMainPart {
		e = extractMain(ctx, doc, func() *html.Node {
			doc, _, err := parseHTML(source)
			if err != nil {
				return newElement(atom.Div) // it could be parsed before
			}
			new(prepass).run(doc)
			return doc
		})
		d.Extracted = e.how != "body"
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	r.absolute(e.root)
	d.Coverage = e.coverage
	if d.Title == "" {
		d.Title = e.title
	}
	keepTitle(e.root, d.Title, heading, extractMainPart)
	d.Headings = contentHeadings(e.root)
	if e.root.DataAtom == atom.Frameset || firstTag(e.root, atom.Frame) != nil {
		listFrames(e.root)
	}
	d.HTML = renderHTML(e.root)
	d.Markdown = md.Render(e.root, md.Options{})
	htmlSignals(d, &p, &e, shell, visible)
	if strings.TrimSpace(d.Markdown) == "" || hasSignal(d, "js_required") {
		fromEmbedded(d, &p)
	}
	return nil
}

// readHead reads what a page says of itself.
func readHead(d *document, doc *html.Node, r *resolver) {
	if t := firstTag(doc, atom.Title); t != nil {
		d.Title = strings.Join(strings.Fields(textOfRaw(t)), " ")
	}
	if h := firstTag(doc, atom.Html); h != nil {
		d.Lang = clip(attr(h, "lang"), 20)
	}
	descend(doc, func(n *html.Node) bool {
		switch n.DataAtom {
		case atom.Link:
			rel := " " + strings.ToLower(attr(n, "rel")) + " "
			href := attr(n, "href")
			switch {
			case href == "":
			case strings.Contains(rel, " canonical ") && d.Canonical == "":
				if u, err := resolve(r.base, href); err == nil && u.Username() == "" && u.Password() == "" {
					d.Canonical = u.Href(false)
				}
			case strings.Contains(rel, " alternate ") && strings.Contains(strings.ToLower(attr(n, "type")), "text/markdown"):
				d.llmsLinks.markdown = r.resolve(href)
			case strings.Contains(rel, " describedby ") && strings.Contains(href, "llms"):
				d.llmsLinks.describedby = r.resolve(href)
			}
		case atom.Meta:
			if strings.EqualFold(attr(n, "http-equiv"), "refresh") {
				d.Refresh = refreshTarget(attr(n, "content"))
			}
			if strings.EqualFold(attr(n, "name"), "robots") && strings.Contains(strings.ToLower(attr(n, "content")), "noai") {
				d.Header.RobotsTag = attr(n, "content")
			}
		}
		return true
	})
}

// contentHeadings lists the first headings of what was extracted.
func contentHeadings(root *html.Node) []string {
	var hs []string
	for _, h := range all(root, func(n *html.Node) bool {
		return n.DataAtom == atom.H1 || n.DataAtom == atom.H2 || n.DataAtom == atom.H3
	}) {
		if t := headingText(h); t != "" && len(hs) < maxHeadings {
			hs = append(hs, t)
		}
	}
	return hs
}

// headingText drops the mark by which a heading links to itself.
func headingText(h *html.Node) string {
	t := strings.TrimSpace(strings.TrimSuffix(oneLineText(h), "¶"))
	if i := strings.LastIndex(t, " #"); i >= 0 && strings.Trim(t[i+1:], "#") == "" {
		t = t[:i]
	}
	return clip(strings.TrimSpace(t), 200)
}

// keepTitle puts the page's title above a text that has no heading of the first
// level: the heading that the page itself shows if its title repeats it, since
// titles often end in the name of the site.
func keepTitle(root *html.Node, title, heading string, extracted bool) {
	if !extracted || firstTag(root, atom.H1) != nil {
		return
	}
	if heading != "" && strings.Contains(strings.ToLower(title), strings.ToLower(heading)) {
		title = heading
	}
	if title == "" {
		return
	}
	if h := firstTag(root, atom.H2); h != nil && strings.EqualFold(oneLineText(h), title) {
		h.Data, h.DataAtom = "h1", atom.H1
		return
	}
	root.InsertBefore(newElement(atom.H1, newText(title)), root.FirstChild)
}

// listFrames replaces frames by links to what they show.
func listFrames(root *html.Node) {
	for _, f := range all(root, func(n *html.Node) bool { return n.DataAtom == atom.Frame }) {
		name := attr(f, "name")
		if name == "" {
			name = attr(f, "title")
		}
		if name == "" {
			name = attr(f, "src")
		}
		a := newElement(atom.A, newText(name))
		setAttr(a, "href", attr(f, "src"))
		replace(f, newElement(atom.P, newText("Frame: "), a))
	}
	if root.DataAtom == atom.Frameset {
		root.Data, root.DataAtom = "div", atom.Div
	}
	for _, f := range all(root, func(n *html.Node) bool { return n.DataAtom == atom.Frameset }) {
		f.Data, f.DataAtom = "div", atom.Div
	}
}

// tokenText is the text of a page that can't be parsed.
func tokenText(s string) string {
	z := html.NewTokenizer(strings.NewReader(s))
	var b strings.Builder
	skip := ""
	for {
		switch z.Next() {
		case html.ErrorToken:
			return strings.TrimSpace(b.String())
		case html.StartTagToken:
			name, _ := z.TagName()
			if n := string(name); n == "script" || n == "style" || n == "template" {
				skip = n
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if string(name) == skip {
				skip = ""
			}
			b.WriteByte(' ')
		case html.TextToken:
			if skip == "" {
				b.Write(z.Text())
			}
		}
	}
}

func hasSignal(d *document, name string) bool {
	for _, s := range d.Signals {
		if s == name || strings.HasPrefix(s, name+":") {
			return true
		}
	}
	return false
}

func percent(f float64) string { return fmt.Sprintf("%d%%", int(f*100+0.5)) }
