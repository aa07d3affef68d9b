package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// A kind is a sort of noise that is put on a patch. It returns false for a
// change that it can't be put on.
type kind struct {
	name  string
	noise func(*variant, *rand.Rand) bool
}

// variant is a change on its way to a case.
type variant struct {
	target, truth string
	hunks         []hunk
	numbered      bool // unified diff headers
}

var kinds = []kind{
	{"drift", func(*variant, *rand.Rand) bool { return true }},
	{"unicode", eachHunk(unicodeNoise)},
	{"trailing", eachHunk(trailingNoise)},
	{"typo", eachHunk(typoNoise)},
	{"dropped context", eachHunk(droppedNoise)},
	{"context in spaces", eachHunk(tabsNoise)},
	{"no header", header("")},
	{"bad header", header("func thisNameIsNowhere()")},
	{"crlf", func(v *variant, _ *rand.Rand) bool {
		v.target, v.truth = strings.ReplaceAll(v.target, "\n", "\r\n"), strings.ReplaceAll(v.truth, "\n", "\r\n")
		return true
	}},
	{"context without indent", eachHunk(indentNoise)},
	{"all in spaces", eachHunk(allSpacesNoise)},
	{"outdented", eachHunk(outdentedNoise)},
	{"extra context", eachHunk(extraNoise)},
	{"one line of context", eachHunk(shortNoise)},
	{"inner spaces", eachHunk(innerNoise)},
	{"two typos", func(v *variant, rng *rand.Rand) bool {
		return eachHunk(typoNoise)(v, rng) && eachHunk(trailingNoise)(v, rng) && eachHunk(typoNoise)(v, rng)
	}},
	{"line numbers in the header", func(v *variant, _ *rand.Rand) bool { v.numbered = true; return true }},
	{"reversed chunks", func(v *variant, _ *rand.Rand) bool {
		slices.Reverse(v.hunks)
		return len(v.hunks) > 1
	}},
	{"no final newline", func(v *variant, _ *rand.Rand) bool {
		t, ok := strings.CutSuffix(v.target, "\n")
		u, ok2 := strings.CutSuffix(v.truth, "\n")
		v.target, v.truth = t, u
		return ok && ok2 && !strings.HasSuffix(t, "\n") && !strings.HasSuffix(u, "\n")
	}},
}

// make puts the noise on a change. twin reports that the outcome fits byte for
// byte, once, at another place than the merge's: it is no case then.
func (k kind) make(s source, rng *rand.Rand) (c Case, twin, ok bool) {
	v := variant{target: s.target, truth: s.truth}
	for _, h := range s.hunks {
		v.hunks = append(v.hunks, hunk{h.at, h.head, slices.Clone(h.lines)})
	}
	if !k.noise(&v, rng) {
		return Case{}, false, false
	}
	if exact, ok := applyOnce(v.target, v.hunks); ok && exact != v.truth {
		return Case{}, true, false
	}
	return Case{Target: v.target, Truth: v.truth, Patch: v.patch()}, false, true
}

func (v *variant) patch() string {
	var b strings.Builder
	b.WriteString("*** Begin Patch\n*** Update File: f\n")
	for _, h := range v.hunks {
		switch {
		case v.numbered:
			fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@ %s\n", h.at, len(h.lines), h.at, len(h.lines), h.head)
		case h.head != "":
			b.WriteString("@@ " + h.head + "\n")
		default:
			b.WriteString("@@\n")
		}
		b.WriteString(strings.Join(h.lines, "\n") + "\n")
	}
	b.WriteString("*** End Patch")
	return b.String()
}

// eachHunk puts noise on every hunk; all must take it.
func eachHunk(f func(*hunk, *rand.Rand) bool) func(*variant, *rand.Rand) bool {
	return func(v *variant, rng *rand.Rand) bool {
		for i := range v.hunks {
			if !f(&v.hunks[i], rng) {
				return false
			}
		}
		return true
	}
}

func header(text string) func(*variant, *rand.Rand) bool {
	return func(v *variant, _ *rand.Rand) bool {
		for i := range v.hunks {
			v.hunks[i].head = text
		}
		return true
	}
}

// context lists the hunk's context lines.
func (h *hunk) context() (at []int) {
	for i, l := range h.lines {
		if l[0] == ' ' {
			at = append(at, i)
		}
	}
	return at
}

func unicodeNoise(h *hunk, _ *rand.Rand) bool {
	hit := false
	r := strings.NewReplacer(`"`, "\u201c", "'", "\u2019", "-", "\u2013")
	for _, i := range h.context() {
		was := h.lines[i]
		h.lines[i] = " " + r.Replace(was[1:])
		hit = hit || h.lines[i] != was
	}
	return hit
}

