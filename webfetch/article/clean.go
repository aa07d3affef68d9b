package article

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// clean removes what isn't text of the article from it.
func (x *extractor) clean(content *html.Node) {
	for _, t := range tagged(content, atom.Table) {
		x.data[t] = dataTable(t)
	}
	lazyImages(content)
	x.cleanConditionally(content, atom.Form)
	x.cleanConditionally(content, atom.Fieldset)
	drop(content, atom.Object, atom.Embed, atom.Footer, atom.Link, atom.Aside)
	for _, c := range children(content) {
		for n := next(c, c, false); n != nil; {
			if shares(attr(n, "class")+" "+attr(n, "id")) && len([]rune(rawText(n))) < enough {
				n = removeAndNext(n, c)
			} else {
				n = next(n, c, false)
			}
		}
	}
	drop(content, atom.Iframe, atom.Input, atom.Textarea, atom.Select, atom.Button)
	for _, h := range tagged(content, atom.H1, atom.H2) {
		if x.classWeight(h) < 0 {
			remove(h)
		}
	}
	x.cleanConditionally(content, atom.Table)
	x.cleanConditionally(content, atom.Ul)
	x.cleanConditionally(content, atom.Div)
	for _, h := range tagged(content, atom.H1) {
		rename(h, atom.H2)
	}
	tidyParagraphs(content)
	for _, t := range tagged(content, atom.Table) {
		singleCell(t)
	}
}

func tidyParagraphs(content *html.Node) {
	ps := tagged(content, atom.P)
	for _, p := range slices.Backward(ps) {
		if firstTag(p, atom.Img, atom.Embed, atom.Object, atom.Iframe) == nil && blank(p) {
			remove(p)
		}
	}
	for _, br := range tagged(content, atom.Br) {
		if n := skipSpace(br.NextSibling); n != nil && n.DataAtom == atom.P {
			remove(br)
		}
	}
}

// singleCell replaces a table of one cell by what is in it.
func singleCell(t *html.Node) {
	body := t
	if b := only(t, atom.Tbody); b != nil {
		body = b
	}
	row := only(body, atom.Tr)
	if row == nil || t.Parent == nil {
		return
	}
	cell := only(row, atom.Td)
	if cell == nil {
		return
	}
	a := atom.P
	for c := cell.FirstChild; c != nil; c = c.NextSibling {
		if !isPhrasing(c) {
			a = atom.Div
		}
	}
	rename(cell, a)
	row.RemoveChild(cell)
	replace(t, cell)
}

// drop removes elements by name, except players of well-known video sites.
func drop(content *html.Node, atoms ...atom.Atom) {
	for _, a := range atoms {
		for _, n := range slices.Backward(tagged(content, a)) {
			if (a == atom.Object || a == atom.Embed || a == atom.Iframe) && plays(n) {
				continue
			}
			remove(n)
		}
	}
}

// plays reports whether an embedded element shows a video of a known site.
func plays(n *html.Node) bool {
	for _, a := range n.Attr {
		v := strings.ToLower(a.Val)
		i := strings.Index(v, "//")
		if i < 0 {
			continue
		}
		v = strings.TrimPrefix(v[i+2:], "www.")
		for _, h := range []string{
			"dailymotion.com", "youtube.com", "youtube-nocookie.com", "player.vimeo.com", "v.qq.com",
			"archive.org", "upload.wikimedia.org", "player.twitch.tv", "bilibili.com", "live.bilibili.com",
		} {
			if strings.HasPrefix(v, h) {
				return true
			}
		}
	}
	return false
}

// shares reports whether names hold the word share or sharedaddy.
func shares(s string) bool {
	for w := range strings.FieldsFuncSeq(strings.ToLower(s), func(r rune) bool {
		return r == '_' || !(r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r)))
	}) {
		if w == "share" || w == "sharedaddy" {
			return true
		}
	}
	return false
}

// cleanConditionally removes elements of one kind that look more like
// decoration than like text.
func (x *extractor) cleanConditionally(content *html.Node, a atom.Atom) {
	if !x.strategy.cleanConditionally {
		return
	}
	for i, n := range slices.Backward(tagged(content, a)) {
		if i%16 == 0 && x.ctx.Err() != nil {
			return
		}
		if n.Parent != nil && x.decoration(n, a) {
			remove(n)
		}
	}
}

