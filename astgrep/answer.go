package astgrep

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/whet-dev/whet/internal/escape"
)

// An Answer is what [Search] found.
type Answer struct {
	Matches   []Match `json:"matches"`
	Files     int     `json:"files"` // with matches, shown or not
	Total     int     `json:"total"` // matches, shown or not
	Truncated bool    `json:"truncated"`
	// Reason why not all is here: "max_matches", "max_output_bytes" or "timeout".
	Reason   string   `json:"reason,omitempty"`
	Next     int      `json:"next,omitempty"` // the offset that shows what follows
	Searched int      `json:"searched"`       // files of the language; 0 if not counted
	Parsed   int      `json:"parsed"`         // files that the engine got
	Skipped  Skipped  `json:"skipped,omitzero"`
	Reading  *Reading `json:"reading,omitempty"` // how the pattern was read, if not as it stands
	Hint     string   `json:"hint,omitempty"`
	Engine   string   `json:"engine"` // its version

	offset int
	note   string
	lang   language
}

// A Reading is another way to read a pattern.
type Reading struct {
	Pattern  string `json:"pattern"`
	Selector string `json:"selector,omitempty"`
}

// A Match is one node that the pattern matches.
type Match struct {
	Path        string  `json:"path"`
	Line        int     `json:"line"`   // from 1
	Column      int     `json:"column"` // from 1, in characters
	EndLine     int     `json:"endLine"`
	EndColumn   int     `json:"endColumn"`
	Start       int     `json:"start"` // bytes from the start of the file
	End         int     `json:"end"`
	Text        string  `json:"text"`
	Replacement *string `json:"replacement,omitempty"`
	// Vars are what the meta-variables stand for; $$$NAME for all from the
	// first node to the last.
	Vars map[string]string `json:"vars,omitempty"`

	Before []string `json:"before,omitempty"` // lines of context
	After  []string `json:"after,omitempty"`
}

// maxText is how much text an answer gives the model, in bytes.
const maxText = 1 << 20

func (s *searcher) answer(f *finding) (*Answer, error) {
	raw, err := f.matches()
	if err != nil {
		return nil, err
	}
	a := &Answer{
		Files: len(f.count), Total: f.total, Reason: f.reason, Hint: f.hint,
		Searched: f.seen, Parsed: len(f.files), Skipped: f.Skipped, Engine: s.engine.Version,
		Matches: []Match{}, offset: s.q.Offset, note: f.note(), lang: s.lang,
	}
	if f.warned && a.Total > 0 {
		a.note = "(a part of the pattern could not be parsed, so these may be chance matches; whet ast tree shows how it is read)"
	}
	if f.whole {
		a.Parsed = f.seen
	}
	if f.context != "" {
		a.Reading = &Reading{f.pattern, f.selector}
	}
	size := 0
	for _, m := range raw[min(s.q.Offset, len(raw)):] {
		if size += len(m.Text); size > maxText {
			a.Reason = or(a.Reason, "max_output_bytes")
			break
		}
		a.Matches = append(a.Matches, m.match(s.q.Context))
	}
	if next := s.q.Offset + len(a.Matches); next < a.Total {
		a.Next = next
		a.Reason = or(a.Reason, "max_matches")
	}
	a.Truncated = a.Reason != ""
	return a, nil
}

func (m *rawMatch) match(context int) Match {
	out := Match{
		Path: filepath.ToSlash(m.File), Text: m.Text, Replacement: m.Replacement,
		Line: m.Range.Start.Line + 1, Column: m.Range.Start.Column + 1,
		EndLine: m.Range.End.Line + 1, EndColumn: m.Range.End.Column + 1,
		Start: m.Range.Byte.Start, End: m.Range.Byte.End,
	}
	for name, v := range m.Vars.Single {
		out.bind(name, v.Text)
	}
	for name, vs := range m.Vars.Multi {
		out.bind(name, m.span(vs))
	}
	if context > 0 {
		lines := strings.Split(m.Lines, "\n")
		first := min(context, m.Range.Start.Line)
		last := first + m.Range.End.Line - m.Range.Start.Line
		if last < len(lines) {
			out.Before, out.After = lines[:first], lines[last+1:]
			if n := len(out.After); n > 0 && out.After[n-1] == "" { // it may be no line but the end
				out.After = out.After[:n-1]
			}
		}
	}
	return out
}

// span returns the text from the first of vs to the last.
func (m *rawMatch) span(vs []rawVar) string {
	if len(vs) == 0 {
		return ""
	}
	base := m.Range.Byte.Start
	from, to := vs[0].Range.Byte.Start-base, vs[len(vs)-1].Range.Byte.End-base
	if from < 0 || to < from || to > len(m.Text) {
		return ""
	}
	return m.Text[from:to]
}

