package webfetch

import (
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// A prepass makes a page's tree fit for extraction: what scripts would show is
// shown, what nobody sees is removed, and what a plain reader would lose (the
// language of code, the kind of a note, formulas, boxes) is written out.
type prepass struct {
	hidden     int  // hidden pieces of text that were removed
	scripts    int  // script elements
	noscript   bool // a message for readers without scripts
	loginForm  bool
	restricted bool // structured data says that the page isn't free to read
	embedded   []embeddedData
}

type embeddedData struct{ id, kind, data string }

func (p *prepass) run(root *html.Node) {
	p.strip(root)
	tabs(root)
	p.hide(root)
	maths(root)
	code(root)
	notes(root)
	permalinks(root)
	details(root)
}

// strip removes scripts, styles and comments, keeping what they say about the
// page.
func (p *prepass) strip(root *html.Node) {
	descend(root, func(n *html.Node) bool {
		switch n.Type {
		case html.CommentNode:
			remove(n)
			return false
		case html.TextNode:
			n.Data = p.visibleRunes(n.Data)
			return false
		case html.ElementNode:
		default:
			return true
		}
		switch n.DataAtom {
		case atom.Script:
			return p.script(n)
		case atom.Style, atom.Template, atom.Object, atom.Embed, atom.Canvas:
			remove(n)
			return false
		case atom.Noscript:
			p.unwrapNoscript(n)
			return false
		case atom.Input:
			switch strings.ToLower(attr(n, "type")) {
			case "password":
				p.loginForm = true
			case "checkbox":
				if isElement(n.Parent, atom.Li, atom.P, atom.Label, atom.Td, atom.Span, atom.Div) {
					replace(n, newText(map[bool]string{true: "[x] ", false: "[ ] "}[hasAttr(n, "checked")]))
				}
			}
			return false
		case atom.Svg:
			if n.Namespace == "svg" || n.DataAtom == atom.Svg {
				remove(n)
				return false
			}
		}
		return true
	})
}

func (p *prepass) script(n *html.Node) bool {
	kind := strings.ToLower(attr(n, "type"))
	text := ""
	if n.FirstChild != nil {
		text = n.FirstChild.Data
	}
	switch {
	case strings.HasPrefix(kind, "math/tex"):
		replace(n, formula(text, strings.Contains(kind, "mode=display")))
		return false
	case kind == "application/ld+json", kind == "application/json":
		p.embedded = append(p.embedded, embeddedData{attr(n, "id"), kind, text})
		if kind == "application/ld+json" && strings.Contains(strings.ReplaceAll(strings.ToLower(text), " ", ""), `"isaccessibleforfree":false`) {
			p.restricted = true
		}
	default:
		p.scripts++
	}
	remove(n)
	return false
}

// unwrapNoscript keeps the image that a script would have loaded.
func (p *prepass) unwrapNoscript(n *html.Node) {
	img := firstTag(n, atom.Img)
	text := strings.TrimSpace(textOfRaw(n))
	if img != nil && text == "" {
		prev := n.PrevSibling
		for prev != nil && prev.Type == html.TextNode && strings.TrimSpace(prev.Data) == "" {
			prev = prev.PrevSibling
		}
		if isElement(prev, atom.Img) {
			remove(prev)
		}
		unwrap(n)
		return
	}
	l := strings.ToLower(text)
	if strings.Contains(l, "javascript") || strings.Contains(l, "scripting") {
		p.noscript = true
	}
	remove(n)
}

func textOfRaw(n *html.Node) string {
	var b strings.Builder
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		appendText(&b, c)
	}
	return b.String()
}

// visibleRunes drops the characters that a reader doesn't see but a model does:
// zero-width ones, direction overrides, tags. Joiners stay where they shape
// letters or emoji.
func (p *prepass) visibleRunes(s string) string {
	if strings.IndexFunc(s, invisible) < 0 {
		return s
	}
	var b strings.Builder
	prev := rune(0)
	for i, r := range s {
		if !invisible(r) {
			b.WriteRune(r)
			prev = r
			continue
		}
		if (r == '\u200c' || r == '\u200d') && prev > unicode.MaxASCII {
			if next := strings.TrimLeftFunc(s[i:], invisible); next != "" && next[0] >= 0x80 {
				b.WriteRune(r)
			}
		}
		if r >= 0xe0000 || r >= '\u202a' && r <= '\u202e' {
			p.hidden++
		}
	}
	return b.String()
}

func invisible(r rune) bool {
	switch {
	case r < 0xad:
		return false
	case r == 0xad, r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r == 0xfeff,
		r >= 0xe0000 && r <= 0xe007f, r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0:
		return true
	}
	return false
}

