package webfetch

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const guidePage = `<!doctype html><html lang=en><head><title>Guide - Site</title></head><body><nav><a href=/a>Menu entry</a></nav><main><h1>Guide</h1>
<p>The first paragraph explains, with some commas, what the guide is about, and it is long enough to be taken for text.</p>
<h2 id=install>Install</h2><p>Install it with the package manager, then run the program, and read what it says to you.</p>
<pre><code class="language-sh">go install example.test/x@latest</code></pre></main><footer>Imprint</footer></body></html>`

func redirects(w http.ResponseWriter, r *http.Request) {
	p := r.URL.Path
	to := func(code int, at string) { w.Header().Set("Location", at); w.WriteHeader(code) }
	switch {
	case strings.HasPrefix(p, "/redirect/"):
		n, _ := strconv.Atoi(p[len("/redirect/"):])
		if n == 0 {
			fmt.Fprint(w, guidePage)
			return
		}
		to(302, fmt.Sprintf("/redirect/%d", n-1))
	case p == "/loop":
		to(302, "/loop2")
	case p == "/loop2":
		to(302, "/loop")
	case p == "/rel/a":
		to(301, "./b/")
	case p == "/rel/b/":
		to(307, "/b?x#y")
	case p == "/cross":
		to(302, "https://other.test/x?token=1")
	case p == "/to":
		to(302, r.URL.Query().Get("u"))
	case p == "/nolocation":
		w.WriteHeader(302)
	case p == "/304":
		w.WriteHeader(304)
	case p == "/300":
		w.WriteHeader(300)
	case p == "/meta":
		fmt.Fprint(w, `<html><head><meta http-equiv="refresh" content="0; url=/b"></head><body></body></html>`)
	case p == "/refresh":
		w.Header().Set("Refresh", "0;url=/b")
	case p == "/www" && !strings.HasPrefix(r.Host, "www."):
		to(301, "https://www."+r.Host+"/www")
	case p == "/credentials":
		to(302, "https://u:p@example.test/")
	case p == "/badref":
		to(302, "http://[bad")
	default:
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, guidePage)
	}
}

func TestRedirectsFollowed(t *testing.T) {
	s := newSite(t, redirects)
	f := s.fetcher(Options{})
	for _, tt := range []struct {
		url, final string
		chain      []string
	}{
		{"https://example.test/rel/a", "https://example.test/b?x#y", []string{
			"301 https://example.test/rel/a -> https://example.test/rel/b/", "307 https://example.test/rel/b/ -> https://example.test/b?x#y",
		}},
		{"https://example.test/www", "https://www.example.test/www", []string{"301 https://example.test/www -> https://www.example.test/www"}},
		{"https://example.test/meta", "https://example.test/b", []string{"200 https://example.test/meta -> https://example.test/b"}},
		{"https://example.test/refresh", "https://example.test/b", []string{"200 https://example.test/refresh -> https://example.test/b"}},
	} {
		p := page(t, f, Request{URL: tt.url})
		if p.FinalURL != tt.final {
			t.Errorf("%s: final %s, want %s", tt.url, p.FinalURL, tt.final)
		}
		if d := cmp.Diff(tt.chain, hopLines(p.RedirectChain)); d != "" {
			t.Errorf("%s: %s", tt.url, d)
		}
	}
	for _, n := range []int{9, 10} {
		p := page(t, f, Request{URL: fmt.Sprintf("https://ten%d.test/redirect/%d", n, n)})
		if len(p.RedirectChain) != n || s.count(fmt.Sprintf("ten%d", n)) != n+1 {
			t.Errorf("%d hops: %d entries, %d requests", n, len(p.RedirectChain), s.count(fmt.Sprintf("ten%d", n)))
		}
	}
}

