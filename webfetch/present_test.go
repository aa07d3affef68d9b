package webfetch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func longText() string {
	var b strings.Builder
	b.WriteString("# Manual\n\n")
	for i := range 400 {
		fmt.Fprintf(&b, "## Part %d\n\nWörter über das Thema, 世界, and so on, in part %d of the manual.\n\n", i, i)
		if i%10 == 0 {
			b.WriteString("```go\n" + strings.Repeat("x := 1 // a line of code\n\n", 60) + "```\n\n")
		}
		if i%15 == 0 {
			b.WriteString("| a | b |\n|---|---|\n" + strings.Repeat("| 1 | 2 |\n", 20) + "\n")
		}
	}
	return b.String()
}

func TestPaging(t *testing.T) {
	for _, size := range []int{1, 7, 100, 1000, 4000, 40_000, 1_000_000, 0} {
		text := longText()
		if size > 0 && size < 1000 {
			text = longText()[:5000]
		}
		var joined strings.Builder
		start, parts := 0, 0
		for {
			p := cut(text, start, size)
			joined.WriteString(p.body)
			if size > 0 && utf8.RuneCountInString(p.body) > size || !utf8.ValidString(p.body) {
				t.Fatalf("size %d: a piece of %d characters", size, utf8.RuneCountInString(p.body))
			}
			if size >= 4000 {
				shown, _, _ := strings.Cut(p.String(), "[content continues")
				if fence, _ := fenceAt(shown); fence != "" {
					t.Fatalf("size %d: a fence is open at the end of a piece", size)
				}
			}
			if parts++; p.next == 0 || parts > 1_000_000 {
				break
			}
			start = p.next
		}
		if joined.String() != text {
			t.Errorf("size %d: the pieces together are not the text", size)
		}
	}
}

func FuzzPaging(f *testing.F) {
	f.Add("# a\n\n```\nx\n```\n\ntext 世界", 5)
	f.Add("~~~~\n```\n~~~\n\n", 3)
	f.Fuzz(func(t *testing.T, s string, size int) {
		if size < 1 || size > 1000 || !utf8.ValidString(s) || len(s) > 10_000 {
			t.Skip()
		}
		var b strings.Builder
		for start, i := 0, 0; ; i++ {
			p := cut(s, start, size)
			b.WriteString(p.body)
			if p.next == 0 {
				break
			}
			if p.next <= start || i > len(s) {
				t.Fatalf("no progress at %d", start)
			}
			start = p.next
		}
		if b.String() != s {
			t.Errorf("the pieces of %q are %q", s, b.String())
		}
	})
}

func TestPagesOfOneFetch(t *testing.T) {
	s := serving(t, map[string]answer{"/m": {contentType: "text/markdown", body: longText()}})
	f := s.fetcher(Options{})
	p := page(t, f, Request{URL: "https://p.test/m", MaxLength: 10_000})
	contains(t, p.Content, fmt.Sprintf("[content continues: start_index=%d of %d]", p.NextIndex, p.Total))
	if !p.Truncated || p.Total != utf8.RuneCountInString(longText()) {
		t.Errorf("truncated %v, total %d", p.Truncated, p.Total)
	}
	q := page(t, f, Request{URL: "https://p.test/m", MaxLength: 10_000, StartIndex: p.NextIndex})
	if !q.CacheHit || s.count("/m") != 1 || q.StartIndex != p.NextIndex {
		t.Errorf("the second piece: hit %v, start %d", q.CacheHit, q.StartIndex)
	}
	fails(t, f, Request{URL: "https://p.test/m", StartIndex: 10_000_000}, InvalidRequest)

	q = page(t, f, Request{URL: "https://p.test/m#part-300", MaxLength: 2000})
	if q.FragmentFound == nil || !*q.FragmentFound || !strings.HasPrefix(q.Content, "## Part 300\n") {
		t.Errorf("fragment: %s", clip(q.Content, 60))
	}
	q = page(t, f, Request{URL: "https://p.test/m#nowhere", MaxLength: 2000})
	if q.FragmentFound == nil || *q.FragmentFound || !strings.HasPrefix(q.Content, "# Manual") {
		t.Errorf("unknown fragment: %s", clip(q.Content, 60))
	}
	q = page(t, f, Request{URL: "https://p.test/m", Section: "Part 12"})
	if d := cmp.Diff("## Part 12\n\nWörter über das Thema, 世界, and so on, in part 12 of the manual.\n\n", q.Content); d != "" {
		t.Error(d)
	}
	e := fails(t, f, Request{URL: "https://p.test/m", Section: "No such"}, InvalidRequest)
	contains(t, e.Hint, "Manual · Part 0")
}

