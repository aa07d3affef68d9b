package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html"

	"github.com/whet-dev/whet/webfetch/article"
)

// testPages is a module that carries Mozilla's test pages.
const testPages = "codeberg.org/readeck/go-readability/v2@v2.1.3"

type page struct{ name, source, expected string }

// corpus fetches the module through the module proxy, outside of go.mod.
func corpus(ctx context.Context) ([]page, error) {
	c := exec.CommandContext(ctx, "go", "mod", "download", "-json", testPages)
	c.Dir = os.TempDir()
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("downloading the test pages: %w", err)
	}
	var m struct{ Dir string }
	if err := json.Unmarshal(out, &m); err != nil {
		return nil, err
	}
	dirs, err := filepath.Glob(filepath.Join(m.Dir, "test-pages", "*", "source.html"))
	if err != nil || len(dirs) == 0 {
		return nil, fmt.Errorf("no pages below %s: %w", m.Dir, err)
	}
	var pages []page
	for _, source := range dirs {
		dir := filepath.Dir(source)
		if expected := filepath.Join(dir, "expected.html"); exists(expected) {
			pages = append(pages, page{filepath.Base(dir), source, expected})
		}
	}
	return pages, nil
}

func exists(p string) bool {
	_, err := os.Stat(p)
	return err == nil
}

func parseFile(p string) (*html.Node, error) {
	f, err := os.Open(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return html.ParseWithOptions(f, html.ParseOptionEnableScripting(false))
}

// quality scores the extraction: F1 of the bag of words against what Mozilla
// expects.
func quality(ctx context.Context, w io.Writer, pages []page) error {
	sum, empty, below := 0.0, 0, 0
	type score struct {
		name string
		f1   float64
	}
	var worst []score
	for _, p := range pages {
		doc, err := parseFile(p.source)
		if err != nil {
			return err
		}
		want, err := parseFile(p.expected)
		if err != nil {
			return err
		}
		f := 0.0
		if a, err := article.Extract(ctx, doc); err == nil {
			f = f1(bag(a.Content), bag(want))
		} else {
			empty++
		}
		sum += f
		if f < 0.99 {
			below++
		}
		worst = append(worst, score{p.name, f})
	}
	slices.SortFunc(worst, func(a, b score) int {
		switch {
		case a.f1 < b.f1:
			return -1
		case a.f1 > b.f1:
			return 1
		}
		return 0
	})
	fmt.Fprintf(w, "### Extraction on Mozilla's %d test pages\n\nmean F1 %.4f, %d empty, %d below 0.99; lowest:", len(pages), sum/float64(len(pages)), empty, below)
	for _, s := range worst[:min(4, len(worst))] {
		fmt.Fprintf(w, " %s %.4f", s.name, s.f1)
	}
	_, err := fmt.Fprint(w, "\n\n")
	return err
}

func bag(n *html.Node) map[string]int {
	words := map[string]int{}
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			for w := range strings.FieldsFuncSeq(n.Data, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
				words[w]++
			}
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(n)
	return words
}

func f1(got, want map[string]int) float64 {
	same, g, w := 0, 0, 0
	for k, n := range got {
		g += n
		same += min(n, want[k])
	}
	for _, n := range want {
		w += n
	}
	if g+w == 0 {
		return 1
	}
	return 2 * float64(same) / float64(g+w)
}
