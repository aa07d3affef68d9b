package webfetch

import (
	"errors"
	"strings"
	"testing"
	"unicode"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
)

const selectable = `<!doctype html><body class=b><div id=one class="a b"><p lang=en>x <b title="a > b, c">y</b></p><p>z<i>1</i></p></div>
<ul><li>1<li>2<ul><li>2.1<li class=x>2.2</ul><li>3</ul><div><div><div><span>deep</span></div></div></div><input type=text><a href="#q">q</a>`

// What a selector finds is what Cascadia finds.
func TestSelectorAgrees(t *testing.T) {
	for _, s := range selectors {
		checkSelector(t, selectable, s)
	}
}

var selectors = []string{
	"p", "div p", "div > p", "body>div   p>b", "p + p", "p~p", "p , b", "li li", "li > ul > li + li.x", "div div div span", "div > div div", "ul li:nth-child(2n + 1)", "li:not(.x)", "div:has(p > b)", "p:contains(x  y)",
	`b[title="a > b, c"]`, `b[title='a > b, c'], span`, `#one > p:first-child`, "*", "div *", ":root > body", "body ~ div", "span + *", "li:not(ul > li)", "a[href='#q']", `\64 iv`, "p:matches(z)", "div,\n ul\t>\nli", " p ", ":not(:has(b))",
}

func checkSelector(t *testing.T, page, s string) {
	t.Helper()
	ours, err := parseSelector(s)
	if errors.Is(err, errSelector) {
		return
	}
	theirs, errTheirs := cascadia.ParseGroup(s)
	if err != nil || errTheirs != nil {
		if (err == nil) != (errTheirs == nil) {
			t.Errorf("%q: %v, Cascadia says %v", s, err, errTheirs)
		}
		return
	}
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	got, err := ours.find(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	want := all(root, theirs.Match)
	if len(got) != len(want) {
		t.Fatalf("%q: %d elements, want %d", s, len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%q: element %d is another", s, i)
		}
	}
}

func FuzzSelector(f *testing.F) {
	for _, s := range selectors {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.IndexFunc(s, unicode.IsControl) < 0 && len(strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" >+~,", r) })) < 6 { // Cascadia's time grows with the power of it
			checkSelector(t, selectable, s)
		}
	})
}

// On a page of nested elements a selector with many parts has as many ways to
// fail as there are choices of ancestors.
func TestSelectorOnHostilePage(t *testing.T) {
	page := strings.Repeat("<div>", 400) + "<p>x"
	for _, s := range []string{
		"nav" + strings.Repeat(" div", 100) + " p",
		strings.Repeat("div ", 900) + "p",
		strings.Repeat("div div > ", 100) + "nav p",
		"nav ~ div" + strings.Repeat(" div ~ div", 50),
	} {
		sel, err := parseSelector(s)
		if err != nil {
			t.Fatal(err)
		}
		root, err := html.Parse(strings.NewReader(page))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := sel.find(t.Context(), root); err != nil || len(got) != 0 {
			t.Errorf("%.30q finds %d, %v", s, len(got), err)
		}
	}
	for _, s := range []string{"p:not(div div div div div)", "p:has(a:has(b:has(i:has(u))))", strings.Repeat("a ", maxSelector)} {
		if _, err := parseSelector(s); !errors.Is(err, errSelector) {
			t.Errorf("%.30q: %v, want it refused", s, err)
		}
	}
}
