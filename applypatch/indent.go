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
// when the rule may have been meant for the context alone: context without any
// indentation beside additions that have theirs says nothing sure.
func (t reindent) convert(b *block) (*block, bool) {
	target, source, bare := true, true, true
	for _, l := range b.Lines {
		in := indentation(l.Text)
		if len(in) == len(l.Text) {
			continue
		}
		if l.Op == '+' {
			target = target && (t.width == 0 && strings.HasPrefix(in, t.add) && t.add != "" || t.width > 0 && t.styled(in))
			source = source && (t.width == 0 || !t.styled(in) || in == "")
		} else {
			bare = bare && in == "" && l.Op == ' '
		}
	}
	switch {
	case t.width > 0 && target:
		return b, true // written in the file's style already
	case t.width > 0 && !source, t.add != "" && target && bare && len(b.Lines) > len(b.keys):
		return nil, false
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

// styled reports whether in is indentation as the file writes it.
func (t reindent) styled(in string) bool {
	if t.toTabs {
		return strings.Trim(in, "\t") == ""
	}
	return strings.Trim(in, " ") == ""
}

// indented places a chunk whose every line has lost, gained or changed its
// indentation by one rule. nil, nil means that another tier may try.
func (r *resolver) indented(b *block, at []int) ([]placement, error) {
	if len(at) > 1 {
		return nil, r.ambiguous(b, r.placeAll(b, Indented, at))
	}
	var pairs [][2]string
	for k := range b.keys {
		if b.keys[k].trimmed != "" {
			pairs = append(pairs, [2]string{indentation(b.keys[k].raw), indentation(string(r.line(at[0] + k)))})
		}
	}
	if len(pairs) < 2 {
		return nil, r.notFound(b, NotFound)
	}
	rule, ok := findReindent(pairs)
	if !ok {
		return nil, nil
	}
	nb, ok := rule.convert(b)
	if !ok {
		return nil, r.notFound(b, NotFound)
	}
	return r.placeAll(nb, Indented, at), nil
}
