package applypatch

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

const (
	beginMark = "*** Begin Patch"
	endMark   = "*** End Patch"
	eofMark   = "*** End of File"
	envMark   = "*** Environment ID:"
	addMark   = "*** Add File:"
	delMark   = "*** Delete File:"
	updMark   = "*** Update File:"
	moveMark  = "*** Move to:"

	maxPatch    = 4 << 20 // bytes
	maxSections = 2000
	// Each directory is looked up from the root, so that the time grows with the
	// cube of their number; and what lies too deep no other program can open.
	maxDepth = 200
	maxPath  = 4000 // bytes
)

// Parse reads a patch. It accepts what can't hide an operation: CRLF, a code
// fence, a here-document (with "cd DIR &&"), a JSON argument array, several
// envelopes, unified diff chunk headers, blank lines. Anything else that isn't
// the format is a Validation [*Error] with the 1-based line of the patch.
func Parse(text string) (*Patch, error) {
	if len(text) > maxPatch {
		return nil, invalid(TooLarge, 0, "the patch has %d bytes, the limit is %d; split it", len(text), maxPatch)
	}
	s := splitSource(fromArgv(text)).unwrap()
	p := &parser{source: s, patch: &Patch{Dir: s.dir}}
	if err := p.envelopes(); err != nil {
		return nil, err
	}
	return p.patch, nil
}

type parser struct {
	source
	i     int // the next line
	patch *Patch
}

func (p *parser) at() int { return p.first + p.i }

func (p *parser) done() bool { return p.i >= len(p.lines) }

func (p *parser) line() string { return p.lines[p.i] }

func (p *parser) skipBlank() {
	for !p.done() && strings.Trim(p.line(), invisible) == "" {
		p.i++
	}
}

func trimBlank(l string) string { return strings.Trim(l, " \t") }

// envelopes reads one or more envelopes, one after the other.
func (p *parser) envelopes() error {
	if err := p.opening(); err != nil {
		return err
	}
	for {
		if err := p.sections(); err != nil {
			return err
		}
		p.i++ // the end mark
		for p.skipBlank(); !p.done() && trimBlank(p.line()) == endMark; p.skipBlank() {
			p.i++
		}
		if p.done() {
			break
		}
		if trimBlank(p.line()) != beginMark {
			return invalid(TextOutside, p.at(), "text after %q: %s", endMark, quote(p.line()))
		}
		p.i++
	}
	if len(p.patch.Sections) == 0 {
		return invalid(EmptyPatch, 0, "no file sections between %q and %q", beginMark, endMark)
	}
	return nil
}

// opening checks the first line. A forgotten begin mark is no loss when a file
// header stands there: the end mark still shows that the patch is whole.
func (p *parser) opening() error {
	if p.done() {
		return invalid(EmptyPatch, 0, "the patch is empty")
	}
	switch first := p.line(); {
	case trimBlank(first) == beginMark:
		p.i++
		return nil
	case strings.HasPrefix(first, beginMark+`\n`) || len(p.lines) == 1 && strings.Contains(first, `\n*** `):
		return invalid(EscapedNewlines, p.at(), `the patch has the two characters \n where line breaks belong; send real line breaks`)
	case isHeader(first):
		return nil
	}
	for _, l := range p.lines {
		if trimBlank(l) == beginMark {
			return invalid(TextOutside, p.at(), "text before %q: %s", beginMark, quote(p.line()))
		}
	}
	return invalid(MissingBegin, p.at(), "the first line must be %q, it is %s", beginMark, quote(p.line()))
}

func isHeader(l string) bool {
	l = trimBlank(l)
	return strings.HasPrefix(l, addMark) || strings.HasPrefix(l, delMark) || strings.HasPrefix(l, updMark)
}