func TestRedirectsRefused(t *testing.T) {
	s := newSite(t, redirects)
	f := s.fetcher(Options{})
	for _, tt := range []struct {
		name, url, redirect string
		kind                Kind
	}{
		{"eleven", "https://example.test/redirect/11", "", TooManyRedirects},
		{"loop", "https://example.test/loop", "", TooManyRedirects},
		{"other host", "https://example.test/cross", "https://other.test/x?token=1", BlockedRedirect},
		{"https to http", "https://example.test/to?u=http://example.test/b", "http://example.test/b", BlockedRedirect},
		{"other port", "https://example.test/to?u=https://example.test:8443/b", "https://example.test:8443/b", BlockedRedirect},
		{"credentials", "https://example.test/credentials", "https://REDACTED@example.test/", BlockedRedirect},
		{"backslash", `https://example.test/to?u=/%5Cevil.test/`, "https://evil.test/", BlockedRedirect},
		{"slashes", `https://example.test/to?u=//evil.test/`, "https://evil.test/", BlockedRedirect},
		{"subdomain", "https://example.test/to?u=https://a.example.test/", "https://a.example.test/", BlockedRedirect},
		{"suffix", "https://example.test/to?u=https://example.test.evil.test/", "https://example.test.evil.test/", BlockedRedirect},
		{"file", "https://example.test/to?u=file:///etc/passwd", "file:///etc/passwd", BlockedRedirect},
		{"metadata", "https://example.test/to?u=http://169.254.169.254/latest/meta-data/", "http://169.254.169.254/latest/meta-data/", BlockedAddress},
		{"metadata v6", "https://example.test/to?u=http://[fd00:ec2::254]/", "http://[fd00:ec2::254]/", BlockedAddress},
		{"decimal loopback", "https://example.test/to?u=http://2130706433/", "http://127.0.0.1/", BlockedAddress},
		{"no location", "https://example.test/nolocation", "", HTTPStatus},
		{"bad location", "https://example.test/badref", "", HTTPStatus},
		{"304 without a cached page", "https://example.test/304", "", HTTPStatus},
		{"300", "https://example.test/300", "", HTTPStatus},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := fails(t, f, Request{URL: tt.url}, tt.kind)
			if e.Redirect != tt.redirect {
				t.Errorf("redirect %q, want %q", e.Redirect, tt.redirect)
			}
			lacks(t, e.Text(), "u:p@")
		})
	}
	for _, host := range []string{"other.test", "evil.test", "8443", "127.0.0.1", "169.254"} {
		if n := s.contacted(host); n > 0 {
			t.Errorf("%s was contacted %d times", host, n)
		}
	}
	if s.count("/loop") > 3 {
		t.Errorf("a loop took %d requests", s.count("/loop"))
	}
}

func TestBlockedRedirectText(t *testing.T) {
	s := newSite(t, redirects)
	e := fails(t, s.fetcher(Options{}), Request{URL: "https://example.test/cross"}, BlockedRedirect)
	want := `---
requested_url: "https://example.test/cross"
error: "blocked_redirect"
redirect_url: "https://other.test/x?token=1"
status_code: 302
redirect_chain:
  - "302 https://example.test/cross -> https://other.test/x?token=1"
---

Redirect blocked: only redirects within the same site are followed.
Original URL: https://example.test/cross
Redirect URL: https://other.test/x?token=1
Status: 302

To follow it, fetch the redirect URL itself.`
	if d := cmp.Diff(want, e.Text()); d != "" {
		t.Error(d)
	}
}

func TestRedirectHosts(t *testing.T) {
	s := newSite(t, redirects)
	f := s.fetcher(Options{Network: Network{RedirectHosts: []string{"other.test"}}})
	if p := page(t, f, Request{URL: "https://example.test/cross"}); p.FinalURL != "https://other.test/x?token=1" {
		t.Errorf("final %s", p.FinalURL)
	}
}

