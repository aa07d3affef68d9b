// Package webfetch reads pages of the web as a careful person would want them:
// the content as Markdown with its code, tables, notes and formulas, without
// menus, and with honest word of what may be missing.
//
// It never reaches an address that is not public, whatever a redirect, a DNS
// answer or the spelling of a URL says, unless a person allowed it. It runs no
// scripts, solves no challenges and stores no cookies beyond a call.
package webfetch

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	defaultTimeout = 30 * time.Second
	maxTimeout     = 120 * time.Second
)

// A Fetcher fetches pages and remembers them. It may be used by many
// goroutines.
type Fetcher struct {
	opt       Options
	cidrs     []netip.Prefix
	hooks     hooks
	transport *http.Transport
	proxy     func(*url.URL) (*url.URL, error)
	cache     *cache
	flight    flight

	mu       sync.Mutex
	upgrades map[string]upgrade   // by host: whether https works
	noLLMs   map[string]time.Time // scopes without llms.txt, until when
	robots   map[string]*robotsFile
}

type upgrade struct {
	works bool
	until time.Time
}

// New makes a Fetcher. Its error names the option that is wrong.
func New(o Options) (*Fetcher, error) { return newFetcher(o, hooks{}) }

func newFetcher(o Options, h hooks) (*Fetcher, error) {
	cidrs, err := o.check()
	if err != nil {
		return nil, err
	}
	if h.lookup == nil {
		h.lookup = lookupSystem
	}
	if h.connect == nil {
		h.connect = connectGuarded
	}
	if h.now == nil {
		h.now = time.Now
	}
	f := &Fetcher{
		opt: o, cidrs: cidrs, hooks: h, proxy: proxyFunc(o.Network.Proxy), cache: newCache(o.CacheDir),
		upgrades: map[string]upgrade{}, noLLMs: map[string]time.Time{}, robots: map[string]*robotsFile{},
	}
	f.transport = f.newTransport()
	return f, nil
}

// Close drops the idle connections.
func (f *Fetcher) Close() { f.transport.CloseIdleConnections() }

// A Request says what to fetch and what of it to return.
type Request struct {
	URL        string
	Format     string  // "markdown" (default), "text" or "html"
	Timeout    float64 // seconds, at most 120; 0 is 30
	Prompt     string  // a question about the page
	WholePage  bool    // don't reduce the page to its main content
	LLMs       string  // "auto" (default), "always" or "never": use of the site's llms.txt
	SaveBinary bool    // write what isn't text to a file

	StartIndex int    // where to begin, in characters of the rendered page
	MaxLength  int    // how many characters to return; 0 is all
	Section    string // return the section with this heading or #fragment
	Selector   string // return what a CSS selector matches
	Find       string // return the sections that match these words best
	Links      string // "inline" (default), "none" or "list"
	Images     string // "full" (default), "alt" or "none"
	MaxAge     *int   // seconds that a remembered page may be old; 0 fetches anew
	Pages      string // pages of a PDF: "3", "1-5"
	Raw        bool   // return the source as it was sent, decoded
}

// check finds mistakes in a request and fills in its defaults.
func (r *Request) check() error {
	bad := func(format string, a ...any) error {
		return &Error{Kind: InvalidRequest, URL: clip(redact(r.URL), 200), Message: fmt.Sprintf(format, a...)}
	}
	for _, c := range []struct {
		name string
		v    *string
		want []string
	}{
		{"format", &r.Format, []string{"markdown", "text", "html"}},
		{"prefer_llms_txt", &r.LLMs, []string{"auto", "always", "never"}},
		{"links", &r.Links, []string{"inline", "none", "list"}},
		{"images", &r.Images, []string{"full", "alt", "none"}},
	} {
		if *c.v == "" {
			*c.v = c.want[0]
		}
		if !slices.Contains(c.want, *c.v) {
			return bad("%s is %q; it must be %s", c.name, *c.v, strings.Join(c.want, ", "))
		}
	}
	switch {
	case r.Timeout < 0 || r.Timeout > maxTimeout.Seconds():
		return bad("timeout is %v; it must be above 0 and at most 120 seconds", r.Timeout)
	case r.StartIndex < 0 || r.MaxLength < 0:
		return bad("start_index and max_length can't be negative")
	case r.MaxAge != nil && *r.MaxAge < 0:
		return bad("max_age can't be negative")
	}
	if r.Pages != "" {
		if _, _, err := pageRange(r.Pages); err != nil {
			return bad("%v", err)
		}
	}
	if _, err := parseSelector(r.Selector); r.Selector != "" && err != nil {
		return bad("selector %q: %v", clip(r.Selector, 100), err)
	}
	return nil
}

func (r *Request) timeout() time.Duration {
	if r.Timeout == 0 {
		return defaultTimeout
	}
	return time.Duration(r.Timeout * float64(time.Second))
}

// Fetch returns the page that a request asks for. Its error is an *[Error].
func (f *Fetcher) Fetch(ctx context.Context, r Request) (*Page, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	a, err := parseAddress(r.URL)
	if err != nil {
		return nil, err
	}
	from := f.rewrite(a)
	budget, cancel := context.WithTimeout(ctx, r.timeout())
	defer cancel()
	d, how, err := f.document(budget, a, &r)
	if err != nil {
		return nil, f.explain(err, a, r.URL)
	}
	p := &Page{RequestedURL: redact(r.URL), RewrittenFrom: from, URLCorrected: a.corrected, retrieval: how}
	return p, f.present(ctx, p, d, a, &r)
}

// explain makes sure that an error names the page that was asked for.
func (f *Fetcher) explain(err error, a *address, asked string) error {
	e, ok := err.(*Error) //nolint:errorlint // made here and never wrapped
	if !ok {
		e = f.failure(context.Background(), a.url, "body", err)
	}
	c := *e
	if c.Kind != BlockedAddress || len(c.Chain) == 0 {
		c.URL = redact(asked)
	}
	c.RetrySecs = int(c.RetryAfter.Seconds())
	return &c
}

// Patterns lists the addresses that a request may contact, for a permission to
// be asked: the page over https and http, and the llms.txt files of its site if
// those are looked for.
func (f *Fetcher) Patterns(r Request) ([]string, error) {
	a, err := parseAddress(r.URL)
	if err != nil {
		return nil, err
	}
	f.rewrite(a)
	var out []string
	add := func(s string) {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	if r.LLMs == "" {
		r.LLMs = "auto"
	}
	first, fallback := f.schemes(a)
	add(first.Href(true))
	if fallback != nil {
		add(fallback.Href(true))
	}
	if r.LLMs == "always" || r.LLMs == "auto" && f.docsLike(hostOf(a.url)) {
		add(origin(first) + "/llms-full.txt")
		add(origin(first) + "/llms.txt")
		if fallback != nil {
			add(origin(fallback) + "/llms-full.txt")
			add(origin(fallback) + "/llms.txt")
		}
	}
	return out, nil
}

// Convert makes a page of HTML source as if it had been fetched from pageURL,
// without touching the network.
func Convert(ctx context.Context, source, pageURL string) (*Page, error) {
	a, err := parseAddress(pageURL)
	if err != nil {
		return nil, err
	}
	d := &document{URL: a.url.Href(false), Status: http.StatusOK, ContentType: "text/html", Charset: "utf-8"}
	if err := readHTML(ctx, d, source, a.url, true); err != nil {
		return nil, fmt.Errorf("converting %s: %w", redact(pageURL), err)
	}
	p := &Page{RequestedURL: redact(pageURL), Content: d.Markdown, Words: countWords(d.Markdown)}
	p.describe(d)
	return p, nil
}