// sections reads up to the end mark and leaves it as the next line.
func (p *parser) sections() error {
	for {
		p.skipBlank()
		if p.done() {
			return invalid(MissingEnd, p.at()-1, "no %q: the patch may have been cut short, so none of it was used; send it whole", endMark)
		}
		l := trimBlank(p.line())
		if l == endMark {
			return nil
		}
		if rest, ok := strings.CutPrefix(l, envMark); ok && len(p.patch.Sections) == 0 && p.patch.Environment == "" {
			if p.patch.Environment = strings.TrimSpace(rest); p.patch.Environment == "" {
				return invalid(UnknownHeader, p.at(), "%q has no value", envMark)
			}
			p.i++
			continue
		}
		if len(p.patch.Sections) == maxSections {
			return invalid(TooLarge, p.at(), "more than %d file sections; split the patch", maxSections)
		}
		if err := p.section(l); err != nil {
			return err
		}
	}
}

func (p *parser) section(header string) error {
	s := Section{Line: p.at()}
	var rest string
	var ok bool
	if rest, ok = strings.CutPrefix(header, addMark); ok {
		s.Op = Add
	} else if rest, ok = strings.CutPrefix(header, delMark); ok {
		s.Op = Delete
	} else if rest, ok = strings.CutPrefix(header, updMark); ok {
		s.Op = Update
	} else {
		return p.strange()
	}
	var err error
	if s.Path, err = p.path(rest); err != nil {
		return err
	}
	p.i++
	switch s.Op {
	case Add:
		err = p.addBody(&s)
	case Update:
		err = p.updateBody(&s)
	}
	if err == nil {
		p.patch.Sections = append(p.patch.Sections, s)
	}
	return err
}

// strange is the error for a line that can't be where it is.
func (p *parser) strange() error {
	l := p.line()
	switch t := trimBlank(l); {
	case strings.HasPrefix(t, moveMark):
		return invalid(UnknownHeader, p.at(), "%q belongs right after %q", moveMark, updMark)
	case t == beginMark:
		return invalid(MissingEnd, p.at(), "%q again before %q: the first patch may have been cut short", beginMark, endMark)
	case strings.HasPrefix(t, "***"):
		return invalid(UnknownHeader, p.at(), "%s; the file headers are %q, %q and %q", quote(l), addMark, updMark, delMark)
	}
	return invalid(UnexpectedLine, p.at(), "%s is neither a file header nor part of a section", quote(l))
}

func (p *parser) path(rest string) (string, error) {
	name := strings.TrimSpace(rest)
	if name == "" {
		return "", invalid(BadPath, p.at(), "the header has no path")
	}
	if strings.ContainsFunc(name, unicode.IsControl) {
		return "", invalid(BadPath, p.at(), "the path %q has a control character", name)
	}
	if n := strings.Count(name, "/") + strings.Count(name, `\`); n > maxDepth || len(name) > maxPath {
		return "", invalid(BadPath, p.at(), "the path has %d bytes and %d directories, the limits are %d and %d", len(name), n, maxPath, maxDepth)
	}
	return name, nil
}

func (p *parser) addBody(s *Section) error {
	for !p.done() {
		l := p.line()
		if rest, ok := strings.CutPrefix(l, "+"); ok {
			s.Add = append(s.Add, rest)
			p.i++
			continue
		}
		if t := trimBlank(l); t == endMark || isHeader(l) || strings.HasPrefix(l, "*** ") {
			return nil
		}
		if trimBlank(l) == "" {
			at := p.at()
			if p.skipBlank(); p.done() || !strings.HasPrefix(p.line(), "+") {
				continue
			}
			return invalid(AddLinePrefix, at, `an empty line in %q must be written as "+"`, addMark)
		}
		return invalid(AddLinePrefix, p.at(), `every line after %q must begin with "+": %s`, addMark, quote(l))
	}
	return nil
}

func (p *parser) updateBody(s *Section) error {
	p.skipBlank()
	if !p.done() {
		if rest, ok := strings.CutPrefix(trimBlank(p.line()), moveMark); ok {
			to, err := p.path(rest)
			if err != nil {
				return err
			}
			s.MoveTo = to
			p.i++
		}
	}
	for !p.done() && !p.sectionEnds(len(s.Chunks) == 0) {
		c, err := p.chunk(len(s.Chunks) == 0)
		if err != nil {
			return err
		}
		if c != nil {
			s.Chunks = append(s.Chunks, *c)
		}
	}
	if len(s.Chunks) == 0 && s.MoveTo == "" && !p.done() {
		return invalid(EmptyUpdate, s.Line, "%q %s has no chunks", updMark, s.Path)
	}
	return nil
}

// sectionEnds reports whether the next line ends an update. An indented mark
// ends it only before the first chunk: later a space begins a context line.
func (p *parser) sectionEnds(indented bool) bool {
	l := p.line()
	if indented {
		l = trimBlank(l)
	}
	l = strings.TrimRight(l, " \t")
	return l == endMark || strings.HasPrefix(l, "*** ") && l != eofMark
}

var unified = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^@@\s*-(\d+)(?:,\d+)?\s+\+\d+(?:,\d+)?\s*(?:@@(.*))?$`)
})

