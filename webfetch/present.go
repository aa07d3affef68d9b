package webfetch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	whatwg "github.com/nlnwa/whatwg-url/url"
	"github.com/whet-dev/whet/webfetch/md"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// present makes the answer to one call out of a document.
func (f *Fetcher) present(ctx context.Context, p *Page, d *document, a *address, r *Request) error {
	p.describe(d)
	if d.Binary != nil {
		return f.presentBinary(p, d, r)
	}
	content, err := rendered(ctx, d, r)
	if err != nil {
		return &Error{Kind: InvalidRequest, URL: redact(r.URL), Message: err.Error()}
	}
	p.Words = d.Words
	if words := p.Words; words > 0 && words < 60 && d.Kind == "html" {
		p.Signals = append(p.Signals, "very_short_content")
	}
	p.isHTML = r.Format == "html"
	if r.Prompt != "" {
		answer := f.ask(ctx, p, d.Markdown, r.Prompt)
		if answer != "" {
			p.Content = answer + "\n"
			if p.isHTML {
				p.Content = preformatted(answer)
			}
			return nil
		}
		if p.SkippedReason == "no_secondary_model_configured" && r.Find == "" && utf8.RuneCountInString(content) > briefEnough && !p.isHTML {
			if best := search(content, r.Prompt, r.MaxLength); best != "" {
				p.Content = "The sections of the page that match the question best:\n\n" + best
				return nil
			}
		}
	}
	return p.choose(content, d, a, r)
}

// choose cuts the content to the part that was asked for.
func (p *Page) choose(content string, d *document, a *address, r *Request) error {
	start := r.StartIndex
	switch {
	case r.Find != "":
		p.Content = search(content, r.Find, r.MaxLength)
		if p.Content == "" {
			p.Content = fmt.Sprintf("Nothing on the page matches %q. Its headings are: %s\n", clip(r.Find, 200), strings.Join(d.Headings, " · "))
		}
		return nil
	case r.Section != "":
		x, ok := findSection(content, splitSections(content), anchorsOf(d), r.Section)
		if !ok {
			return &Error{
				Kind: InvalidRequest, URL: redact(r.URL), Message: fmt.Sprintf("the page has no section %q", clip(r.Section, 200)),
				Hint: "Its sections are: " + sectionNames(content),
			}
		}
		content = content[x.start:x.end]
	case a.fragment != "" && r.StartIndex == 0 && r.MaxLength > 0 && utf8.RuneCountInString(content) > r.MaxLength:
		x, ok := findSection(content, splitSections(content), anchorsOf(d), a.fragment)
		p.FragmentFound = &ok
		if ok {
			start = utf8.RuneCountInString(content[:x.start])
		}
	}
	c := cut(content, start, r.MaxLength)
	if start > 0 && start >= c.total {
		return &Error{Kind: InvalidRequest, URL: redact(r.URL), Message: fmt.Sprintf("start_index %d is behind the end of the page, which has %d characters", start, c.total)}
	}
	p.StartIndex, p.NextIndex, p.Total = start, c.next, c.total
	if c.next > 0 {
		p.Truncated, p.TruncatedWhy = true, firstNonEmpty(p.TruncatedWhy, "max_length")
	}
	if p.isHTML {
		p.Content = c.body
		if c.next > 0 {
			p.Content += fmt.Sprintf("\n<!-- content continues: start_index=%d of %d -->\n", c.next, c.total)
		}
		return nil
	}
	p.Content = c.String()
	if d.Truncated && c.next == 0 {
		p.Content = strings.TrimRight(p.Content, "\n") + "\n\n[..content truncated..]\n"
	}
	return nil
}

func sectionNames(content string) string {
	var names []string
	for _, x := range splitSections(content) {
		if x.title != "" && len(names) < 40 {
			names = append(names, x.title)
		}
	}
	return strings.Join(names, " · ")
}

// describe copies what the document says of itself.
func (p *Page) describe(d *document) {
	p.FinalURL, p.Canonical, p.AlternateURL, p.Status, p.ContentType = d.URL, d.Canonical, "", d.Status, d.ContentType
	if d.AlternateOf != "" {
		p.AlternateURL, p.FinalURL = d.URL, d.AlternateOf
	}
	p.Charset, p.ETag, p.LastModified, p.ContentLength, p.Filename = d.Declared, d.Header.ETag, d.Header.LastModified, d.Header.ContentLength, d.Header.Filename
	p.Headings, p.Title, p.SourceKind, p.UsedLLMs, p.LLMsURL, p.LLMsError = d.Headings, d.Title, d.Kind, d.UsedLLMs, d.LLMs, d.LLMsError
	p.Extracted, p.RedirectChain, p.Upgraded = d.Extracted, d.Hops, d.Upgraded
	p.Revalidated, p.CacheHit, p.CacheStale = p.retrieval.revalidated, p.retrieval.hit, p.retrieval.stale
	if p.Revalidated {
		p.Upstream, p.Status = d.Status, 200
	} else if p.Status == 304 {
		p.Status = 200
	}
	p.Truncated, p.TruncatedWhy, p.Signals, p.HiddenRemoved = d.Truncated, d.Reason, slices.Clone(d.Signals), d.Hidden
	p.DecodedAs, p.DecodeGuessed, p.DecodeWarning = d.Charset, d.Guessed, d.Warning
	p.ContentSignal, p.RobotsTag = d.Header.ContentSignal, d.Header.RobotsTag
	if d.Proxied {
		p.SSRFCheck = "name-only"
	}
}

