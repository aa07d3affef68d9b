package md

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxColumns bounds what a hostile colspan can make of a table.
const maxColumns = 200

type cell struct {
	text string
	head bool
	span bool // continues a cell above or to the left
}

func (r *renderer) table(n *html.Node) {
	if code := gutterCode(n); code != nil {
		r.pre(code)
		return
	}
	rows, caption := tableParts(n)
	if caption != nil {
		r.children(caption)
	}
	if len(rows) == 0 {
		return
	}
	if layoutTable(n, rows) {
		for _, row := range rows {
			for _, c := range cells(row) {
				r.children(c)
			}
		}
		return
	}
	grid, align := r.grid(rows)
	if len(grid) == 0 || len(align) == 0 {
		return
	}
	r.begin(other, false)
	if r.o.Plain {
		for _, row := range grid {
			r.line(strings.TrimRight(joinCells(row, "\t"), "\t"))
		}
		return
	}
	head := make([]cell, len(align))
	if isHeader(rows[0]) {
		head, grid = grid[0], grid[1:]
	}
	r.line("| " + joinCells(head, " | ") + " |")
	r.line("|" + strings.Join(align, "|") + "|")
	for _, row := range grid {
		r.line("| " + joinCells(row, " | ") + " |")
	}
}

func joinCells(row []cell, sep string) string {
	var b strings.Builder
	for i, c := range row {
		if i > 0 {
			b.WriteString(sep)
		}
		b.WriteString(c.text)
	}
	return b.String()
}

// tableParts lists the rows of a table, not those of tables inside it.
func tableParts(n *html.Node) (rows []*html.Node, caption *html.Node) {
	var foot []*html.Node
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.DataAtom {
		case atom.Tr:
			rows = append(rows, c)
		case atom.Caption:
			caption = c
		case atom.Thead, atom.Tbody:
			r, _ := tableParts(c)
			rows = append(rows, r...)
		case atom.Tfoot:
			r, _ := tableParts(c)
			foot = append(foot, r...)
		}
	}
	return append(rows, foot...), caption
}

func cells(row *html.Node) []*html.Node {
	var s []*html.Node
	for c := row.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom == atom.Td || c.DataAtom == atom.Th {
			s = append(s, c)
		}
	}
	return s
}

func isHeader(row *html.Node) bool {
	if row.Parent != nil && row.Parent.DataAtom == atom.Thead {
		return true
	}
	cs := cells(row)
	for _, c := range cs {
		if c.DataAtom != atom.Th {
			return false
		}
	}
	return len(cs) > 0
}

// layoutTable reports whether a table only places things on the page.
func layoutTable(n *html.Node, rows []*html.Node) bool {
	if role := attr(n, "role"); role == "presentation" || role == "none" {
		return true
	}
	if find(n, atom.Table) != nil {
		return true
	}
	widest := 0
	for _, row := range rows {
		cs := cells(row)
		widest = max(widest, len(cs))
		for _, c := range cs {
			if c.DataAtom == atom.Th {
				return false
			}
			if heading(c) {
				return true
			}
		}
	}
	return widest <= 1
}

func heading(n *html.Node) bool {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.DataAtom {
		case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
			return true
		}
		if heading(c) {
			return true
		}
	}
	return false
}

// gutterCode returns the code cell of a table that only sets line numbers
// beside a code block.
func gutterCode(n *html.Node) *html.Node {
	rows, _ := tableParts(n)
	if len(rows) == 0 {
		return nil
	}
	var code *html.Node
	gutter := false
	for _, c := range cells(rows[0]) {
		if isGutter(c) || find(c, atom.Pre) != nil && numbersOnly(c) {
			gutter = true
		} else if code == nil {
			code = c
		}
	}
	if !gutter || code == nil {
		return nil
	}
	if len(rows) > 1 {
		return n // a row for each line: the gutter cells are skipped in the text
	}
	if p := find(code, atom.Pre); p != nil {
		return p
	}
	return code
}