func (x *extractor) decoration(n *html.Node, a atom.Atom) bool {
	isData := func(t *html.Node) bool { return x.data[t] }
	if a == atom.Table && isData(n) || hasAncestor(n, atom.Table, -1, isData) || hasAncestor(n, atom.Code, 3, nil) ||
		slices.ContainsFunc(tagged(n, atom.Table), isData) {
		return false
	}
	var m measure
	m.add(n)
	isList := a == atom.Ul || a == atom.Ol
	if !isList {
		inLists := 0
		for _, l := range tagged(n, atom.Ul, atom.Ol) {
			inLists += textLen(l)
		}
		isList = m.length > 0 && float64(inLists)/float64(m.length) > 0.9
	}
	weight := x.classWeight(n)
	if weight < 0 {
		return true
	}
	if m.ascii() >= 10 {
		return false
	}
	embeds := tagged(n, atom.Object, atom.Embed, atom.Iframe)
	if slices.ContainsFunc(embeds, plays) {
		return false
	}
	if m.length < 40 && adWords(text(n)) {
		return true
	}
	c := counts{
		length: m.length, weight: weight, isList: isList, embeds: len(embeds),
		p: count(n, atom.P), img: count(n, atom.Img), li: count(n, atom.Li), input: count(n, atom.Input),
		links: linkDensity(n), inFigure: hasAncestor(n, atom.Figure, 3, nil),
	}
	if !c.shady(n) {
		return false
	}
	if isList { // lists of images may stay
		for _, k := range children(n) {
			if len(children(k)) > 1 {
				return true
			}
		}
		return c.img != c.li
	}
	return true
}

type counts struct {
	length, weight, embeds, p, img, li, input int
	isList, inFigure                          bool
	links                                     float64
}

func (c *counts) shady(n *html.Node) bool {
	switch {
	case !c.inFigure && c.img > 1 && float64(c.p)/float64(c.img) < 0.5,
		!c.isList && c.li-100 > c.p,
		c.input > c.p/3,
		!c.isList && c.weight < 25 && c.links > 0.2,
		c.weight >= 25 && c.links > 0.5,
		c.embeds == 1 && c.length < 75 || c.embeds > 1:
		return true
	}
	if !c.isList && !c.inFigure && c.length < 25 && (c.img == 0 || c.img > 2) && c.links > 0 &&
		textDensity(n, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6) < 0.9 {
		return true
	}
	return c.img == 0 && textDensity(n, atom.Span, atom.Li, atom.Td, atom.Blockquote, atom.Dl, atom.Div, atom.Img, atom.Ol,
		atom.P, atom.Pre, atom.Table, atom.Ul) == 0
}

// adWords reports whether a text is nothing but a label of advertising or of
// something still loading.
func adWords(s string) bool {
	s = strings.ToLower(s)
	switch strings.TrimSuffix(strings.TrimSuffix(s, "…"), "...") {
	case "loading", "正在加载", "загрузка", "chargement", "cargando":
		return true
	}
	switch s {
	case "ad", "advertising", "advertisement", "pub", "publicité", "werb", "werbung", "广告", "реклама", "anuncio":
		return true
	}
	return false
}

// dataTable reports whether a table holds data, and isn't there for layout.
func dataTable(t *html.Node) bool {
	if attr(t, "role") == "presentation" || attr(t, "datatable") == "0" {
		return false
	}
	if attr(t, "summary") != "" {
		return true
	}
	if c := firstTag(t, atom.Caption); c != nil && c.FirstChild != nil {
		return true
	}
	if firstTag(t, atom.Col, atom.Colgroup, atom.Tfoot, atom.Thead, atom.Th) != nil {
		return true
	}
	if firstTag(t, atom.Table) != nil {
		return false
	}
	rows, columns := 0, 0
	for _, tr := range tagged(t, atom.Tr) {
		rows += span(tr, "rowspan")
		width := 0
		for _, td := range tagged(tr, atom.Td) {
			width += span(td, "colspan")
		}
		columns = max(columns, width)
	}
	if columns == 1 || rows == 1 {
		return false
	}
	return rows >= 10 || columns > 4 || rows*columns > 10
}

func span(n *html.Node, key string) int {
	if v, err := strconv.Atoi(attr(n, key)); err == nil && v > 0 {
		return min(v, 1000)
	}
	return 1
}

// lazyImages gives images the address that a script would have given them.
func lazyImages(content *html.Node) {
	for _, n := range tagged(content, atom.Img, atom.Picture, atom.Figure) {
		src := attr(n, "src")
		if strings.HasPrefix(src, "data:") && !strings.HasPrefix(src, "data:image/svg") && len(src) < 160 {
			if slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key != "src" && imageName(a.Val) }) {
				n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "src" })
				src = ""
			}
		}
		if (src != "" || attr(n, "srcset") != "") && !strings.Contains(strings.ToLower(attr(n, "class")), "lazy") {
			continue
		}
		for _, a := range slices.Clone(n.Attr) {
			if a.Key == "src" || a.Key == "srcset" || a.Key == "alt" || !imageName(a.Val) {
				continue
			}
			key := "src"
			if f := strings.Fields(a.Val); len(f) > 1 {
				if c := f[1][0]; c < '0' || c > '9' {
					continue
				}
				key = "srcset"
			}
			if n.DataAtom != atom.Figure {
				setAttr(n, key, a.Val)
			} else if firstTag(n, atom.Img, atom.Picture) == nil {
				img := newElement(atom.Img)
				setAttr(img, key, a.Val)
				n.AppendChild(img)
			}
		}
	}
}

func imageName(s string) bool {
	return containsAny(strings.ToLower(s), ".jpg", ".jpeg", ".png", ".webp")
}
