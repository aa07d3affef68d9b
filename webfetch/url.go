package webfetch

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// maxURL is how many bytes an address may have.
const maxURL = 8192

// An address is a URL as browsers understand it, without fragment.
type address struct {
	typed     string
	url       *whatwg.Url
	fragment  string // without the '#', decoded
	corrected string // what was changed to make sense of the input
}

// href is the address without its fragment.
func (a *address) href() string { return a.url.Href(true) }

// parseAddress reads what a person or a model gave as a URL. Browsers' rules
// apply, so that every spelling of a host becomes one before it is judged.
func parseAddress(input string) (*address, error) {
	typed := input
	input = strings.TrimSpace(input)
	fail := func(message, hint string) error {
		return &Error{Kind: InvalidURL, URL: clip(redact(typed), 200), Message: message, Hint: hint}
	}
	if input == "" {
		return nil, fail("the URL is empty", "Give an absolute http or https URL.")
	}
	if len(input) > maxURL {
		return nil, fail("the URL is longer than 8192 bytes", "Shorten it.")
	}
	input, corrected := correct(input)
	if !hasScheme(input) {
		if !looksLikeHost(input) {
			return nil, fail("the URL is not absolute", "Give an absolute http or https URL, such as https://example.com/page.")
		}
		input, corrected = "https://"+input, "https:// was added"
	}
	u, err := whatwg.Parse(input)
	if err != nil {
		return nil, fail("the URL can't be parsed", "Check the host name and port.")
	}
	if s := u.Scheme(); s != "http" && s != "https" {
		return nil, fail("the scheme "+s+" is not fetched, only http and https are", "Use a tool for files if this is a local path.")
	}
	if u.Username() != "" || u.Password() != "" {
		return nil, fail("the URL holds a user name or password", "Remove the part before '@'; credentials are never sent.")
	}
	if u.Hostname() == "" {
		return nil, fail("the URL has no host", "Give an absolute http or https URL.")
	}
	a := &address{typed: typed, url: u, corrected: corrected}
	if f, err := url.PathUnescape(u.Fragment()); err == nil {
		a.fragment = f
	}
	return a, nil
}

// correct removes what prose puts after a URL, unless it belongs to it.
func correct(s string) (string, string) {
	if strings.HasPrefix(s, "<") && strings.HasSuffix(s, ">") {
		s = s[1 : len(s)-1]
	}
	t := s
	for t != "" {
		last := t[len(t)-1]
		open := map[byte]string{')': "(", ']': "[", '>': "<", '"': "\"", '\'': "'", '.': "", ',': ""}
		pair, ok := open[last]
		if !ok || pair != "" && strings.Contains(t[:len(t)-1], pair) {
			break
		}
		t = t[:len(t)-1]
	}
	if t != s && t != "" {
		return t, "removed " + strings.TrimPrefix(s, t) + " from the end"
	}
	return s, ""
}

func hasScheme(s string) bool {
	i := strings.IndexAny(s, ":/?#")
	if i <= 0 || s[i] != ':' {
		return false
	}
	if strings.HasPrefix(s[i:], "://") {
		return true
	}
	port := strings.TrimLeft(s[i+1:], "0123456789")
	return port == s[i+1:] || port != "" && port[0] != '/' // "host:80/x" has none
}

func looksLikeHost(s string) bool {
	if strings.ContainsAny(s, " \t\n\\") || s[0] == '/' || s[0] == '.' {
		return false
	}
	host, _, _ := strings.Cut(s, "/")
	name, _, _ := strings.Cut(host, ":")
	return name == "localhost" || strings.Contains(strings.Trim(name, "."), ".")
}

// resolve reads a reference found at base. It goes by base's text: the library
// notes things on a base that it is given, which others may be reading.
func resolve(base *whatwg.Url, ref string) (*whatwg.Url, error) {
	return whatwg.ParseRef(base.Href(true), ref)
}

// origin is scheme, host and port.
func origin(u *whatwg.Url) string { return u.Protocol() + "//" + u.Host() }

// withScheme returns a copy of u with another scheme, without fragment.
func withScheme(u *whatwg.Url, scheme string) *whatwg.Url {
	c, err := whatwg.Parse(scheme + strings.TrimPrefix(u.Href(true), u.Scheme()))
	if err != nil {
		return u
	}
	return c
}

// requestURL converts to the form that net/http sends. Browsers allow a bare
// '%', which net/url doesn't.
func requestURL(u *whatwg.Url) (*url.URL, error) {
	href := u.Href(true)
	if r, err := url.Parse(href); err == nil {
		return r, nil
	}
	var b strings.Builder
	for i := range len(href) {
		b.WriteByte(href[i])
		if href[i] == '%' && (i+2 >= len(href) || !isHex(href[i+1]) || !isHex(href[i+2])) {
			b.WriteString("25")
		}
	}
	return url.Parse(b.String())
}

func isHex(c byte) bool { return strings.IndexByte("0123456789abcdefABCDEF", c) >= 0 }

// hostOf is the host without the dot that may end a full name.
func hostOf(u *whatwg.Url) string {
	return strings.ToLower(strings.TrimSuffix(strings.Trim(u.Hostname(), "[]"), "."))
}

// literal returns the host as an IP address, if it is one.
func literal(u *whatwg.Url) (netip.Addr, bool) {
	a, err := netip.ParseAddr(hostOf(u))
	return a, err == nil
}

func defaultPort(u *whatwg.Url) bool { return u.Port() == "" }

// sameSite reports whether a redirect from one address to the other stays with
// the site that was asked for: the same host but for a leading "www.", the same
// scheme or from http to https, the default port on both sides or the same.
func sameSite(from, to *whatwg.Url) bool {
	if to.Username() != "" || to.Password() != "" {
		return false
	}
	if strings.TrimPrefix(hostOf(from), "www.") != strings.TrimPrefix(hostOf(to), "www.") {
		return false
	}
	switch {
	case from.Scheme() == to.Scheme():
		return from.Port() == to.Port()
	case from.Scheme() == "http" && to.Scheme() == "https":
		return defaultPort(from) && defaultPort(to)
	}
	return false
}

// redact hides the credentials of a URL. Its query stays: a signature in it is
// what makes a redirect of one use.
func redact(s string) string {
	if i := strings.Index(s, "://"); i >= 0 {
		rest := s[i+3:]
		end := strings.IndexAny(rest, "/?#\\")
		if end < 0 {
			end = len(rest)
		}
		if at := strings.LastIndex(rest[:end], "@"); at >= 0 {
			return s[:i+3] + "REDACTED@" + rest[at+1:]
		}
	}
	return s
}

// matchHost reports whether a host matches one of the globs ("*.example.com",
// "example.com"); a star stands for one or more whole labels at the beginning.
func matchHost(globs []string, host string) bool {
	return slices.ContainsFunc(globs, func(g string) bool {
		g = strings.ToLower(strings.TrimSuffix(g, "."))
		if rest, ok := strings.CutPrefix(g, "*"); ok {
			return rest == "" || strings.HasPrefix(rest, ".") && strings.HasSuffix(host, rest) && len(host) > len(rest)
		}
		return g == host
	})
}

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}
