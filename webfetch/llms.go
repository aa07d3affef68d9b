package webfetch

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

const (
	probeTimeout = 8 * time.Second
	noLLMsTTL    = time.Hour
	probeGrace   = 250 * time.Millisecond // how long a page waits for a probe that runs beside it
	fullLimit    = 200 << 10              // an llms-full.txt up to this is given whole
	maxProbes    = 4
	acceptLLMs   = "text/plain, text/markdown;q=0.9, */*;q=0.1"
)

// docsLike reports whether a host is likely to be a documentation site.
func (f *Fetcher) docsLike(host string) bool {
	for _, s := range []string{"readthedocs.io", "readthedocs.org", "gitbook.io", "netlify.app", "vercel.app"} {
		if strings.HasSuffix(host, "."+s) {
			return true
		}
	}
	label, rest, _ := strings.Cut(host, ".")
	switch label {
	case "docs", "developer", "developers", "dev", "wiki":
		if strings.Contains(rest, ".") || label == "docs" && rest != "" && rest != "rs" {
			return true
		}
	}
	return host == "docs.rs" || matchHost(f.opt.DocsHosts, host)
}

// scopes lists where an llms.txt for a page may lie, the nearest first.
func scopes(p string) []string {
	var dirs []string
	dir := p[:strings.LastIndex(p, "/")+1]
	for dir != "/" && dir != "" && len(dirs) < maxProbes-2 {
		dirs = append(dirs, dir)
		dir = path.Dir(strings.TrimSuffix(dir, "/"))
		if !strings.HasSuffix(dir, "/") {
			dir += "/"
		}
	}
	for _, d := range []string{"/docs/", "/"} {
		known := false
		for _, have := range dirs {
			known = known || have == d
		}
		if !known && len(dirs) < maxProbes {
			dirs = append(dirs, d)
		}
	}
	return dirs
}

// A probe looks for llms.txt beside the fetch of a page.
type probe struct {
	done   chan struct{}
	cancel context.CancelFunc
	start  time.Time
	found  *document
	err    error
}

func (f *Fetcher) probeLLMs(ctx context.Context, a *address) *probe {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	p := &probe{done: make(chan struct{}), cancel: cancel, start: time.Now()}
	go func() {
		defer close(p.done)
		p.found, p.err = f.nearest(ctx, a, []string{"llms.txt"})
	}()
	return p
}

func (p *probe) stop() {
	p.cancel()
	<-p.done
}

