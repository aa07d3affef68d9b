package webfetch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/html"

	"github.com/whet-dev/whet/internal/peer"
)

// TestPeerPages holds the whole choice of content, not only the search for an
// article, to what Mozilla expects of its test pages. They are other people's
// articles, so they are not here but in a module that scripts/peers downloads.
func TestPeerPages(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(peer.GoModule(t, "codeberg.org/readeck/go-readability/v2@v2.1.3"), "test-pages", "*", "source.html"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the module has no test pages: %v", err)
	}
	sum, how, empty := 0.0, map[string]int{}, 0
	for _, f := range files {
		source, err1 := os.ReadFile(f)
		expected, err2 := os.ReadFile(filepath.Join(filepath.Dir(f), "expected.html"))
		if err1 != nil || err2 != nil {
			continue
		}
		prepared := func() *html.Node {
			doc, _, err := parseHTML(string(source))
			if err != nil {
				t.Fatal(err)
			}
			new(prepass).run(doc)
			return doc
		}
		want, _, err := parseHTML(string(expected))
		if err != nil {
			t.Fatal(err)
		}
		e := extractMain(t.Context(), prepared(), prepared)
		how[e.how]++
		if textLen(e.root) == 0 {
			empty++
		}
		score := wordF1(e.root, want)
		sum += score
		if testing.Verbose() && score < 0.95 {
			t.Logf("%s by %s: %.2f, coverage %.2f", filepath.Base(filepath.Dir(f)), e.how, score, e.coverage)
		}
	}
	mean := sum / float64(len(files))
	t.Logf("%d pages, mean F1 %.4f, chosen by %v", len(files), mean, how)
	if mean < 0.97 || empty > 0 {
		t.Errorf("mean F1 %.4f, want 0.97; %d empty", mean, empty)
	}
}

func wordF1(got, want *html.Node) float64 {
	bag := func(n *html.Node) (map[string]int, int) {
		words, total := map[string]int{}, 0
		descend(n, func(c *html.Node) bool {
			if c.Type == html.TextNode {
				for w := range strings.FieldsFuncSeq(c.Data, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
					words[w]++
					total++
				}
			}
			return true
		})
		return words, total
	}
	g, a := bag(got)
	w, b := bag(want)
	same := 0
	for k, n := range g {
		same += min(n, w[k])
	}
	if a+b == 0 {
		return 1
	}
	return 2 * float64(same) / float64(a+b)
}
