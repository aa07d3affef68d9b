package format

import "strings"

// A span is a piece of one text that another piece takes the place of: lines
// a0 up to a1 of the old text become lines b0 up to b1 of the new one.
type span struct{ a0, a1, b0, b1 int }

// split cuts text after each newline, and writes every line end as "\n".
func split(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	for i, l := range lines {
		if body, ok := strings.CutSuffix(l, "\r\n"); ok {
			lines[i] = body + "\n"
		}
	}
	return lines
}

// squeeze removes the white space that most formatters are about.
func squeeze(line string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '\t' || r == '\n' {
			return -1
		}
		return r
	}, line)
}

// exact compares lines as they are.
func exact(a, b []string) []span { return merge(spans(a, b, func(l string) string { return l })) }

// pieces compares lines without their white space, so that a file indented
// another way is many small spans, a line each, and not a single large one.
func pieces(a, b []string) []span { return spans(a, b, squeeze) }

// merge joins the spans that have no equal line between them.
func merge(ss []span) (out []span) {
	for _, s := range ss {
		if n := len(out); n > 0 && out[n-1].a1 == s.a0 && out[n-1].b1 == s.b0 {
			out[n-1].a1, out[n-1].b1 = s.a1, s.b1
		} else {
			out = append(out, s)
		}
	}
	return out
}

// spans lists where b differs from a, matching lines that have the same key.
func spans(a, b []string, key func(string) string) (out []span) {
	ids := map[string]int{}
	number := func(lines []string) []int {
		n := make([]int, len(lines))
		for i, l := range lines {
			k := key(l)
			if _, ok := ids[k]; !ok {
				ids[k] = len(ids)
			}
			n[i] = ids[k]
		}
		return n
	}
	// What is equal at the ends needs no keys: an edit is small.
	lo, a1, b1 := 0, len(a), len(b)
	for lo < min(a1, b1) && a[lo] == b[lo] {
		lo++
	}
	for a1 > lo && b1 > lo && a[a1-1] == b[b1-1] {
		a1, b1 = a1-1, b1-1
	}
	i, j := lo, lo
	between := func(toA, toB int) {
		if i < toA || j < toB {
			out = append(out, span{i, toA, j, toB})
		}
		i, j = toA, toB
	}
	for _, m := range matches(number(a[lo:a1]), number(b[lo:b1])) {
		between(lo+m[0], lo+m[1])
		if a[i] != b[j] {
			out = append(out, span{i, i + 1, j, j + 1})
		}
		i, j = i+1, j+1
	}
	between(a1, b1)
	return out
}

// maxDiff bounds how many lines two texts may differ by until what lies between
// their common beginning and end counts as one difference. Memory grows with
// its square.
const maxDiff = 3000

// matches returns the pairs of a longest common subsequence, by Myers'
// algorithm.
func matches(a, b []int) (pairs [][2]int) {
	var tail [][2]int
	lo := 0
	for lo < len(a) && lo < len(b) && a[lo] == b[lo] {
		pairs = append(pairs, [2]int{lo, lo})
		lo++
	}
	i, j := len(a), len(b)
	for i > lo && j > lo && a[i-1] == b[j-1] {
		i, j = i-1, j-1
		tail = append(tail, [2]int{i, j})
	}
	for _, p := range middle(a[lo:i], b[lo:j]) {
		pairs = append(pairs, [2]int{p[0] + lo, p[1] + lo})
	}
	for k := len(tail) - 1; k >= 0; k-- {
		pairs = append(pairs, tail[k])
	}
	return pairs
}

func middle(a, b []int) [][2]int {
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	limit := min(len(a)+len(b), maxDiff)
	v := make([]int32, 2*limit+3) // furthest x on each diagonal
	at := func(k int) int { return k + limit + 1 }
	var trace [][]int32
	for d := 0; d <= limit; d++ {
		trace = append(trace, append([]int32(nil), v[at(-d-1):at(d+1)+1]...))
		for k := -d; k <= d; k += 2 {
			x := int(v[at(k-1)]) + 1
			if k == -d || k != d && v[at(k-1)] < v[at(k+1)] {
				x = int(v[at(k+1)])
			}
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			v[at(k)] = int32(x)
			if x >= len(a) && x-k >= len(b) {
				return back(trace, len(a), len(b))
			}
		}
	}
	return nil
}

// back walks the trace from the end to the beginning and collects the matches.
func back(trace [][]int32, x, y int) (pairs [][2]int) {
	for d := len(trace) - 1; d >= 0; d-- {
		v := trace[d]
		get := func(k int) int { return int(v[k+d+1]) }
		k := x - y
		from := k - 1
		if k == -d || k != d && get(k-1) < get(k+1) {
			from = k + 1
		}
		px := get(from)
		py := px - from
		if d == 0 {
			px, py = 0, 0
		}
		for x > px && y > py {
			x, y = x-1, y-1
			pairs = append(pairs, [2]int{x, y})
		}
		x, y = px, py
	}
	for i, j := 0, len(pairs)-1; i < j; i, j = i+1, j-1 {
		pairs[i], pairs[j] = pairs[j], pairs[i]
	}
	return pairs
}
