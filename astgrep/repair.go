package astgrep

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/whet-dev/whet/internal/escape"
)

// repairs returns other readings of the pattern: within each of the language's
// wraps in which it is one node without an error, of another kind than by
// itself; and with what it lacks to be complete. Each is told to the caller.
func (s *searcher) repairs(ctx context.Context, strict reading) []reading {
	if s.q.Selector != "" {
		return nil
	}
	pattern := trimmed(s.q.Pattern)
	var tries []reading
	for _, p := range completions(s.lang.name, pattern) {
		tries = append(tries, reading{pattern: p, strictness: s.q.Strictness, context: p})
	}
	for _, wrap := range s.lang.wraps {
		tries = append(tries, wrapped(wrap, s.q))
	}
	var wg sync.WaitGroup
	const abreast = 4
	slot := make(chan struct{}, abreast)
	for i := range tries {
		wg.Go(func() {
			slot <- struct{}{}
			defer func() { <-slot }()
			r, err := s.read(ctx, s.lang, tries[i])
			if err != nil || r.tree == nil || r.tree.broken() {
				r.tree = nil
			}
			tries[i] = r
		})
	}
	wg.Wait()
	seen := map[string]bool{s.vain: true}
	if strict.tree != nil && !strict.tree.broken() {
		seen[shape(strict.tree)] = true
	}
	var out []reading
	if s.lang.name == "json" {
		out = append(out, jsonPair(pattern)...)
	}
	for _, r := range tries {
		if r.tree == nil {
			continue
		}
		if r.context != r.pattern { // a wrap
			n := part(r.tree, squeeze(pattern))
			if n == nil {
				continue
			}
			r.tree, r.selector = n, n.kind
		}
		if key := shape(r.tree); !seen[key] {
			seen[key] = true
			out = append(out, r)
		}
	}
	return out
}

func trimmed(pattern string) string { return strings.TrimSuffix(strings.TrimSpace(pattern), ";") }

// wrapped reads the query's pattern within a wrap.
func wrapped(wrap string, q *Query) reading {
	return reading{pattern: strings.Replace(wrap, "@", trimmed(q.Pattern), 1), strictness: q.Strictness, context: wrap}
}

// shape tells readings apart: the kinds and texts of all nodes.
func shape(n *node) string {
	var b strings.Builder
	n.walk(func(n *node) bool {
		fmt.Fprintf(&b, "%s %s %d\n", n.kind, n.text, len(n.children))
		return true
	})
	return b.String()
}

// part returns the innermost node whose source is want, if a selector of its
// kind finds it, which takes the first node of a kind.
func part(tree *node, want string) *node {
	var found *node
	tree.walk(func(n *node) bool {
		if n.meta || len(n.children) == 0 {
			return true
		}
		if src := n.source(); src == want || src == want+";" {
			found = n
		}
		return true
	})
	if found == nil {
		return nil
	}
	var first *node
	tree.walk(func(n *node) bool {
		if n.kind == found.kind {
			first = n
		}
		return first == nil
	})
	if first != found {
		return nil
	}
	return found
}

// completions returns what an incomplete pattern lacks.
func completions(lang, pattern string) []string {
	switch lang {
	case "python":
		if head, ok := strings.CutSuffix(pattern, ":"); ok {
			return []string{pattern + " $$$", head}
		}
	case "javascript", "typescript", "tsx":
		if isBareFunction(pattern) {
			return []string{pattern + "($$$) { $$$ }"}
		}
		if opening, ok := bareAttribute(pattern); ok {
			return []string{opening}
		}
	}
	return nil
}

// jsonPair reads a key with a meta-variable for its value, which is no JSON.
func jsonPair(pattern string) []reading {
	m := regexp.MustCompile(`^("(?:[^"\\]|\\.)*")\s*:\s*(\$[A-Z_][A-Z0-9_]*)$`).FindStringSubmatch(pattern)
	if m == nil {
		return nil
	}
	rule := fmt.Sprintf("{kind: pair, all: [{has: {field: key, pattern: %s}}, {has: {field: value, pattern: %s}}]}", yamlString(m[1]), m[2])
	return []reading{{pattern: pattern, rule: rule, context: rule}}
}

// isBareFunction tells whether the pattern is a function's head without
// parameters and body.
func isBareFunction(pattern string) bool {
	words := strings.Fields(pattern)
	for len(words) > 0 && (words[0] == "export" || words[0] == "default" || words[0] == "async") {
		words = words[1:]
	}
	return len(words) == 2 && words[0] == "function" && !strings.ContainsAny(words[1], "({")
}

// bareAttribute puts a meta-variable that is the value of a JSX attribute into
// braces.
func bareAttribute(pattern string) (string, bool) {
	if !strings.HasPrefix(pattern, "<") {
		return "", false
	}
	var b strings.Builder
	rest := pattern
	for {
		i := strings.Index(rest, "=$")
		if i < 0 {
			break
		}
		end := i + 2
		for end < len(rest) && (rest[end] == '$' || rest[end] == '_' || rest[end] >= 'A' && rest[end] <= 'Z' || rest[end] >= '0' && rest[end] <= '9') {
			end++
		}
		b.WriteString(rest[:i+1] + "{" + rest[i+1:end] + "}")
		rest = rest[end:]
	}
	b.WriteString(rest)
	return b.String(), b.String() != pattern
}

// note tells in one line which reading was used.
func (r reading) note() string {
	switch {
	case r.context == "":
		return ""
	case r.alone != "":
		return fmt.Sprintf("(the pattern alone is %s; it was read as a %s, as in %s)", r.alone, r.selector, quote(r.pattern))
	case r.rule != "":
		return fmt.Sprintf("(the pattern alone finds nothing; it was read as the rule %s)", escape.Text(r.rule))
	case r.selector == "":
		return fmt.Sprintf("(the pattern alone finds nothing; it was read as %s)", quote(r.pattern))
	}
	return fmt.Sprintf("(the pattern alone finds nothing; it was read as a %s, as in %s)", r.selector, quote(r.pattern))
}
