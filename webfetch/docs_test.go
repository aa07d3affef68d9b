package webfetch

import (
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

var update = flag.Bool("update", false, "rewrite the wanted results below testdata")

// TestDocumentationPages renders pages in the shapes of documentation systems.
// The pages are our own; the wanted text beside each was read and approved by
// eye before it was kept.
func TestDocumentationPages(t *testing.T) {
	dirs, err := filepath.Glob("testdata/pages/*")
	if err != nil || len(dirs) == 0 {
		t.Fatal("no pages", err)
	}
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		http.ServeFile(w, r, filepath.Join("testdata/pages", filepath.Base(r.URL.Path), "source.html"))
	})
	f := s.fetcher(Options{})
	for _, d := range dirs {
		name := filepath.Base(d)
		t.Run(name, func(t *testing.T) {
			p := page(t, f, Request{URL: "https://pages.test/doc/" + name, LLMs: "never"})
			file := filepath.Join(d, "want.md")
			if *update {
				if err := os.WriteFile(file, []byte(p.Content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), p.Content); d != "" {
				t.Error(d)
			}
			if len(p.Signals) > 0 && p.Signals[0] != "very_short_content" {
				t.Errorf("signals %v on a sound page", p.Signals)
			}
			lacks(t, p.Content, "Side entry", "Skip to", "Copy", "Edit this page", "¶", "§")
		})
	}
}

// TestDocumentationRecall: what a documentation page says in its content must
// reach the reader.
func TestDocumentationRecall(t *testing.T) {
	dirs, err := filepath.Glob("testdata/pages/*")
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, d := range dirs {
		source, err := os.ReadFile(filepath.Join(d, "source.html"))
		if err != nil {
			t.Fatal(err)
		}
		doc, _, err := parseHTML(string(source))
		if err != nil {
			t.Fatal(err)
		}
		var root *html.Node
		for _, found := range outermost(doc, docsRoots()) {
			if len(found) > 0 && root == nil {
				root = found[0]
			}
		}
		if root == nil {
			t.Errorf("%s: no content root", d)
			continue
		}
		for _, n := range all(root, func(n *html.Node) bool {
			return n.DataAtom == atom.Button || n.DataAtom == atom.Nav || n.DataAtom == atom.Svg || n.Data == "math" ||
				hasClass(n, "linenos", "headerlink", "hideme", "src", "language-name", "katex-html", "math", "tabs") || n.DataAtom == atom.Label
		}) {
			remove(n)
		}
		md, err := os.ReadFile(filepath.Join(d, "want.md"))
		if err != nil {
			t.Fatal(err)
		}
		have := map[string]int{}
		for _, w := range words(string(md)) {
			have[w]++
		}
		all, kept := 0, 0
		descend(root, func(n *html.Node) bool {
			if n.Type == html.TextNode {
				for _, w := range words(n.Data) { // blocks stand beside each other without white space
					all++
					if have[w] > 0 {
						have[w]--
						kept++
					}
				}
			}
			return true
		})
		recall := ratio(kept, all)
		sum += recall
		if recall < 0.95 {
			t.Errorf("%s: %d of %d words are left", d, kept, all)
		}
	}
	if mean := sum / float64(len(dirs)); mean < 0.98 {
		t.Errorf("mean recall %.3f", mean)
	}
}
