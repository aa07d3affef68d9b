package astgrep

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// A needle is text that a file must hold for a pattern to match in it.
type needle struct {
	text []byte
	// whole says that it can't be a part of a longer word.
	whole bool
}

// needles returns what must stand in every file that the pattern matches in,
// the longest first. That is sound because a named leaf of a pattern matches
// only a node with the same text, and a keyword only its like. What strictness
// lets a match go without is left out: unnamed tokens unless it is smart or
// cst, all text under signature, and template compares in a way of its own.
// Nothing is known of a pattern that isn't parsed whole.
func (r reading) needles(lang language) (out []needle) {
	tokens := lang.exact
	switch r.strictness {
	case "", "smart", "cst":
	case "ast":
		tokens = false
	default:
		return nil
	}
	if r.tree == nil || r.tree.broken() || strings.Contains(r.pattern, "\n") && r.hasComment() {
		return nil
	}
	var collect func(n *node)
	collect = func(n *node) {
		if isComment(n.kind) {
			return // matches do without
		}
		if n.text != "" && !n.meta {
			out = add(out, n.text, lang.exact && strings.Contains(n.kind, "identifier"))
		}
		afterMulti := false // tokens that follow $$$ are skipped, not compared
		for _, c := range n.children {
			switch {
			case c.meta:
				afterMulti = strings.HasPrefix(c.text, "$$$")
			case !c.token():
				afterMulti = false
			case tokens && !afterMulti && isKind(c.kind):
				out = add(out, c.kind, lang.whole)
			}
			collect(c)
		}
	}
	collect(r.tree)
	slices.SortStableFunc(out, func(a, b needle) int { return cmp.Compare(len(b.text), len(a.text)) })
	return out
}

func (r reading) hasComment() bool {
	return !r.tree.walk(func(n *node) bool { return !isComment(n.kind) })
}

func isComment(kind string) bool { return strings.Contains(kind, "comment") }

// add adds the words of text: the whole of it unless the engine may have
// printed it another way than it stands in the pattern.
func add(out []needle, text string, whole bool) []needle {
	for word := range strings.FieldsSeq(text) {
		if len(word) < 2 || slices.ContainsFunc(out, func(n needle) bool { return string(n.text) == word }) {
			continue
		}
		out = append(out, needle{[]byte(word), whole && word == text})
	}
	return out
}

// holds tells whether text has all the needles.
func holds(text []byte, needles []needle) bool {
	for _, n := range needles {
		if !n.in(text) {
			return false
		}
	}
	return true
}

func (n needle) in(text []byte) bool {
	if !n.whole {
		return bytes.Contains(text, n.text)
	}
	for from := 0; ; {
		i := bytes.Index(text[from:], n.text)
		if i < 0 {
			return false
		}
		start, end := from+i, from+i+len(n.text)
		if n.begins(text, start) && (end == len(text) || !wordByte(text[end]) || !wordByte(text[end-1])) {
			return true
		}
		from = start + 1
	}
}

// begins tells whether an identifier may begin at i: after anything but a
// word's byte, or right after a number, as in 0xfor.
func (n needle) begins(text []byte, i int) bool {
	if i == 0 || !wordByte(text[i-1]) || !wordByte(text[i]) {
		return true
	}
	for i > 0 && wordByte(text[i-1]) {
		i--
	}
	return text[i] >= '0' && text[i] <= '9'
}

// wordByte leaves out what isn't ASCII: among it there is space.
func wordByte(c byte) bool {
	return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
}
