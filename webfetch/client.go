package webfetch

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strconv"
	"strings"
	"time"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

const (
	maxRedirects  = 10
	maxRetryAfter = 10 * time.Second
	drainLimit    = 64 << 10 // what is read of a body that nobody wants
)

// A wire is one answer of a server, its body not read yet.
type wire struct {
	*http.Response
	url      *whatwg.Url
	hops     []Hop
	upgraded bool
	proxied  bool
	done     func() // ends the request
}

// An exchange is what one call sends: all its requests share cookies and rules.
type exchange struct {
	f         *Fetcher
	loopback  bool // the URL as given names this machine
	accept    string
	userAgent string
	header    http.Header // conditional headers
	jar       http.CookieJar
	hops      []Hop
}

func (f *Fetcher) newExchange(a *address, accept string) *exchange {
	jar, _ := cookiejar.New(nil) // with nil options it can't fail
	return &exchange{
		f: f, accept: accept, jar: jar, userAgent: f.userAgent(),
		loopback: f.mayLoopback(a),
	}
}

func (f *Fetcher) mayLoopback(a *address) bool {
	return f.opt.Network.Loopback != LoopbackNever && explicitLoopback(a)
}

func (f *Fetcher) userAgent() string {
	v := cmp.Or(f.opt.Version, "dev")
	return cmp.Or(f.opt.Network.UserAgent, "whet/"+v+" (+https://github.com/whet-dev/whet)")
}

// follow requests u and follows redirects that stay with its site.
func (x *exchange) follow(ctx context.Context, u *whatwg.Url) (*wire, error) {
	seen := map[string]bool{}
	for {
		seen[u.Href(true)] = true
		w, err := x.stubborn(ctx, u)
		if err != nil {
			return nil, err
		}
		ref, isRedirect := redirectTarget(w.Response)
		if !isRedirect {
			w.hops = x.hops
			return w, nil
		}
		next, err := x.next(u, ref, w.StatusCode, seen)
		w.discard()
		if err != nil {
			return nil, err
		}
		u = next
	}
}

// redirectTarget returns the Location of a redirect. Of the 3xx statuses only
// five are redirects; a Refresh header of no delay is one too.
func redirectTarget(r *http.Response) (string, bool) {
	switch r.StatusCode {
	case 301, 302, 303, 307, 308:
		return r.Header.Get("Location"), true
	case 200:
		if ref := refreshTarget(r.Header.Get("Refresh")); ref != "" {
			return ref, true
		}
	}
	return "", false
}

// refreshTarget reads "0; url=..." as in the Refresh header and meta element.
func refreshTarget(v string) string {
	delay, rest, ok := strings.Cut(v, ";")
	if d, err := strconv.ParseFloat(strings.TrimSpace(delay), 64); !ok || err != nil || d > 1 {
		return ""
	}
	rest = strings.TrimSpace(rest)
	if len(rest) < 4 || !strings.EqualFold(rest[:4], "url=") {
		return ""
	}
	return strings.Trim(strings.TrimSpace(rest[4:]), `"'`)
}

// next judges one redirect and records it.
func (x *exchange) next(from *whatwg.Url, ref string, status int, seen map[string]bool) (*whatwg.Url, error) {
	at := from.Href(true)
	if ref == "" {
		return nil, &Error{Kind: HTTPStatus, URL: at, Status: status, Chain: x.hops, Message: "the server answered " + strconv.Itoa(status) + " with a missing location header"}
	}
	to, err := resolve(from, ref)
	if err != nil {
		return nil, &Error{Kind: HTTPStatus, URL: at, Status: status, Chain: x.hops, Message: "the server redirects to an address that can't be parsed: " + clip(redact(ref), 200)}
	}
	hop := Hop{From: at, To: redact(to.Href(false)), Status: status}
	x.hops = append(x.hops, hop)
	if !sameSite(from, to) && !(to.Scheme() == "https" && to.Username() == "" && to.Password() == "" && matchHost(x.f.opt.Network.RedirectHosts, hostOf(to))) {
		if a, ok := literal(to); ok {
			if why := judge(a, x.f.cidrs, false); why != "" {
				e := blocked(to, "a redirect leads there and "+why)
				e.URL, e.Redirect, e.Status, e.Chain = at, hop.To, status, x.hops
				return nil, e
			}
		}
		return nil, &Error{
			Kind: BlockedRedirect, URL: at, Redirect: hop.To, Status: status, Chain: x.hops,
			Message: "Redirect blocked: only redirects within the same site are followed",
			Hint:    "To follow it, fetch the redirect URL itself.",
		}
	}
	if seen[to.Href(true)] {
		return nil, &Error{Kind: TooManyRedirects, URL: at, Status: status, Chain: x.hops, Message: "the redirects form a loop: " + hop.To + " was already visited"}
	}
	if len(x.hops) > maxRedirects {
		return nil, &Error{Kind: TooManyRedirects, URL: at, Status: status, Chain: x.hops, Message: "too many redirects (more than 10)"}
	}
	return to, nil
}

