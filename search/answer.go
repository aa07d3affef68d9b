package search

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/whet-dev/whet/internal/escape"
)

// An Answer is what [Grep] found.
type Answer struct {
	Matches    []Match     `json:"matches"`              // for Content
	Found      []FileCount `json:"found,omitempty"`      // for Files and Count
	Files      int         `json:"files"`                // files with matches, shown or not
	Total      int         `json:"total"`                // matching lines, shown or not
	Truncated  bool        `json:"truncated"`            // not all is shown
	Next       int         `json:"next,omitempty"`       // the offset that shows what follows
	Searched   int         `json:"searched"`             // files
	Skipped    Skipped     `json:"skipped"`              // known if nothing was found
	Partial    bool        `json:"partial"`              // ended before all was searched
	Denied     bool        `json:"denied,omitempty"`     // some file or directory could not be read
	Unreadable []string    `json:"unreadable,omitempty"` // matched, then could not be read
	Engine     string      `json:"engine"`

	query   *Query
	pattern *pattern
	took    time.Duration
	leftOut *leftOut
	named   string // the one file that was asked for
	binary  bool   // it is binary
}

// A FileCount is a file and how many of its lines match.
type FileCount struct {
	Path  string `json:"path"`
	Count int    `json:"count"`
}

// Skipped counts what a search went past. A directory counts as one.
type Skipped struct {
	Ignored int `json:"ignored"`
	Hidden  int `json:"hidden"`
	Binary  int `json:"binary"`
	Large   int `json:"large"`
}

func (a *Answer) more(next, all int) {
	if next < all && !a.binary {
		a.Truncated, a.Next = true, next
	}
}

