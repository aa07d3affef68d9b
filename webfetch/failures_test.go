package webfetch

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
)

// TestPublicFailures rebuilds what went wrong in other tools, each named by its
// public report, and states the right outcome. Reports whose cases stand in the
// tables of the other tests (redirects, addresses, charsets, timeouts, llms.txt,
// signals) are not repeated.
func TestPublicFailures(t *testing.T) {
	sentence := "<p>" + filler + "</p>"
	html := func(body string) answer {
		return answer{contentType: "text/html; charset=utf-8", body: "<html><head><title>T</title></head><body>" + body + "</body></html>"}
	}
	files := map[string]answer{
		"/big":      html("<main><h1>Big</h1>" + strings.Repeat(sentence, 25_000) + "<p>the answer at the end</p></main>"),
		"/inlined":  html("<style>" + strings.Repeat(".a{box-shadow:0 0 0 1px red,0 0 0 2px blue}", 22_000) + "</style><main>" + strings.Repeat(sentence, 20) + "</main>"),
		"/price":    html("<article>" + strings.Repeat(sentence, 3) + "</article><div class=price>EUR 9.99</div>"),
		"/skip":     html("<main>" + strings.Repeat(sentence, 5) + "<script><b>x</b>not text</script><p>after</p></main>"),
		"/lead":     html("<div class=lead><p>Lead words first. " + filler + "</p></div><div class=story>" + strings.Repeat(sentence, 10) + "</div>"),
		"/escaped":  html("<main><pre><code class=language-js>const s = `a ${b} \\n`</code></pre>" + sentence + "</main>"),
		"/cells":    html("<main>" + sentence + "<table><tr><th>a<br>b<th>c|d<tr><td>1<td>x</table></main>"),
		"/rejected": html("<div><span>only a few words here</span></div>"),
		"/md":       {contentType: "text/markdown; charset=utf-8", body: "# Ours\n"},
		"/bin":      {contentType: "application/pdf", body: "%PDF-1.4\n\x00\x01\x02\xff"},
		"/utf8":     html("<p>" + strings.Repeat("Ελληνικά — 日本 ", 30) + "</p>"),
	}
	s := serving(t, files)
	f := s.fetcher(Options{})
	get := func(path string, r Request) *Page { r.URL = "https://f.test" + path; return page(t, f, r) }

	// https://github.com/anomalyco/opencode/issues/14689, https://github.com/anthropics/claude-code/issues/51783,
	// https://github.com/oguzbilgic/kern-ai/issues/182: large pages refused, or their end out of reach.
	p := get("/big", Request{MaxLength: 40_000})
	steps := 0
	for ; p.NextIndex > 0 && steps < 100; steps++ {
		if !p.Truncated || !strings.Contains(p.Content, "[content continues: start_index=") {
			t.Fatal("a cut was not announced")
		}
		p = get("/big", Request{MaxLength: 40_000, StartIndex: p.NextIndex})
	}
	if !strings.Contains(p.Content, "the answer at the end") || s.count("/big") != 1 {
		t.Errorf("after %d parts and %d requests the end is %q", steps, s.count("/big"), clip(p.Content, 100))
	}
	for _, tt := range []struct {
		report, path string
		has, hasnt   []string
	}{
		{"https://github.com/anthropics/claude-code/issues/86910", "/inlined", []string{filler[:40]}, []string{"box-shadow"}},
		{"https://github.com/nicobailon/pi-web-access/issues/394", "/price", []string{"EUR 9.99"}, nil},
		{"https://github.com/anomalyco/opencode/issues/36376", "/skip", []string{"after"}, []string{"not text"}},
		{"https://github.com/mozilla/readability/issues/901", "/lead", []string{"Lead words first."}, nil},
		{"https://github.com/kepano/defuddle/pull/359", "/escaped", []string{"```js\nconst s = `a ${b} \\n`\n```"}, nil},
		{"https://github.com/JohannesKaufmann/html-to-markdown/issues/204", "/cells", []string{"| a<br>b | c\\|d |"}, nil},
		{"https://github.com/modelcontextprotocol/servers/pull/4227", "/rejected", []string{"only a few words here"}, nil},
		{"https://github.com/upstash/upstash-web/pull/614", "/md", []string{"# Ours"}, nil},
		{"https://github.com/modelcontextprotocol/servers/issues/65", "/utf8", []string{"Ελληνικά — 日本"}, nil},
	} {
		t.Run(tt.report, func(t *testing.T) {
			got := get(tt.path, Request{}).Content
			contains(t, got, tt.has...)
			lacks(t, got, tt.hasnt...)
		})
	}
	// https://github.com/anomalyco/opencode/issues/1424: bytes of a PDF in the answer.
	e := fails(t, f, Request{URL: "https://f.test/bin"}, Decode)
	lacks(t, e.Text(), "\x00", "%PDF")
}

func TestHTTP2(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, r.Proto)
	})
	if p := page(t, s.fetcher(Options{}), Request{URL: "https://two.test/"}); p.Content != "HTTP/2.0" {
		t.Errorf("over %s", p.Content)
	}
	if p := page(t, s.fetcher(Options{}), Request{URL: "http://one.test:8080/"}); p.Content != "HTTP/1.1" {
		t.Errorf("over %s", p.Content)
	}
}

// TestRequestHeaders: an honest name, no referrer, no cookies of other calls.
func TestRequestHeaders(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		if r.URL.Path == "/a" {
			http.SetCookie(w, &http.Cookie{Name: "k", Value: "v"})
			http.Redirect(w, r, "/b", http.StatusFound)
			return
		}
		fmt.Fprint(w, r.Header.Get("Cookie"))
	})
	f := s.fetcher(Options{Version: "1.2"})
	if p := page(t, f, Request{URL: "https://h.test/a"}); p.Content != "k=v" {
		t.Errorf("the cookie of the same call: %q", p.Content)
	}
	if p := page(t, f, Request{URL: "https://h.test/b"}); strings.Contains(p.Content, "k=v") && !p.CacheHit {
		t.Error("a cookie outlived its call")
	}
	page(t, f, Request{URL: "https://h.test/c"})
	h := s.headers[len(s.headers)-1]
	if h.Get("Cookie") != "" || h.Get("Referer") != "" || h.Get("User-Agent") != "whet/1.2 (+https://github.com/whet-dev/whet)" {
		t.Errorf("headers %v", h)
	}
}

// TestBareSurroundings: https://github.com/alvinunreal/oh-my-opencode-slim/issues/937:
// no files of ours, no home, no writable directory are needed.
func TestBareSurroundings(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	t.Setenv("HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
	s := newSite(t, redirects)
	contains(t, page(t, s.fetcher(Options{CacheDir: dir + "/cache"}), Request{URL: "https://example.test/x"}).Content, "# Guide")
}
