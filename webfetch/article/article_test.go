package article

import (
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/html"
)

const words = "The paragraph goes on for a while, with commas, so that it counts as text and not as a label of something. "

func parse(t testing.TB, s string) *html.Node {
	t.Helper()
	n, err := html.ParseWithOptions(strings.NewReader(s), html.ParseOptionEnableScripting(false))
	if err != nil {
		t.Skip(err)
	}
	return n
}

func TestExtract(t *testing.T) {
	body := strings.Repeat("<p>"+words+"</p>", 8)
	for _, tt := range []struct {
		name, in, title, byline string
		has, hasnt              []string
	}{
		{
			"news", `<html><head><title>A long headline of the day - The Paper</title><meta name=author content="Ann Author"></head><body>
			<div class=header><a href=/>Home page</a></div><div class=content><h1>A long headline of the day</h1>` + body + `<div class=share><p>Share this on</p><p>networks</p></div></div>
			<div class=sidebar><ul><li><a href=/1>Other story</a></ul></div><div class=comments><p>First!</p></div></body></html>`,
			"A long headline of the day", "Ann Author",
			[]string{words[:30]},
			[]string{"Home page", "Share this", "Other story", "First!"},
		},
		{"byline in page", `<html><head><title>T</title></head><body><article><p class=byline>By Bob Writer</p>` + body + `</article></body></html>`, "T", "By Bob Writer", []string{words[:30]}, []string{"Bob"}},
		{
			"linked data", `<html><head><title>x</title><script type="application/ld+json">{"@type":"NewsArticle","headline":"The real title","author":[{"name":"A"},{"name":"B"}]}</script></head><body>` + body + `</body></html>`,
			"The real title", "A, B", nil, nil,
		},
		{"hidden", `<html><body><article>` + body + `<p style="display:none">` + words + `SECRET</p><p hidden>SECRET</p></article></body></html>`, "", "", nil, []string{"SECRET"}},
		{"siblings", `<html><body><div><div class=part>` + body + `</div><div class=part>` + body + `LAST</div><div class=ad>Ad</div></div></body></html>`, "", "", []string{"LAST"}, nil},
		{"breaks", `<html><body><div>` + strings.Repeat(words+"<br><br>", 8) + `</div></body></html>`, "", "", []string{words[:30]}, nil},
		{"data table", `<html><body><article>` + body + `<table><tr><th>Name<th>Size` + strings.Repeat("<tr><td><a href=/x>CELL</a><td>1", 12) + `</table></article></body></html>`, "", "", []string{"CELL"}, nil},
		{"layout table", `<table><tr><td>` + body + `</table>`, "", "", []string{words[:30]}, nil},
		{"lazy image", `<html><body><article>` + body + `<img class=lazy data-src="/real.jpg" alt=pic></article></body></html>`, "", "", nil, nil},
		{"roles", `<html><body><div role=navigation>` + body + `MENU</div><div role=main>` + body + `TEXT</div></body></html>`, "", "", []string{"TEXT"}, []string{"MENU"}},
		{"short page", `<html><body><div class=sidebar><p>` + words + `</p></div></body></html>`, "", "", []string{words[:30]}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, err := Extract(t.Context(), parse(t, tt.in))
			if err != nil {
				t.Fatal(err)
			}
			got := text(a.Content)
			for _, s := range tt.has {
				if !strings.Contains(got, strings.TrimSpace(s)) {
					t.Errorf("%q is missing in %.300s", s, got)
				}
			}
			for _, s := range tt.hasnt {
				if strings.Contains(got, s) {
					t.Errorf("%q is in %.300s", s, got)
				}
			}
			if a.Title != tt.title || a.Byline != tt.byline {
				t.Errorf("title %q by %q, want %q by %q", a.Title, a.Byline, tt.title, tt.byline)
			}
		})
	}
}

func TestNothing(t *testing.T) {
	for _, s := range []string{"", "<html><body></body></html>", "<frameset><frame src=x></frameset>", "<script>x</script>"} {
		if _, err := Extract(t.Context(), parse(t, s)); !errors.Is(err, ErrNone) {
			t.Errorf("%q: %v", s, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Extract(ctx, parse(t, "<p>"+words)); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of its context: %v", err)
	}
}

// FuzzExtract: the search never breaks, and measuring all elements in one pass
// is the same as measuring each.
func FuzzExtract(f *testing.F) {
	f.Add("<div> a <a href=#x>b\u00a0 c</a> <p> </p> d<br>e</div>")
	f.Add("<p>x<p>" + words + "<table><tr><td>" + words)
	f.Fuzz(func(t *testing.T, s string) {
		doc := parse(t, s)
		all := densities(doc)
		for n := next(doc, doc, false); n != nil; n = next(n, doc, false) {
			if want := linkDensity(n); math.Abs(all[n]-want) > 1e-9 {
				t.Fatalf("<%s> of %q: density %v, want %v", n.Data, s, all[n], want)
			}
		}
		_, _ = Extract(t.Context(), doc)
	})
}

// TestPeerReadability holds the extraction to what Mozilla expects of its own
// test pages, where the module that carries them has been downloaded, as
// bench/webfetch does.
func TestPeerReadability(t *testing.T) {
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Skip(err)
	}
	pages, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(cache)), "codeberg.org", "readeck", "go-readability", "v2@*", "test-pages", "*", "source.html"))
	if err != nil || len(pages) == 0 {
		t.Skip("Mozilla's pages are not here; go run ./bench/webfetch downloads them")
	}
	sum, count, links := 0.0, 0, 0.0
	for _, p := range pages {
		source, err1 := os.ReadFile(p)
		expected, err2 := os.ReadFile(filepath.Join(filepath.Dir(p), "expected.html"))
		if err1 != nil || err2 != nil {
			continue
		}
		a, err := Extract(t.Context(), parse(t, string(source)))
		if err != nil {
			t.Errorf("%s: %v", p, err)
			continue
		}
		sum += f1(tokensOf(a.Content), tokensOf(parse(t, string(expected))))
		links += f1(hrefs(a.Content), hrefs(parse(t, string(expected))))
		count++
	}
	t.Logf("%d pages: words %.4f, number of links by text %.4f", count, sum/float64(count), links/float64(count))
	if f := sum / float64(count); f < 0.998 {
		t.Errorf("mean F1 %.4f, want 0.998", f)
	}
	if f := links / float64(count); f < 0.99 {
		t.Errorf("mean F1 of links %.4f, want 0.99", f)
	}
}

// tokensOf lists the words of a tree; words don't cross elements.
func tokensOf(n *html.Node) []string {
	if n.Type == html.TextNode {
		return strings.FieldsFunc(n.Data, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	}
	var out []string
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		out = append(out, tokensOf(c)...)
	}
	return out
}

// hrefs lists the texts of links: their targets are resolved elsewhere.
func hrefs(n *html.Node) []string {
	var out []string
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Data == "a" && attr(n, "href") != "" && !strings.HasPrefix(attr(n, "href"), "javascript:") {
			out = append(out, text(n))
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(n)
	return out
}

func f1(got, want []string) float64 {
	if len(got)+len(want) == 0 {
		return 1
	}
	bag, same := map[string]int{}, 0
	for _, w := range want {
		bag[w]++
	}
	for _, w := range got {
		if bag[w] > 0 {
			bag[w]--
			same++
		}
	}
	return 2 * float64(same) / float64(len(got)+len(want))
}
