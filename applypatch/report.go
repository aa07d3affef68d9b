package applypatch

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// clip cuts s to at most n bytes at a rune boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n -= len("…")
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// notFound reports that b has no place, showing the nearest one.
func (r *resolver) notFound(b *block, code Code) error {
	if r.index == nil {
		r.index = newIndex(r.text, r.blocks)
	}
	e := unverified(code, r.at(b), "")
	if at := r.already(b); at != nil {
		e.Code = AlreadyApplied
		e.Message = fmt.Sprintf("lines %d-%d already are as the chunk would make them", at[0], at[1])
		e.Detail = "fix: drop this chunk."
		return e
	}
	if len(b.keys) == 0 {
		e.Message = "the chunk only adds lines and says nothing sure about where"
		if len(b.Anchors) > 0 {
			e.Message = fmt.Sprintf("no line of the file is %s", quote(b.Anchors[len(b.Anchors)-1]))
		}
		e.Detail = "fix: resend the chunk with the lines before and after the insertion as context."
		return e
	}
	if al := r.nearest(b); al != nil {
		return r.explain(e, b, al)
	}
	e.Message = "none of its telling lines is in the file"
	e.Detail = fmt.Sprintf("first line looked for: %s\nfix: re-read %s and resend this chunk.", quote(b.keys[0].raw), r.path)
	return e
}

// conflict reports a place that was found but where the change isn't proved.
func (r *resolver) conflict(b *block, al *alignment, why string) error {
	e := unverified(Conflict, r.at(b), "%s", why)
	return r.explain(e, b, al)
}

// nearest is the best alignment when even deletions may be missing.
func (r *resolver) nearest(b *block) *alignment {
	if len(b.keys) > maxBlock || !r.utf8() || len(r.b) > maxRescue {
		return nil
	}
	a := &aligner{r: r, b: b, loose: true, stale: true}
	als, _ := a.best()
	if len(als) == 0 {
		return nil
	}
	return &als[0]
}

// explain adds the place al to e: its lines, the first one that differs spelled
// out, and what to do.
func (r *resolver) explain(e *Error, b *block, al *alignment) *Error {
	lo, hi, equal, first := -1, 0, 0, -1
	for j, at := range al.at {
		if at >= 0 {
			if lo < 0 {
				lo = at
			}
			hi = at + 1
		}
		if at >= 0 && al.how[j] <= sameFold {
			equal++
		} else if first < 0 {
			first = j
		}
	}
	if lo < 0 {
		return e
	}
	e.Candidates = append(e.Candidates, Candidate{Lines: [2]int{lo + 1, hi}, Score: float64(equal) / float64(len(al.at))})
	if e.Message == "" {
		e.Message = "the file doesn't have these lines as the patch has them"
	}
	var d strings.Builder
	fmt.Fprintf(&d, "closest place: lines %d-%d (%d of %d lines match)\n", lo+1, hi, equal, len(al.at))
	if first >= 0 {
		r.showDifference(&d, b, al, first)
	}
	fmt.Fprintf(&d, "fix: re-read %s lines %d-%d and resend this chunk.", r.path, max(1, lo-9), min(r.lines(), hi+10))
	e.Detail = d.String()
	return e
}

