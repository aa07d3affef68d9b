package market

import (
	"fmt"
	"slices"
	"unicode"

	"github.com/whet-dev/whet/internal/lazyregexp"
	"github.com/whet-dev/whet/market/plugin"
)

// lints are what a person should look at in a text that enters a prompt. They
// never block: every one of them has honest uses.
var lints = []struct {
	what string
	re   *lazyregexp.Regexp
}{
	{"a comment that no reader of the page sees", lazyregexp.New(`(?s)<!--.*?-->`)},
	{"it tells the model to avoid or replace a tool", lazyregexp.New(`(?i)\b(never|do not|don't|avoid|instead of|rather than|stop|disable|replace)\b[^.\n]{0,60}\b(bash|read|write|edit|grep|glob|webfetch|websearch|web_search|web_fetch|apply_patch|task|built-in tools?)\b`)},
	{"a long run of encoded bytes", lazyregexp.New(`[A-Za-z0-9+/=_-]{200,}`)},
	{"an address on the network", lazyregexp.New(`(?i)\b(https?|wss?|ftp)://[^\s)>"'` + "`" + `]+`)},
}

const maxLints = 20

// lint says what in the texts of a package deserves a look, a line each.
func lint(p *plugin.Plugin) (found []string) {
	all := append([]plugin.Text{{File: "plugin.json", Body: p.Title + "\n" + p.Description}}, texts(p)...)
	for _, t := range all {
		if n := count(t.Body, hidden); n > 0 {
			found = append(found, fmt.Sprintf("%s: %s that can't be seen", t.File, plural(n, "character")))
		}
		for _, l := range lints {
			hit := l.re.Get().FindString(t.Body)
			if hit == "" {
				continue
			}
			if r := []rune(hit); len(r) > 80 {
				hit = string(r[:80]) + "…"
			}
			found = append(found, fmt.Sprintf("%s: %s: %q", t.File, l.what, hit))
		}
	}
	if n := len(found); n > maxLints {
		found = append(found[:maxLints], fmt.Sprintf("and %d more", n-maxLints))
	}
	return slices.Clip(found)
}

func count(s string, is func(rune) bool) (n int) {
	for _, r := range s {
		if r != '\t' && r != '\n' && r != '\r' && is(r) {
			n++
		}
	}
	return n
}

// hidden reports whether a character does something without being seen:
// controls, the marks of direction, zero-width and tag characters.
func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r >= 0xE0000 && r <= 0xE007F
}
