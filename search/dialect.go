package search

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
)

// The dialect is what Go's regexp (RE2) and ripgrep's (Rust) both take, with
// Rust's meaning: \w, \d, \s and \b know all of Unicode. The few texts that the
// two read differently are translated for either or refused, so that no engine
// finds what the other doesn't.

// A PatternError is a pattern that can't be searched for, and why.
type PatternError struct {
	Pattern string
	Problem string
	Advice  string
}

func (e *PatternError) Error() string {
	return fmt.Sprintf("grep: the pattern %s %s. %s", quote(e.Pattern), e.Problem, e.Advice)
}

// dialect holds a pattern as either engine takes it.
type dialect struct {
	forGo, forRust string
	boundary       bool // has \b or \B
}

// translate reads pattern once, token by token.
func translate(pattern string) (dialect, error) {
	t := &translator{in: pattern}
	for t.pos < len(pattern) {
		if err := t.token(); err != nil {
			return dialect{}, err
		}
	}
	d := dialect{t.goOut.String(), t.rustOut.String(), t.boundary}
	if _, err := syntax.Parse(d.forGo, syntax.Perl); err != nil {
		return d, t.refuse("is not a valid regular expression: "+parseProblem(err), "")
	}
	if t.emptyBranch && regexp.MustCompile(d.forGo).MatchString("") {
		return d, t.refuse("has an empty branch beside a |, so it would match every line", `Remove the extra |, or escape it as \| if the character itself is meant.`)
	}
	return d, nil
}

type translator struct {
	in             string
	pos            int
	inClass        bool
	opened         int // where the branch that is being read begins
	goOut, rustOut strings.Builder
	boundary       bool
	emptyBranch    bool
}

func (t *translator) refuse(problem, advice string) error {
	return &PatternError{t.in, problem, advice}
}

func (t *translator) both(s string) {
	t.goOut.WriteString(s)
	t.rustOut.WriteString(s)
}

func (t *translator) token() error {
	c := t.in[t.pos]
	switch {
	case c == '\\':
		return t.escape()
	case t.inClass:
		t.classChar(c)
		return nil
	case c == '[':
		t.openClass()
		return nil
	case c == '(':
		if err := t.group(); err != nil {
			return err
		}
	case c == '{' && !repetition().MatchString(t.in[t.pos:]):
		t.goOut.WriteString(`\{`)
		t.rustOut.WriteString(`\{`)
		t.pos++
		return nil
	case c == '|':
		t.branch()
	}
	t.both(t.in[t.pos : t.pos+1])
	t.pos++
	return nil
}

var repetition = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\{[0-9]+(,[0-9]*)?\}`) })

// group refuses what only a backtracking engine can do.
func (t *translator) group() error {
	t.opened = t.pos + len(opening().FindString(t.in[t.pos:]))
	if !strings.HasPrefix(t.in[t.pos:], "(?") {
		return nil
	}
	for prefix, name := range map[string]string{
		"(?=": "a look-ahead", "(?!": "a negative look-ahead", "(?<=": "a look-behind", "(?<!": "a negative look-behind",
		"(?>": "an atomic group", "(?(": "a conditional", "(?R": "a recursion or a CRLF flag", "(?#": "a comment",
	} {
		if strings.HasPrefix(t.in[t.pos:], prefix) {
			return t.refuse("has "+name+" ("+prefix+"), which this search can't do", "Search for a simpler pattern and sort out the lines afterwards, or set literal if the text itself is meant.")
		}
	}
	flags, _, _ := strings.Cut(t.in[t.pos+2:], ")")
	flags, _, _ = strings.Cut(flags, ":")
	if strings.Trim(flags, "imsUxu-") == "" && strings.ContainsAny(flags, "xu") {
		return t.refuse("sets a flag that this search doesn't know: (?"+flags+")", "Use only i, m, s and U.")
	}
	return nil
}

// branch notices a | with nothing on one side.
func (t *translator) branch() {
	after := t.in[t.pos+1:]
	if t.opened == t.pos || after == "" || after[0] == '|' || after[0] == ')' {
		t.emptyBranch = true
	}
	t.opened = t.pos + 1
}

// opening is what a group begins with.
var opening = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\((\?(P?<\w+>|[imsU-]*:))?`) })