func numbersOnly(n *html.Node) bool {
	return strings.Trim(textOf(n), "0123456789 \n\t") == ""
}

// grid lays the cells out: a row span is repeated downwards, a column span
// leaves blanks to its right.
func (r *renderer) grid(rows []*html.Node) ([][]cell, []string) {
	type held struct {
		c    cell
		rows int
	}
	var grid [][]cell
	var align []string
	down := map[int]held{}
	for _, tr := range rows {
		var row []cell
		fill := func() {
			for h, ok := down[len(row)]; ok; h, ok = down[len(row)] {
				at := len(row)
				row = append(row, h.c)
				if h.rows--; h.rows == 0 {
					delete(down, at)
				} else {
					down[at] = h
				}
			}
		}
		for _, td := range cells(tr) {
			fill()
			if len(row) >= maxColumns {
				break
			}
			c := cell{text: r.cell(td), head: td.DataAtom == atom.Th}
			cols, deep := spanOf(td, "colspan"), spanOf(td, "rowspan")
			for i := range min(cols, maxColumns-len(row)) {
				if i > 0 {
					c = cell{span: true}
				}
				if deep > 1 {
					down[len(row)] = held{c, min(deep, len(rows)) - 1}
				}
				for len(align) <= len(row) {
					align = append(align, "---")
				}
				if a := alignment(td); a != "" && align[len(row)] == "---" {
					align[len(row)] = a
				}
				row = append(row, c)
			}
		}
		fill()
		if len(row) > 0 {
			grid = append(grid, row)
		}
	}
	for i, row := range grid {
		for len(row) < len(align) {
			row = append(row, cell{})
		}
		grid[i] = row[:len(align)]
	}
	return grid, align
}

func spanOf(n *html.Node, key string) int {
	v, err := strconv.Atoi(strings.TrimSpace(attr(n, key)))
	if err != nil || v < 1 {
		return 1
	}
	return min(v, 1000)
}

func alignment(n *html.Node) string {
	a := strings.ToLower(attr(n, "align"))
	style := strings.ReplaceAll(strings.ToLower(attr(n, "style")), " ", "")
	if _, rest, ok := strings.Cut(style, "text-align:"); ok && a == "" {
		a, _, _ = strings.Cut(rest, ";")
	}
	return map[string]string{"left": ":--", "center": ":-:", "right": "--:"}[a]
}

// cell renders the content of a cell on one line.
func (r *renderer) cell(td *html.Node) string {
	sub := &renderer{o: r.o, blocky: r.blocky}
	var parts []string
	sub.cellParts(td, "", &parts)
	return strings.Join(parts, "<br>")
}

func (r *renderer) cellParts(n *html.Node, lead string, parts *[]string) {
	var run []*html.Node
	add := func(s string) {
		for l := range strings.SplitSeq(s, "\n") {
			if l = strings.TrimSpace(l); l != "" {
				*parts = append(*parts, lead+l)
				lead = ""
			}
		}
	}
	flush := func() {
		if len(run) > 0 {
			s := &span{prev: ' ', inCell: true}
			for _, c := range run {
				r.span(s, c)
			}
			add(escapePipes(s.b.String()))
			run = nil
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.ElementNode && skipped(c):
		case c.Type != html.ElementNode || !isBlock(c) && !r.blocky[c]:
			run = append(run, c)
		case c.DataAtom == atom.Pre:
			flush()
			var b strings.Builder
			codeText(&b, c)
			for l := range strings.SplitSeq(strings.Trim(b.String(), "\n"), "\n") {
				s := &span{prev: ' ', inCell: true}
				r.codeSpan(s, l)
				add(s.b.String())
			}
		case c.DataAtom == atom.Li:
			flush()
			r.cellParts(c, "- ", parts)
		default:
			flush()
			r.cellParts(c, lead, parts)
		}
	}
	flush()
}

// escapePipes escapes the bars that aren't escaped yet.
func escapePipes(s string) string {
	if !strings.Contains(s, "|") {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if s[i] == '|' && (i == 0 || s[i-1] != '\\') {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
