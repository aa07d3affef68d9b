package applypatch

import "strings"

// reindent turns the indentation of a patch into that of the file.
type reindent struct {
	add, drop string // a prefix that every line gained or lost
	width     int    // spaces per tab
	toTabs    bool
}

func indentation(s string) string { return s[:len(s)-len(strings.TrimLeft(s, " \t"))] }

// line re-indents one line; false if the rule doesn't fit it.
func (t reindent) line(s string) (string, bool) {
	body := strings.TrimLeft(s, " \t")
	in := s[:len(s)-len(body)]
	switch {
	case body == "":
		return s, true
	case t.add != "":
		return t.add + s, true
	case t.drop != "":
		return strings.CutPrefix(s, t.drop)
	case t.toTabs:
		if strings.Trim(in, " ") != "" || len(in)%t.width != 0 {
			return "", false
		}
		return strings.Repeat("\t", len(in)/t.width) + body, true
	}
	if strings.Trim(in, "\t") != "" {
		return "", false
	}
	return strings.Repeat(" ", len(in)*t.width) + body, true
}

// findReindent returns the one rule that turns each pair's patch indentation
// into its file indentation.
func findReindent(pairs [][2]string) (reindent, bool) {
	rules := make([]reindent, 0, 10)
	first := pairs[0]
	if p, ok := strings.CutSuffix(first[1], first[0]); ok && p != "" {
		rules = append(rules, reindent{add: p})
	}
	if p, ok := strings.CutSuffix(first[0], first[1]); ok && p != "" {
		rules = append(rules, reindent{drop: p})
	}
	for _, w := range []int{2, 3, 4, 8} {
		rules = append(rules, reindent{width: w, toTabs: true}, reindent{width: w})
	}
	for _, t := range rules {
		fits := true
		for _, p := range pairs {
			got, ok := t.line(p[0] + "x")
			fits = fits && ok && got == p[1]+"x"
		}
		if fits {
			return t, true
		}
	}
	return reindent{}, false
}

// convert re-indents the additions of b. It refuses when one doesn't fit, and
// when the rule may have been meant for the context alone.
func (t reindent) convert(b *block) (*block, bool) {
	if t.width > 0 {
		target, source := true, true
		for _, l := range b.Lines {
			if in := indentation(l.Text); l.Op == '+' && in != "" && in != l.Text {
				target = target && t.styled(in)
				source = source && !t.styled(in)
			}
		}
		if target {
			return b, true // written in the file's style already
		} else if !source {
			return nil, false
		}
	}
	if t.add != "" {
		if authored, sure := t.bare(b); authored || !sure {
			return b, sure
		}
	}
	c := *b.Chunk
	c.Lines = nil
	for _, l := range b.Lines {
		if l.Op == '+' {
			var ok bool
			if l.Text, ok = t.line(l.Text); !ok {
				return nil, false
			}
		}
		c.Lines = append(c.Lines, l)
	}
	nb := *b
	nb.Chunk = &c
	return &nb, true
}

// bare decides about context without any indentation beside additions that
// have some. Either the context alone lost it, and the additions are right as
// they are, or the whole chunk did, and they are one level deeper: then the line
// above opens something.
func (t reindent) bare(b *block) (authored, sure bool) {
	prev, runs, kept, deeper := "", 0, 0, 0
	inRun := false
	for _, l := range b.Lines {
		if strings.TrimSpace(l.Text) == "" {
			continue
		}
		in := indentation(l.Text)
		if l.Op != '+' {
			if in != "" || l.Op == '-' {
				return false, true
			}
			prev, inRun = l.Text, false
			continue
		}
		if !strings.HasPrefix(in, t.add) {
			return false, true
		}
		if !inRun {
			inRun = true
			runs++
			if !opens(prev) && in == t.add {
				kept++
			} else if opens(prev) && in == t.add {
				deeper++
			}
		}
	}
	return kept == runs, kept == runs || deeper == runs
}

// opens reports whether the next line belongs deeper.
func opens(l string) bool {
	l = strings.TrimRight(l, lineSpace)
	return l != "" && strings.ContainsRune("{([:", rune(l[len(l)-1]))
}

// flat reports whether the additions are believable with no indentation at all:
// one of them has some, or none follows a line that would call for it.
func (b *block) flat() bool {
	prev, ok := "", true
	for _, l := range b.Lines {
		t := strings.TrimLeft(l.Text, " \t")
		if l.Op != '+' || t == "" {
			continue
		}
		if t != l.Text {
			return true
		}
		ok = ok && !(opens(prev) && !strings.ContainsRune("})]", rune(t[0])))
		prev = t
	}
	return ok
}

// styled reports whether in is indentation as the file writes it.
func (t reindent) styled(in string) bool {
	if t.toTabs {
		return strings.Trim(in, "\t") == ""
	}
	return strings.Trim(in, " ") == ""
}

// indented places a chunk whose every line has lost, gained or changed its
// indentation by one rule. nil means that another tier may try.
func (r *resolver) indented(b *block, at []int) (ps []placement) {
	for _, p := range at {
		var pairs [][2]string
		for k := range b.keys {
			if b.keys[k].trimmed != "" {
				pairs = append(pairs, [2]string{indentation(b.keys[k].raw), indentation(string(r.line(p + k)))})
			}
		}
		if len(pairs) < 2 {
			return nil
		}
		rule, ok := findReindent(pairs)
		if !ok {
			return nil
		}
		nb, ok := rule.convert(b)
		if !ok {
			return nil
		}
		ps = append(ps, nb.place(r.text, Indented, p))
	}
	return ps
}