// chunk reads anchors and body; nil if only blank lines were left.
func (p *parser) chunk(first bool) (*Chunk, error) {
	c := &Chunk{}
	headed := false
	for !p.done() && strings.HasPrefix(p.line(), "@@") {
		c.header(p.line())
		p.i++
		headed = true
	}
	c.At = p.at()
	for !p.done() && !strings.HasPrefix(p.line(), "@@") && !p.sectionEnds(false) {
		l := p.line()
		if strings.TrimRight(l, " \t") == eofMark {
			c.EOF = true
			p.i++
			break
		}
		if err := c.body(l, p.at()); err != nil {
			return nil, err
		}
		p.i++
	}
	c.trimBare()
	if len(c.Lines) == 0 {
		if (headed || c.EOF) && !p.done() {
			return nil, invalid(EmptyUpdate, c.At, "the chunk has no lines")
		}
		return nil, nil
	}
	if !headed && !first {
		return nil, invalid(UnexpectedLine, c.At, "%s follows %q without a new \"@@\"", quote(c.Lines[0].Text), eofMark)
	}
	return c, nil
}

// header reads one @@ line.
func (c *Chunk) header(l string) {
	if m := unified().FindStringSubmatch(l); m != nil {
		c.Hint, _ = strconv.Atoi(m[1])
		c.Unified = true
		l = "@@" + m[2]
	}
	a := strings.TrimPrefix(strings.TrimPrefix(l, "@@"), " ")
	if t := strings.TrimSuffix(a, "@@"); t != a {
		a = strings.TrimRight(t, " ")
	}
	if t := strings.TrimSpace(a); t != "" && t != "..." {
		c.Anchors = append(c.Anchors, a)
	}
}

func (c *Chunk) body(l string, at int) error {
	if l == "" {
		c.Lines = append(c.Lines, Line{Op: ' ', At: at, suspect: true})
		return nil
	}
	switch op := l[0]; {
	case op == ' ' || op == '-' || op == '+':
		c.Lines = append(c.Lines, Line{Op: op, Text: l[1:], At: at})
	case op == '\\' && strings.HasPrefix(l, `\ `):
		if n := len(c.Lines); n > 0 {
			c.oldNoEOL = c.oldNoEOL || c.Lines[n-1].Op != '+'
			c.newNoEOL = c.newNoEOL || c.Lines[n-1].Op != '-'
		}
	case strings.HasPrefix(l, "***"):
		return invalid(UnknownHeader, at, "%s in a chunk; a line of the file needs a space, - or + before it", quote(l))
	default:
		c.Lines = append(c.Lines, Line{Op: ' ', Text: l, At: at, suspect: true})
	}
	return nil
}

// trimBare drops empty lines at the end that had not even a space: they are the
// gap before the next header. The other bare empty lines are empty context.
func (c *Chunk) trimBare() {
	n := len(c.Lines)
	for n > 0 && c.Lines[n-1].suspect && c.Lines[n-1].Text == "" {
		n--
	}
	c.Lines = c.Lines[:n]
	for i := range c.Lines {
		if c.Lines[i].Text == "" {
			c.Lines[i].suspect = false
		}
	}
}

// quote shows a line in a message: short, with control characters escaped.
func quote(s string) string { return fmt.Sprintf("%q", clip(s, 80)) }
