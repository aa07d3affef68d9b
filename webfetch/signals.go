package webfetch

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// shellScore says how much a page looks like one that scripts are to fill.
// It is taken before the tree is prepared.
type shellScore struct {
	scripts bool
	score   int
	text    int
}

// looksAtShell counts the marks of an application shell: little text, an empty
// element to mount into, a message for readers without scripts.
func looksAtShell(doc *html.Node, size int) shellScore {
	body := bodyOf(doc)
	s := shellScore{scripts: firstTag(doc, atom.Script) != nil, text: textLen(body)}
	if s.text >= 2500 {
		return s
	}
	if s.text < 200 {
		s.score++
	}
	if s.text < 600 {
		s.score++
	}
	if emptyMount(body) {
		s.score += 2
	}
	for _, n := range all(doc, func(n *html.Node) bool { return n.DataAtom == atom.Noscript }) {
		if t := strings.ToLower(textOfRaw(n)); strings.Contains(t, "javascript") || strings.Contains(t, "scripts") {
			s.score += 2
			break
		}
	}
	l := strings.ToLower(oneLineText(body))
	if strings.Contains(l, "enable javascript") || strings.Contains(l, "javascript is required") ||
		strings.Contains(l, "javascript is disabled") || strings.Contains(l, "requires javascript") {
		s.score++
	}
	if firstTag(body, atom.P, atom.Article, atom.H1, atom.H2, atom.Pre, atom.Table) == nil {
		s.score++
	}
	if s.text*100 < size {
		s.score++
	}
	return s
}

func emptyMount(body *html.Node) bool {
	return first(body, func(n *html.Node) bool {
		switch strings.ToLower(attr(n, "id")) {
		case "root", "app", "__next", "__nuxt", "main", "application", "app-root", "react-root", "svelte", "___gatsby", "q-app", "ember-app":
			return textLen(n) < 40
		}
		return n.Data == "app-root" && textLen(n) < 40
	}) != nil
}

func (s shellScore) needsScripts() bool { return s.scripts && s.text < 2500 && s.score >= 4 }

// htmlSignals notes what a reader should know about a page before trusting it.
func htmlSignals(d *document, p *prepass, e *extraction, shell shellScore, visible int) {
	text := strings.TrimSpace(d.Markdown)
	words := countWords(text)
	lower := strings.ToLower(text)
	if text == "" || visible == 0 {
		d.signal("empty_content")
	}
	if shell.needsScripts() {
		d.signal("js_required")
	}
	if e.low {
		d.signal("low_extraction_coverage:" + percent(e.coverage))
	}
	if e.large {
		d.signal("large_document")
	}
	title := strings.ToLower(d.Title)
	if challengePage(title, lower, words) {
		d.signal("bot_challenge")
	}
	if words < 150 && notFound(title, d.Headings) {
		d.signal("soft_404")
	}
	if p.loginForm && words < 200 {
		d.signal("login_wall")
	}
	if words < 200 && (strings.Contains(lower, "cookie") || strings.Contains(lower, "consent")) && (strings.Contains(lower, "accept all") || strings.Contains(lower, "before you continue")) {
		d.signal("consent_wall")
	}
	if p.restricted || paywalled(lower, words) {
		d.signal("possible_paywall")
	}
	if len(d.Raw) >= 10*max(1, visible) && !d.Extracted && words < 1200 {
		d.signal("high_boilerplate_ratio")
	}
	if l := strings.ToLower(d.Lang); l != "" && l != "en" && !strings.HasPrefix(l, "en-") && !strings.HasPrefix(l, "en_") {
		d.signal("non_english:" + l)
	}
}

// challengePage recognises the page that a bot wall shows in place of the site.
func challengePage(title, lower string, words int) bool {
	if words > 150 {
		return false
	}
	for _, s := range []string{"just a moment", "attention required", "access denied", "are you a robot", "ddos-guard", "pardon our interruption", "security check"} {
		if strings.HasPrefix(title, s) {
			return true
		}
	}
	for _, s := range []string{"verify you are human", "verifying you are human", "checking your browser", "unusual traffic from your", "complete the captcha"} {
		if strings.Contains(lower, s) {
			return true
		}
	}
	return false
}

func notFound(title string, headings []string) bool {
	for _, s := range append([]string{title}, headings[:min(1, len(headings))]...) {
		s = strings.ToLower(s)
		for _, phrase := range []string{"not found", "page doesn't exist", "page does not exist", "404", "no longer available", "can't find the page", "page missing"} {
			if strings.Contains(s, phrase) {
				return true
			}
		}
	}
	return false
}

// paywalled looks for the phrases of paywalls where they stand: in a short
// text, or at the end of a cut one. A page about paywalls has them elsewhere.
func paywalled(lower string, words int) bool {
	if words > 400 {
		lower = lower[max(0, len(lower)-600):]
	}
	for _, s := range []string{
		"subscribe to continue", "subscription required", "sign in to continue", "log in to continue", "create an account to continue",
		"members only", "premium content", "subscribe to read", "to continue reading", "already a subscriber?",
	} {
		if strings.Contains(lower, s) {
			return true
		}
	}
	return false
}

// countWords counts words; in scripts without spaces every character that is a
// letter counts as half a word.
func countWords(s string) int {
	words, dense, in := 0, 0, false
	for _, r := range s {
		switch {
		case r >= 0x2e80 && (unicode.Is(unicode.Han, r) || unicode.In(r, unicode.Hiragana, unicode.Katakana)) || r >= 0xe00 && r <= 0xe7f && unicode.IsLetter(r):
			dense++
			in = false
		case unicode.IsSpace(r):
			in = false
		case !in:
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				words++
				in = true
			}
		}
	}
	return words + (dense+1)/2
}

// fromEmbedded fills an empty page from the data it carries for its scripts.
func fromEmbedded(d *document, p *prepass) {
	best := ""
	for _, e := range p.embedded {
		var v any
		if len(e.data) > 4<<20 || json.Unmarshal([]byte(e.data), &v) != nil {
			continue
		}
		text := ""
		switch {
		case e.kind == "application/ld+json":
			text = findString(v, "articleBody", 0)
		case e.id == "__NEXT_DATA__" || e.id == "__NUXT_DATA__":
			if len(e.data) <= 200<<10 {
				var b bytes.Buffer
				if json.Indent(&b, []byte(e.data), "", "  ") == nil {
					text = "```json\n" + b.String() + "\n```"
				}
			}
		}
		if len(text) > len(best) {
			best = text
		}
	}
	if len(best) > 200 && len(best) > 2*len(strings.TrimSpace(d.Markdown)) {
		d.Markdown, d.Kind, d.HTML = best+"\n", "embedded_json", ""
	}
}

func findString(v any, key string, depth int) string {
	if depth > 20 {
		return ""
	}
	switch v := v.(type) {
	case map[string]any:
		if s, ok := v[key].(string); ok {
			return s
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if s := findString(v[k], key, depth+1); s != "" {
				return s
			}
		}
	case []any:
		for _, c := range v {
			if s := findString(c, key, depth+1); s != "" {
				return s
			}
		}
	}
	return ""
}