func (t *translator) openClass() {
	t.inClass = true
	t.both("[")
	t.pos++
	if strings.HasPrefix(t.in[t.pos:], "^") {
		t.both("^")
		t.pos++
	}
	if strings.HasPrefix(t.in[t.pos:], "]") { // the character itself
		t.both(`\]`)
		t.pos++
	}
}

// classChar escapes for Rust what would begin a nested class or a set
// operation there.
func (t *translator) classChar(c byte) {
	rest := t.in[t.pos:]
	if name := posixClass().FindString(rest); name != "" {
		t.both(name)
		t.pos += len(name)
		return
	}
	t.pos++
	switch {
	case c == ']':
		t.inClass = false
		t.both("]")
	case c == '[', c == '&', c == '~':
		t.goOut.WriteByte(c)
		t.rustOut.WriteString(`\` + string(c))
	case c == '-' && strings.HasPrefix(rest, "--"):
		t.goOut.WriteByte(c)
		t.rustOut.WriteString(`\-`)
	default:
		t.goOut.WriteByte(c)
		t.rustOut.WriteByte(c)
	}
}

var posixClass = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\[:\^?[a-z]+:\]`) })

func (t *translator) escape() error {
	if t.pos+1 == len(t.in) {
		return t.refuse(`ends in a \ with nothing to escape`, `Write \\ for the character itself.`)
	}
	c := t.in[t.pos+1]
	seq := t.in[t.pos : t.pos+2]
	t.pos += 2
	switch {
	case strings.IndexByte("wWdDsS", c) >= 0:
		t.rustOut.WriteString(seq)
		ranges := perlClass(c)
		if t.inClass {
			t.goOut.WriteString(ranges)
		} else {
			t.goOut.WriteString("[" + ranges + "]")
		}
		return nil
	case (c == 'b' || c == 'B') && !t.inClass:
		if strings.HasPrefix(t.in[t.pos:], "{") {
			return t.refuse(seq+`{…} isn't known`, `Use \b.`)
		}
		t.boundary = true
	case c >= '1' && c <= '9', c == 'k', c == 'g':
		return t.refuse("has a back-reference ("+seq+"), which this search can't do", "Search for a simpler pattern and sort out the lines afterwards.")
	case c == '<' || c == '>':
		return t.refuse("has "+seq+", which some engines read as the edge of a word and some as the character", `Write \b for the edge of a word, or `+string(c)+" for the character.")
	case c == 'Q':
		return t.quoted()
	case c == 'C':
		return t.refuse(`has \C, a single byte, which this search can't do`, "Use a dot.")
	case c == 'G', c == 'K', c == 'X', c == 'R', c == 'h', c == 'H', c == 'Z':
		return t.refuse("has "+seq+", which this search doesn't know", `For blanks use [ \t], for the end of a line $.`)
	case c >= 0x80:
		t.both(seq[1:]) // an escaped letter beyond ASCII is itself
		return nil
	}
	t.both(seq)
	return nil
}

// quoted takes all up to \E as it is.
func (t *translator) quoted() error {
	text, _, closed := strings.Cut(t.in[t.pos:], `\E`)
	t.pos += len(text)
	if closed {
		t.pos += 2
	}
	t.both(regexp.QuoteMeta(text))
	return nil
}

// parseProblem says in words what the regexp parser found.
func parseProblem(err error) string {
	e, ok := err.(*syntax.Error)
	if !ok {
		return err.Error()
	}
	switch e.Code {
	case syntax.ErrMissingParen:
		return "a ( is never closed"
	case syntax.ErrUnexpectedParen:
		return "a ) closes nothing"
	case syntax.ErrMissingBracket:
		return "a [ is never closed"
	case syntax.ErrMissingRepeatArgument:
		return quote(e.Expr) + " repeats nothing"
	}
	return e.Code.String() + " " + quote(e.Expr)
}
