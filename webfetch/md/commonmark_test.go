package md_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whet-dev/whet/webfetch/md"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	ghtml "github.com/yuin/goldmark/renderer/html"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// roundTripGate is the share of the CommonMark examples whose structure must
// survive HTML → Markdown → HTML.
const roundTripGate = 0.97

type example struct {
	Markdown, HTML, Section string
	Example                 int
}

// examples reads the CommonMark specification's examples from the module of
// the parser that these tests use anyway.
func examples(t testing.TB) []example {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/yuin/goldmark").Output()
	if err != nil {
		t.Fatalf("finding the module goldmark: %v", err)
	}
	data, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "_test", "spec.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []example
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestCommonMarkRoundTrip(t *testing.T) {
	total, same, text := 0, 0, 0
	var failed []string
	for _, e := range examples(t) {
		if e.Section == "HTML blocks" || e.Section == "Raw HTML" {
			continue // their HTML is not what a Markdown renderer is to produce
		}
		total++
		out := md.Render(parse(t, e.HTML), md.Options{})
		back := toHTML(t, out)
		want, got := shape(parse(t, e.HTML)), shape(parse(t, back))
		if want == got {
			same++
		} else {
			failed = append(failed, fmt.Sprintf("example %d (%s)\n html %q\n  got %q\n   md %q", e.Example, e.Section, want, got, out))
		}
		if visible(parse(t, e.HTML)) == visible(parse(t, back)) {
			text++
		}
	}
	share := float64(same) / float64(total)
	t.Logf("structure %d/%d = %.1f %%, visible text %.1f %%", same, total, 100*share, 100*float64(text)/float64(total))
	if share < roundTripGate || testing.Verbose() {
		t.Log(strings.Join(failed, "\n"))
	}
	if share < roundTripGate {
		t.Errorf("structure survived in %.3f of the examples, want %.2f", share, roundTripGate)
	}
}

func parse(t testing.TB, s string) *html.Node {
	t.Helper()
	n, err := html.Parse(strings.NewReader(s))
	if err != nil {
		t.Skip(err)
	}
	return n
}

func toHTML(t testing.TB, s string) string {
	t.Helper()
	var b bytes.Buffer
	g := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList),
		goldmark.WithRendererOptions(ghtml.WithUnsafe()))
	if err := g.Convert([]byte(s), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func body(n *html.Node) *html.Node {
	if n.DataAtom == atom.Body {
		return n
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if b := body(c); b != nil {
			return b
		}
	}
	return nil
}

// shape writes a tree so that what Markdown can't tell apart looks the same:
// runs of white space, tight and loose lists, percent-encoding of links.
func shape(n *html.Node) string {
	var b strings.Builder
	writeShape(&b, body(n), false)
	return strings.Join(strings.Fields(b.String()), " ")
}

func writeShape(b *strings.Builder, n *html.Node, pre bool) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode && pre:
			b.WriteString(strings.ReplaceAll(strings.ReplaceAll(c.Data, " ", "·"), "\n", "¶"))
		case c.Type == html.TextNode:
			b.WriteString(strings.ReplaceAll(c.Data, "\u00a0", " "))
		case c.Type != html.ElementNode:
		case c.DataAtom == atom.P && c.Parent.DataAtom == atom.Li:
			b.WriteString(" ")
			writeShape(b, c, pre)
			b.WriteString(" ")
		default:
			block := strings.Contains(" p ul ol li blockquote pre hr h1 h2 h3 h4 h5 h6 ", " "+c.Data+" ")
			if block {
				b.WriteString(" ")
			}
			b.WriteString("<" + c.Data)
			for _, k := range []string{"href", "src", "title", "alt", "class", "start"} {
				for _, a := range c.Attr {
					if a.Key == k && a.Val != "" {
						fmt.Fprintf(b, " %s=%s", k, strings.Join(strings.Fields(a.Val), "_"))
					}
				}
			}
			b.WriteString(">")
			if block {
				b.WriteString(" ")
			}
			writeShape(b, c, pre || c.DataAtom == atom.Pre)
			if block {
				b.WriteString(" ")
			}
			b.WriteString("</" + c.Data + ">")
			if block {
				b.WriteString(" ")
			}
		}
	}
}

func visible(n *html.Node) string {
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.Type == html.TextNode {
				b.WriteString(c.Data)
			} else {
				b.WriteByte(' ')
			}
			walk(c)
		}
	}
	walk(body(n))
	return strings.Join(strings.Fields(b.String()), "")
}
