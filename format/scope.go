package format

// Scopes say how much of an edited file is formatted.
const (
	Auto    = "auto"    // the whole file if it is new or was formatted before, else as Changed
	Changed = "changed" // the edited lines, as far as the result can be verified
	Whole   = "file"    // the whole file
)

// maxBeyond is how many lines that the edit didn't touch a changed-lines
// result may move: a formatter's unit is a statement, not a line.
const maxBeyond = 20

// edits lists the spans of now that differ from before.
func edits(before, now []string) []span {
	var out []span
	for _, s := range exact(before, now) {
		out = append(out, span{a0: s.b0, a1: s.b1})
	}
	return out
}

// touches reports whether s lies on an edited line, or where lines were removed.
func touches(s span, edited []span) bool {
	for _, e := range edited {
		switch {
		case e.a0 == e.a1 || s.a0 == s.a1:
			if s.a0 <= e.a1 && e.a0 <= s.a1 {
				return true
			}
		case s.a0 < e.a1 && e.a0 < s.a1:
			return true
		}
	}
	return false
}

func touching(ss, edited []span) (out []span) {
	for _, s := range ss {
		if touches(s, edited) {
			out = append(out, s)
		}
	}
	return out
}

// beyond counts the lines of ss that are no edited lines.
func beyond(ss, edited []span) (n int) {
	for _, s := range ss {
		for i := s.a0; i < s.a1; i++ {
			if !touches(span{a0: i, a1: i + 1}, edited) {
				n++
			}
		}
	}
	return n
}

// candidates lists what could be formatted for an edit without moving the rest
// of a file, least first: the pieces on the edited lines; those with their
// neighbours; and the whole differences around them.
func candidates(now, formatted []string, edited []span) [][]span {
	fine := pieces(now, formatted)
	var out [][]span
	add := func(ss []span) {
		if beyond(ss, edited) <= maxBeyond && (len(out) == 0 || total(ss) > total(out[len(out)-1])) {
			out = append(out, ss)
		}
	}
	least := touching(fine, edited)
	add(least)
	if len(least) > 0 {
		add(touching(fine, grown(least)))
	}
	add(touching(exact(now, formatted), edited))
	return out
}

// grown returns the spans with a line more on both sides.
func grown(ss []span) (out []span) {
	for _, s := range ss {
		out = append(out, span{a0: s.a0 - 1, a1: s.a1 + 1})
	}
	return out
}

func total(ss []span) (n int) {
	for _, s := range ss {
		n += s.a1 - s.a0 + s.b1 - s.b0
	}
	return n
}
