package webfetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func caching(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/plain")
	switch r.URL.Path {
	case "/etag":
		h.Set("Etag", `"v1"`)
		if r.Header.Get("If-None-Match") == `"v1"` {
			w.WriteHeader(304)
			return
		}
	case "/lastmod":
		h.Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
		if r.Header.Get("If-Modified-Since") != "" {
			w.WriteHeader(304)
			return
		}
	case "/nostore":
		h.Set("Cache-Control", "no-store")
	case "/minute":
		h.Set("Cache-Control", "max-age=60")
	case "/vary":
		h.Set("Vary", "Accept")
		fmt.Fprint(w, r.Header.Get("Accept"))
		return
	case "/html":
		h.Set("Content-Type", "text/html")
		fmt.Fprint(w, guidePage)
		return
	case "/slow":
		time.Sleep(time.Second)
	case "/moved":
		http.Redirect(w, r, "/html", http.StatusMovedPermanently)
		return
	case "/big":
		fmt.Fprint(w, strings.Repeat("word ", 400_000))
		return
	case "/error":
		w.WriteHeader(500)
		return
	}
	fmt.Fprint(w, "body of "+r.URL.Path)
}

func inBubble(t *testing.T, f func(*testing.T, *site, *Fetcher)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, caching)
		x := s.fetcher(Options{})
		f(t, s, x)
		x.Close()
		s.close()
		synctest.Wait()
	})
}

func TestRevalidation(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site, f *Fetcher) {
		for _, path := range []string{"/etag", "/lastmod"} {
			u := "https://c.test" + path
			first := page(t, f, Request{URL: u})
			if p := page(t, f, Request{URL: u}); !p.CacheHit || p.Revalidated || s.count(path) != 1 {
				t.Errorf("%s: hit %v, revalidated %v, %d requests", path, p.CacheHit, p.Revalidated, s.count(path))
			}
			time.Sleep(16 * time.Minute)
			p := page(t, f, Request{URL: u})
			if !p.CacheHit || !p.Revalidated || p.Upstream != 304 || p.Content != first.Content || s.count(path) != 2 {
				t.Errorf("%s after the TTL: hit %v, revalidated %v, upstream %d, content %q, %d requests", path, p.CacheHit, p.Revalidated, p.Upstream, p.Content, s.count(path))
			}
			if page(t, f, Request{URL: u}); s.count(path) != 2 {
				t.Errorf("%s: a revalidated page was asked for again", path)
			}
		}
	})
}

func TestCacheKeys(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site, f *Fetcher) {
		u := "https://c.test"
		page(t, f, Request{URL: u + "/html#a"})
		if p := page(t, f, Request{URL: u + "/html#b"}); !p.CacheHit || p.RequestedURL != u+"/html#b" || s.count("/html") != 1 {
			t.Errorf("fragments: hit %v, requested %s, %d requests", p.CacheHit, p.RequestedURL, s.count("/html"))
		}
		for _, format := range []string{"text", "html", "markdown"} {
			page(t, f, Request{URL: u + "/html", Format: format})
		}
		if s.count("/html") != 1 {
			t.Errorf("formats took %d requests", s.count("/html"))
		}
		page(t, f, Request{URL: u + "/html", WholePage: true})
		if s.count("/html") != 2 {
			t.Errorf("extract_main off: %d requests", s.count("/html"))
		}
		page(t, f, Request{URL: u + "/moved"})
		before := s.count("/html")
		if page(t, f, Request{URL: u + "/moved"}); s.count("/html") != before {
			t.Error("a redirected page was fetched twice")
		}
		md, text := page(t, f, Request{URL: u + "/vary"}), page(t, f, Request{URL: u + "/vary", Format: "text"})
		if md.Content == text.Content {
			t.Error("a page that varies by Accept was given for another format")
		}
		for range 2 {
			page(t, f, Request{URL: u + "/nostore"})
			fails(t, f, Request{URL: u + "/error"}, HTTPStatus)
		}
		if s.count("/nostore") != 2 || s.count("/error") != 2 {
			t.Errorf("no-store %d, errors %d requests", s.count("/nostore"), s.count("/error"))
		}
		page(t, f, Request{URL: u + "/minute"})
		time.Sleep(61 * time.Second)
		page(t, f, Request{URL: u + "/minute"})
		if s.count("/minute") != 2 {
			t.Errorf("max-age=60: %d requests in 61 seconds", s.count("/minute"))
		}
		zero := 0
		page(t, f, Request{URL: u + "/minute", MaxAge: &zero})
		if s.count("/minute") != 3 {
			t.Error("max_age 0 must fetch anew")
		}
	})
}

func TestStaleIfError(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site, f *Fetcher) {
		page(t, f, Request{URL: "https://c.test/x"})
		f.transport.CloseIdleConnections()
		s.noTLS = true
		time.Sleep(20 * time.Minute)
		if p := page(t, f, Request{URL: "https://c.test/x"}); !p.CacheStale || !p.CacheHit {
			t.Error("a page of 20 minutes must stand in when the server is away")
		}
		time.Sleep(time.Hour)
		fails(t, f, Request{URL: "https://c.test/x"}, Connect)
	})
}

func TestSingleFlight(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site, f *Fetcher) {
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				ctx := t.Context()
				if i == 0 { // the first gives up; the others must not suffer
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, 100*time.Millisecond)
					defer cancel()
				} else {
					time.Sleep(10 * time.Millisecond)
				}
				p, err := f.Fetch(ctx, Request{URL: "https://c.test/slow"})
				if i > 0 && (err != nil || p.Content != "body of /slow") {
					t.Errorf("call %d: %v", i, err)
				}
				var e *Error
				if i == 0 && !errors.As(err, &e) {
					t.Errorf("the call that gave up: %v", err)
				}
			})
		}
		wg.Wait()
		if n := s.count("/slow"); n > 2 {
			t.Errorf("%d requests", n)
		}
	})
}

func TestCacheBound(t *testing.T) {
	c := newCache("")
	for i := range 12 {
		c.put([]string{fmt.Sprint(i)}, &document{Raw: strings.Repeat("x", 5<<20)})
		c.get("0")
	}
	if c.bytes > cacheBytes {
		t.Errorf("%d bytes are kept", c.bytes)
	}
	if c.get("0") == nil || c.get("1") != nil || c.get("11") == nil {
		t.Error("the page used last must stay, the oldest must go")
	}
}

func TestDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b", "cache")
	s := newSite(t, caching)
	page(t, s.fetcher(Options{CacheDir: dir}), Request{URL: "https://c.test/html"})
	p := page(t, s.fetcher(Options{CacheDir: dir}), Request{URL: "https://c.test/html", Format: "text"})
	if !p.CacheHit || s.count("/html") != 1 || !strings.Contains(p.Content, "first paragraph") {
		t.Errorf("hit %v, %d requests, %q", p.CacheHit, s.count("/html"), p.Content)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("nothing on disk", err)
	}
	for _, f := range files {
		if info, err := os.Stat(f); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v", f, info.Mode())
		}
		if err := os.WriteFile(f, []byte("{broken"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	page(t, s.fetcher(Options{CacheDir: dir}), Request{URL: "https://c.test/html"})
	if err := os.WriteFile(filepath.Join(t.TempDir(), "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	page(t, s.fetcher(Options{CacheDir: "/dev/null/nowhere"}), Request{URL: "https://c.test/html"})
}
