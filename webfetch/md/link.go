package md

import (
	"strings"

	"golang.org/x/net/html"
)

func (r *renderer) link(s *span, n *html.Node) {
	href := strings.TrimSpace(attr(n, "href"))
	if r.o.Plain || r.o.TextLinks || !hasAttr(n, "href") || s.inLink || strings.HasPrefix(strings.ToLower(href), "javascript:") {
		r.spans(s, n)
		return
	}
	in := &span{prev: '[', marks: s.marks, inLink: true, inCell: s.inCell}
	r.spans(in, n)
	text := strings.ReplaceAll(strings.Trim(in.b.String(), "\n "), "\n", " ")
	if in.lead {
		s.space = true
	}
	if text == "" {
		if text = escape(label(n), '[', ']', true); text == "" {
			s.space = s.space || in.space
			return
		}
	}
	title := attr(n, "title")
	if bare := textOf(n); title == "" && autolink(href, bare) {
		s.write("<" + bare + ">")
	} else {
		s.write("[" + text + "](" + target(href) + quotedTitle(title) + ")")
	}
	s.space = in.space
}

// label is what an element without text is called.
func label(n *html.Node) string {
	for _, k := range []string{"aria-label", "title"} {
		if v := strings.Join(strings.Fields(attr(n, k)), " "); v != "" {
			return v
		}
	}
	return ""
}

// autolink reports whether <href> says the same as [text](href).
func autolink(href, text string) bool {
	if href != text && href != "mailto:"+text {
		return false
	}
	if strings.ContainsAny(href, " <>\\\"`{}|^\n\t") {
		return false
	}
	if mail, ok := strings.CutPrefix(href, "mailto:"); ok {
		name, host, ok := strings.Cut(mail, "@")
		return ok && name != "" && host != "" && !strings.ContainsAny(mail, "?&%/:")
	}
	return strings.HasPrefix(href, "https://") || strings.HasPrefix(href, "http://")
}

// target writes a link's destination.
func target(u string) string {
	if strings.HasPrefix(u, "data:") && len(u) > 64 {
		return "data:omitted"
	}
	if u == "" {
		return ""
	}
	var b strings.Builder
	pointy := strings.ContainsAny(u, " \t") || u[0] == '<' || !balanced(u)
	for i := range len(u) {
		c := u[i]
		switch {
		case c == '\n' || c == '\r':
			continue
		case c < ' ' || c == 0x7f:
			continue
		case pointy && (c == '<' || c == '>'), c == '\\' && i+1 < len(u) && isASCIIPunct(rune(u[i+1])),
			c == '&' && isEntity(u[i+1:]):
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	if pointy {
		return "<" + b.String() + ">"
	}
	return b.String()
}

func balanced(u string) bool {
	depth := 0
	for i := range len(u) {
		switch u[i] {
		case '\\':
			return !strings.ContainsAny(u, "()")
		case '(':
			depth++
		case ')':
			if depth--; depth < 0 {
				return false
			}
		}
	}
	return depth == 0
}

func quotedTitle(t string) string {
	t = strings.Join(strings.Fields(t), " ")
	if t == "" {
		return ""
	}
	return ` "` + escapeAll(t, `"\&<`) + `"`
}

// escapeAll puts a backslash before each of the given characters.
func escapeAll(s, chars string) string {
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(chars, s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func (r *renderer) image(s *span, n *html.Node) {
	alt := strings.Join(strings.Fields(attr(n, "alt")), " ")
	src := strings.TrimSpace(attr(n, "src"))
	switch {
	case r.o.Images == ImagesNone:
	case r.o.Plain || r.o.Images == ImagesAlt:
		if alt != "" {
			s.write(alt)
		}
	case src == "" && alt == "":
	default:
		s.write("![" + escapeAll(alt, "[]\\`*_<&") + "](" + target(src) + quotedTitle(attr(n, "title")) + ")")
	}
}

func (r *renderer) media(s *span, n *html.Node) {
	src := attr(n, "src")
	for c := n.FirstChild; c != nil && src == ""; c = c.NextSibling {
		if c.Data == "source" {
			src = attr(c, "src")
		}
	}
	if src == "" || r.o.Plain || r.o.TextLinks || strings.HasPrefix(src, "data:") || strings.HasPrefix(src, "about:") {
		return
	}
	name := label(n)
	if name == "" {
		name = n.Data
	}
	s.write("[" + escape(name, '[', ']', true) + "](" + target(src) + ")")
}
