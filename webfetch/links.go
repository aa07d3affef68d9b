package webfetch

import (
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// A resolver makes the references of a page absolute, by the page's base.
type resolver struct {
	base   *whatwg.Url
	origin string
	dir    string // of the base, with its origin
	own    bool   // the page has no base of its own: "#x" means the page itself
}

func newResolver(root *html.Node, page *whatwg.Url) *resolver {
	r := &resolver{base: page, own: true}
	if b := first(root, func(n *html.Node) bool { return n.DataAtom == atom.Base && attr(n, "href") != "" }); b != nil {
		if u, err := resolve(page, attr(b, "href")); err == nil && (u.Scheme() == "http" || u.Scheme() == "https") {
			r.base, r.own = u, u.Href(true) == page.Href(true)
		}
	}
	r.origin = origin(r.base)
	r.dir = r.origin + r.base.Pathname()[:strings.LastIndex(r.base.Pathname(), "/")+1]
	return r
}

func (r *resolver) resolve(ref string) string {
	ref = strings.TrimSpace(ref)
	switch {
	case ref == "" || ref[0] == '#' && r.own:
		return ref
	case strings.HasPrefix(ref, "data:"), strings.HasPrefix(ref, "mailto:"), strings.HasPrefix(ref, "javascript:"):
		return ref
	}
	if simpleRef(ref) { // most are, and the full parser is ten times slower
		switch {
		case strings.HasPrefix(ref, "//"):
		case ref[0] == '/':
			return r.origin + ref
		case ref[0] != '?' && ref[0] != '#' && ref[0] != '.' && !strings.Contains(strings.SplitN(ref, "/", 2)[0], ":"):
			return r.dir + ref
		}
	}
	u, err := resolve(r.base, ref)
	if err != nil {
		return ref
	}
	return u.Href(false)
}

// simpleRef reports whether parsing would leave a reference as it is.
func simpleRef(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("/-_~=&?#+,:;@!()*$", c) >= 0:
		case c == '.':
			if i+1 < len(s) && (s[i+1] == '.' || s[i+1] == '/') || i > 0 && s[i-1] == '/' {
				return false
			}
		case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) && s[i+1:i+3] != "2e" && s[i+1:i+3] != "2E":
		default:
			return false
		}
	}
	return true
}

// absolute resolves all references below n.
func (r *resolver) absolute(n *html.Node) {
	descend(n, func(n *html.Node) bool {
		if n.Type != html.ElementNode {
			return true
		}
		switch n.DataAtom {
		case atom.A, atom.Area:
			if hasAttr(n, "href") {
				setAttr(n, "href", r.resolve(attr(n, "href")))
			}
		case atom.Img:
			r.image(n)
		case atom.Iframe, atom.Video, atom.Audio, atom.Source, atom.Embed, atom.Frame:
			if v := attr(n, "src"); v != "" {
				setAttr(n, "src", r.resolve(v))
			}
			if v := attr(n, "poster"); v != "" {
				setAttr(n, "poster", r.resolve(v))
			}
		}
		return true
	})
}

// image finds the address of an image that is loaded by script.
func (r *resolver) image(n *html.Node) {
	src := attr(n, "src")
	if src == "" || strings.HasPrefix(src, "data:") {
		for _, k := range []string{"data-src", "data-original", "data-lazy-src", "data-srcset", "srcset"} {
			v := strings.TrimSpace(attr(n, k))
			if v == "" || strings.HasPrefix(v, "data:") {
				continue
			}
			if strings.HasSuffix(k, "srcset") {
				v = strings.TrimRight(strings.Fields(v)[0], ",")
			}
			src = v
			break
		}
	}
	if src != "" {
		setAttr(n, "src", r.resolve(src))
	}
}