// result waits for the probe as long again as it has run, so that a slow one
// can't double the wait.
func (p *probe) result(ctx context.Context) (*document, error) {
	t := time.NewTimer(max(probeGrace, time.Since(p.start)))
	defer t.Stop()
	select {
	case <-p.done:
		return p.found, p.err
	case <-t.C:
		return nil, errors.New("the search for llms.txt took too long")
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// nearest fetches the file of the innermost scope that has one. All scopes are
// asked at once.
func (f *Fetcher) nearest(ctx context.Context, a *address, names []string) (*document, error) {
	first, fallback := f.schemes(a)
	dirs := scopes(a.url.Pathname())
	bases := []*whatwg.Url{first}
	if fallback != nil {
		bases = append(bases, fallback)
	}
	var last error
	for _, base := range bases {
		type answer struct {
			doc *document
			err error
		}
		answers := make([]answer, len(dirs))
		var wg sync.WaitGroup
		for i, dir := range dirs {
			wg.Go(func() {
				for _, name := range names {
					d, err := f.llmsFile(ctx, a, origin(base)+dir+name)
					if answers[i] = (answer{d, err}); d != nil {
						return
					}
				}
			})
		}
		wg.Wait()
		for _, x := range answers {
			if x.doc != nil {
				return x.doc, nil
			}
			if x.err != nil {
				last = x.err
			}
		}
	}
	if last == nil {
		last = errors.New("no llms.txt was found")
	}
	return nil, last
}

// llmsFile fetches one candidate and checks that it is what it should be. A
// file that isn't there is no error.
func (f *Fetcher) llmsFile(ctx context.Context, a *address, at string) (*document, error) {
	f.mu.Lock()
	until, miss := f.noLLMs[at]
	f.mu.Unlock()
	if miss && f.hooks.now().Before(until) {
		return nil, nil
	}
	d, err := f.fetchText(ctx, a, at)
	if d == nil {
		var e *Error
		if err == nil || errors.As(err, &e) && e.Kind != Cancelled && e.Kind != Timeout {
			f.mu.Lock()
			if len(f.noLLMs) > 4000 {
				clear(f.noLLMs)
			}
			f.noLLMs[at] = f.hooks.now().Add(noLLMsTTL)
			f.mu.Unlock()
		}
	}
	return d, err
}

func (f *Fetcher) fetchText(ctx context.Context, a *address, at string) (*document, error) {
	u, err := resolve(a.url, at)
	if err != nil {
		return nil, fmt.Errorf("the address of llms.txt: %w", err)
	}
	x := f.newExchange(a, acceptLLMs)
	w, err := x.follow(ctx, u)
	if err != nil {
		return nil, err
	}
	if w.StatusCode != 200 {
		w.discard()
		return nil, nil
	}
	d, err := f.read(ctx, w, &Request{Format: "markdown", LLMs: "never"}, false)
	if err != nil {
		return nil, err
	}
	if why := notLLMs(d, w.url); why != "" {
		return nil, fmt.Errorf("%s: %s", at, why)
	}
	return d, nil
}

// notLLMs returns why a document isn't an llms.txt, "" if it is.
func notLLMs(d *document, u *whatwg.Url) string {
	p := u.Pathname()
	text := strings.TrimSpace(d.Raw)
	title := ""
	if len(d.Headings) > 0 {
		title = strings.ToLower(d.Headings[0])
	}
	switch {
	case !strings.HasSuffix(p, "/llms.txt") && !strings.HasSuffix(p, "/llms-full.txt"):
		return "it leads to another page"
	case d.Kind == "html" || !strings.HasPrefix(d.ContentType, "text/") && d.ContentType != "application/octet-stream":
		return "it isn't text"
	case text == "":
		return "it is empty"
	case text[0] == '<' || text[0] == '{':
		return "it isn't Markdown"
	case strings.Contains(p, "login") || strings.HasPrefix(title, "log in") || strings.HasPrefix(title, "sign in") || strings.HasPrefix(title, "login"):
		return "it is a login page"
	case len(d.Headings) == 0 && !strings.Contains(text, "]("):
		return "it has neither a heading nor a link"
	}
	return ""
}

// siteText returns the site's llms-full.txt or llms.txt in place of a page.
func (f *Fetcher) siteText(ctx context.Context, a *address) (*document, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	d, err := f.nearest(ctx, a, []string{"llms-full.txt", "llms.txt"})
	if d == nil {
		return nil, err
	}
	return asLLMs(d), nil
}

func asLLMs(d *document) *document {
	c := *d
	c.UsedLLMs, c.LLMs, c.Kind, c.Title = true, d.URL, "llms_txt", ""
	c.Markdown = collapse(c.Raw)
	c.Words = countWords(c.Markdown)
	return &c
}

// collapse keeps at most one blank line, outside of code.
func collapse(s string) string {
	var b strings.Builder
	fence, blank := "", 0
	for l := range strings.SplitSeq(strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")), "\n") {
		if fence == "" && strings.TrimSpace(l) == "" {
			if blank++; blank > 1 {
				continue
			}
		} else {
			blank = 0
		}
		fence = nextFence(fence, l)
		b.WriteString(l + "\n")
	}
	return b.String()
}

// better looks for a form of the page made for machines: the Markdown that the
// page names, or that the nearest llms.txt lists for it.
func (f *Fetcher) better(ctx context.Context, a *address, r *Request, d *document, p *probe) *document {
	if d.llmsLinks.describedby != "" {
		d.LLMs = d.llmsLinks.describedby
	}
	if d.llmsLinks.markdown != "" {
		if m := f.alternate(ctx, a, r, d, d.llmsLinks.markdown); m != nil {
			return m
		}
	}
	if p == nil {
		return d
	}
	site, err := p.result(ctx)
	if site == nil {
		if err != nil {
			d.LLMsError = err.Error()
		}
		return d
	}
	d.LLMs = site.URL
	dir := strings.TrimSuffix(site.URL, "llms.txt")
	if at := strings.TrimSuffix(d.URL, "/") + "/"; at == dir || strings.TrimSuffix(a.href(), "/")+"/" == dir {
		if full, _ := f.llmsFile(ctx, a, dir+"llms-full.txt"); full != nil && len(full.Raw) <= fullLimit {
			site = full
		}
		return asLLMs(site)
	}
	links := markdownLinks(site.Raw, site.URL)
	for _, l := range links {
		if samePage(l.url, d.URL) {
			if m := f.alternate(ctx, a, r, d, l.url); m != nil {
				m.LLMs = site.URL
				return m
			}
			break
		}
	}
	return d
}

// alternate fetches the Markdown form of a page, and refuses one that has lost
// much of its text.
func (f *Fetcher) alternate(ctx context.Context, a *address, r *Request, page *document, at string) *document {
	u, err := whatwg.Parse(at)
	from, err2 := whatwg.Parse(page.URL)
	if err != nil || err2 != nil || !sameSite(from, u) {
		return nil
	}
	w, err := f.newExchange(a, accept("markdown")).follow(ctx, u)
	if err != nil {
		return nil
	}
	if w.StatusCode != 200 {
		w.discard()
		return nil
	}
	m, err := f.read(ctx, w, &Request{Format: r.Format, LLMs: "never"}, false)
	if err != nil || m.Kind != "markdown" && m.Kind != "text" || looksHTML([]byte(m.Raw)) || countWords(m.Raw)*4 < countWords(page.Markdown) {
		return nil
	}
	m.Kind = "markdown"
	m.AlternateOf, m.Title, m.Canonical, m.Hops, m.Upgraded = page.URL, firstNonEmpty(page.Title, m.Title), page.Canonical, page.Hops, page.Upgraded
	m.LLMs, m.Stored, m.Expires, m.Vary = page.LLMs, page.Stored, page.Expires, page.Vary
	return m
}

type markdownLink struct{ text, url, line string }

var linkPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\[([^\]\n]+)\]\(<?([^)\s>]+)>?[^)\n]*\)`)
})

// markdownLinks lists the links of a Markdown text, absolute.
func markdownLinks(s, base string) []markdownLink {
	b, err := whatwg.Parse(base)
	if err != nil {
		return nil
	}
	var out []markdownLink
	for l := range strings.SplitSeq(s, "\n") {
		for _, m := range linkPattern().FindAllStringSubmatch(l, 20) {
			if u, err := b.Parse(m[2]); err == nil && len(out) < 5000 {
				out = append(out, markdownLink{m[1], u.Href(true), strings.TrimSpace(l)})
			}
		}
	}
	return out
}

// samePage reports whether a link leads to the Markdown form of a page: its
// path with .md added, in place of the extension, or as the directory's index.
func samePage(link, page string) bool {
	l, err1 := url.Parse(link)
	p, err2 := url.Parse(page)
	if err1 != nil || err2 != nil || l.Host != p.Host || !strings.HasSuffix(l.Path, ".md") && !strings.HasSuffix(l.Path, ".mdx") {
		return false
	}
	stem := strings.TrimSuffix(strings.TrimSuffix(l.Path, "x"), ".md")
	at := strings.TrimSuffix(p.Path, "/")
	bare := strings.TrimSuffix(strings.TrimSuffix(at, ".html"), ".htm")
	return stem == at || stem == bare || stem == bare+"/index" || strings.TrimSuffix(stem, "/index") == strings.TrimSuffix(bare, "/index")
}
