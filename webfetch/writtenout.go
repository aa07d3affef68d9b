package webfetch

import (
	"strings"

	"github.com/whet-dev/whet/webfetch/md"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// formula is a piece of TeX as the renderer takes it.
func formula(tex string, display bool) *html.Node {
	c := newElement(atom.Code, newText(strings.TrimSpace(tex)))
	kind := "inline"
	if display {
		kind = "display"
	}
	setAttr(c, "data-math", kind)
	return c
}

// maths replaces formulas by their TeX where the page has it.
func maths(root *html.Node) {
	found := all(root, func(n *html.Node) bool {
		return n.DataAtom == atom.Math || hasClass(n, "math", "arithmatex", "katex", "katex-display", "MathJax", "MathJax_Display", "mwe-math-element") || n.Data == "mjx-container"
	})
	for _, n := range found {
		tex, display := texOf(n)
		display = display || hasClass(n, "katex-display", "MathJax_Display") || attr(n, "display") == "true"
		switch {
		case tex != "":
			replace(n, formula(tex, display))
		case strings.HasPrefix(strings.TrimSpace(textOf(n)), `\(`), strings.HasPrefix(strings.TrimSpace(textOf(n)), `\[`):
			t := strings.TrimSpace(textOf(n))
			display = t[1] == '['
			replace(n, formula(strings.TrimRight(t[2:], `\)]`), display))
		case strings.HasPrefix(attr(n, "class"), "MathJax"): // its source stands beside it in a script
			remove(n)
		}
	}
}

func texOf(n *html.Node) (tex string, display bool) {
	if m := n; m.DataAtom == atom.Math || firstTag(n, atom.Math) != nil {
		if m.DataAtom != atom.Math {
			m = firstTag(n, atom.Math)
		}
		display = attr(m, "display") == "block"
		tex = attr(m, "alttext")
	}
	if a := first(n, func(c *html.Node) bool { return c.Data == "annotation" && strings.Contains(attr(c, "encoding"), "tex") }); a != nil {
		tex = textOfRaw(a)
	}
	return strings.TrimSpace(tex), display
}

// code rewrites code blocks as one text with the language on the element, so
// that no later step can take them for decoration.
func code(root *html.Node) {
	blocks := all(root, func(n *html.Node) bool {
		return n.DataAtom == atom.Pre || n.DataAtom == atom.Table && codeTable(n)
	})
	for _, n := range blocks {
		if isElement(n, atom.Pre) && firstTag(n, atom.H1, atom.H2, atom.H3, atom.P, atom.Ul) != nil {
			continue // a page set as preformatted text
		}
		text, lang := md.Code(n)
		if strings.TrimSpace(text) == "" {
			if firstTag(n, atom.Img) == nil {
				remove(n)
			}
			continue
		}
		inner := newElement(atom.Code, newText(text))
		pre := newElement(atom.Pre, inner)
		if lang != "" {
			setAttr(pre, "data-lang", lang)
			setAttr(inner, "class", "language-"+lang)
		}
		replace(n, pre)
	}
}

// codeTable reports whether a table is a code block with a gutter.
func codeTable(n *html.Node) bool {
	if hasClass(n, "highlighttable", "rouge-table", "hljs-ln", "lntable", "codehilitetable", "js-file-line-container") {
		return true
	}
	return first(n, func(c *html.Node) bool {
		return c.DataAtom == atom.Td && hasClass(c, "gutter", "linenos", "rouge-gutter", "blob-num", "line-numbers")
	}) != nil && firstTag(n, atom.Pre) != nil
}

// noteClass names the kind of an admonition by the classes of its element.
func noteClass(n *html.Node) string {
	switch n.DataAtom {
	case atom.Div, atom.Aside, atom.Section, atom.P, atom.Blockquote:
	default:
		return ""
	}
	class := strings.ToLower(attr(n, "class"))
	if class == "" {
		return ""
	}
	generic, kind := false, ""
	for c := range strings.FieldsSeq(class) {
		switch c {
		case "admonition", "callout", "alert", "markdown-alert", "theme-admonition", "custom-block", "notice", "hint", "notecard", "starlight-aside", "admonitionblock", "versionadded", "versionchanged", "deprecated":
			generic = true
		}
		c = strings.TrimPrefix(c, "theme-admonition-")
		c = strings.TrimPrefix(c, "markdown-alert-")
		c = strings.TrimPrefix(c, "alert--")
		c = strings.TrimPrefix(c, "alert-")
		c = strings.TrimPrefix(c, "callout-")
		c = strings.TrimPrefix(c, "starlight-aside--")
		switch c {
		case "note", "tip", "warning", "danger", "caution", "important", "info", "hint", "attention", "error", "success", "seealso", "deprecated":
			if kind == "" {
				kind = strings.ToUpper(c[:1]) + c[1:]
			}
		}
	}
	if kind == "Seealso" {
		kind = "See also"
	}
	bare := kind != "" && len(strings.Fields(class)) == 1 && n.DataAtom != atom.P && n.DataAtom != atom.Section
	if generic && kind == "" {
		if strings.Contains(class, "version") {
			return "-"
		}
		return "Note"
	}
	if generic || bare {
		return kind
	}
	return ""
}

// notes turns admonitions into quotes that begin with their kind or title.
func notes(root *html.Node) {
	descend(root, func(n *html.Node) bool {
		if n.Type != html.ElementNode {
			return true
		}
		kind := noteClass(n)
		if kind == "" || textLen(n) == 0 {
			return true
		}
		title := first(n, func(c *html.Node) bool {
			for f := range strings.FieldsSeq(strings.ToLower(attr(c, "class"))) {
				if strings.Contains(f, "admonition-title") || strings.Contains(f, "admonitionheading") || strings.Contains(f, "callout-title") ||
					strings.Contains(f, "alert-title") || f == "custom-block-title" || strings.Contains(f, "aside__title") || f == "title" || strings.Contains(f, "admonition-heading") {
					return true
				}
			}
			return false
		})
		if title != nil {
			if t := oneLineText(title); t != "" && len(t) < 200 {
				if strings.EqualFold(t, kind) {
					t = kind
				} else if kind != "-" && kind != "Note" && !strings.HasPrefix(strings.ToLower(t), strings.ToLower(kind)) {
					t = kind + ": " + t
				}
				kind = t
			}
			remove(title)
		} else if s := oneLineText(n); kind == "-" || strings.HasPrefix(strings.ToLower(s), strings.ToLower(kind)) {
			kind = ""
		}
		n.Data, n.DataAtom, n.Attr = "blockquote", atom.Blockquote, nil
		if kind != "" {
			n.InsertBefore(newElement(atom.P, newElement(atom.Strong, newText(kind))), n.FirstChild)
		}
		return true
	})
}

// tabs shows all panels of tab sets, each under the name of its tab.
func tabs(root *html.Node) {
	names := map[string]string{} // by the panel's id, or the tab's own
	var sets []*html.Node
	descend(root, func(n *html.Node) bool {
		if n.Type != html.ElementNode {
			return true
		}
		if attr(n, "role") == "tab" {
			t := oneLineText(n)
			for _, id := range []string{attr(n, "aria-controls"), strings.TrimPrefix(attr(n, "href"), "#"), attr(n, "id")} {
				if id != "" {
					names[id] = t
				}
			}
		}
		if attr(n, "role") == "tablist" || hasClass(n, "tabbed-labels", "nav-tabs") {
			sets = append(sets, n)
			return true
		}
		return true
	})
	inOrder := map[*html.Node]string{}
	for _, set := range sets {
		labels := all(set, func(c *html.Node) bool {
			return attr(c, "role") == "tab" || c.DataAtom == atom.Label || c.DataAtom == atom.Li
		})
		if set.Parent == nil {
			continue
		}
		panels := all(set.Parent, isPanel)
		for i, p := range panels {
			if i < len(labels) {
				inOrder[p] = oneLineText(labels[i])
			}
		}
		if len(panels) > 0 {
			defer remove(set)
		}
	}
	descend(root, func(n *html.Node) bool {
		if n.Type != html.ElementNode || !isPanel(n) {
			return true
		}
		name := names[attr(n, "id")]
		if name == "" {
			name = names[attr(n, "aria-labelledby")]
		}
		if name == "" {
			name = inOrder[n]
		}
		if label := previousElement(n); name == "" && isElement(label, atom.Label) {
			name = oneLineText(label)
			remove(label)
		}
		delAttr(n, "hidden")
		delAttr(n, "aria-hidden")
		delAttr(n, "style")
		setAttr(n, "data-shown", "")
		if name != "" && textLen(n) > 0 {
			n.InsertBefore(newElement(atom.P, newElement(atom.Strong, newText("Tab: "+name))), n.FirstChild)
		}
		return true
	})
}

func isPanel(n *html.Node) bool {
	if attr(n, "role") == "tabpanel" || hasClass(n, "sd-tab-content", "tabbed-block", "tab-pane") {
		return true
	}
	return isElement(n.Parent) && hasClass(n.Parent, "tab-content", "tabs-content", "tabbed-content") && n.DataAtom == atom.Div
}

func previousElement(n *html.Node) *html.Node {
	for p := n.PrevSibling; p != nil; p = p.PrevSibling {
		if p.Type == html.ElementNode {
			return p
		}
	}
	return nil
}
