package format

import (
	"fmt"
	"strings"
)

// Bounds of the text that one call's notes quote.
const (
	maxNoteLines = 40
	maxNoteBytes = 2 << 10
	// From so many files on, a summary says it all.
	maxNotes = 5
)

// A budget is what may still be quoted.
type budget struct{ lines, bytes int }

// note tells which lines of the file are new and, if that isn't too much, how
// they read: the agent's next edit must match them.
func (b *budget) note(name string, o Outcome) string {
	lines := read(o.Formatted).lines
	var changed, removed []string
	var quoted strings.Builder
	n := 0
	for _, r := range o.Lines {
		if r.Last < r.First {
			removed = append(removed, fmt.Sprint(r.First))
			continue
		}
		where := fmt.Sprint(r.First)
		if r.Last > r.First {
			where += fmt.Sprintf("-%d", r.Last)
		}
		changed = append(changed, where)
		for i := r.First; i <= r.Last; i++ {
			n++
			if n <= b.lines {
				fmt.Fprintf(&quoted, "\n%d: %s", i, strings.TrimSuffix(lines[i-1], "\n"))
			}
		}
	}
	var did []string
	if changed != nil {
		did = append(did, "changed "+places(changed))
	}
	if removed != nil {
		did = append(did, "removed lines before "+places(removed))
	}
	head := fmt.Sprintf("[format] %s: %s %s after your edit", name, o.Formatter, strings.Join(did, " and "))
	if n == 0 || n > b.lines || quoted.Len() > b.bytes {
		return head + "; read them before the next edit."
	}
	b.lines -= n
	b.bytes -= quoted.Len()
	return head + "; the file now reads:" + quoted.String()
}

func places(where []string) string {
	const most = 8
	word := "lines "
	if len(where) == 1 && !strings.Contains(where[0], "-") {
		word = "line "
	}
	if len(where) > most {
		where = append(where[:most], "and more")
	}
	return word + strings.Join(where, ", ")
}

// compact makes one note of many.
func compact(notes []string, reports []report) []string {
	if len(notes) <= maxNotes {
		return notes
	}
	var formatted, rest []string
	for _, rep := range reports {
		if rep.err == nil && rep.outcome.Changed() {
			formatted = append(formatted, fmt.Sprintf("%s (%s)", rep.name, rep.outcome.Formatter))
		}
	}
	for _, n := range notes {
		if !strings.Contains(n, " after your edit") {
			rest = append(rest, n)
		}
	}
	if formatted == nil {
		return rest
	}
	return append(rest, fmt.Sprintf("[format] %d files were formatted after your edit, read them before you edit them again: %s", len(formatted), strings.Join(formatted, ", ")))
}
