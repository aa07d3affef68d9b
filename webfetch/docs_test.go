package webfetch

import (
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
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
