package astgrep

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/whet-dev/whet/internal/escape"
)

// An Edit is one file's part of a rewrite.
type Edit struct {
	Path string // absolute
	Old  []byte // what the file held when it was matched
	New  []byte
}

// A Change is one replacement.
type Change struct {
	Path    string `json:"path"`
	Line    int    `json:"line"` // from 1, as are the others
	EndLine int    `json:"endLine"`
	Start   int    `json:"start"` // bytes from the start of the file as it was
	End     int    `json:"end"`
	Old     string `json:"old"`
	New     string `json:"new"`
}

// edit makes the edit of one file from the matches in it, which are in order.
// Of matches within others only the outer is replaced, as the engine does;
// nested is how many were left.
func (s *searcher) edit(path string, old []byte, ms []rawMatch) (new []byte, changes []Change, nested int, err error) {
	at := 0
	for _, m := range ms {
		span := m.Offsets
		if m.Replacement == nil || span.Start < 0 || span.End < span.Start || span.End > len(old) ||
			m.Range.Byte.End > len(old) || m.Range.Byte.Start > m.Range.Byte.End || string(old[m.Range.Byte.Start:m.Range.Byte.End]) != m.Text {
			return nil, nil, 0, fmt.Errorf("%s was changed while it was searched; nothing was written, try again", escape.Text(path))
		}
		if span.Start < at {
			nested++
			continue
		}
		text := s.replacement(m, old)
		new = append(append(new, old[at:span.Start]...), text...)
		changes = append(changes, Change{
			Path: path, Line: m.Range.Start.Line + 1, EndLine: m.Range.End.Line + 1,
			Start: span.Start, End: span.End, Old: string(old[span.Start:span.End]), New: text,
		})
		at = span.End
	}
	return append(new, old[at:]...), changes, nested, nil
}

// replacement returns the text for a match. It is the engine's own, but for
// what that would spoil: a semicolon that belongs to the match and not to the
// pattern stays, tabs count as indentation, a Python body that begins on its
// own line goes on doing so, and line ends are the file's.
func (s *searcher) replacement(m rawMatch, file []byte) string {
	text := *m.Replacement
	template := ""
	if s.q.Rewrite != nil && s.q.Rule == "" {
		template = *s.q.Rewrite
		indent := indentAt(file, m.Offsets.Start)
		if strings.Contains(template, "\n") && strings.Contains(indent, "\t") || s.lang.name == "python" && ownLine(template) >= 0 {
			text = s.expand(template, m, file, indent)
		}
		text += s.tail(m, text)
	}
	if i := bytes.IndexByte(file, '\n'); i > 0 && file[i-1] == '\r' {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
	}
	return text
}

// tail returns the semicolon that ends the match if neither the pattern nor a
// meta-variable has matched it and the replacement doesn't bring its own.
func (s *searcher) tail(m rawMatch, text string) string {
	if text == "" || !strings.HasSuffix(m.Text, ";") || strings.HasSuffix(strings.TrimSpace(s.q.Pattern), ";") ||
		strings.HasSuffix(strings.TrimSpace(text), ";") {
		return ""
	}
	ends := func(v rawVar) bool { return v.Range.Byte.End == m.Range.Byte.End }
	for _, v := range m.Vars.Single {
		if ends(v) {
			return ""
		}
	}
	for _, vs := range m.Vars.Multi {
		if slices.ContainsFunc(vs, ends) {
			return ""
		}
	}
	return ";"
}

