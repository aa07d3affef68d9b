package search

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// A pattern is a compiled query: three sieves, each finer and slower than the
// one before. A line that holds the literal goes to the automaton, and what
// passes that, unless it is ASCII, to the regular expression.
type pattern struct {
	rust    string // for ripgrep
	literal []byte // every match holds it; empty if there is none
	pure    bool   // the literal is the whole pattern
	prog    *syntax.Prog
	re      *regexp.Regexp
	group   int            // of re: the match proper
	marked  *regexp.Regexp // for text with its word boundaries marked; nil: not needed
}

func compilePattern(q *Query) (*pattern, error) {
	d := dialect{forGo: regexp.QuoteMeta(q.Pattern), forRust: q.Pattern}
	if !q.Literal {
		var err error
		if d, err = translate(q.Pattern); err != nil {
			return nil, err
		}
	}
	flags := "(?m)"
	if q.IgnoreCase {
		flags = "(?im)"
	}
	p := &pattern{rust: d.forRust}
	tree, err := syntax.Parse(flags+"(?:"+d.forGo+")", syntax.Perl)
	if err != nil {
		return nil, &PatternError{q.Pattern, "is too complex: " + err.Error(), "Search for a simpler pattern."}
	}
	if !q.Multiline && needsLineBreak(tree) {
		return nil, &PatternError{q.Pattern, "has a line break, but lines are searched one at a time", "Set multiline, or look for one of its lines."}
	}
	p.literal, p.pure = requiredLiteral(tree.Simplify())
	p.pure = p.pure && !q.Word
	if q.Word {
		// Consuming the neighbours stands for looking at them, since lines are
		// told apart by one match each.
		p.group = 1
		notWord := "[" + perlClass('W') + "]"
		if tree, err = syntax.Parse("(?:(?m:^)|"+notWord+")("+tree.String()+")(?:"+notWord+"|(?m:$))", syntax.Perl); err != nil {
			return nil, &PatternError{q.Pattern, "is too complex: " + err.Error(), "Search for a simpler pattern."}
		}
	}
	if p.prog, err = syntax.Compile(tree.Simplify()); err != nil {
		return nil, &PatternError{q.Pattern, "is too complex: " + err.Error(), "Search for a simpler pattern."}
	}
	tree = strict(tree)
	if p.re, err = regexp.Compile(tree.String()); err == nil && d.boundary {
		p.marked, err = regexp.Compile(marks(tree).String())
	}
	if err != nil {
		return nil, &PatternError{q.Pattern, "is too complex: " + err.Error(), "Search for a simpler pattern."}
	}
	return p, nil
}

// needsLineBreak tells whether a \n stands in the pattern by itself.
func needsLineBreak(re *syntax.Regexp) bool {
	return re.Op == syntax.OpLiteral && slices.Contains(re.Rune, '\n') || slices.ContainsFunc(re.Sub, needsLineBreak)
}

// requiredLiteral returns the longest text that every match holds, and whether
// it is the whole of every match.
func requiredLiteral(re *syntax.Regexp) (lit []byte, whole bool) {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 && strings.ToUpper(string(re.Rune)) != strings.ToLower(string(re.Rune)) {
			return nil, false
		}
		if s := string(re.Rune); utf8.ValidString(s) {
			return []byte(s), true
		}
	case syntax.OpCapture:
		return requiredLiteral(re.Sub[0])
	case syntax.OpPlus:
		lit, _ = requiredLiteral(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if l, _ := requiredLiteral(sub); len(l) > len(lit) {
				lit = l
			}
		}
	}
	return lit, false
}

// find returns where the first match in text at or after from is, or -1.
func (p *pattern) find(text []byte, from int) (start, end int) { return p.in(text)(from) }

// in returns find for one text that is searched many times: what has to be
// known of the whole text is found out once.
func (p *pattern) in(text []byte) func(from int) (start, end int) {
	switch {
	case p.pure:
		return func(from int) (start, end int) {
			if i := bytes.Index(text[from:], p.literal); i >= 0 {
				return from + i, from + i + len(p.literal)
			}
			return -1, -1
		}
	case !isASCII(text) && (p.marked != nil || !utf8.Valid(text)):
		return p.inMarked(text)
	}
	return func(from int) (start, end int) {
		m := p.re.FindSubmatchIndex(text[from:])
		if m == nil {
			return -1, -1
		}
		return from + m[2*p.group], from + m[2*p.group+1]
	}
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