func (m *Match) bind(name, text string) {
	if m.Vars == nil {
		m.Vars = map[string]string{}
	}
	m.Vars[name] = text
}

// String is the answer for a model.
func (a *Answer) String() string {
	var b strings.Builder
	file := ""
	for i, m := range a.Matches {
		if b.Len() > maxText {
			break
		}
		if m.Path != file {
			if file != "" {
				b.WriteByte('\n')
			}
			file = m.Path
			b.WriteString(escape.Text(file) + ":\n")
		} else if len(m.Before) > 0 && i > 0 {
			b.WriteString("  --\n")
		}
		m.write(&b)
	}
	if a.Total == 0 {
		a.nothing(&b)
	} else {
		if len(a.Matches) > 0 {
			b.WriteByte('\n')
		}
		a.count(&b)
	}
	if notes := a.remarks(); notes != "" {
		b.WriteString(notes + "\n")
	}
	if a.Hint != "" {
		b.WriteString("\n" + a.Hint + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// remarks are how the pattern was read and what was not searched.
func (a *Answer) remarks() string {
	return strings.Trim(a.note+"\n"+a.Skipped.note(), "\n")
}

// Notes says what a person should know beside the matches; "" if nothing.
func (a *Answer) Notes() string {
	var b strings.Builder
	if a.Truncated {
		a.count(&b)
	}
	return strings.TrimSpace(b.String() + a.remarks())
}

const (
	maxShown    = 100 // characters of a match
	maxReplaced = 60  // characters of its old and new text
)

func (m *Match) write(b *strings.Builder) {
	m.context(b, m.Before, m.Line-len(m.Before))
	fmt.Fprintf(b, "  %s: ", m.lines())
	if m.Replacement != nil {
		fmt.Fprintf(b, "\"%s\" → \"%s\"\n", brief(m.Text, maxReplaced), brief(*m.Replacement, maxReplaced))
	} else {
		b.WriteString(brief(m.Text, maxShown) + "\n")
	}
	m.context(b, m.After, m.EndLine+1)
}

func (m *Match) lines() string {
	if m.EndLine > m.Line {
		return fmt.Sprintf("%d-%d", m.Line, m.EndLine)
	}
	return fmt.Sprint(m.Line)
}

func (m *Match) context(b *strings.Builder, lines []string, from int) {
	for i, l := range lines {
		fmt.Fprintf(b, "  %d- %s\n", from+i, brief(strings.TrimSuffix(l, "\r"), 2*maxShown))
	}
}

func (a *Answer) count(b *strings.Builder) {
	fmt.Fprintf(b, "Found %s in %s", plural(a.Total, "match"), plural(a.Files, "file"))
	switch {
	case a.Reason == "timeout":
		b.WriteString(" (partial: timeout; narrow the paths or the pattern)")
	case len(a.Matches) == 0 && a.offset > 0:
		fmt.Fprintf(b, " (offset %s is past the last)", thousands(a.offset))
	case a.Next > 0 && a.offset > 0:
		fmt.Fprintf(b, " (showing %s to %s: %s; pass offset=%d for more)", thousands(a.offset+1), thousands(a.Next), a.Reason, a.Next)
	case a.Next > 0:
		fmt.Fprintf(b, " (showing %s: %s; narrow the pattern or pass offset=%d)", thousands(len(a.Matches)), a.Reason, a.Next)
	case a.Reason != "":
		fmt.Fprintf(b, " (output truncated: %s)", a.Reason)
	}
	b.WriteByte('\n')
}

// nothing never leaves an empty answer without what was looked at.
func (a *Answer) nothing(b *strings.Builder) {
	switch {
	case a.Reason != "":
		fmt.Fprintf(b, "No matches found before the search was stopped (%s); it is not known whether there are any. Narrow the paths or the pattern.\n", a.Reason)
	case a.Searched == 1:
		fmt.Fprintf(b, "No matches found in 1 %s file.\n", a.lang.name)
	default:
		fmt.Fprintf(b, "No matches found in %s %s files.\n", thousands(a.Searched), a.lang.name)
	}
}

func (s Skipped) note() string {
	var parts []string
	list := func(files []string, why string) {
		if len(files) == 0 {
			return
		}
		names := slices.Clone(files[:min(3, len(files))])
		for i := range names {
			names[i] = escape.Text(names[i])
		}
		if len(files) > len(names) {
			names = append(names, "...")
		}
		parts = append(parts, fmt.Sprintf("%s %s: %s", plural(len(files), "file"), why, strings.Join(names, ", ")))
	}
	list(s.Large, "over 3 MB and 200,000 lines")
	list(s.NotUTF8, "not in UTF-8")
	if parts == nil {
		return ""
	}
	return "(not searched, though the pattern's words are there: " + strings.Join(parts, "; ") + ")"
}