// stubborn sends one request, and once more where that is known to help: after
// a broken connection, after a short Retry-After, and with another user agent
// after a bot challenge.
func (x *exchange) stubborn(ctx context.Context, u *whatwg.Url) (*wire, error) {
	w, err := x.send(ctx, u)
	if broken(err) && ctx.Err() == nil {
		w, err = x.send(ctx, u)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case challenged(w.Response):
		alternate := cmp.Or(x.f.opt.Network.AlternateUserAgent, "whet")
		if x.userAgent == alternate {
			break
		}
		w.discard()
		x.userAgent = alternate
		return x.send(ctx, u)
	case w.StatusCode == 429 || w.StatusCode == 503:
		d, ok := x.f.retryAfter(w.Header)
		deadline, limited := ctx.Deadline()
		if !ok || d > maxRetryAfter || limited && d >= time.Until(deadline) {
			break
		}
		w.discard()
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return nil, x.f.failure(ctx, u, "headers", ctx.Err())
		}
		return x.send(ctx, u)
	}
	return w, nil
}

// retryAfter reads the header of that name, seconds or a date.
func (f *Fetcher) retryAfter(h http.Header) (time.Duration, bool) {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if n, err := strconv.Atoi(v); err == nil && n >= 0 && n < 1<<30 {
		return time.Duration(n) * time.Second, true
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(0, t.Sub(f.hooks.now())), true
	}
	return 0, false
}

// challenged reports whether the answer is a bot wall's and not the site's.
func challenged(r *http.Response) bool {
	if r.StatusCode != 403 && r.StatusCode != 503 && r.StatusCode != 429 {
		return false
	}
	h := r.Header
	return h.Get("Cf-Mitigated") != "" || h.Get("X-Datadome") != "" || h.Get("X-Datadome-Cid") != "" ||
		h.Get("X-Px-Block") != "" || strings.Contains(h.Get("X-Amzn-Waf-Action"), "challenge") ||
		strings.Contains(h.Get("Set-Cookie"), "datadome=")
}

// broken reports whether the connection died before the answer, as a pooled
// one may.
func broken(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || isReset(err)
}

func isReset(err error) bool {
	return err != nil && strings.Contains(err.Error(), "connection reset")
}

func (x *exchange) send(ctx context.Context, u *whatwg.Url) (*wire, error) {
	r, err := x.f.ruleFor(u, x.loopback)
	if err != nil {
		return nil, err
	}
	ru, err := requestURL(u)
	if err != nil {
		return nil, &Error{Kind: InvalidURL, URL: u.Href(true), Message: "the URL can't be sent", err: err}
	}
	if p, err := x.f.proxy(ru); err == nil && p != nil {
		r.proxy = proxyAddr(p)
	}
	rctx, cancel := context.WithCancelCause(withRule(ctx, r))
	req := (&http.Request{Method: "GET", URL: ru, Host: ru.Host, Header: http.Header{}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}).WithContext(rctx)
	req.Header.Set("User-Agent", x.userAgent)
	req.Header.Set("Accept", x.accept)
	req.Header.Set("Accept-Language", cmp.Or(x.f.opt.Network.AcceptLanguage, "en;q=0.8,*;q=0.5"))
	req.Header.Set("Accept-Encoding", acceptEncoding)
	for k, v := range x.header {
		req.Header[k] = v
	}
	for _, c := range x.jar.Cookies(ru) {
		req.AddCookie(c)
	}
	res, err := x.f.transport.RoundTrip(req)
	if err != nil {
		cancel(nil)
		return nil, x.f.failure(ctx, u, "headers", err)
	}
	x.jar.SetCookies(ru, res.Cookies())
	w := &wire{Response: res, url: u, proxied: r.proxy != "" && r.proxy != ru.Host}
	w.Body = newPatient(res.Body, func() { cancel(errIdle) })
	w.done = func() { w.Body.Close(); cancel(nil) }
	return w, nil
}