func TestUpgradeToHTTPS(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.TLS != nil && r.URL.Path == "/plain-only" {
			http.NotFound(w, r)
			return
		}
		if r.TLS != nil && r.URL.Path == "/back" {
			w.Header().Set("Location", "http://"+r.Host+"/back")
			w.WriteHeader(302)
			return
		}
		if r.TLS == nil && r.URL.Path == "/up" {
			w.Header().Set("Location", "https://"+r.Host+"/up")
			w.WriteHeader(301)
			return
		}
		fmt.Fprint(w, guidePage)
	})
	f := s.fetcher(Options{})
	if p := page(t, f, Request{URL: "http://up.test/x"}); !p.Upgraded || p.FinalURL != "https://up.test/x" {
		t.Errorf("not upgraded: %s", p.FinalURL)
	}
	if p := page(t, f, Request{URL: "http://a.test/plain-only"}); p.Upgraded || p.FinalURL != "http://a.test/plain-only" {
		t.Errorf("https 404: %s", p.FinalURL)
	}
	if p := page(t, f, Request{URL: "http://b.test/back"}); p.Upgraded || p.FinalURL != "http://b.test/back" {
		t.Errorf("redirect back: %s", p.FinalURL)
	}
	s.noTLS = true
	if p := page(t, f, Request{URL: "http://c.test/x"}); p.Upgraded || p.FinalURL != "http://c.test/x" {
		t.Errorf("closed port: %s", p.FinalURL)
	}
	dials := len(s.dials)
	page(t, f, Request{URL: "http://c.test/y"})
	if got := len(s.dials) - dials; got > 1 {
		t.Errorf("the failed upgrade was not remembered: %d dials", got)
	}
}

func TestAddresses(t *testing.T) {
	for _, tt := range []struct{ in, href, corrected string }{
		{"HTTP://EXAMPLE.test:80/a#b", "http://example.test/a", ""},
		{"https://example.test/a_(b)", "https://example.test/a_(b)", ""},
		{"https://example.test/a).", "https://example.test/a", "removed ). from the end"},
		{"<https://example.test/a>", "https://example.test/a", ""},
		{"example.test/page", "https://example.test/page", "https:// was added"},
		{"localhost:3000/x", "https://localhost:3000/x", "https:// was added"},
		{"http://①②⑦.0.0.1/", "http://127.0.0.1/", ""},
		{"https://ex ample.test", "", ""},
		{"ftp://x/", "", ""},
		{"file:///etc/passwd", "", ""},
		{"javascript:alert(1)", "", ""},
		{"https://u:p@example.test/", "", ""},
		{"", "", ""},
		{"/etc/passwd", "", ""},
		{"https://" + strings.Repeat("a", maxURL), "", ""},
		{"https:///", "", ""},
	} {
		a, err := parseAddress(tt.in)
		if tt.href == "" {
			if err == nil {
				t.Errorf("%q was taken for %s", clip(tt.in, 80), a.href())
			} else if strings.Contains(err.Error(), "u:p") {
				t.Errorf("%v shows credentials", err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", tt.in, err)
			continue
		}
		if a.href() != tt.href || a.corrected != tt.corrected {
			t.Errorf("%q: %s (%s), want %s (%s)", tt.in, a.href(), a.corrected, tt.href, tt.corrected)
		}
	}
}

func TestPatterns(t *testing.T) {
	f, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		url  string
		want []string
	}{
		{"HTTP://EXAMPLE.test:80/a#b", []string{"https://example.test/a", "http://example.test/a"}},
		{"http://docs.a.com/p#x", []string{
			"https://docs.a.com/p", "http://docs.a.com/p", "https://docs.a.com/llms-full.txt",
			"https://docs.a.com/llms.txt", "http://docs.a.com/llms-full.txt", "http://docs.a.com/llms.txt",
		}},
		{"https://mydocs.rs/x", []string{"https://mydocs.rs/x"}},
		{"https://dev.to/x", []string{"https://dev.to/x"}},
		{"http://localhost:3000/x", []string{"http://localhost:3000/x"}},
		{"https://github.com/o/r/blob/main/a.go", []string{"https://raw.githubusercontent.com/o/r/main/a.go"}},
	} {
		got, err := f.Patterns(Request{URL: tt.url})
		if err != nil {
			t.Error(err)
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s: %s", tt.url, d)
		}
	}
}
