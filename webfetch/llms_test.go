package webfetch

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const docPage = `<html><head><title>Page</title>%s</head><body><main><h1>Page</h1><p>The words of the page itself, which a reader asked for, and more of them to make it a text of some length.</p></main></body></html>`

func TestScopes(t *testing.T) {
	for p, want := range map[string][]string{
		"/": {"/docs/", "/"}, "/a/b/c": {"/a/b/", "/a/", "/docs/", "/"}, "/docs/x": {"/docs/", "/"}, "/a/b/c/d/e": {"/a/b/c/d/", "/a/b/c/", "/docs/", "/"},
	} {
		got := scopes(p)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", p, d)
		}
	}
}

func TestDocsLike(t *testing.T) {
	f := &Fetcher{opt: Options{DocsHosts: []string{"*.acme.test"}}}
	for host, want := range map[string]bool{
		"docs.example.test": true, "x.readthedocs.io": true, "docs.rs": true, "developer.mozilla.org": true, "a.acme.test": true,
		"mydocs.rs": false, "dev.to": false, "readthedocs.io": false, "example.test": false, "acme.test": false, "notdocs.example.test": false,
	} {
		if f.docsLike(host) != want {
			t.Errorf("%s: %v", host, !want)
		}
	}
}

// llmsSite serves pages with llms.txt files around them.
func llmsSite(t *testing.T, files map[string]answer) *site {
	files["/a/b"] = answer{contentType: "text/html", body: fmt.Sprintf(docPage, "")}
	return serving(t, files)
}

func TestScopedLLMs(t *testing.T) {
	list := answer{contentType: "text/plain", body: "# Site\n\n- [B](/a/b.md): the page\n- [C](/a/c.md)\n"}
	root := answer{contentType: "text/plain", body: "# Root\n\n- [x](/x)\n"}
	own := "# Page\n\nThe Markdown of the page, as its makers wrote it, with as many words as the page itself has, or nearly so.\n"

	s := llmsSite(t, map[string]answer{"/a/llms.txt": {contentType: "text/plain", body: "# A\n\n- [other](/a/c.md)\n"}, "/llms.txt": root})
	p := page(t, s.fetcher(Options{}), Request{URL: "https://docs.test.example/a/b"})
	if p.LLMsURL != "https://docs.test.example/a/llms.txt" || p.UsedLLMs || !strings.Contains(p.Content, "words of the page itself") {
		t.Errorf("nearest scope: %s, used %v\n%s", p.LLMsURL, p.UsedLLMs, p.Content)
	}

	s = llmsSite(t, map[string]answer{"/a/llms.txt": list, "/a/b.md": {contentType: "text/markdown", body: own}})
	p = page(t, s.fetcher(Options{}), Request{URL: "https://docs.test.example/a/b"})
	if p.Content != own || p.AlternateURL != "https://docs.test.example/a/b.md" || p.FinalURL != "https://docs.test.example/a/b" {
		t.Errorf("listed Markdown: %s %s\n%s", p.AlternateURL, p.FinalURL, p.Content)
	}

	s = llmsSite(t, map[string]answer{"/llms.txt": root, "/": {contentType: "text/html", body: fmt.Sprintf(docPage, "")}})
	p = page(t, s.fetcher(Options{}), Request{URL: "https://docs.test.example/"})
	if !p.UsedLLMs || !strings.HasPrefix(p.Content, "# Root") {
		t.Errorf("the root of a scope: used %v\n%s", p.UsedLLMs, p.Content)
	}

	s = llmsSite(t, map[string]answer{"/llms.txt": root})
	p = page(t, s.fetcher(Options{LLMs: "replace"}), Request{URL: "https://docs.test.example/a/b"})
	if !p.UsedLLMs || !strings.HasPrefix(p.Content, "# Root") {
		t.Errorf("replace: used %v", p.UsedLLMs)
	}
	p = page(t, s.fetcher(Options{}), Request{URL: "https://plain.test/a/b"})
	if s.count("plain.test/llms") != 0 || p.LLMsURL != "" {
		t.Error("a host that isn't a documentation site was probed")
	}
	p = page(t, s.fetcher(Options{}), Request{URL: "https://docs.test.example/a/b", LLMs: "never"})
	if p.LLMsURL != "" {
		t.Error("never was not obeyed")
	}
}

func TestLLMsAlways(t *testing.T) {
	s := llmsSite(t, map[string]answer{"/a/llms-full.txt": {contentType: "text/plain", body: "# Full\n\n\n\n\ntext"}})
	p := page(t, s.fetcher(Options{}), Request{URL: "https://plain.test/a/b", LLMs: "always"})
	if p.Content != "# Full\n\ntext\n" || !p.UsedLLMs || p.Title != "" {
		t.Errorf("%q, used %v, title %q", p.Content, p.UsedLLMs, p.Title)
	}
	s = llmsSite(t, map[string]answer{})
	e := fails(t, s.fetcher(Options{}), Request{URL: "https://plain.test/a/b", LLMs: "always"}, HTTPStatus)
	contains(t, e.Text(), "Required llms.txt content was unavailable.", "Original URL: https://plain.test/a/b", "Reason: ", "used_llms_txt: false", "llms_probe_error: ")
	if s.count("/a/b") != 0 {
		t.Error("the page was fetched")
	}
}