func proxyAddr(p *url.URL) string {
	port := p.Port()
	if port == "" {
		port = map[string]string{"https": "443", "socks5": "1080", "socks5h": "1080"}[p.Scheme]
	}
	return net.JoinHostPort(p.Hostname(), cmp.Or(port, "80"))
}

// discard ends a request whose body isn't wanted; a short one is read so that
// the connection can be used again.
func (w *wire) discard() {
	if w.ContentLength >= 0 && w.ContentLength <= drainLimit {
		io.CopyN(io.Discard, w.Body, drainLimit)
	}
	w.done()
}

// failure gives an error of the network its kind.
func (f *Fetcher) failure(ctx context.Context, u *whatwg.Url, phase string, err error) *Error {
	e := &Error{Kind: Connect, URL: u.Href(true), err: err}
	var (
		bad     *addressError
		refused *proxyError
		dns     *net.DNSError
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
		expired x509.CertificateInvalidError
		op      *net.OpError
	)
	cause := context.Cause(ctx)
	switch {
	case errors.As(err, &refused):
		e.Message = refused.Error()
		e.Hint = "The proxy refused, not the site."
	case errors.As(err, &bad):
		b := blocked(u, bad.why)
		b.err = err
		return b
	case errors.Is(cause, context.Canceled) && !errors.Is(cause, errIdle):
		e.Kind, e.Message = Cancelled, "the fetch was cancelled"
	case errors.Is(err, errIdle) || errors.Is(cause, errIdle):
		e.Kind, e.Phase, e.Message = Timeout, phase, "the server sent nothing for 10 seconds"
	case isTimeout(err) || errors.Is(cause, context.DeadlineExceeded):
		if errors.As(err, &op) && op.Op == "dial" {
			phase = "connect"
		} else if strings.Contains(err.Error(), "TLS handshake timeout") {
			phase = "tls"
		}
		e.Kind, e.Phase, e.Message = Timeout, phase, "timed out waiting for "+map[string]string{
			"headers": "the server's answer", "body": "the rest of the page", "connect": "a connection", "tls": "the TLS handshake",
		}[phase]
		e.Hint = "Try again with a longer timeout (at most 120 seconds), or another page."
	case errors.As(err, &dns):
		e.Kind, e.Message = DNS, "no such host: "+dns.Name
		if !dns.IsNotFound {
			e.Message = "looking up " + dns.Name + ": " + dns.Err
		}
		e.Hint = "Check the spelling of the host name."
	case errors.As(err, &unknown), errors.As(err, &host), errors.As(err, &expired), strings.Contains(err.Error(), "tls:"):
		e.Kind, e.Message = TLS, "the secure connection failed: "+err.Error()
	default:
		e.Message = map[string]string{"body": "reading the page: "}[phase] + err.Error()
	}
	return e
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// mediaType splits a Content-Type; what can't be parsed is cut at the ';'.
func mediaType(h string) (string, map[string]string) {
	t, params, err := mime.ParseMediaType(h)
	if err != nil {
		t, _, _ = strings.Cut(h, ";")
		t = strings.ToLower(strings.TrimSpace(t))
		if _, cs, ok := strings.Cut(strings.ToLower(h), "charset="); ok {
			cs, _, _ = strings.Cut(cs, ";")
			params = map[string]string{"charset": strings.Trim(strings.TrimSpace(cs), `"'`)}
		}
	}
	return t, params
}