func trailingNoise(h *hunk, rng *rand.Rand) bool {
	for _, i := range h.context() {
		h.lines[i] += []string{" ", "\t", "  "}[rng.IntN(3)]
	}
	return true
}

// typoNoise drops a character near the end of a context line.
func typoNoise(h *hunk, rng *rand.Rand) bool {
	at := slices.DeleteFunc(h.context(), func(i int) bool { return len(strings.TrimSpace(h.lines[i])) <= 8 })
	if len(at) == 0 {
		return false
	}
	i := at[rng.IntN(len(at))]
	l := strings.TrimRight(h.lines[i], " \t")
	k := len(l) - 1 - rng.IntN(3)
	if l[k] >= 0x80 || l[k-1] >= 0x80 {
		return false
	}
	h.lines[i] = l[:k] + l[k+1:]
	return true
}

// droppedNoise drops an inner context line, but none that keeps two changes
// apart: without it the patch would say something else.
func droppedNoise(h *hunk, rng *rand.Rand) bool {
	at := h.context()
	if len(at) < 3 {
		return false
	}
	at = slices.DeleteFunc(at[1:len(at)-1], func(i int) bool { return h.lines[i-1][0] != ' ' && h.lines[i+1][0] != ' ' })
	if len(at) == 0 {
		return false
	}
	i := at[rng.IntN(len(at))]
	h.lines = slices.Delete(h.lines, i, i+1)
	return true
}

func spaces(l string) string {
	t := strings.TrimLeft(l[1:], "\t")
	return l[:1] + strings.Repeat("    ", len(l)-1-len(t)) + t
}

func tabsNoise(h *hunk, _ *rand.Rand) bool {
	hit := false
	for i, l := range h.lines {
		hit = hit || l[0] != '+' && strings.HasPrefix(l[1:], "\t")
		if l[0] == ' ' {
			h.lines[i] = spaces(l)
		}
	}
	return hit
}

func indentNoise(h *hunk, _ *rand.Rand) bool {
	hit := false
	for _, i := range h.context() {
		was := h.lines[i]
		h.lines[i] = " " + strings.TrimLeft(was[1:], " \t")
		hit = hit || h.lines[i] != was
	}
	return hit
}

// allSpacesNoise writes every line of the hunk with spaces for tabs.
func allSpacesNoise(h *hunk, _ *rand.Rand) bool {
	hit := false
	for i, l := range h.lines {
		if rest := strings.TrimLeft(l[1:], "\t"); strings.HasPrefix(rest, " ") {
			return false // mixed already
		}
		h.lines[i] = spaces(l)
		hit = hit || l[0] != '+' && h.lines[i] != l
	}
	return hit
}

// outdentedNoise takes the first tab from every line of the hunk.
func outdentedNoise(h *hunk, _ *rand.Rand) bool {
	for i, l := range h.lines {
		if strings.TrimSpace(l[1:]) == "" {
			continue
		}
		rest, ok := strings.CutPrefix(l[1:], "\t")
		if !ok {
			return false
		}
		h.lines[i] = l[:1] + rest
	}
	return true
}

// extraNoise puts a line that isn't in the file between two context lines.
func extraNoise(h *hunk, rng *rand.Rand) bool {
	var at []int
	for i := 1; i < len(h.lines); i++ {
		if h.lines[i-1][0] == ' ' && h.lines[i][0] == ' ' {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return false
	}
	h.lines = slices.Insert(h.lines, at[rng.IntN(len(at))], fmt.Sprintf(" \t// note %d: nothing of the kind is here", rng.IntN(1000)))
	return true
}

// shortNoise leaves one line of context on each side.
func shortNoise(h *hunk, _ *rand.Rand) bool {
	first := slices.IndexFunc(h.lines, func(l string) bool { return l[0] != ' ' })
	last := len(h.lines)
	for last > 0 && h.lines[last-1][0] == ' ' {
		last--
	}
	if first < 1 || last == len(h.lines) {
		return false
	}
	if slices.ContainsFunc(h.lines[:first-1], func(l string) bool { return strings.TrimLeft(l[1:], " \t})") == l[1:] && l != " " }) {
		return false // the header would name the function before the one that is left
	}
	h.lines = h.lines[first-1 : last+1]
	return true
}

// innerNoise changes runs of white space inside context lines.
func innerNoise(h *hunk, rng *rand.Rand) bool {
	hit := false
	for _, i := range h.context() {
		l := h.lines[i]
		t := strings.TrimLeft(l[1:], " \t")
		if k := strings.IndexByte(t, ' '); k > 0 {
			h.lines[i] = l[:len(l)-len(t)] + t[:k] + strings.Repeat(" ", 2+rng.IntN(3)) + strings.TrimLeft(t[k:], " ")
			hit = true
		}
	}
	return hit
}