func (f *Fetcher) presentBinary(p *Page, d *document, r *Request) error {
	b := d.Binary
	p.binary, p.BinaryKind, p.Width, p.Height = true, b.Kind, b.Width, b.Height
	kind := strings.ToUpper(b.Kind[:1]) + b.Kind[1:]
	switch {
	case b.TooLarge:
		p.MetadataOnly, p.Limit = true, b.Limit
		p.Content = kind + " content omitted because it exceeds the download limit.\n"
	case !r.SaveBinary:
		p.MetadataOnly, p.Limit = true, b.Limit
		p.Content = kind + " content fetched but not saved. Re-run with save_binary=true to persist it.\n"
	default:
		path, err := f.save(d)
		if err != nil {
			return &Error{Kind: UnsupportedType, URL: redact(r.URL), Message: err.Error(), err: err}
		}
		p.SavedPath, p.Limit = path, b.Limit
		p.Content = kind + " content saved to " + path + "\n"
		if names := listArchive(b.Data); len(names) > 0 {
			p.Content += "\nIt holds:\n\n- " + strings.Join(names, "\n- ") + "\n"
		}
	}
	return nil
}

func mdOptions(r *Request) md.Options {
	return md.Options{
		Images:    map[string]md.Images{"alt": md.ImagesAlt, "none": md.ImagesNone}[r.Images],
		TextLinks: r.Links != "inline",
		Plain:     r.Format == "text",
	}
}

// rendered is the document's content in the format that was asked for.
func rendered(ctx context.Context, d *document, r *Request) (string, error) {
	if r.Raw {
		return d.Raw, nil
	}
	if d.Kind == "pdf" && r.Pages != "" {
		return pdfPages(d.Markdown, r.Pages)
	}
	if d.Kind != "html" {
		if r.Selector != "" {
			return "", fmt.Errorf("a selector needs an HTML page; this one is %s", d.Kind)
		}
		switch r.Format {
		case "html":
			return preformatted(firstNonEmpty(d.Plain, d.Markdown)), nil
		case "text":
			return firstNonEmpty(d.Plain, d.Markdown), nil
		}
		return d.Markdown, nil
	}
	if r.Format == "html" && r.Selector == "" {
		if r.WholePage {
			return d.Raw, nil
		}
		return d.HTML, nil
	}
	o := mdOptions(r)
	if r.Selector == "" && o == (md.Options{}) {
		return d.Markdown, nil
	}
	root, err := selected(ctx, d, r.Selector)
	if err != nil {
		return "", err
	}
	if r.Format == "html" {
		return renderHTML(root), nil
	}
	out := md.Render(root, o)
	if r.Links == "list" {
		out += linkList(root)
	}
	return out, nil
}

// selected is the extracted part of a page, or what a selector matches in the
// whole of it.
func selected(ctx context.Context, d *document, css string) (*html.Node, error) {
	if css == "" {
		root, _, err := parseHTML(d.HTML)
		if err != nil {
			return nil, err
		}
		return bodyOf(root), nil
	}
	sel, err := parseSelector(css)
	if err != nil {
		return nil, err
	}
	root, _, err := parseHTML(d.Raw)
	if err != nil {
		return nil, err
	}
	if u, err := whatwg.Parse(firstNonEmpty(d.AlternateOf, d.URL)); err == nil {
		newResolver(root, u).absolute(root)
	}
	matches, err := sel.find(ctx, root)
	if err != nil {
		return nil, err
	}
	var p prepass
	p.run(root)
	out := newElement(atom.Div)
	for _, m := range matches {
		if m.DataAtom == atom.Pre || m.Parent != nil || m.FirstChild != nil {
			remove(m)
			out.AppendChild(m)
		}
	}
	if len(matches) == 0 {
		return nil, fmt.Errorf("nothing on the page matches the selector %q", clip(css, 100))
	}
	return out, nil
}

// linkList lists where the links of a page lead, each once.
func linkList(root *html.Node) string {
	var b strings.Builder
	seen := map[string]bool{}
	descend(root, func(n *html.Node) bool {
		if n.DataAtom != atom.A {
			return true
		}
		href := attr(n, "href")
		if href == "" || href[0] == '#' || seen[href] || strings.HasPrefix(href, "javascript:") {
			return true
		}
		seen[href] = true
		text := oneLineText(n)
		if text == "" {
			text = attr(n, "aria-label")
		}
		fmt.Fprintf(&b, "- [%s](%s)\n", mdText(clip(text, 200)), mdTarget(href))
		return true
	})
	if b.Len() == 0 {
		return ""
	}
	return "\n## Links\n\n" + b.String()
}

// anchorsOf maps the ids of a page to the heading or term that they stand for.
func anchorsOf(d *document) map[string]string {
	if d.Kind != "html" {
		return nil
	}
	root, _, err := parseHTML(d.Raw)
	if err != nil {
		return nil
	}
	names := map[string]string{}
	var waiting []string
	descend(root, func(n *html.Node) bool {
		if n.Type != html.ElementNode || len(names) > 5000 {
			return len(names) <= 5000
		}
		id := attr(n, "id")
		if id == "" && n.DataAtom == atom.A {
			id = attr(n, "name")
		}
		switch n.DataAtom {
		case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Dt:
			t := headingText(n)
			for _, w := range waiting {
				names[w] = t
			}
			waiting = nil
			if id != "" {
				names[id] = t
			}
			for _, c := range all(n, func(c *html.Node) bool { return attr(c, "id") != "" || attr(c, "name") != "" }) {
				names[firstNonEmpty(attr(c, "id"), attr(c, "name"))] = t
			}
			return false
		}
		if id != "" {
			waiting = append(waiting, id)
			waiting = waiting[max(0, len(waiting)-20):]
		}
		return true
	})
	return names
}