// hide removes what the page doesn't show. Panels and details are shown on
// demand, so they stay.
func (p *prepass) hide(root *html.Node) {
	descend(root, func(n *html.Node) bool {
		if n.Type != html.ElementNode {
			return true
		}
		switch n.DataAtom {
		case atom.Body, atom.Html, atom.Head:
			return true
		}
		if !isHidden(n) {
			return true
		}
		if strings.TrimSpace(textOf(n)) != "" {
			p.hidden++
		}
		remove(n)
		return false
	})
}

func isHidden(n *html.Node) bool {
	if hasAttr(n, "data-shown") || isElement(n, atom.Img) && !hasAttr(n, "hidden") {
		return false
	}
	if hasAttr(n, "hidden") {
		return true
	}
	if hasClass(n, "sr-only", "visually-hidden", "visuallyhidden", "screen-reader-text", "screen-reader-only") {
		return n.DataAtom != atom.H1 && !hasClass(n, "katex-mathml")
	}
	style := attr(n, "style")
	if style == "" {
		return false
	}
	style = strings.ToLower(strings.Join(strings.Fields(style), ""))
	for d := range strings.SplitSeq(style, ";") {
		d = strings.TrimSuffix(d, "!important")
		switch d {
		case "display:none", "visibility:hidden", "visibility:collapse", "font-size:0", "font-size:0px", "opacity:0",
			"clip:rect(0,0,0,0)", "clip-path:inset(50%)", "clip-path:inset(100%)", "content-visibility:hidden":
			return true
		}
		k, v, _ := strings.Cut(d, ":")
		switch k {
		case "left", "top", "right", "text-indent", "margin-left", "margin-top":
			if strings.HasPrefix(v, "-") && len(strings.TrimRight(v[1:], "pxemrtvwh%.")) >= 4 {
				return true
			}
		case "width", "height":
			if (v == "0" || v == "0px") && strings.Contains(style, "overflow:hidden") {
				return true
			}
		}
	}
	return false
}

// permalinks removes the marks beside headings that link to themselves, the
// buttons beside code, and list items without anything in them.
func permalinks(root *html.Node) {
	descend(root, func(n *html.Node) bool {
		if n.Type != html.ElementNode {
			return true
		}
		switch n.DataAtom {
		case atom.Button, atom.Select, atom.Datalist:
			if firstTag(n, atom.H1, atom.H2, atom.H3, atom.H4) == nil {
				remove(n)
				return false
			}
		case atom.A:
			if selfLink(n) {
				remove(n)
				return false
			}
			delAttr(n, "title")
			if strings.HasPrefix(attr(n, "href"), "#") && inHeading(n) { // the heading as a link to itself
				delAttr(n, "href")
			}
		case atom.Li:
			if n.FirstChild == nil || textLen(n) == 0 && strings.TrimSpace(textOf(n)) == "" && firstTag(n, atom.Img, atom.Pre, atom.Input, atom.Code) == nil {
				remove(n)
				return false
			}
		}
		if hasClass(n, "hideme", "language-name", "md-content__button", "src", "srclink") && firstTag(n, atom.Pre, atom.H1, atom.H2) == nil ||
			hasClass(n, "copybtn", "copy-button", "clipboard-copy", "btn-clipboard") ||
			n.Data == "clipboard-copy" {
			remove(n)
			return false
		}
		return true
	})
}

func selfLink(n *html.Node) bool {
	href := attr(n, "href")
	if !strings.Contains(href, "#") && href != "" {
		return false
	}
	if hasClass(n, "headerlink", "header-anchor", "hash-link", "heading-anchor", "anchor-link", "anchorjs-link", "permalink", "doc-anchor") {
		return true
	}
	switch strings.TrimSpace(textOf(n)) {
	case "¶", "#", "§", "🔗", "Permalink", "Permanent link", "Link to this heading", "anchor":
		return href != "" && (inHeading(n) || hasClass(n, "anchor"))
	case "":
		return firstTag(n, atom.Img) == nil && inHeading(n)
	}
	return false
}

func inHeading(n *html.Node) bool {
	for p, i := n.Parent, 0; p != nil && i < 3; p, i = p.Parent, i+1 {
		switch p.DataAtom {
		case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Dt, atom.Summary:
			return true
		}
	}
	return false
}

func details(root *html.Node) {
	for _, d := range all(root, func(n *html.Node) bool { return n.DataAtom == atom.Summary }) {
		if isElement(d.Parent, atom.Details) && firstTag(d, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.P, atom.Div, atom.Section) == nil {
			s := newElement(atom.P, newElement(atom.Strong))
			for c := d.FirstChild; c != nil; c = d.FirstChild {
				d.RemoveChild(c)
				s.FirstChild.AppendChild(c)
			}
			replace(d, s)
		}
	}
}
