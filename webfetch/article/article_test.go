package article_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"unicode"

	"github.com/whet-dev/whet/webfetch/article"
	"golang.org/x/net/html"
)

// TestDevPages is a scratch measurement.
func TestDevPages(t *testing.T) {
	dir := os.Getenv("PAGES")
	if dir == "" {
		t.Skip()
	}
	ds, _ := os.ReadDir(dir)
	sum, n := 0.0, 0
	type row struct {
		name    string
		f, p, r float64
	}
	var rows []row
	for _, d := range ds {
		src, err := os.Open(filepath.Join(dir, d.Name(), "source.html"))
		if err != nil {
			continue
		}
		doc, err := html.ParseWithOptions(src, html.ParseOptionEnableScripting(false))
		if err != nil {
			t.Error(d.Name(), err)
			continue
		}
		exp, _ := os.Open(filepath.Join(dir, d.Name(), "expected.html"))
		want, _ := html.Parse(exp)
		a, err := article.Extract(context.Background(), doc)
		var got map[string]int
		if err == nil {
			got = bag(a.Content)
		}
		p, r, f := f1(got, bag(want))
		rows = append(rows, row{d.Name(), f, p, r})
		sum += f
		n++
	}
	sort.Slice(rows, func(i, j int) bool { return rows[i].f < rows[j].f })
	for _, r := range rows[:min(15, len(rows))] {
		fmt.Printf("%-40s f=%.4f p=%.4f r=%.4f\n", r.name, r.f, r.p, r.r)
	}
	fmt.Printf("%d pages mean F1 %.5f\n", n, sum/float64(n))
}

func bag(n *html.Node) map[string]int {
	m := map[string]int{}
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			for _, w := range strings.FieldsFunc(n.Data, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
				m[w]++
			}
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(n)
	return m
}

func f1(got, want map[string]int) (p, r, f float64) {
	inter, g, w := 0, 0, 0
	for k, v := range got {
		g += v
		inter += min(v, want[k])
	}
	for _, v := range want {
		w += v
	}
	if inter == 0 {
		return 0, 0, 0
	}
	p, r = float64(inter)/float64(g), float64(inter)/float64(w)
	return p, r, 2 * p * r / (p + r)
}
