package webfetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// A retrieval says where a document came from.
type retrieval struct {
	hit, revalidated, stale bool
}

// accept is the Accept header for a format. The wanted form is both first and
// preferred by weight: servers go by either.
func accept(format string) string {
	switch format {
	case "text":
		return "text/plain, text/markdown;q=0.9, text/html;q=0.8, application/xhtml+xml;q=0.8, */*;q=0.1"
	case "html":
		return "text/html, application/xhtml+xml;q=0.9, text/markdown;q=0.5, text/plain;q=0.4, */*;q=0.1"
	}
	return "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, */*;q=0.1"
}

// key names a document in the cache. Formats share one unless the server may
// answer them differently, which is known only after the first answer.
func (f *Fetcher) key(u *whatwg.Url, r *Request, class string) string {
	b, _ := json.Marshal([]any{u.Href(true), !r.WholePage, r.LLMs, r.SaveBinary, class}) // strings and bools always encode
	return string(b)
}

// document returns the page from memory, from disk or from the network.
func (f *Fetcher) document(ctx context.Context, a *address, r *Request) (*document, retrieval, error) {
	if _, err := f.ruleFor(a.url, f.mayLoopback(a)); err != nil {
		return nil, retrieval{}, err // not even from memory
	}
	key := f.key(a.url, r, "")
	old := f.cache.get(key)
	if old != nil && old.Vary && r.Format != "markdown" {
		key = f.key(a.url, r, r.Format)
		old = f.cache.get(key)
	}
	now := f.hooks.now()
	if old != nil && old.fresh(now, r.MaxAge) {
		return old, retrieval{hit: true}, nil
	}
	for {
		call, own := f.flight.join(key)
		if !own {
			select {
			case <-call.done:
			case <-ctx.Done():
				return nil, retrieval{}, f.failure(ctx, a.url, "headers", ctx.Err())
			}
			var e *Error
			if errors.As(call.err, &e) && (e.Kind == Cancelled || e.Kind == Timeout) && ctx.Err() == nil {
				continue // the other caller gave up, this one hasn't
			}
			return call.doc, retrieval{hit: call.err == nil}, call.err
		}
		d, how, err := f.refresh(ctx, a, r, old)
		f.flight.finish(key, call, d, err)
		if err != nil {
			return nil, how, err
		}
		f.keep(key, a, r, d)
		return d, how, nil
	}
}

// refresh fetches the page, with the validators of the old one if there is one,
// which also stands in when the server can't be reached.
func (f *Fetcher) refresh(ctx context.Context, a *address, r *Request, old *document) (*document, retrieval, error) {
	d, err := f.guarded(ctx, a, r, old)
	var e *Error
	switch {
	case errors.Is(err, errNotModified):
		c := *old
		c.Status = http.StatusNotModified
		c.Stored = f.hooks.now()
		c.Expires = c.Stored.Add(cacheTTL)
		return &c, retrieval{hit: true, revalidated: true}, nil
	case errors.As(err, &e) && old != nil && f.hooks.now().Sub(old.Stored) < staleTTL &&
		(e.Kind == DNS || e.Kind == Connect || e.Kind == Timeout || e.Status >= 500) && ctx.Err() == nil:
		return old, retrieval{hit: true, stale: true}, nil
	}
	return d, retrieval{}, err
}

// keep remembers a document under the address asked for and the final one.
func (f *Fetcher) keep(key string, a *address, r *Request, d *document) {
	if d.Expires.IsZero() {
		f.cache.forget(key)
		return
	}
	keys := []string{key}
	if u, err := whatwg.Parse(d.URL); err == nil && len(d.Hops) > 0 && d.AlternateOf == "" && !d.UsedLLMs {
		if k := f.key(u, r, ""); k != key {
			keys = append(keys, k)
		}
	}
	f.cache.put(keys, d)
}

// guarded turns a panic into an error: pages are made by strangers, and one
// that breaks a parser must not end the process.
func (f *Fetcher) guarded(ctx context.Context, a *address, r *Request, old *document) (d *document, err error) {
	defer func() {
		if v := recover(); v != nil {
			d, err = nil, &Error{
				Kind: Decode, URL: a.href(), Message: fmt.Sprintf("reading the page broke the reader: %v", v),
				Hint: "Please report the page.",
			}
		}
	}()
	return f.load(ctx, a, r, old)
}

var errNotModified = errors.New("not modified")