// String is the answer for a model.
func (a *Answer) String() string {
	var b strings.Builder
	switch {
	case a.Total == 0:
		a.nothing(&b)
	case a.binary:
		fmt.Fprintf(&b, "Binary file matches: %s (it holds NUL bytes, so its lines are not shown)\n", escape.Text(a.query.Prefix+a.query.Path))
	case a.query.Output == Content:
		fmt.Fprintf(&b, "Found %s in %s\n", plural(a.Total, "match"), plural(a.Files, "file"))
		a.content(&b)
		b.WriteString(bracketed(a.cut(a.query.Offset, len(a.Matches), a.Total)))
	default:
		fmt.Fprintf(&b, "Found %s in %s\n", plural(a.Total, "match"), plural(a.Files, "file"))
		for _, f := range a.Found {
			b.WriteString(escape.Text(f.Path))
			if a.query.Output == Count {
				fmt.Fprintf(&b, ": %d", f.Count)
			}
			b.WriteByte('\n')
		}
		b.WriteString(bracketed(a.cut(a.query.Offset, len(a.Found), a.Files)))
	}
	for _, n := range a.notes() {
		fmt.Fprintf(&b, "(%s)\n", n)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Notes tells what else a person should know of an answer that isn't empty:
// what isn't shown, and why.
func (a *Answer) Notes() []string {
	shown, all := len(a.Matches), a.Total
	if a.query.Output != Content {
		shown, all = len(a.Found), a.Files
	}
	out := a.notes()
	if c := a.cut(a.query.Offset, shown, all); c != "" {
		out = append([]string{c}, out...)
	}
	return out
}

func (a *Answer) notes() (out []string) {
	for _, p := range a.Unreadable {
		out = append(out, escape.Text(p)+" could not be read again")
	}
	if a.Denied && a.Total > 0 {
		out = append(out, "partial: some files or directories could not be read")
	}
	if a.Partial {
		out = append(out, fmt.Sprintf("partial: the search was stopped after %s, before all files were searched; narrow the path or the include", a.took))
	}
	return out
}

// Spans returns where the pattern matches in a text of the answer, for
// highlighting: pairs of first byte and byte after the last.
func (a *Answer) Spans(text string) (out [][2]int) {
	find := a.pattern.in([]byte(text))
	for from := 0; from < len(text); {
		start, end := find(from)
		if start < 0 {
			break
		}
		if end > start {
			out = append(out, [2]int{start, end})
		}
		from = max(end, from+1)
	}
	return out
}

// cut says what part is shown, "" if all is.
func (a *Answer) cut(offset, shown, all int) string {
	switch {
	case a.binary:
		return ""
	case shown == 0:
		return fmt.Sprintf("offset %s is past the last of %s", thousands(offset), thousands(all))
	case a.Truncated && offset > 0:
		return fmt.Sprintf("showing %s to %s of %s; narrow the pattern or pass offset=%d", thousands(offset+1), thousands(offset+shown), thousands(all), a.Next)
	case a.Truncated:
		return fmt.Sprintf("showing %s of %s; narrow the pattern or pass offset=%d", thousands(shown), thousands(all), a.Next)
	}
	return ""
}

// content writes the matches, each file's under its name.
func (a *Answer) content(b *strings.Builder) {
	for rest := a.Matches; len(rest) > 0; {
		file := rest[0].Path
		n := slices.IndexFunc(rest, func(m Match) bool { return m.Path != file })
		if n < 0 {
			n = len(rest)
		}
		b.WriteString(escape.Text(file) + "\n")
		writeFile(b, rest[:n])
		rest = rest[n:]
	}
}

type shownLine struct {
	text  string
	match bool
}

// writeFile writes the matches of one file with the lines around them, each
// line once.
func writeFile(b *strings.Builder, matches []Match) {
	lines := map[int]shownLine{}
	put := func(n int, l shownLine) {
		if !lines[n].match {
			lines[n] = l
		}
	}
	context := false
	for _, m := range matches {
		text := strings.Split(m.Text, "\n")
		for i, l := range m.Before {
			put(m.Line-len(m.Before)+i, shownLine{l, false})
		}
		for i, l := range text {
			put(m.Line+i, shownLine{strings.TrimSuffix(l, "\r"), true})
		}
		for i, l := range m.After {
			put(m.Line+len(text)+i, shownLine{l, false})
		}
		context = context || len(m.Before)+len(m.After) > 0
	}
	last := 0
	for _, n := range slices.Sorted(maps.Keys(lines)) {
		if context && last > 0 && n > last+1 {
			b.WriteString("  --\n")
		}
		mark := "-"
		if lines[n].match {
			mark = ":"
		}
		fmt.Fprintf(b, "  %d%s %s\n", n, mark, escape.Text(lines[n].text))
		last = n
	}
}

// nothing says why there is no match.
func (a *Answer) nothing(b *strings.Builder) {
	l := a.leftOut
	switch {
	case a.named != "":
		fmt.Fprintf(b, "no match in %s (1 file searched", escape.Text(a.query.Prefix+a.query.Path))
		if a.binary {
			b.WriteString("; it is binary")
		}
		b.WriteString(")\n")
	case l == nil:
		fmt.Fprintf(b, "0 matches in %s searched\n", plural(a.Searched, "file"))
	case len(a.query.Include) > 0 && l.Met == 0 && l.Files > 0 && !l.Partial:
		fmt.Fprintf(b, "0 files matched include %s (%s looked at%s)%s\n", quote(strings.Join(a.query.Include, " ")),
			plural(l.Files, "file"), semicolon(l.why(!a.query.NoIgnore)), l.kinds())
	default:
		fmt.Fprintf(b, "0 matches in %s searched%s\n", plural(a.Searched, "file"), parens(l.why(!a.query.NoIgnore)))
	}
	if l != nil {
		l.advise(b, a.query)
	}
	if strings.Contains(a.query.Pattern, `\|`) && !a.query.Literal {
		b.WriteString(`(\| in the pattern is the character |; alternatives are written a|b)` + "\n")
	}
}

// advise tells what a search of the files left out would find.
func (l *leftOut) advise(b *strings.Builder, q *Query) {
	least := ""
	if l.Partial {
		least = "at least "
	}
	if l.Lines > 0 {
		var set []string
		if l.Ignored > 0 && !q.NoIgnore {
			set = append(set, "no_ignore")
		}
		if l.Hidden > 0 && !q.Hidden {
			set = append(set, "hidden")
		}
		fmt.Fprintf(b, "(%s%s in %s left out; set %s to see them)\n", least, plural(l.Lines, "match"), plural(l.Within, "file"), strings.Join(set, " and "))
	}
}

// kinds tells which extensions there are instead of those asked for.
func (l *leftOut) kinds() string {
	type kind struct {
		ext string
		n   int
	}
	var all []kind
	for ext, n := range l.extensions {
		if ext != "" {
			all = append(all, kind{ext, n})
		}
	}
	slices.SortFunc(all, func(a, b kind) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.ext, b.ext)) })
	var out []string
	for _, k := range all[:min(5, len(all))] {
		out = append(out, fmt.Sprintf("%s %d", escape.Text(k.ext), k.n))
	}
	if len(out) == 0 {
		return ""
	}
	return "; there are: " + strings.Join(out, ", ")
}

func bracketed(s string) string {
	if s == "" {
		return ""
	}
	return "(" + s + ")\n"
}

func parens(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

func semicolon(s string) string {
	if s == "" {
		return ""
	}
	return "; " + s
}

func list(parts []string) string { return strings.Join(parts, ", ") }

func plural(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "h"):
		return thousands(n) + " " + noun + "es"
	}
	return thousands(n) + " " + noun + "s"
}

func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
