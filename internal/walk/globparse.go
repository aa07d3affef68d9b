package walk

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// globRegexp translates a glob into a regular expression, which is matched in
// linear time whatever the pattern.
func globRegexp(pattern string, m globMode) (*regexp.Regexp, error) {
	p := &globParser{in: pattern, globMode: m}
	if pattern == "**" && !m.strict {
		return regexp.MustCompile(`(?s)^.*$`), nil
	}
	out, err := p.branch(0, true)
	if err != nil {
		return nil, err
	}
	re, rerr := regexp.Compile(`(?s)^(?:` + out + `)$`)
	if rerr != nil {
		return nil, &GlobError{pattern, 0, "too complex"}
	}
	return re, nil
}

type globMode struct {
	strict  bool // a wildcard at the start of a component doesn't match a dot there
	lenient bool // a [ without ] is the character itself
}

type globParser struct {
	globMode
	in  string
	pos int
}

func (p *globParser) fail(at int, problem string) error {
	return &GlobError{p.in, at, problem}
}

// anyName is the regexp of a whole component, any that wildcards may match.
func (p *globParser) anyName() string {
	if p.strict {
		return `[^/.][^/]*`
	}
	return `[^/]+`
}

// anyDirs is the regexp of any number of components with their slashes.
func (p *globParser) anyDirs() string {
	if p.strict {
		return `(?:[^/.][^/]*/)*`
	}
	return `(?:.*/)?`
}

// branch parses up to the end of the pattern, or of one alternative in braces.
// first tells whether a component starts where it does.
func (p *globParser) branch(depth int, first bool) (string, error) {
	var b strings.Builder
	start := p.pos
	for p.pos < len(p.in) {
		c := p.in[p.pos]
		if depth > 0 && (c == ',' || c == '}') {
			break
		}
		atStart := p.pos == start && first || p.pos > start && p.in[p.pos-1] == '/'
		switch c {
		case '*':
			p.star(&b, depth, start, atStart)
		case '?':
			p.pos++
			b.WriteString(p.one(atStart, `[^/]`))
		case '[':
			if p.lenient && !closes(p.in[p.pos:]) {
				p.literal(&b)
				continue
			}
			class, err := p.class()
			if err != nil {
				return "", err
			}
			b.WriteString(p.one(atStart, class))
		case '{':
			if err := p.braces(&b, depth, atStart); err != nil {
				return "", err
			}
		case '}':
			return "", p.fail(p.pos, "} without {")
		case '\\':
			p.pos++
			if p.pos == len(p.in) {
				return "", p.fail(p.pos-1, `\ with nothing after it`)
			}
			p.literal(&b)
		default:
			p.literal(&b)
		}
	}
	return b.String(), nil
}

// one is a wildcard for one character.
func (p *globParser) one(atStart bool, class string) string {
	if p.strict && atStart && strings.HasPrefix(class, "[^") {
		return "[^." + class[2:]
	}
	return class
}

func (p *globParser) literal(b *strings.Builder) {
	r, n := utf8.DecodeRuneInString(p.in[p.pos:])
	p.pos += n
	b.WriteString(regexp.QuoteMeta(string(r)))
}

// star parses * and **. The latter is special only as a whole component.
func (p *globParser) star(b *strings.Builder, depth, start int, atStart bool) {
	at := p.pos
	for p.pos < len(p.in) && p.in[p.pos] == '*' {
		p.pos++
	}
	end := p.pos == len(p.in) || depth > 0 && (p.in[p.pos] == ',' || p.in[p.pos] == '}')
	slash := p.pos < len(p.in) && p.in[p.pos] == '/'
	afterSlash := at > start && p.in[at-1] == '/'
	whole := p.pos-at == 2 && (end || slash) && (at == start || afterSlash)
	switch {
	case whole && slash: // also after a slash: a/**/b is a/, directories, b
		p.pos++
		b.WriteString(p.anyDirs())
	case whole:
		b.WriteString(p.anyDirs() + p.anyName())
	case p.strict && atStart:
		b.WriteString(`(?:` + p.anyName() + `)?`)
	default:
		b.WriteString(`[^/]*`)
	}
}

func (p *globParser) braces(b *strings.Builder, depth int, atStart bool) error {
	open := p.pos
	const deepest = 20
	if depth == deepest {
		return p.fail(open, "too many { inside one another")
	}
	b.WriteString("(?:")
	for {
		p.pos++
		alt, err := p.branch(depth+1, atStart)
		if err != nil {
			return err
		}
		b.WriteString(alt)
		if p.pos == len(p.in) {
			return p.fail(open, "{ without }")
		}
		if p.in[p.pos] == '}' {
			p.pos++
			b.WriteString(")")
			return nil
		}
		b.WriteString("|")
	}
}

// closes tells whether the class that s begins with ends.
func closes(s string) bool {
	s = strings.TrimPrefix(s, "[")
	if s != "" && (s[0] == '!' || s[0] == '^') {
		s = s[1:]
	}
	return len(s) > 1 && strings.Contains(s[1:], "]")
}

// class parses [abc], [a-z], [!a] and [^a]. A ] right after the opening is one
// of the characters, and so is a - at either end.
func (p *globParser) class() (string, error) {
	open := p.pos
	p.pos++
	out := "["
	if p.pos < len(p.in) && (p.in[p.pos] == '!' || p.in[p.pos] == '^') {
		p.pos++
		out += "^/"
	}
	for first := true; ; first = false {
		if p.pos == len(p.in) {
			return "", p.fail(open, "[ without ]")
		}
		if p.in[p.pos] == ']' && !first {
			p.pos++
			return out + "]", nil
		}
		lo, n := utf8.DecodeRuneInString(p.in[p.pos:])
		p.pos += n
		out += classRune(lo)
		rest := p.in[p.pos:]
		if len(rest) < 2 || rest[0] != '-' || rest[1] == ']' {
			continue
		}
		hi, n := utf8.DecodeRuneInString(rest[1:])
		if hi < lo {
			return "", p.fail(p.pos-1, "a range that ends before it begins")
		}
		p.pos += 1 + n
		out += "-" + classRune(hi)
	}
}

func classRune(r rune) string {
	if strings.ContainsRune(`\]^-[&~`, r) {
		return `\` + string(r)
	}
	return string(r)
}
