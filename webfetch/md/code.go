package md

import (
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

func (r *renderer) code(s *span, n *html.Node) {
	if attr(n, "data-math") != "" {
		r.math(s, n)
		return
	}
	// Links inside code stay links: reference pages are made of them.
	if !s.inLink && !r.o.Plain && !r.o.TextLinks && find(n, atom.A) != nil {
		r.codeAround(s, n)
		return
	}
	r.codeSpan(s, textOf(n))
}

func (r *renderer) codeAround(s *span, n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode:
			r.codeSpan(s, c.Data)
		case c.Type != html.ElementNode || skipped(c):
		case c.DataAtom == atom.A && attr(c, "href") != "":
			s.write("[")
			r.codeSpan(s, textOf(c))
			s.write("](" + target(attr(c, "href")) + ")")
		default:
			r.codeAround(s, c)
		}
	}
}

func (r *renderer) codeSpan(s *span, t string) {
	t = strings.Map(func(c rune) rune {
		switch c {
		case '\n', '\r', '\t', '\u00a0':
			return ' '
		}
		return c
	}, t)
	if strings.TrimSpace(t) == "" {
		s.space = s.space || t != ""
		return
	}
	if r.o.Plain {
		s.write(t)
		return
	}
	if s.inCell {
		t = strings.ReplaceAll(t, "|", `\|`)
	}
	fence := strings.Repeat("`", longestRun(t, '`')+1)
	for strings.Contains(t, "`") && !strings.Contains(t, fence[1:]) && len(fence) > 1 {
		fence = fence[1:]
	}
	pad := ""
	if t[0] == '`' || t[len(t)-1] == '`' || t[0] == ' ' && t[len(t)-1] == ' ' {
		pad = " "
	}
	if s.before() == '`' {
		s.write(" ") // two spans in a row would become one
	}
	s.write(fence + pad + t + pad + fence)
}

func longestRun(s string, c byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] == c {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	return longest
}

// pre renders a block of code in a fence, with its language.
func (r *renderer) pre(n *html.Node) {
	var b strings.Builder
	codeText(&b, n)
	r.fence(b.String(), Language(n))
}

func (r *renderer) fence(code, lang string) {
	code = strings.ReplaceAll(strings.ReplaceAll(code, "\r\n", "\n"), "\r", "\n")
	code = strings.TrimSuffix(code, "\n")
	r.begin(other, true)
	lines := strings.Split(code, "\n")
	if r.o.Plain {
		for _, l := range lines {
			r.line(l)
		}
		return
	}
	fence := strings.Repeat("`", max(3, longestRun(code, '`')+1))
	r.line(fence + lang)
	if code != "" {
		for _, l := range lines {
			r.line(l)
		}
	}
	r.line(fence)
}

// codeText appends the lines of a code block: gutters are left out, br and
// block elements end a line.
func codeText(b *strings.Builder, n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode:
			b.WriteString(c.Data)
		case c.Type != html.ElementNode || skipped(c) || isGutter(c):
		case c.DataAtom == atom.Br:
			b.WriteByte('\n')
		case isBlock(c):
			newline(b)
			codeText(b, c)
			newline(b)
		default:
			codeText(b, c)
		}
	}
}

func newline(b *strings.Builder) {
	if s := b.String(); s != "" && !strings.HasSuffix(s, "\n") {
		b.WriteByte('\n')
	}
}

func isGutter(n *html.Node) bool {
	return hasClass(n, "linenos", "lineno", "linenodiv", "line-number", "line-numbers-rows", "gutter", "rouge-gutter",
		"hljs-ln-numbers", "hljs-ln-n", "blob-num", "linenumber", "code-line-number", "ln-num", "copybtn", "copy-button")
}

// Language names the language of a code block as its highlighter recorded it on
// the pre, the code inside or an element close around it; "" when nobody did.
func Language(pre *html.Node) string {
	if c := find(pre, atom.Code); c != nil {
		if l := classLanguage(c); l != "" {
			return l
		}
	}
	n := pre
	for range 4 {
		if n == nil || n.Type != html.ElementNode || n.DataAtom == atom.Body {
			return ""
		}
		if l := classLanguage(n); l != "" {
			return l
		}
		n = n.Parent
	}
	return ""
}

func classLanguage(n *html.Node) string {
	for _, k := range []string{"data-lang", "data-language", "data-code-lang"} {
		if l := cleanLanguage(attr(n, k)); l != "" {
			return l
		}
	}
	class := attr(n, "class")
	for c := range strings.FieldsSeq(class) {
		for _, p := range []string{"language-", "lang-", "highlight-source-", "highlight-text-", "highlight-", "brush:"} {
			if l, ok := strings.CutPrefix(c, p); ok && cleanLanguage(l) != "" {
				return cleanLanguage(l)
			}
		}
	}
	if n.DataAtom != atom.Pre && n.DataAtom != atom.Code {
		return ""
	}
	fields := strings.Fields(class)
	for i, c := range fields {
		if c == "brush:" && i+1 < len(fields) {
			return cleanLanguage(strings.TrimRight(fields[i+1], ";"))
		}
		if knownLanguage(c) {
			return c
		}
	}
	return ""
}

func cleanLanguage(l string) string {
	l = strings.ToLower(strings.TrimSpace(l))
	switch l {
	case "none", "text", "txt", "plain", "plaintext", "plain-text", "default", "nohighlight", "notranslate", "wrapper",
		"container", "line", "lines", "line-numbers", "block":
		return ""
	case "ipython3", "python3", "pycon3":
		return "python"
	}
	if len(l) > 24 || strings.IndexFunc(l, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("+#-_.", r)
	}) >= 0 {
		return ""
	}
	return l
}

// knownLanguage reports whether a bare class of a code element names a language.
func knownLanguage(c string) bool {
	const known = " bash c c++ clojure console cpp cs csharp css dart diff dockerfile elixir erlang go golang graphql " +
		"groovy haskell html http ini java javascript js json jsx julia kotlin latex less lua makefile markdown matlab " +
		"nginx nix objectivec ocaml perl php powershell proto protobuf python py r ruby rb rust rs sass scala scheme scss " +
		"sh shell sql swift terraform toml ts tsx typescript vim xml yaml yml zig zsh "
	return strings.Contains(known, " "+c+" ")
}

func find(n *html.Node, a atom.Atom) *html.Node {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom == a && c.Type == html.ElementNode {
			return c
		}
		if f := find(c, a); f != nil {
			return f
		}
	}
	return nil
}

// Code returns the text of a code block, without gutters, and its language.
func Code(n *html.Node) (text, lang string) {
	if n.DataAtom == atom.Table {
		if c := gutterCode(n); c != nil {
			n = c
		}
	}
	var b strings.Builder
	codeText(&b, n)
	return b.String(), Language(n)
}
