package market

import (
	"fmt"
	"slices"
	"strings"

	"github.com/whet-dev/whet/internal/escape"
	"github.com/whet-dev/whet/internal/lazyregexp"
	"github.com/whet-dev/whet/market/plugin"
)

// lints are what a person should look at in a text that enters a prompt. They
// never block: every one of them has honest uses. Each returns the first
// place, or "". Texts have up to megabytes, so that none is one expression over
// the whole.
var lints = []struct {
	what string
	find func(string) string
}{
	{"a comment that no reader of the page sees", comment},
	{"it tells the model to avoid or replace a tool", steering},
	{"a long run of encoded bytes", encoded},
	{"an address on the network", address},
}

func comment(s string) string {
	_, s, ok := strings.Cut(s, "<!--")
	text, _, closed := strings.Cut(s, "-->")
	if !ok || !closed {
		return ""
	}
	return "<!--" + text + "-->"
}

var steers = lazyregexp.New(`(?i)\b(never|do not|don't|avoid|instead of|rather than|stop|disable|replace)\b[^.]{0,60}\b(bash|read|write|edit|grep|glob|webfetch|websearch|web_search|web_fetch|apply_patch|task|built-in tools?)\b`)

func steering(s string) string {
	for line := range strings.Lines(s) {
		low := strings.ToLower(line)
		if slices.ContainsFunc([]string{"never", "not", "n't", "avoid", "instead", "rather", "stop", "disable", "replace"}, func(w string) bool { return strings.Contains(low, w) }) {
			if hit := steers.Get().FindString(line); hit != "" {
				return hit
			}
		}
	}
	return ""
}

func encoded(s string) string {
	const long = 200
	start := 0
	for i := range len(s) {
		c := s[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("+/=_-", c) >= 0 {
			if i-start+1 == long {
				return s[start : i+1]
			}
			continue
		}
		start = i + 1
	}
	return ""
}

func address(s string) string {
	at := 0
	for {
		i := strings.Index(s[at:], "://")
		if i < 0 {
			return ""
		}
		i += at
		at = i + 3
		for _, scheme := range []string{"https", "http", "wss", "ws", "ftp"} {
			if j := i - len(scheme); j >= 0 && strings.EqualFold(s[j:i], scheme) {
				rest := s[at:]
				if n := strings.IndexAny(rest, " \t\r\n)>\"'`"); n >= 0 {
					rest = rest[:n]
				}
				return s[j:at] + rest
			}
		}
	}
}

const maxLints = 20

// lint says what in the texts of a package deserves a look, a line each.
func lint(p *plugin.Plugin) (found []string) {
	all := append([]plugin.Text{{File: "plugin.json", Body: p.Title + "\n" + p.Description}}, texts(p)...)
	for _, t := range all {
		if n := count(t.Body, escape.Hidden); n > 0 {
			found = append(found, fmt.Sprintf("%s: %s that can't be seen", t.File, plural(n, "character")))
		}
		for _, l := range lints {
			hit := l.find(t.Body)
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