func TestRejectedLLMs(t *testing.T) {
	for name, a := range map[string]answer{
		"html":     {contentType: "text/html", body: "<!doctype html><title>x</title># A\n[a](b)"},
		"login":    {contentType: "text/plain", body: "# Log in to continue\n"},
		"empty":    {contentType: "text/plain", body: "  \n"},
		"json":     {contentType: "text/plain", body: `{"error": "x"}`},
		"prose":    {contentType: "text/plain", body: "just words"},
		"off site": {status: 302, header: map[string]string{"Location": "https://elsewhere.test/llms.txt"}},
		"loop":     {status: 302, header: map[string]string{"Location": "/llms.txt"}},
		"moved":    {status: 302, header: map[string]string{"Location": "/a/b"}},
		"binary":   {contentType: "application/zip", body: "PK\x03\x04"},
	} {
		s := llmsSite(t, map[string]answer{"/llms.txt": a})
		p := page(t, s.fetcher(Options{}), Request{URL: "https://docs.test.example/a/b"})
		if p.UsedLLMs || p.LLMsURL != "" || !strings.Contains(p.Content, "words of the page itself") || p.LLMsError == "" {
			t.Errorf("%s: used %v, url %q, error %q", name, p.UsedLLMs, p.LLMsURL, p.LLMsError)
		}
	}
}

func TestAlternates(t *testing.T) {
	own := "# Page\n\nThe Markdown of the page, as its makers wrote it, with as many words as the page itself has, or nearly so.\n"
	files := map[string]answer{
		"/link":    {contentType: "text/html", body: fmt.Sprintf(docPage, `<link rel="alternate" type="text/markdown" href="/page.md">`)},
		"/header":  {contentType: "text/html", body: fmt.Sprintf(docPage, ""), header: map[string]string{"Link": `</page.md>; rel="alternate"; type="text/markdown", </llms.txt>; rel="describedby"`}},
		"/broken":  {contentType: "text/html", body: fmt.Sprintf(docPage, `<link rel="alternate" type="text/markdown" href="/nothing.md">`)},
		"/short":   {contentType: "text/html", body: fmt.Sprintf(docPage, `<link rel="alternate" type="text/markdown" href="/short.md">`)},
		"/away":    {contentType: "text/html", body: fmt.Sprintf(docPage, `<link rel="alternate" type="text/markdown" href="https://elsewhere.test/page.md">`)},
		"/page.md": {contentType: "text/markdown", body: own}, "/short.md": {contentType: "text/markdown", body: "# Page\n"},
	}
	s := serving(t, files)
	f := s.fetcher(Options{})
	for _, path := range []string{"/link", "/header"} {
		if p := page(t, f, Request{URL: "https://m.test" + path}); p.Content != own || p.AlternateURL != "https://m.test/page.md" || p.SourceKind != "markdown" {
			t.Errorf("%s: %s %s %q", path, p.SourceKind, p.AlternateURL, p.Content)
		}
	}
	for _, path := range []string{"/broken", "/short", "/away"} {
		if p := page(t, f, Request{URL: "https://m.test" + path}); !strings.Contains(p.Content, "words of the page itself") {
			t.Errorf("%s: %q", path, p.Content)
		}
	}
	if s.contacted("elsewhere.test") > 0 {
		t.Error("another site was contacted")
	}
}

func TestMarkdownNegotiation(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		if a := r.Header.Get("Accept"); strings.HasPrefix(a, "text/markdown,") && strings.Contains(a, "text/html;q=0.9") {
			w.Header().Set("Content-Type", "text/markdown; charset=utf-8")
			fmt.Fprint(w, "# From the\n\n\n\nserver\n")
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, guidePage)
	})
	if p := page(t, s.fetcher(Options{}), Request{URL: "https://n.test/"}); p.Content != "# From the\n\n\n\nserver\n" {
		t.Errorf("%q", p.Content)
	}
}

func TestProbeThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "llms.txt") {
				<-r.Context().Done()
				return
			}
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, guidePage)
		})
		f := s.fetcher(Options{})
		start := time.Now()
		page(t, f, Request{URL: "https://docs.test.example/a/b"})
		if took := time.Since(start); took > time.Second {
			t.Errorf("the page took %v", took)
		}
		f.Close()
		s.close()
		synctest.Wait()
	})
}

func TestRobots(t *testing.T) {
	for _, tt := range []struct {
		name   string
		robots answer
		allow  bool
	}{
		{"none", answer{status: 404}, true},
		{"unauthorised", answer{status: 401}, true},
		{"trouble", answer{status: 503}, false},
		{"forbidden", answer{body: "User-agent: *\nDisallow: /page"}, false},
		{"ours", answer{body: "User-agent: whet\nAllow: /\n\nUser-agent: *\nDisallow: /"}, true},
		{"longest match", answer{body: "User-agent: *\nDisallow: /\nAllow: /page$"}, true},
		{"garbage", answer{contentType: "text/html", body: "<html>hi"}, true},
		{"moved", answer{status: 301, header: map[string]string{"Location": "/robots2.txt"}}, false},
	} {
		s := serving(t, map[string]answer{"/robots.txt": tt.robots, "/robots2.txt": {body: "User-agent: *\nDisallow: /page"}, "/page": {contentType: "text/plain", body: "text"}})
		f := s.fetcher(Options{Network: Network{Robots: "enforce"}})
		if tt.allow {
			page(t, f, Request{URL: "https://r.test/page"})
		} else {
			fails(t, f, Request{URL: "https://r.test/page"}, Robots)
		}
		page(t, s.fetcher(Options{}), Request{URL: "https://r.test/page"})
		p := page(t, s.fetcher(Options{Network: Network{Robots: "warn"}}), Request{URL: "https://r.test/page"})
		if slices.Contains(p.Signals, "robots_disallowed") == tt.allow {
			t.Errorf("%s: signals %v", tt.name, p.Signals)
		}
	}
}
