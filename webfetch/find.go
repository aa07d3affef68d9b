package webfetch

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	findBudget = 8000 // characters of sections that a search returns
	chunkSize  = 2500
)

// A passage is a section, or part of a long one.
type passage struct {
	path       string
	start, end int
	score      float64
	terms      map[string]int
	length     int
}

// search returns the passages of a Markdown text that match a question best,
// by the weight BM25 gives to its words.
func search(s, question string, budget int) string {
	query := words(question)
	ps := passages(s)
	if len(query) == 0 || len(ps) == 0 {
		return ""
	}
	rank(ps, query)
	slices.SortStableFunc(ps, func(a, b passage) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return a.start - b.start
	})
	if budget <= 0 || budget > findBudget {
		budget = findBudget
	}
	var b strings.Builder
	used := 0
	for i, p := range ps {
		text := strings.TrimSpace(s[p.start:p.end])
		n := utf8.RuneCountInString(text)
		if p.score <= 0 || p.score < ps[0].score*0.15 || i > 0 && used+n > budget || i == 8 {
			break
		}
		if used > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "[%s — start_index=%d]\n\n", firstNonEmpty(p.path, "beginning"), utf8.RuneCountInString(s[:p.start]))
		if n > budget {
			text = cut(text, 0, budget).String()
		}
		b.WriteString(text + "\n")
		used += n
	}
	return b.String()
}

// passages splits a text into its sections, and long sections between blocks.
func passages(s string) []passage {
	var out []passage
	for _, x := range splitSections(s) {
		for at := x.start; at < x.own; {
			end := x.own
			if end-at > chunkSize {
				end = min(x.own, stop(s[:x.own], at, runeStart(s, at+chunkSize)))
			}
			if end <= at {
				end = x.own
			}
			p := passage{path: x.path, start: at, end: end, terms: map[string]int{}}
			for _, w := range words(s[at:end]) {
				p.terms[w]++
				p.length++
			}
			for _, w := range words(x.path) { // a heading says more than its length
				p.terms[w] += 2
			}
			out = append(out, p)
			at = end
		}
	}
	return out
}

func runeStart(s string, i int) int {
	for i < len(s) && !utf8.RuneStart(s[i]) {
		i++
	}
	return min(i, len(s))
}

func rank(ps []passage, query []string) {
	const k1, b = 1.2, 0.75
	total := 0
	df := map[string]int{}
	for _, p := range ps {
		total += p.length
		for w := range p.terms {
			df[w]++
		}
	}
	average := max(1, float64(total)/float64(len(ps)))
	seen := map[string]bool{}
	for _, w := range query {
		if seen[w] {
			continue
		}
		seen[w] = true
		idf := math.Log(1 + (float64(len(ps)-df[w])+0.5)/(float64(df[w])+0.5))
		for i := range ps {
			tf := float64(ps[i].terms[w])
			ps[i].score += idf * tf * (k1 + 1) / (tf + k1*(1-b+b*float64(ps[i].length)/average))
		}
	}
}

// words lists the words of a text in lower case, without plural endings;
// scripts without spaces are cut into pairs of characters.
func words(s string) []string {
	var out []string
	for w := range strings.FieldsFuncSeq(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if stopWord(w) {
			continue
		}
		if r := []rune(w); len(r) > 1 && unicode.In(r[0], unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai) {
			for i := range len(r) - 1 {
				out = append(out, string(r[i:i+2]))
			}
			continue
		}
		if len(w) > 4 {
			w = strings.TrimSuffix(strings.TrimSuffix(w, "'s"), "s")
		}
		out = append(out, w)
	}
	return out
}

func stopWord(w string) bool {
	switch w {
	case "a", "an", "and", "are", "as", "at", "be", "by", "do", "does", "for", "from", "how", "i", "in", "is", "it", "of", "on", "or",
		"that", "the", "this", "to", "what", "when", "where", "which", "who", "why", "with", "you", "can", "my", "me":
		return true
	}
	return false
}