const referencePage = `<html><head><title>Reference</title></head><body><main class="body" role="main"><h1>Reference</h1><p>` + filler + filler + `</p>
<section id="install-it"><h2>Installation</h2><p>Use the package manager. See <a href="/other">the other page</a> and <a href="https://out.test/x">out</a>.</p><img src=/i.png alt="a picture"></section>
<section id="conf"><h2>Configuration</h2><p>The timeout option sets how long to wait, in seconds.</p><dl><dt id="opt-mode"><code>mode</code></dt><dd><p>fast or slow</p></dd></dl></section>
<section><h2>Licence</h2><p class=legal>Anything goes.</p></section></main></body></html>`

func TestParts(t *testing.T) {
	s := serving(t, map[string]answer{"/r": {contentType: "text/html", body: referencePage}})
	f := s.fetcher(Options{})
	get := func(r Request) string { r.URL = "https://p.test/r"; return page(t, f, r).Content }
	for _, tt := range []struct {
		name        string
		r           Request
		has, hasnot []string
	}{
		{"section by id", Request{Section: "#install-it"}, []string{"## Installation", "package manager"}, []string{"timeout", "Licence"}},
		{"section by name", Request{Section: "configuration"}, []string{"## Configuration", "timeout option"}, []string{"Licence"}},
		{"term by id", Request{Section: "opt-mode"}, []string{"mode", "fast or slow"}, []string{"timeout"}},
		{"find", Request{Find: "timeout option"}, []string{"[Reference > Configuration — start_index=", "timeout option"}, []string{"Licence"}},
		{"find nothing", Request{Find: "zebra"}, []string{"Nothing on the page matches", "Reference · Installation"}, nil},
		{"selector", Request{Selector: "p.legal"}, []string{"Anything goes."}, []string{"Reference", "timeout"}},
		{"selector with links", Request{Selector: "#install-it p"}, []string{"[the other page](https://p.test/other)"}, []string{"picture"}},
		{"no links", Request{Links: "none"}, []string{"See the other page and out."}, []string{"https://out.test"}},
		{"link list", Request{Links: "list"}, []string{"See the other page and out.", "## Links\n\n- [the other page](https://p.test/other)\n- [out](https://out.test/x)"}, nil},
		{"alt", Request{Images: "alt"}, []string{"a picture"}, []string{"i.png"}},
		{"no images", Request{Images: "none"}, nil, []string{"picture"}},
		{"text", Request{Format: "text"}, []string{"Reference\n\n", "Installation\n\n", "See the other page and out."}, []string{"#", "[", "`"}},
		{"html", Request{Format: "html"}, []string{"<h2>Installation</h2>", `href="https://p.test/other"`}, nil},
		{"raw", Request{Raw: true}, []string{"<html><head><title>Reference"}, nil},
		{"whole html", Request{Format: "html", WholePage: true}, []string{"<html><head>"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := get(tt.r)
			contains(t, got, tt.has...)
			lacks(t, got, tt.hasnot...)
		})
	}
	e := fails(t, f, Request{URL: "https://p.test/r", Selector: ".nothing"}, InvalidRequest)
	contains(t, e.Message, "nothing on the page matches")
	if a, b := get(Request{Find: "install package"}), get(Request{Find: "install package"}); a != b {
		t.Error("the order of findings changes")
	}
}

func TestHTMLComment(t *testing.T) {
	s := serving(t, map[string]answer{"/--": {contentType: "text/html", body: referencePage}, "/x": {contentType: "text/html", body: "<?xml version='1.0'?>\n<html><body><p>x</p></body></html>"}})
	f := s.fetcher(Options{})
	out := page(t, f, Request{URL: "https://p.test/--?q=-->", Format: "html"}).String()
	comment, rest, _ := strings.Cut(strings.TrimPrefix(out, "<!--"), "-->")
	if strings.Contains(comment, "--") || !strings.HasPrefix(strings.TrimSpace(rest), "<h1>Reference") {
		t.Errorf("the comment ends early:\n%s", clip(out, 600))
	}
	if out := page(t, f, Request{URL: "https://p.test/x", Format: "html", WholePage: true}).String(); !strings.HasPrefix(out, "<?xml version='1.0'?>\n<!--") {
		t.Errorf("%s", clip(out, 100))
	}
}

