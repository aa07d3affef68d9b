// Package md renders HTML trees as Markdown, or as structured plain text.
//
// The output is CommonMark with the GitHub extensions tables, strikethrough and
// task lists, meant to be read by people and by language models: one line per
// paragraph, as few escapes as the syntax allows, code exactly as written with
// its language on the fence. It renders what it is given: choosing the part of
// a page worth reading, resolving links and removing hidden text are not its
// business.
package md

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Images says what becomes of an img element.
type Images int

// The three treatments of images. Payloads of data: URLs are never written.
const (
	ImagesFull Images = iota // ![alt](src "title")
	ImagesAlt                // the alternative text alone
	ImagesNone               // nothing
)

// Options change how a tree is rendered. The zero value is plain Markdown.
type Options struct {
	Images Images
	// TextLinks writes the text of links without their targets.
	TextLinks bool
	// Plain writes structured text without Markdown's marks.
	Plain bool
}

// maxNesting is how deep quotes and lists are indented; deeper ones continue at
// that level, so that hostile nesting can't make the output grow as a square.
const maxNesting = 40

// Render returns the Markdown of n and what is below it, ending in a newline
// unless it is empty.
func Render(n *html.Node, o Options) string {
	r := &renderer{o: o, blocky: map[*html.Node]bool{}}
	r.mark(n)
	r.children(n)
	return string(r.out)
}

// blockKind is what the last block of a container was: it decides how the next
// one is kept apart from it.
type blockKind int

const (
	none blockKind = iota
	para
	bullets
	numbers
	other
)

type container struct {
	last  blockKind
	mark  byte // delimiter of the last list
	tight bool
}

type renderer struct {
	o      Options
	out    []byte
	prefix []byte // begins every line
	first  []byte // begins the next line instead, when not nil
	in     container
	lists  int
	nest   int
	card   *html.Node // a link around blocks, until one of them has carried it
	blocky map[*html.Node]bool
}

// mark finds the inline elements that hold blocks.
func (r *renderer) mark(n *html.Node) bool {
	has := false
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode && r.mark(c) {
			has = true
		}
	}
	if has {
		r.blocky[n] = true
	}
	return has || isBlock(n)
}

// children renders the children of a block: runs of inline nodes become
// paragraphs between the blocks.
func (r *renderer) children(n *html.Node) {
	var run []*html.Node
	flush := func() {
		if len(run) > 0 {
			r.paragraph(run)
			run = run[:0]
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode && skipped(c) {
			continue
		}
		if c.Type != html.ElementNode || !isBlock(c) && !r.blocky[c] {
			run = append(run, c)
			continue
		}
		flush()
		r.block(c)
	}
	flush()
}

func (r *renderer) block(n *html.Node) {
	switch n.DataAtom {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		r.heading(n)
	case atom.Ul, atom.Ol, atom.Menu, atom.Dir:
		r.list(n)
	case atom.Dl:
		r.definitions(n)
	case atom.Blockquote:
		r.quote(n)
	case atom.Pre, atom.Listing, atom.Xmp:
		r.pre(n)
	case atom.Hr:
		r.rule()
	case atom.Table:
		r.table(n)
	case atom.Math:
		r.displayMath(n)
	case atom.Summary, atom.Dt, atom.Legend:
		r.paragraphWrapped(n, "**")
	case atom.A:
		if r.card == nil && attr(n, "href") != "" && !r.o.Plain && !r.o.TextLinks {
			r.card = n
			r.children(n)
			r.card = nil
			return
		}
		r.children(n)
	default:
		if m := attr(n, "data-math"); m != "" {
			r.displayMath(n)
			return
		}
		r.children(n)
	}
}

// begin writes what separates the next block from the one before it.
// Interrupts says that the block may follow a paragraph without a blank line.
func (r *renderer) begin(k blockKind, interrupts bool) {
	last := r.in.last
	r.in.last = k
	if last == none || r.in.tight && last == para && interrupts {
		return
	}
	r.out = append(r.out, bytes.TrimRight(r.prefix, " ")...)
	r.out = append(r.out, '\n')
}

func (r *renderer) line(s string) {
	if r.first != nil {
		r.out = append(r.out, r.first...)
		r.first = nil
	} else {
		r.out = append(r.out, r.prefix...)
	}
	if s == "" {
		r.out = bytes.TrimRight(r.out, " ")
	}
	r.out = append(r.out, s...)
	r.out = append(r.out, '\n')
}

// within renders f inside a container whose first line begins with first and
// whose other lines begin with rest.
func (r *renderer) within(first, rest string, tight bool, f func()) {
	if r.nest >= maxNesting {
		first, rest = "", ""
	}
	r.nest++
	prefix, in := len(r.prefix), r.in
	if first != rest || r.first != nil {
		lead := r.prefix
		if r.first != nil {
			lead = r.first
		}
		r.first = append(bytes.Clone(lead), first...)
	}
	r.prefix = append(r.prefix, rest...)
	r.in = container{tight: tight}
	f()
	if r.in.last == none && first != "" {
		r.line("")
	}
	r.prefix, r.in = r.prefix[:prefix], in
	r.nest--
}

func (r *renderer) quote(n *html.Node) {
	if r.o.Plain {
		r.children(n)
		return
	}
	r.begin(other, true)
	r.within("> ", "> ", false, func() { r.children(n) })
}

func (r *renderer) rule() {
	if r.o.Plain {
		return
	}
	r.begin(other, true)
	if r.lists > 0 {
		r.line("___") // "- ***" after a "*" bullet would be a rule itself
	} else {
		r.line("***") // never "---": a reader would take it for frontmatter
	}
}

func (r *renderer) heading(n *html.Node) {
	s := strings.TrimSpace(strings.ReplaceAll(r.inline(siblings(n)), "\n", " "))
	r.begin(other, true)
	if r.o.Plain {
		r.line(s)
		return
	}
	if t := strings.TrimRight(s, "#"); t != s && !strings.HasSuffix(t, `\`) {
		s = t + `\` + s[len(t):]
	}
	r.line(strings.TrimRight(strings.Repeat("#", int(n.Data[1]-'0'))+" "+s, " "))
}

func (r *renderer) paragraph(nodes []*html.Node) {
	s := r.inline(nodes)
	if s == "" {
		return
	}
	for p := range strings.SplitSeq(s, "\n\n") {
		if p = strings.Trim(p, "\n"); p != "" {
			r.begin(para, false)
			r.lines(p)
		}
	}
}

func (r *renderer) paragraphWrapped(n *html.Node, mark string) {
	if r.blocky[n] || r.o.Plain {
		r.children(n)
		return
	}
	if s := strings.ReplaceAll(strings.TrimSpace(r.inline(siblings(n))), "\n", " "); s != "" {
		r.begin(para, false)
		if strings.Contains(s, mark) {
			mark = ""
		}
		r.line(mark + s + mark)
	}
}

// lines writes one paragraph whose newlines are hard breaks.
func (r *renderer) lines(p string) {
	for p != "" {
		l, rest, more := strings.Cut(p, "\n")
		l = strings.TrimSpace(l)
		if !r.o.Plain {
			l = escapeLineStart(l)
			if more {
				l += "  "
			}
		}
		r.line(l)
		p = rest
	}
}

func siblings(n *html.Node) []*html.Node {
	var s []*html.Node
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		s = append(s, c)
	}
	return s
}
