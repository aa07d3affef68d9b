package article

import (
	"encoding/json"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

type metadata struct{ title, byline string }

// readMetadata reads the title and author that a page declares.
func readMetadata(doc *html.Node) metadata {
	var m metadata
	ldTitle, ldAuthor := linkedData(doc)
	values := map[string]string{}
	for _, n := range tagged(doc, atom.Meta) {
		content := strings.TrimSpace(attr(n, "content"))
		if content == "" {
			continue
		}
		for k := range strings.FieldsSeq(strings.ToLower(attr(n, "property"))) {
			values[k] = content
		}
		if name := strings.ToLower(strings.Join(strings.Fields(attr(n, "name")), "")); name != "" {
			values[strings.ReplaceAll(name, ".", ":")] = content
		}
	}
	pick := func(keys ...string) string {
		for _, k := range keys {
			if v := values[k]; v != "" {
				return v
			}
		}
		return ""
	}
	m.title = firstOf(ldTitle, pick("dc:title", "dcterm:title", "og:title", "weibo:article:title", "weibo:webpage:title", "title", "twitter:title", "parsely-title"))
	if m.title == "" {
		m.title = pageTitle(doc)
	}
	m.title = strings.Join(strings.Fields(html.UnescapeString(m.title)), " ")
	author := pick("article:author")
	if strings.Contains(author, "://") {
		author = ""
	}
	m.byline = firstOf(ldAuthor, pick("dc:creator", "dcterm:creator", "author", "parsely-author"), author)
	return m
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// linkedData reads a JSON-LD description of an article.
func linkedData(doc *html.Node) (title, author string) {
	for _, n := range tagged(doc, atom.Script) {
		if attr(n, "type") != "application/ld+json" || n.FirstChild == nil {
			continue
		}
		raw := strings.TrimSpace(n.FirstChild.Data)
		raw = strings.TrimSuffix(strings.TrimPrefix(raw, "<![CDATA["), "]]>")
		var v any
		if json.Unmarshal([]byte(raw), &v) != nil {
			continue
		}
		if o := articleObject(v); o != nil {
			return ldTitle(o, doc), ldAuthor(o["author"])
		}
	}
	return "", ""
}

func articleObject(v any) map[string]any {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if o := articleObject(e); o != nil {
				return o
			}
		}
	case map[string]any:
		if g, ok := v["@graph"].([]any); ok && v["@type"] == nil {
			return articleObject(g)
		}
		t, _ := v["@type"].(string)
		if strings.HasPrefix(t, "Article") || containsAny(t, "NewsArticle", "BlogPosting", "TechArticle", "ScholarlyArticle",
			"Report", "SocialMediaPosting", "DiscussionForumPosting", "APIReference", "AdvertiserContentArticle", "SatiricalArticle") {
			return v
		}
	}
	return nil
}

func ldTitle(o map[string]any, doc *html.Node) string {
	name, _ := o["name"].(string)
	headline, _ := o["headline"].(string)
	if name == "" || headline == "" || name == headline {
		return strings.TrimSpace(firstOf(name, headline))
	}
	// Some pages give the site's name as the article's: take the one the title repeats.
	title := tokens(pageTitle(doc))
	like := func(s string) bool {
		t := tokens(s)
		return len(t) > 0 && !slices.ContainsFunc(t, func(w string) bool { return !slices.Contains(title, w) })
	}
	if like(headline) && !like(name) {
		return strings.TrimSpace(headline)
	}
	return strings.TrimSpace(name)
}

func ldAuthor(v any) string {
	switch v := v.(type) {
	case map[string]any:
		s, _ := v["name"].(string)
		return strings.TrimSpace(s)
	case []any:
		var names []string
		for _, e := range v {
			if s := ldAuthor(e); s != "" {
				names = append(names, s)
			}
		}
		return strings.Join(names, ", ")
	}
	return ""
}

// pageTitle is the title element without the site's name.
func pageTitle(doc *html.Node) string {
	t := firstTag(doc, atom.Title)
	if t == nil {
		return ""
	}
	whole := strings.TrimSpace(rawText(t))
	title, hierarchy := whole, false
	if i := lastSeparator(whole, `|-–—\/>»`); i >= 0 {
		hierarchy = lastSeparator(whole, `\/>»`) >= 0
		title = whole[:i]
		if len(strings.Fields(title)) < 3 {
			_, title, _ = cutAny(whole, `|-–—\/>»`)
		}
	} else if strings.Contains(whole, ": ") {
		title = afterColon(doc, whole)
	} else if n := len([]rune(whole)); n > 150 || n < 15 {
		if hs := tagged(doc, atom.H1); len(hs) == 1 {
			title = text(hs[0])
		}
	}
	title = strings.Join(strings.Fields(title), " ")
	words := len(strings.Fields(title))
	bare := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`|-–—\/>»`, r) {
			return -1
		}
		return r
	}, whole)
	if words <= 4 && (!hierarchy || words != len(strings.Fields(bare))-1) {
		return whole
	}
	return title
}

func afterColon(doc *html.Node, whole string) string {
	for _, h := range tagged(doc, atom.H1, atom.H2) {
		if strings.TrimSpace(rawText(h)) == whole {
			return whole
		}
	}
	title := whole[strings.LastIndex(whole, ":")+1:]
	before, after, _ := strings.Cut(whole, ":")
	if len(strings.Fields(title)) < 3 {
		return after
	}
	if len(strings.Fields(before)) > 5 {
		return whole
	}
	return title
}

// lastSeparator finds the last of the runes that stands between two spaces.
func lastSeparator(s, runes string) int {
	last := -1
	for i, r := range s {
		if strings.ContainsRune(runes, r) && i > 0 && s[i-1] == ' ' && strings.HasPrefix(s[i+len(string(r)):], " ") {
			last = i - 1
		}
	}
	return last
}

func cutAny(s, runes string) (before, after string, found bool) {
	i := strings.IndexAny(s, runes)
	if i < 0 {
		return s, s, false
	}
	rest := []rune(s[i:])
	return s[:i], string(rest[1:]), true
}