// showDifference prints the file around the first old line that differs.
func (r *resolver) showDifference(d *strings.Builder, b *block, al *alignment, first int) {
	at := al.at[first]
	if at < 0 { // the line is missing: show where it would be
		for j := first - 1; j >= 0 && at < 0; j-- {
			at = al.at[j] + 1 - boolInt(al.at[j] < 0)
		}
		if at < 0 {
			for j := first; j < len(al.at) && at < 0; j++ {
				at = al.at[j]
			}
		}
	}
	for i := max(0, at-1); i < min(r.lines(), at+2); i++ {
		mark := ' '
		if i == at {
			mark = '!'
		}
		fmt.Fprintf(d, "%6d %c %s\n", i+1, mark, visible(string(r.line(i))))
	}
	fmt.Fprintf(d, "patch has here: %s\n", visible(b.keys[first].raw))
	if at < r.lines() {
		if s := spell(b.keys[first].raw, string(r.line(at))); s != "" {
			fmt.Fprintf(d, "difference: %s\n", s)
		}
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// visible is a line fit to print: clipped, without control characters but tab.
func visible(s string) string {
	return clip(strings.Map(func(r rune) rune {
		if r != '\t' && unicode.IsControl(r) {
			return '\ufffd'
		}
		return r
	}, s), 160)
}

// spell names the difference of two lines when it can't be seen.
func spell(patch, file string) string {
	if squeeze(fold(patch)) != squeeze(fold(file)) {
		return ""
	}
	if p, f := indentation(patch), indentation(file); p != f {
		return fmt.Sprintf("indentation: the patch has %s, the file %s", spellSpace(p), spellSpace(f))
	}
	i := 0
	for i < min(len(patch), len(file)) && patch[i] == file[i] {
		i++
	}
	for i > 0 && (i < len(patch) && !utf8.RuneStart(patch[i]) || i < len(file) && !utf8.RuneStart(file[i])) {
		i--
	}
	return fmt.Sprintf("column %d: the patch has %s, the file %s", utf8.RuneCountInString(file[:min(i, len(file))])+1, spellRune(patch[i:]), spellRune(file[i:]))
}

func spellSpace(s string) string {
	tabs, spaces := strings.Count(s, "\t"), strings.Count(s, " ")
	switch {
	case s == "":
		return "none"
	case spaces == 0:
		return plural(tabs, "tab")
	case tabs == 0:
		return plural(spaces, "space")
	}
	return fmt.Sprintf("%s and %s", plural(tabs, "tab"), plural(spaces, "space"))
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func spellRune(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case size == 0:
		return "nothing"
	case strings.TrimRight(s, lineSpace) == "":
		return "trailing white space"
	case r == '\t':
		return "a tab"
	case r == ' ':
		return "a space"
	case r > ' ' && r < 0x7f:
		return fmt.Sprintf("%q", r)
	}
	return fmt.Sprintf("U+%04X", r)
}

// already looks for the chunk's outcome: its context and additions in one
// piece, once, in a file that lacks its deletions.
func (r *resolver) already(b *block) *[2]int {
	c := Chunk{}
	adds, dels := 0, 0
	for _, l := range b.Lines {
		switch l.Op {
		case '+':
			adds++
		case '-':
			dels++
			continue
		}
		c.Lines = append(c.Lines, Line{Op: ' ', Text: l.Text})
	}
	nb := newBlock(&c, b.number)
	telling := 0.0
	for _, k := range nb.keys {
		telling += k.weight
	}
	if adds == 0 || len(nb.keys) == adds && dels == 0 || telling < 1 {
		return nil
	}
	if like, at := r.contiguous(nb, len(nb.keys)); like <= sameFold && len(at) == 1 {
		return &[2]int{at[0] + 1, at[0] + len(nb.keys)}
	}
	return nil
}

// ambiguous reports several places that fit b equally well.
func (r *resolver) ambiguous(b *block, ps []placement) error {
	e := unverified(Ambiguous, r.at(b), "%d places fit equally well", len(ps))
	var d strings.Builder
	for i := range ps {
		e.Candidates = append(e.Candidates, Candidate{Lines: [2]int{ps[i].start + 1, ps[i].end}, Score: ps[i].score})
		if len(e.Candidates) <= 5 {
			fmt.Fprintf(&d, "  line %d", ps[i].start+1)
			if l := r.opener(ps[i].start); l >= 0 {
				fmt.Fprintf(&d, ", under line %d: %s", l+1, clip(strings.TrimSpace(visible(string(r.line(l)))), 80))
			}
			d.WriteByte('\n')
		}
	}
	if n := len(e.Candidates) - 5; n > 0 {
		fmt.Fprintf(&d, "  and %d more\n", n)
		e.Candidates = e.Candidates[:5]
	}
	d.WriteString("fix: resend this chunk with ")
	if n := r.apart(ps); n > 0 {
		fmt.Fprintf(&d, "%s more of context before it, or ", plural(n, "line"))
	}
	d.WriteString(`an "@@" line naming the function or section it is in.`)
	e.Detail = d.String()
	return e
}

// opener is the nearest line above i that is indented less, -1 if none.
func (r *resolver) opener(i int) int {
	w := indentWidth(r.line(min(i, r.lines()-1)))
	for l := i - 1; l >= 0 && l > i-2000; l-- {
		if t := strings.TrimSpace(string(r.line(l))); t != "" && indentWidth(r.line(l)) < w {
			return l
		}
	}
	return -1
}

// apart is how many lines above the places tell them all apart, 0 if too many.
func (r *resolver) apart(ps []placement) int {
	const most = 8
	if len(ps) > 50 {
		return 0
	}
	heads := make([]string, len(ps))
	for n := 1; n <= most; n++ {
		seen := map[string]bool{}
		for i := range ps {
			if l := ps[i].start - n; l >= 0 {
				heads[i] = string(r.line(l)) + "\n" + heads[i]
			} else {
				heads[i] = "\n" + heads[i]
			}
			seen[heads[i]] = true
		}
		if len(seen) == len(ps) {
			return n
		}
	}
	return 0
}
