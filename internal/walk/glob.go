package walk

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"
)

// A Glob is a compiled pattern over slash-separated paths.
//
// ? and [a-z] match one character and * any number, none of them a slash; **
// as a whole component matches any number of directories; {a,b} is either; \
// takes the next character as it is. These are ripgrep's rules but for one: ?
// is a character here and a byte there.
type Glob struct {
	kind globKind
	text string // what kind compares with
	head string // what every match begins with
	tail string // what every match ends with
	re   *regexp.Regexp
}

type globKind int

const (
	byRegexp globKind = iota
	wholePath
	baseName
	baseSuffix
	basePrefix
)

// A GlobError tells what is wrong with a pattern, and at which byte of it.
type GlobError struct {
	Pattern string
	Offset  int // bytes from the start of Pattern
	Problem string
}

func (e *GlobError) Error() string {
	return fmt.Sprintf("bad glob %q: %s at position %d", e.Pattern, e.Problem, e.Offset+1)
}

const maxGlob = 4096 // bytes; a longer pattern is nobody's

// CompileGlob compiles pattern, which matches from the start of a path to its
// end. Its error is a *[GlobError].
func CompileGlob(pattern string) (*Glob, error) { return compileGlob(pattern, globMode{}) }

func compileGlob(pattern string, m globMode) (*Glob, error) {
	if len(pattern) > maxGlob {
		return nil, &GlobError{pattern[:40] + "…", maxGlob, "too long"}
	}
	if g := fastGlob(pattern); g != nil {
		return g, nil
	}
	g := &Glob{}
	var err error
	if g.re, err = globRegexp(pattern, m); err != nil {
		return nil, err
	}
	g.head, g.tail = literalEnds(pattern)
	return g, nil
}

// Match tells whether the whole of p matches.
func (g *Glob) Match(p string) bool { return g.match(p, base(p)) }

func (g *Glob) match(p, base string) bool {
	switch g.kind {
	case wholePath:
		return p == g.text
	case baseName:
		return base == g.text
	case baseSuffix:
		return strings.HasSuffix(base, g.text)
	case basePrefix:
		return strings.HasPrefix(base, g.text)
	}
	return strings.HasPrefix(p, g.head) && strings.HasSuffix(p, g.tail) && g.re.MatchString(p)
}

// fastGlob handles the shapes that most rules have without a regexp.
func fastGlob(pattern string) *Glob {
	const meta = `*?[]{}\`
	rest, deep := strings.CutPrefix(pattern, "**/")
	switch {
	case strings.ContainsAny(strings.Trim(rest, "*"), meta), rest == "", !utf8.ValidString(rest):
		return nil
	case !strings.Contains(rest, "*") && !deep:
		return &Glob{kind: wholePath, text: rest}
	case strings.Contains(rest, "/") || !deep:
		return nil
	case !strings.Contains(rest, "*"):
		return &Glob{kind: baseName, text: rest}
	case strings.Count(rest, "*") > 1:
		return nil
	case rest[0] == '*':
		return &Glob{kind: baseSuffix, text: rest[1:]}
	case rest[len(rest)-1] == '*':
		return &Glob{kind: basePrefix, text: rest[:len(rest)-1]}
	}
	return nil
}

// literalEnds returns what a match must begin and end with, so that most paths
// never meet the regexp.
func literalEnds(pattern string) (head, tail string) {
	const meta = `*?[]{},\`
	if i := strings.IndexAny(pattern, meta); i >= 0 {
		head = pattern[:i]
	}
	if i := strings.LastIndexAny(pattern, meta); i >= 0 && !strings.Contains(pattern, "{") {
		tail = pattern[i+1:]
	}
	head = strings.TrimSuffix(head, "/") // a/**/b matches a/b, and a/** a/x
	if pattern[len(head):] != "" && strings.HasPrefix(tail, "/") {
		tail = tail[1:]
	}
	if !utf8.ValidString(head) || !utf8.ValidString(tail) {
		return "", ""
	}
	return head, tail
}

func base(p string) string { return p[strings.LastIndexByte(p, '/')+1:] }

// hasHidden tells whether a component of p begins with a dot.
func hasHidden(p string) bool { return strings.HasPrefix(p, ".") || strings.Contains(p, "/.") }

// A Filter is a glob for people: anchored where the search starts, at any
// depth if it has no slash, and matching hidden names only where it says so.
type Filter struct {
	glob   *Glob
	strict *regexp.Regexp // wildcards leave hidden names alone; nil: never needed
	Hidden bool           // a component of the pattern begins with a dot
}

// CompileFilter compiles pattern. A leading "./" or "/" only anchors it; a
// slash at the end means all that is in the directory. If hidden is set,
// wildcards match hidden names too. Its error is a *[GlobError].
func CompileFilter(pattern string, hidden bool) (*Filter, error) {
	full := pattern
	anchored := strings.HasPrefix(full, "/") || strings.HasPrefix(full, "./")
	full = strings.TrimLeft(strings.TrimPrefix(full, "./"), "/")
	if strings.HasSuffix(full, "/") {
		full += "**"
	}
	if !anchored && !strings.Contains(full, "/") {
		full = "**/" + full
	}
	g, err := CompileGlob(full)
	if err != nil {
		if ge, ok := err.(*GlobError); ok {
			ge.Offset = max(0, ge.Offset-(len(full)-len(pattern)))
			ge.Pattern = pattern
		}
		return nil, err
	}
	f := &Filter{glob: g, Hidden: hidden || dotComponent(pattern)}
	if !hidden {
		if f.strict, err = globRegexp(full, globMode{strict: true}); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Match tells whether p, relative to where the search starts, is meant.
func (f *Filter) Match(p string) bool {
	return f.glob.Match(p) && (f.strict == nil || !hasHidden(p) || f.strict.MatchString(p))
}

// MatchAbove tells whether p or a directory that it is in is meant.
func (f *Filter) MatchAbove(p string) bool {
	for i := range len(p) {
		if p[i] == '/' && f.Match(p[:i]) {
			return true
		}
	}
	return f.Match(p)
}

// dotComponent tells whether a component of the pattern, or an alternative in
// braces, begins with a dot that isn't "." or "..".
func dotComponent(pattern string) bool {
	for part := range strings.FieldsFuncSeq(pattern, func(r rune) bool { return strings.ContainsRune("/{},", r) }) {
		if strings.HasPrefix(part, ".") && path.Clean(part) != "." && part != ".." {
			return true
		}
	}
	return false
}
