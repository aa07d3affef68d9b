package astgrep

import (
	"context"
	"errors"
	"strings"
)

// A node is one of a pattern as the engine reads it.
type node struct {
	kind     string
	text     string // of a named leaf or a meta-variable
	meta     bool   // a meta-variable; text is its name with its dollars
	children []*node
}

// token tells whether n is an unnamed token such as a keyword or a bracket,
// whose kind is its text. A named node without children, of no text, looks the
// same and means nothing either.
func (n *node) token() bool { return !n.meta && n.text == "" && len(n.children) == 0 }

// walk calls f for n and all below it, parents first, until f says stop.
func (n *node) walk(f func(*node) (more bool)) bool {
	if !f(n) {
		return false
	}
	for _, c := range n.children {
		if !c.walk(f) {
			return false
		}
	}
	return true
}

// broken tells whether a part of the pattern could not be parsed.
func (n *node) broken() bool {
	return !n.walk(func(n *node) bool { return n.kind != "ERROR" })
}

// source returns the text of n's leaves without the space between.
func (n *node) source() string {
	var b strings.Builder
	n.walk(func(n *node) bool {
		switch {
		case n.token():
			b.WriteString(n.kind)
		default:
			b.WriteString(n.text)
		}
		return true
	})
	return squeeze(b.String())
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

// A reading is how a pattern is read.
type reading struct {
	pattern    string
	selector   string
	strictness string
	tree       *node // nil if the engine's account of it could not be read
	// context is what a pattern was put in to be read, if it was.
	context string
	alone   string // what the pattern is without it, if that is known not to be meant
	rule    string // in place of the pattern
}

// vars returns the meta-variables that bind: "$A" and "$$$ARGS".
func (r reading) vars() (names []string) {
	all := variables(r.pattern)
	if r.tree != nil {
		all = nil
		r.tree.walk(func(n *node) bool {
			if n.meta {
				all = append(all, n.text)
			}
			return true
		})
	}
	for _, v := range all {
		if name := strings.TrimLeft(v, "$"); name != "" && name[0] != '_' {
			names = append(names, v)
		}
	}
	return names
}

// read asks the engine how it reads the pattern. A pattern that it refuses is
// an *engineError.
func (w *workspace) read(ctx context.Context, lang language, r reading) (reading, error) {
	args := []string{"run", "--lang=" + lang.name, "--pattern=" + r.pattern, "--debug-query=pattern", "--color=never"}
	if r.selector != "" {
		args = append(args, "--selector="+r.selector)
	}
	if r.strictness != "" {
		args = append(args, "--strictness="+r.strictness)
	}
	// The engine goes on to search: in a file where there is nothing.
	text, err := w.run(ctx, nil, append(args, "--", w.config())...)
	if err != nil {
		return r, err
	}
	r.tree = parseTree(text)
	return r, nil
}

// parseTree reads the engine's account of a pattern, a node a line, indented by
// two spaces a level: "kind" of an inner node or a token, "kind text" of a
// named leaf, or "MetaVar $NAME". It returns nil if the text isn't that.
func parseTree(text string) *node {
	_, text, ok := strings.Cut(text, "Debug Pattern:\n")
	if !ok {
		return nil
	}
	if i := strings.LastIndex(text, "\n\nWarning: "); i >= 0 {
		text = text[:i]
	}
	text = strings.TrimRight(text, "\n")
	var path []*node
	for line := range strings.SplitSeq(text, "\n") {
		rest := strings.TrimLeft(line, " ")
		depth := (len(line) - len(rest)) / 2
		n := &node{kind: rest}
		if kind, text, ok := strings.Cut(rest, " "); ok && isKind(kind) {
			n.kind, n.text, n.meta = kind, text, kind == "MetaVar"
		}
		if rest == "" || (len(line)-len(rest))%2 != 0 || depth > len(path) || depth == 0 && path != nil {
			return nil
		}
		if depth > 0 {
			parent := path[depth-1]
			if parent.text != "" {
				return nil
			}
			parent.children = append(parent.children, n)
		}
		path = append(path[:depth], n)
	}
	if path == nil {
		return nil
	}
	return path[0]
}

func isKind(s string) bool {
	for i := range len(s) {
		if c := s[i] | 0x20; (c < 'a' || c > 'z') && s[i] != '_' && (s[i] < '0' || s[i] > '9' || i == 0) {
			return false
		}
	}
	return s != ""
}

// refused tells whether err is the engine's word that the pattern is wrong.
func refused(err error) (why string, ok bool) {
	e := (*engineError)(nil)
	if !errors.As(err, &e) {
		return "", false
	}
	return e.cause(), strings.Contains(e.text, "Cannot parse query")
}