// load fetches the page and what belongs to it.
func (f *Fetcher) load(ctx context.Context, a *address, r *Request, old *document) (*document, error) {
	mode := r.LLMs
	docs := f.docsLike(hostOf(a.url))
	if mode == "auto" && f.opt.LLMs == "replace" && docs {
		mode = "replace"
	}
	if mode == "always" || mode == "replace" {
		d, err := f.siteText(ctx, a)
		if d != nil {
			return d, nil
		}
		if mode == "always" {
			return nil, &Error{
				Kind: HTTPStatus, URL: a.href(), Message: "Required llms.txt content was unavailable", llms: err.Error(),
				Hint: "Original URL: " + redact(a.typed) + "\nReason: " + err.Error(),
			}
		}
	}
	var probe *probe
	if mode == "auto" && docs && old == nil {
		probe = f.probeLLMs(ctx, a)
		defer probe.stop()
	}
	d, err := f.loadPage(ctx, a, r, old)
	if err != nil {
		return nil, err
	}
	if mode != "never" && d.Kind == "html" {
		d = f.better(ctx, a, r, d, probe)
	}
	return d, nil
}

// loadPage fetches the page itself, over https first where the URL says http.
func (f *Fetcher) loadPage(ctx context.Context, a *address, r *Request, old *document) (*document, error) {
	forbidden, err := f.askRobots(ctx, a)
	if err != nil {
		return nil, err
	}
	x := f.newExchange(a, accept(r.Format))
	if old != nil && (old.Header.ETag != "" || old.Header.LastModified != "") && (r.MaxAge == nil || *r.MaxAge > 0) {
		x.header = http.Header{}
		if v := old.Header.ETag; v != "" {
			x.header.Set("If-None-Match", v)
		}
		if v := old.Header.LastModified; v != "" {
			x.header.Set("If-Modified-Since", v)
		}
	}
	w, err := f.open(ctx, x, a)
	if err != nil {
		return nil, err
	}
	d, err := f.read(ctx, w, r, len(x.header) > 0)
	if err != nil {
		return nil, err
	}
	if forbidden {
		d.signal("robots_disallowed")
	}
	if d.Refresh != "" && countWords(d.Markdown) < 40 {
		if to, err := resolve(w.url, d.Refresh); err == nil && to.Href(true) != w.url.Href(true) {
			return f.refreshed(ctx, x, w, to, r)
		}
	}
	return d, nil
}

// refreshed follows a page that is nothing but a redirect.
func (f *Fetcher) refreshed(ctx context.Context, x *exchange, w *wire, to *whatwg.Url, r *Request) (*document, error) {
	if _, err := x.next(w.url, to.Href(false), http.StatusOK, map[string]bool{}); err != nil {
		return nil, err
	}
	if len(x.hops) > maxRedirects {
		return nil, &Error{Kind: TooManyRedirects, URL: to.Href(true), Chain: x.hops, Message: "too many redirects (more than 10)"}
	}
	w2, err := x.follow(ctx, to)
	if err != nil {
		return nil, err
	}
	return f.read(ctx, w2, r, false)
}

// schemes returns the address to try first, and the one to fall back on: http
// is tried as https where that can be expected to work.
func (f *Fetcher) schemes(a *address) (first, fallback *whatwg.Url) {
	if a.url.Scheme() != "http" || !defaultPort(a.url) || namesLoopback(a.url) {
		return a.url, nil
	}
	if _, isIP := literal(a.url); isIP {
		return a.url, nil
	}
	return withScheme(a.url, "https"), a.url
}

// open requests the page and returns the answer, unread.
func (f *Fetcher) open(ctx context.Context, x *exchange, a *address) (*wire, error) {
	first, fallback := f.schemes(a)
	if fallback == nil {
		return x.follow(ctx, first)
	}
	f.mu.Lock()
	u, known := f.upgrades[hostOf(a.url)]
	f.mu.Unlock()
	now := f.hooks.now()
	if known && !u.works && now.Before(u.until) {
		return x.follow(ctx, fallback)
	}
	w, err := x.tryUpgrade(ctx, first)
	if err == nil && w != nil {
		f.remember(hostOf(a.url), true)
		w.upgraded = true
		return w, nil
	}
	var e *Error
	if errors.As(err, &e) && (e.Kind == BlockedAddress || e.Kind == Cancelled || ctx.Err() != nil) {
		return nil, err
	}
	x.hops = nil
	w2, err2 := x.follow(ctx, fallback)
	if err2 == nil && w2.url.Scheme() == "http" {
		f.remember(hostOf(a.url), false)
	}
	return w2, err2
}