// expand fills in the template for a match whose line begins with indent.
func (s *searcher) expand(template string, m rawMatch, file []byte, indent string) string {
	var b strings.Builder
	own := ownLine(template)
	for i := 0; i < len(template); {
		name, n := variable(template[i:])
		switch {
		case n > 0:
			value, at := m.value(name)
			if gap := gapBefore(file, at); i == own && s.lang.name == "python" && value != "" && strings.Contains(gap, "\n") {
				head := strings.TrimRight(b.String(), " ")
				b.Reset()
				b.WriteString(head + gap + value)
			} else {
				line := template[strings.LastIndexByte(template[:i], '\n')+1 : i]
				target := indent + line[:len(line)-len(strings.TrimLeft(line, " \t"))]
				b.WriteString(reindent(value, indentAt(file, at), target))
			}
			i += n
		case template[i] == '\n' && i+1 < len(template) && template[i+1] != '\n':
			b.WriteString("\n" + indent)
			i++
		default:
			b.WriteByte(template[i])
			i++
		}
	}
	return b.String()
}

// value returns what a meta-variable of the template stands for, and where
// that begins in the file.
func (m *rawMatch) value(name string) (text string, at int) {
	if multi, ok := strings.CutPrefix(name, "$$$"); ok {
		vs := m.Vars.Multi[multi]
		if len(vs) == 0 {
			return "", 0
		}
		return m.span(vs), vs[0].Range.Byte.Start
	}
	v := m.Vars.Single[strings.TrimLeft(name, "$")]
	return v.Text, v.Range.Byte.Start
}

// variable returns the meta-variable that text begins with, and its length.
func variable(text string) (name string, n int) {
	for n < 3 && n < len(text) && text[n] == '$' {
		n++
	}
	if n == 0 {
		return "", 0
	}
	end := n
	for end < len(text) && (text[end] == '_' || text[end] >= 'A' && text[end] <= 'Z' || text[end] >= '0' && text[end] <= '9') {
		end++
	}
	if end == n {
		return "", 0
	}
	return text[:end], end
}

// ownLine returns where the body of a Python block stands in the template, or
// -1: a $$$ that ends it, after a colon.
func ownLine(template string) int {
	loc := regexp.MustCompile(`:[ \t]*(\$\$\$[A-Z_0-9]+)\s*$`).FindStringSubmatchIndex(template)
	if loc == nil {
		return -1
	}
	return loc[2]
}

// indentAt returns the white space that the line of offset at begins with.
func indentAt(file []byte, at int) string {
	line := file[bytes.LastIndexByte(file[:at], '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// gapBefore returns the white space before offset at.
func gapBefore(file []byte, at int) string {
	return string(file[len(bytes.TrimRight(file[:at], " \t\r\n")):at])
}

// reindent moves the lines of value after the first from one indentation to
// another.
func reindent(value, from, to string) string {
	if from == to || !strings.Contains(value, "\n") {
		return value
	}
	lines := strings.Split(value, "\n")
	for i, l := range lines[1:] {
		if rest, ok := strings.CutPrefix(l, from); ok && strings.TrimSpace(rest) != "" {
			lines[i+1] = to + rest
		}
	}
	return strings.Join(lines, "\n")
}

// variables returns the meta-variables in text.
func variables(text string) (names []string) {
	for i := 0; i < len(text); {
		name, n := variable(text[i:])
		if n > 0 {
			names = append(names, name)
		}
		i += max(n, 1)
	}
	return names
}

// single is the form in which one-node variables are the same: $$A binds what
// $A stands for.
func single(name string) string {
	if strings.HasPrefix(name, "$$$") {
		return name
	}
	return "$" + strings.TrimLeft(name, "$")
}

// checkRewrite refuses a rewrite with meta-variables that the pattern doesn't
// bind: the engine would drop them in silence.
func checkRewrite(rewrite string, bound []string) error {
	var unknown []string
	for _, v := range variables(rewrite) {
		known := slices.ContainsFunc(bound, func(b string) bool { return single(b) == single(v) })
		if !known && !slices.Contains(unknown, v) {
			unknown = append(unknown, v)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	has := "none"
	if len(bound) > 0 {
		has = strings.Join(bound, ", ")
	}
	return fmt.Errorf("the rewrite has %s, which the pattern doesn't bind (it binds %s); it would be replaced by nothing. Nothing was changed", strings.Join(unknown, " and "), has)
}