// FuzzFrontmatter: nothing that a page says of itself may end the block of
// metadata or add a key to it.
func FuzzFrontmatter(f *testing.F) {
	f.Add("title", "a\n---\nb: c", "x\u2028y\u0085z")
	f.Add("--> <script>", "\"quoted\"", "\r\nkey: 1")
	f.Fuzz(func(t *testing.T, title, heading, kind string) {
		p := &Page{RequestedURL: "https://f.test/", Title: title, Headings: []string{heading}, ContentType: kind, Content: "body\n"}
		m := p.Metadata()
		lines := strings.FieldsFunc(m, func(r rune) bool { return strings.ContainsRune("\n\r\u0085\u2028\u2029", r) })
		if lines[0] != "---" || lines[len(lines)-1] != "---" {
			t.Fatalf("the block is open: %q", m)
		}
		for _, l := range lines[1 : len(lines)-1] {
			key, _, ok := strings.Cut(l, ":")
			if !strings.HasPrefix(l, "  - \"") && (!ok || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz_") != "") {
				t.Errorf("line %q", l)
			}
		}
		c := inComment(m)
		if strings.Contains(strings.TrimSuffix(strings.TrimPrefix(c, "<!--"), "-->"), "--") {
			t.Errorf("the comment ends early: %q", c)
		}
	})
}

func models(answers ...func(ctx context.Context) (string, error)) []Summarizer {
	var s []Summarizer
	for i, a := range answers {
		s = append(s, Summarizer{Name: string(rune('a'+i)) + "/model", Summarize: func(ctx context.Context, prompt, text string) (string, error) { return a(ctx) }})
	}
	return s
}

func TestPrompt(t *testing.T) {
	long := "<html><body><main><h1>T</h1>" + strings.Repeat("<p>"+filler+"</p>", 80) + "<h2>Timeout</h2><p>The timeout option is given in seconds.</p></main></body></html>"
	s := serving(t, map[string]answer{
		"/r": {contentType: "text/html", body: referencePage}, "/long": {contentType: "text/html", body: long}, "/short": {contentType: "text/plain", body: "only a few words"},
		"/ja":   {contentType: "text/plain; charset=utf-8", body: strings.Repeat("日本語の記事です。これは長い文章です。", 20)},
		"/huge": {contentType: "text/plain; charset=utf-8", body: strings.Repeat("wörd ", 30_000)},
	})
	ok := func(context.Context) (string, error) { return "the answer", nil }
	empty := func(context.Context) (string, error) { return "  ", nil }
	broken := func(context.Context) (string, error) { return "", errors.New("no credit") }
	panics := func(context.Context) (string, error) { panic("oops") }
	at := func(p string) Request { return Request{URL: "https://p.test" + p, Prompt: "how is the timeout given"} }

	p := page(t, s.fetcher(Options{}), at("/r"))
	if p.SkippedReason != "no_secondary_model_configured" || !strings.Contains(p.Content, "timeout option") {
		t.Errorf("no model: %s\n%s", p.SkippedReason, p.Content)
	}
	p = page(t, s.fetcher(Options{}), at("/long"))
	if !strings.HasPrefix(p.Content, "The sections of the page that match") || !strings.Contains(p.Content, "given in seconds") || len(p.Content) > 12_000 {
		t.Errorf("no model, long page:\n%s", clip(p.Content, 300))
	}
	for name, chain := range map[string][]Summarizer{"first": models(ok), "empty first": models(empty, ok), "broken first": models(broken, ok), "panic first": models(panics, ok)} {
		p = page(t, s.fetcher(Options{Summarizers: chain}), at("/r"))
		if p.Content != "the answer\n" || p.Model != chain[len(chain)-1].Name || p.SkippedReason != "" {
			t.Errorf("%s: %q by %s (%s)", name, p.Content, p.Model, p.SkippedReason)
		}
	}
	p = page(t, s.fetcher(Options{Summarizers: models(empty, broken)}), at("/r"))
	if p.SkippedReason != "secondary_model_failed" || !strings.Contains(p.ModelError, "no credit") || !strings.Contains(p.Content, "timeout option") {
		t.Errorf("all failed: %s %s", p.SkippedReason, p.ModelError)
	}
	f := s.fetcher(Options{Summarizers: models(ok)})
	if p = page(t, f, at("/short")); p.SkippedReason != "content_too_short" {
		t.Errorf("short: %s", p.SkippedReason)
	}
	if p = page(t, f, at("/ja")); p.Model == "" {
		t.Errorf("Japanese: %s, %d words", p.SkippedReason, p.Words)
	}
	var given string
	f = s.fetcher(Options{Summarizers: []Summarizer{{Name: "m/m", Summarize: func(_ context.Context, prompt, text string) (string, error) {
		given = text
		contains(t, prompt, "Task: how is the timeout given", "was cut")
		return "yes", nil
	}}}})
	p = page(t, f, at("/huge"))
	if !p.InputTruncated || p.InputChars != 100_000 || p.SourceChars != 150_000 || utf8.RuneCountInString(given) != 100_000 || !utf8.ValidString(given) {
		t.Errorf("cut: %v %d of %d, given %d", p.InputTruncated, p.InputChars, p.SourceChars, utf8.RuneCountInString(given))
	}
	if p = page(t, s.fetcher(Options{Summarizers: models(ok)}), Request{URL: "https://p.test/r", Prompt: "x", Format: "html"}); !strings.Contains(p.String(), "<pre>the answer</pre>") {
		t.Errorf("html answer: %s", p.Content)
	}
}

func TestModelThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serving(t, map[string]answer{"/r": {contentType: "text/html", body: referencePage}})
		release := make(chan struct{})
		f := s.fetcher(Options{Summarizers: models(func(context.Context) (string, error) { <-release; return "late", nil })})
		start := time.Now()
		p := page(t, f, Request{URL: "https://p.test/r", Prompt: "what is it"})
		if took := time.Since(start); took > summaryTimeout+time.Second || p.SkippedReason != "secondary_model_failed" || !strings.Contains(p.Content, "Reference") {
			t.Errorf("after %v: %s", took, p.SkippedReason)
		}
		close(release)
		f.Close()
		s.close()
		synctest.Wait()
	})
}

func TestPDF(t *testing.T) {
	file := "%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj 2 0 obj << /Kids [3 0 R 4 0 R] >> endobj\n"
	for i, text := range []string{"First page", "Second page"} {
		c := "BT /F 12 Tf (" + text + ") Tj ET"
		file += fmt.Sprintf("%d 0 obj << /Type /Page /Contents %d 0 R /Resources << /Font << /F << /Type /Font /Subtype /Type1 >> >> >> >> endobj\n", 3+i, 5+i)
		file += fmt.Sprintf("%d 0 obj << /Length %d >>\nstream\n%s\nendstream endobj\n", 5+i, len(c), c)
	}
	file += "trailer << /Root 1 0 R >>"
	s := serving(t, map[string]answer{
		"/a.pdf": {contentType: "application/pdf", body: file}, "/lie": {contentType: "text/html", body: file}, "/oct": {contentType: "application/octet-stream", body: file},
		"/locked": {contentType: "application/pdf", body: file + " trailer << /Root 1 0 R /Encrypt << /V 1 >> >>"}, "/broken": {contentType: "application/pdf", body: "%PDF-1.4 nothing"},
		"/scan": {contentType: "application/pdf", body: strings.NewReplacer("(First page) Tj", "", "(Second page) Tj", "").Replace(file)},
	})
	f := s.fetcher(Options{BinaryDir: t.TempDir()})
	for _, path := range []string{"/a.pdf", "/lie", "/oct"} {
		if p := page(t, f, Request{URL: "https://p.test" + path}); p.Content != "## Page 1\n\nFirst page\n\n## Page 2\n\nSecond page\n" || p.SourceKind != "pdf" {
			t.Errorf("%s: %s %q", path, p.SourceKind, p.Content)
		}
	}
	if p := page(t, f, Request{URL: "https://p.test/a.pdf", Pages: "2"}); strings.TrimSpace(p.Content) != "## Page 2\n\nSecond page" {
		t.Errorf("page 2: %q", p.Content)
	}
	fails(t, f, Request{URL: "https://p.test/a.pdf", Pages: "3-4"}, InvalidRequest)
	fails(t, f, Request{URL: "https://p.test/a.pdf", Pages: "x"}, InvalidRequest)
	fails(t, f, Request{URL: "https://p.test/locked"}, UnsupportedType)
	fails(t, f, Request{URL: "https://p.test/broken"}, Decode)
	if p := page(t, f, Request{URL: "https://p.test/scan"}); !hasSignal(&document{Signals: p.Signals}, "pdf_no_text") {
		t.Errorf("scan: %v", p.Signals)
	}
	if p := page(t, f, Request{URL: "https://p.test/a.pdf", SaveBinary: true}); !strings.HasSuffix(p.SavedPath, "a.pdf") {
		t.Errorf("saved %q", p.SavedPath)
	}
}