func (f *Fetcher) remember(host string, works bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.upgrades) > 1000 {
		clear(f.upgrades)
	}
	f.upgrades[host] = upgrade{works, f.hooks.now().Add(cacheTTL)}
}

// tryUpgrade requests the https form, with a third of the time. It answers nil
// when the http form should be tried.
func (x *exchange) tryUpgrade(ctx context.Context, u *whatwg.Url) (*wire, error) {
	share := 10 * time.Second
	if d, ok := ctx.Deadline(); ok {
		share = max(3*time.Second, time.Until(d)/3)
	}
	tctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(share, func() { cancel(context.DeadlineExceeded) })
	w, err := x.follow(tctx, u)
	timer.Stop()
	if err != nil {
		cancel(nil)
		return nil, err
	}
	done := w.done
	w.done = func() { done(); cancel(nil) }
	switch s := w.StatusCode; {
	case s < 400 || s == 401 || s == 403 || s == 407 || s == 429:
		return w, nil
	}
	w.discard()
	return nil, nil
}

// read turns an answer into a document.
func (f *Fetcher) read(ctx context.Context, w *wire, r *Request, conditional bool) (*document, error) {
	defer w.done()
	if w.StatusCode == http.StatusNotModified && conditional {
		return nil, errNotModified
	}
	declared, params := mediaType(w.Header.Get("Content-Type"))
	d := &document{
		URL: w.url.Href(false), Status: w.StatusCode, ContentType: declared, Hops: w.hops, Upgraded: w.upgraded, Proxied: w.proxied,
		Header: readHeaders(w),
	}
	f.linkHeaders(d, w)
	if ttl, ok := keepFor(w.Header.Get("Cache-Control"), w.Header.Get("Vary")); ok && w.StatusCode == http.StatusOK {
		d.Stored = f.hooks.now()
		d.Expires = d.Stored.Add(ttl)
	}
	d.Vary = strings.Contains(strings.ToLower(w.Header.Get("Vary")), "accept") && !strings.EqualFold(w.Header.Get("Vary"), "accept-encoding")
	d.Declared = clip(params["charset"], 40)
	x := &reading{f: f, r: r, w: w, d: d, label: params["charset"]}
	if err := x.read(ctx); err != nil {
		return nil, err
	}
	d.Words = countWords(d.Markdown)
	if w.StatusCode != http.StatusOK && (w.StatusCode < 200 || w.StatusCode > 299) {
		return nil, f.statusError(d, w)
	}
	return d, nil
}

// statusError tells what a server that refused said.
func (f *Fetcher) statusError(d *document, w *wire) *Error {
	e := &Error{
		Kind: HTTPStatus, URL: w.url.Href(true), Status: w.StatusCode, Chain: w.hops,
		Message: fmt.Sprintf("the server answered %d %s", w.StatusCode, http.StatusText(w.StatusCode)),
	}
	if d.Binary == nil {
		e.Body = clip(strings.TrimSpace(d.Markdown), 2000)
	}
	e.RetryAfter, _ = f.retryAfter(w.Header)
	switch {
	case challenged(w.Response) || (w.StatusCode == 403 || w.StatusCode == 503) && hasSignal(d, "bot_challenge"):
		e.Kind, e.Body = BotChallenge, ""
		e.Message = fmt.Sprintf("the site answered with a challenge for browsers (status %d)", w.StatusCode)
		e.Hint = "Challenges are not solved. Look for the content elsewhere: an API, the source repository, a mirror."
	case w.StatusCode == 401 || hasSignal(d, "login_wall"):
		e.Signals = append(e.Signals, "login_wall")
		e.Hint = "The page needs a login, which is never given."
	case w.StatusCode == 404 || w.StatusCode == 410:
		e.Hint = didYouMean(w.url)
	case e.RetryAfter > 0:
		e.Hint = fmt.Sprintf("The server asks to wait %d seconds.", int(e.RetryAfter.Seconds()))
	}
	return e
}

// didYouMean offers the spellings under which a missing page often exists.
func didYouMean(u *whatwg.Url) string {
	p := u.Pathname()
	base := origin(u)
	switch {
	case strings.HasSuffix(p, ".md"):
		return "Did you mean " + base + strings.TrimSuffix(p, ".md") + "?"
	case strings.HasSuffix(p, ".html"):
		return "Did you mean " + base + strings.TrimSuffix(p, ".html") + "?"
	case p != "/" && strings.HasSuffix(p, "/"):
		return "Did you mean " + base + strings.TrimSuffix(p, "/") + "?"
	case p != "/":
		return "Did you mean " + base + p + "/ or " + base + p + ".html?"
	}
	return ""
}
