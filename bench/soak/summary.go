//go:build linux

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/whet-dev/whet/internal/measure"
)

// faults are what must not happen, by kind.
type faults struct {
	mu    sync.Mutex
	out   io.Writer // told of the first of each kind at once
	n     map[string]int
	first map[string][]string
}

func newFaults(out io.Writer) *faults {
	return &faults{out: out, n: map[string]int{}, first: map[string][]string{}}
}

func (f *faults) add(kind, format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n[kind]++; f.n[kind] == 1 {
		fmt.Fprintf(f.out, "FAULT: %s: %s\n", kind, fmt.Sprintf(format, args...))
	}
	if len(f.first[kind]) < 5 {
		f.first[kind] = append(f.first[kind], fmt.Sprintf(format, args...))
	}
}

func (f *faults) total() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range f.n {
		n += k
	}
	return n
}

func (f *faults) none() bool { return f.total() == 0 }

// counts are the calls that were made.
type counts struct {
	mu sync.Mutex
	of map[string]*count
	n  int
}

type count struct {
	n       int
	failed  int // answers that say what went wrong
	errors  int // protocol errors
	slowest time.Duration
}

func newCounts() *counts { return &counts{of: map[string]*count{}} }

func (c *counts) add(face, what string, took time.Duration, a answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	key := face + " " + what
	k := c.of[key]
	if k == nil {
		k = &count{}
		c.of[key] = k
	}
	k.n++
	k.slowest = max(k.slowest, took)
	switch {
	case a.Error != nil:
		k.errors++
	case failure(a):
		k.failed++
	}
}

// failure reports whether an answer says that the call has failed.
func failure(a answer) bool {
	return bytes.Contains(a.Result, []byte(`"isError":true`)) || bytes.Contains(a.Result, []byte(`"failed":true`))
}

func (c *counts) total() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// A rest is a process that has nothing to do.
type rest struct {
	memory                               float64
	files, threads, children, goroutines int
	started                              map[string]int // goroutines by what started them
}

// A summary is what there is to say of a run.
type summary struct {
	settings
	took   time.Duration
	faults *faults
	counts *counts
	watch  *watch
	rest   map[string]rest
}

// What may grow over the last two thirds of a run, by the fitted line, and what
// may be there at rest.
const (
	maxMemory     = 16.0 // MiB, and a tenth of what is there
	cacheRoom     = 50.0 // MiB of pages that mcp and rpc keep, now more, now fewer
	maxFiles      = 4.0
	maxThreads    = 4.0
	maxRestFiles  = 24
	maxGoroutines = 40
	// judged is the shortest run whose growth is judged: until then caches fill.
	judged = 2 * time.Minute
)

// judge adds what grew, or rests with more than it should have, to the faults.
func (s *summary) judge() {
	for name, r := range s.rest {
		if r.children > restChildren(name) || r.files > maxRestFiles || r.goroutines > maxGoroutines {
			s.faults.add("not at rest", "%s: %+v", name, r)
		}
	}
	if s.took < judged {
		return
	}
	for name, seen := range s.watch.seen {
		m, files, threads := growth(seen, memory), growth(seen, open), growth(seen, threads)
		if m.by > allowed(name)+m.level/10 || files.by > maxFiles || threads.by > maxThreads {
			s.faults.add("grows", "%s: memory by %.1f MiB, open files by %.1f, threads by %.1f", name, m.by, files.by, threads.by)
		}
	}
}

func allowed(name string) float64 {
	if name == "serve" {
		return maxMemory
	}
	return maxMemory + cacheRoom
}

// restChildren is how many children a process keeps: the runner has a guardian.
func restChildren(name string) int {
	if name == "serve" {
		return 1
	}
	return 0
}

func memory(s sample) float64  { return s.memory }
func open(s sample) float64    { return float64(s.files) }
func threads(s sample) float64 { return float64(s.threads) }

// A trend is how a value went over the last two thirds of a run.
type trend struct{ level, by float64 }

// growth fits a line to the least values of forty spans of the last two thirds:
// its slope is the median of the slopes between any two, which a peak doesn't
// move.
func growth(seen []sample, of func(sample) float64) trend {
	seen = seen[len(seen)/3:]
	const spans = 40
	if len(seen) < 8 {
		return trend{}
	}
	size := max(1, len(seen)/spans)
	var least []float64
	for part := range slices.Chunk(seen, size) {
		least = append(least, of(slices.MinFunc(part, func(a, b sample) int { return cmp.Compare(of(a), of(b)) })))
	}
	var slopes []float64
	for i := range least {
		for j := i + 1; j < len(least); j++ {
			slopes = append(slopes, (least[j]-least[i])/float64(j-i))
		}
	}
	return trend{median(least), median(slopes) * float64(len(least)-1)}
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

// print writes the summary as Markdown.
func (s *summary) print(w io.Writer) {
	fmt.Fprintf(w, "%s\n\n%v, seed %d, %.0f calls a second asked for, %d made.\n\n", measure.Machine(), s.took, s.seed, s.rate, s.counts.total())
	fmt.Fprintln(w, "| process | resident, MiB | grew by | open files | grew by | threads | grew by | at rest |")
	fmt.Fprintln(w, "|---|---:|---:|---:|---:|---:|---:|---|")
	for _, name := range slices.Sorted(maps.Keys(s.watch.seen)) {
		seen, r := s.watch.seen[name], s.rest[name]
		m, f, t := growth(seen, memory), growth(seen, open), growth(seen, threads)
		fmt.Fprintf(w, "| %s | %.1f | %+.1f | %.0f | %+.1f | %.0f | %+.1f | %.1f MiB, %d files, %d threads, %d goroutines, %d children |\n",
			name, m.level, m.by, f.level, f.by, t.level, t.by, r.memory, r.files, r.threads, r.goroutines, r.children)
	}
	fmt.Fprintln(w, "\n| calls | number | failed | protocol errors | slowest |\n|---|---:|---:|---:|---:|")
	for _, k := range slices.Sorted(maps.Keys(s.counts.of)) {
		c := s.counts.of[k]
		fmt.Fprintf(w, "| %s | %d | %d | %d | %v |\n", k, c.n, c.failed, c.errors, c.slowest.Round(time.Millisecond))
	}
	fmt.Fprintf(w, "\n%d faults\n", s.faults.total())
	for _, k := range slices.Sorted(maps.Keys(s.faults.n)) {
		fmt.Fprintf(w, "\n%s: %d\n", k, s.faults.n[k])
		for _, text := range s.faults.first[k] {
			fmt.Fprintf(w, "  %s\n", text)
		}
	}
}
