package webfetch

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
)

// A selector is a CSS selector whose matching takes a time that grows with the
// page. Cascadia tries for "a b c" every ancestor for every part, which on a page
// of nested elements takes for ever. Here it matches single elements only; what
// stands between the parts is settled by one pass over the page for each.
type selector [][]part // each of the alternatives, from left to right

// A part is what one element must be, and how it stands to that of the part
// before: '>', '+', '~', ' ' or, for the first, 0.
type part struct {
	stands byte
	sel    cascadia.Sel
}

const (
	maxSelector = 4 << 10          // bytes
	maxInner    = 2                // combinators in the arguments of :not and :has, and these in each other
	maxSelect   = 10 * time.Second // for one page
	spaces      = " \t\r\n\f"
)

var (
	errSelector = errors.New("it is too complex; use a simpler one")
	errSlow     = errors.New("on this page the selector takes too long; use a simpler one")
)

// parseSelector reads a CSS selector.
func parseSelector(s string) (selector, error) {
	if len(s) > maxSelector {
		return nil, errSelector
	}
	if _, err := cascadia.ParseGroup(s); err != nil {
		return nil, err
	}
	out := selector{nil}
	stands := byte(0)
	for s = strings.TrimLeft(s, spaces); s != ""; {
		n, inner := compound(s)
		if inner > maxInner {
			return nil, errSelector
		}
		sel, err := cascadia.Parse(s[:n])
		if err != nil {
			return nil, err
		}
		last := &out[len(out)-1]
		*last = append(*last, part{stands, sel})
		s = strings.TrimLeft(s[n:], spaces)
		stands = ' '
		if s == "" {
			break
		}
		switch c := s[0]; c {
		case ',':
			out, stands = append(out, nil), 0
			s = strings.TrimLeft(s[1:], spaces)
		case '>', '+', '~':
			stands = c
			s = strings.TrimLeft(s[1:], spaces)
		}
	}
	return out, nil
}

// compound returns the length of the compound selector that s begins with, and
// how much work the arguments of its :not and :has make: combinators, and one of
// these within another.
func compound(s string) (n, inner int) {
	depth, nested := 0, []int(nil) // depths of brackets at which a :not or :has began
	for n < len(s) {
		switch c := s[n]; {
		case c == '\\':
			n += escaped(s[n+1:])
		case c == '"' || c == '\'':
			n = quoted(s, n)
		case c == '[' || c == '(':
			depth++
			if c == '(' && selects(s[:n]) {
				inner += min(1, len(nested))
				nested = append(nested, depth)
			}
		case c == ']' || c == ')':
			if len(nested) > 0 && nested[len(nested)-1] == depth {
				nested = nested[:len(nested)-1]
			}
			depth--
		case strings.IndexByte(spaces+">+~,", c) >= 0:
			if depth == 0 {
				return n, inner
			}
			if len(nested) > 0 && nested[len(nested)-1] == depth && (n == 0 || strings.IndexByte(spaces+">+~,", s[n-1]) < 0) {
				inner++
			}
		}
		n++
	}
	return min(n, len(s)), inner
}

// escaped returns the length of what a backslash escapes: a character, or its
// number in hexadecimal and one space that ends it.
func escaped(s string) (n int) {
	for n < min(6, len(s)) && strings.IndexByte("0123456789abcdefABCDEF", s[n]) >= 0 {
		n++
	}
	switch {
	case n == 0:
		return 1
	case strings.HasPrefix(s[n:], "\r\n"):
		return n + 2
	case n < len(s) && strings.IndexByte(spaces, s[n]) >= 0:
		return n + 1
	}
	return n
}

// quoted returns where the string that begins at n ends.
func quoted(s string, n int) int {
	for end := n + 1; end < len(s); end++ {
		switch s[end] {
		case '\\':
			end++
		case s[n]:
			return end
		}
	}
	return len(s)
}

// selects reports whether the argument after s is a selector.
func selects(s string) bool {
	s = strings.ToLower(s[strings.LastIndexByte(s, ':')+1:])
	return s == "not" || s == "has" || s == "haschild"
}

// find returns the outermost elements below root that the selector matches.
func (s selector) find(ctx context.Context, root *html.Node) ([]*html.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, maxSelect)
	defer cancel()
	found := map[*html.Node]bool{}
	for _, parts := range s {
		var matched map[*html.Node]bool
		for _, p := range parts {
			m := pass{ctx: ctx, part: p, before: matched, matched: map[*html.Node]bool{}}
			m.below(root, false)
			if ctx.Err() != nil {
				return nil, errSlow
			}
			matched = m.matched
		}
		for n := range matched {
			found[n] = true
		}
	}
	return all(root, func(n *html.Node) bool { return found[n] }), nil
}

// A pass finds the elements that match one part, given those that match the
// part before.
type pass struct {
	ctx             context.Context
	part            part
	before, matched map[*html.Node]bool
}

// below looks at all below n; under says that an ancestor matches the part
// before.
func (p *pass) below(n *html.Node, under bool) {
	var last *html.Node // element before
	after := false      // whether any before it matches
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode {
			continue
		}
		ok := true
		switch p.part.stands {
		case ' ':
			ok = under
		case '>':
			ok = p.before[n]
		case '+':
			ok = p.before[last]
		case '~':
			ok = after
		}
		if ok && p.ctx.Err() == nil && p.part.sel.Match(c) {
			p.matched[c] = true
		}
		p.below(c, under || p.before[c])
		last, after = c, after || p.before[c]
	}
}
