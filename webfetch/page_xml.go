package webfetch

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/whet-dev/whet/webfetch/md"
	"golang.org/x/net/html"
)

const (
	maxEntries   = 500
	svgSourceMax = 20 << 10
)

// A feed holds what RSS, Atom, RDF and sitemaps have in common.
type feed struct {
	kind, title string
	entries     []entry
	more        int
}

type entry struct{ title, link, date, summary string }

// readXML lists the entries of a feed or the addresses of a sitemap; other XML
// is shown as it is.
func readXML(d *document, text string) {
	d.Kind = "xml"
	if f := parseFeed(text); f != nil && (f.kind != "" && len(f.entries) > 0) {
		d.Kind, d.Title = f.kind, f.title
		d.Markdown = f.markdown()
		return
	}
	d.Markdown = fenced(text, "xml")
}

// parseFeed reads as far as the XML is sound.
func parseFeed(text string) *feed {
	dec := xml.NewDecoder(strings.NewReader(text))
	dec.Strict = false
	dec.Entity = xml.HTMLEntity
	dec.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil } // it is UTF-8 already
	f := &feed{}
	var path []string
	var cur *entry
	var chars strings.Builder
	for {
		tok, err := dec.Token()
		if err != nil {
			return f
		}
		switch t := tok.(type) {
		case xml.StartElement:
			name := t.Name.Local
			if len(path) == 0 {
				f.kind = map[string]string{"rss": "feed", "feed": "feed", "RDF": "feed", "urlset": "sitemap", "sitemapindex": "sitemap"}[name]
				if f.kind == "" {
					return nil
				}
			}
			path = append(path, name)
			if len(path) > 100 {
				return f
			}
			chars.Reset()
			switch name {
			case "item", "entry", "url", "sitemap":
				if len(path) <= 3 {
					cur = &entry{}
				}
			case "link":
				if cur != nil {
					cur.takeLink(t)
				}
			}
		case xml.CharData:
			if chars.Len() < 64<<10 {
				chars.Write(t)
			}
		case xml.EndElement:
			if len(path) == 0 {
				return f
			}
			name := path[len(path)-1]
			path = path[:len(path)-1]
			text := strings.TrimSpace(chars.String())
			switch {
			case cur != nil && (name == "item" || name == "entry" || name == "url" || name == "sitemap"):
				if len(f.entries) < maxEntries {
					f.entries = append(f.entries, *cur)
				} else {
					f.more++
				}
				cur = nil
			case cur != nil:
				cur.take(name, text)
			case name == "title" && f.title == "":
				f.title = oneLineOf(text)
			}
			chars.Reset()
		}
	}
}

func (e *entry) takeLink(t xml.StartElement) {
	href, rel := "", ""
	for _, a := range t.Attr {
		switch a.Name.Local {
		case "href":
			href = a.Value
		case "rel":
			rel = a.Value
		}
	}
	if href != "" && (rel == "" || rel == "alternate") {
		e.link = href
	}
}

func (e *entry) take(name, text string) {
	if text == "" {
		return
	}
	set := func(s *string, v string) {
		if *s == "" {
			*s = v
		}
	}
	switch name {
	case "title":
		set(&e.title, oneLineOf(text))
	case "link", "loc":
		set(&e.link, oneLineOf(text))
	case "pubDate", "updated", "published", "date", "lastmod":
		set(&e.date, oneLineOf(text))
	case "description", "summary", "content", "encoded":
		set(&e.summary, clip(plainHTML(text), 400))
	}
}

// oneLineOf is the text of a field, which may be HTML.
func oneLineOf(s string) string { return strings.Join(strings.Fields(html.UnescapeString(s)), " ") }

func plainHTML(s string) string {
	if strings.Contains(s, "<") {
		if root, _, err := parseHTML(s); err == nil {
			s = md.Render(root, md.Options{Plain: true, Images: md.ImagesNone})
		}
	}
	return strings.Join(strings.Fields(s), " ")
}

func (f *feed) markdown() string {
	var b strings.Builder
	if f.title != "" {
		b.WriteString("# " + mdText(f.title) + "\n\n")
	}
	for _, e := range f.entries {
		switch {
		case e.title != "" && e.link != "":
			fmt.Fprintf(&b, "- [%s](%s)", mdText(e.title), mdTarget(e.link))
		case e.link != "":
			b.WriteString("- <" + mdTarget(e.link) + ">")
		default:
			b.WriteString("- " + mdText(e.title))
		}
		if e.date != "" {
			b.WriteString(" (" + mdText(e.date) + ")")
		}
		if e.summary != "" {
			b.WriteString("\n  " + mdText(e.summary))
		}
		b.WriteByte('\n')
	}
	if f.more > 0 {
		fmt.Fprintf(&b, "\n%d more entries are not shown.\n", f.more)
	}
	return b.String()
}

// mdText escapes what would be markup in a line of text.
func mdText(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, "`", "\\`").Replace(s)
}

func mdTarget(s string) string {
	return strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "<", "%3C", ">", "%3E", "\n", "").Replace(s)
}

// readSVG gives a drawing's own words, and its source if it is short.
func readSVG(d *document, text string) {
	d.Kind = "svg"
	dec := xml.NewDecoder(strings.NewReader(text))
	dec.Strict = false
	dec.Entity = xml.HTMLEntity
	dec.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	var words []string
	var name string
	for {
		tok, err := dec.Token()
		if err != nil {
			break
		}
		switch t := tok.(type) {
		case xml.StartElement:
			name = t.Name.Local
		case xml.CharData:
			if s := strings.Join(strings.Fields(string(t)), " "); s != "" && name != "style" && name != "script" && len(words) < 500 {
				words = append(words, s)
				if name == "title" && d.Title == "" {
					d.Title = clip(s, 200)
				}
			}
		}
	}
	d.Markdown = strings.Join(words, "\n")
	if d.Markdown != "" {
		d.Markdown += "\n"
	}
	if len(text) <= svgSourceMax {
		d.Markdown += "\n" + fenced(text, "svg")
	}
	d.Markdown = strings.TrimLeft(d.Markdown, "\n")
}
