package astgrep

import (
	"bytes"
	"container/heap"
	"encoding/json"
	"fmt"
	"slices"
)

// A rawMatch is a match as the engine prints it, a JSON object a line.
type rawMatch struct {
	Text        string   `json:"text"`
	Range       rawRange `json:"range"`
	File        string   `json:"file"`
	Lines       string   `json:"lines"`
	Replacement *string  `json:"replacement"`
	Offsets     rawSpan  `json:"replacementOffsets"`
	Vars        struct {
		Single map[string]rawVar   `json:"single"`
		Multi  map[string][]rawVar `json:"multi"`
	} `json:"metaVariables"`
}

type rawVar struct {
	Text  string   `json:"text"`
	Range rawRange `json:"range"`
}

type rawRange struct {
	Byte  rawSpan  `json:"byteOffset"`
	Start rawPoint `json:"start"`
	End   rawPoint `json:"end"`
}

type rawSpan struct{ Start, End int }

type rawPoint struct{ Line, Column int } // from 0; the column in characters

// maxKept bounds the bytes of matches that are kept.
const maxKept = 64 << 20

// A collector reads the engine's output as it comes. The engine finds files in
// no fixed order; of all matches the collector keeps those that come first by
// path, as many as are needed, and counts the rest.
type collector struct {
	need  int            // matches to keep; 0: all
	count map[string]int // matches of each file
	total int
	full  func() // called once more than maxKept is kept

	rest  []byte // of a line that hasn't ended yet
	kept  map[string][][]byte
	order pathHeap // of kept
	lines int      // kept
	bytes int
	bound string // files from here on are only counted, if it isn't ""
	err   error
}

func newCollector(need int, full func()) *collector {
	return &collector{need: need, full: full, count: map[string]int{}, kept: map[string][][]byte{}}
}

// Write takes what the engine prints. It never fails.
func (c *collector) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			c.rest = append(c.rest, p...)
			return n, nil
		}
		if len(c.rest) > 0 {
			c.rest = append(c.rest, p[:i]...)
			c.line(c.rest)
			c.rest = c.rest[:0]
		} else {
			c.line(p[:i])
		}
		p = p[i+1:]
	}
}

func (c *collector) line(line []byte) {
	if len(line) == 0 {
		return
	}
	path, err := fileOf(line)
	if err != nil {
		c.err = err
		return
	}
	c.total++
	c.count[path]++
	switch {
	case c.bound != "" && path >= c.bound, c.need > 0 && c.count[path] > c.need:
		return
	case c.bytes > maxKept:
		c.full()
		return
	}
	if c.kept[path] == nil {
		heap.Push(&c.order, path)
	}
	c.kept[path] = append(c.kept[path], bytes.Clone(line))
	c.lines++
	c.bytes += len(line)
	for c.need > 0 && c.lines-len(c.kept[c.order[0]]) >= c.need {
		last := heap.Pop(&c.order).(string)
		for _, l := range c.kept[last] {
			c.bytes -= len(l)
		}
		c.lines -= len(c.kept[last])
		delete(c.kept, last)
		c.bound = last
	}
}

// fileOf returns the path in a line without decoding it: within a JSON string
// no quote is bare, so the key can't be mistaken.
func fileOf(line []byte) (string, error) {
	const key = `,"file":`
	i := bytes.Index(line, []byte(key))
	if i < 0 {
		return "", fmt.Errorf("reading the engine's output: no file in %s", brief(string(line), 80))
	}
	value := line[i+len(key):]
	if end := bytes.IndexByte(value[min(1, len(value)):], '"') + 1; end > 0 && bytes.IndexByte(value[:end], '\\') < 0 {
		return string(value[1:end]), nil
	}
	var path string
	err := json.NewDecoder(bytes.NewReader(value)).Decode(&path)
	return path, err
}

// matches returns the kept matches by path and place, at most need of them.
func (c *collector) matches() ([]rawMatch, error) {
	if c.err != nil {
		return nil, c.err
	}
	paths := slices.Sorted(slices.Values(c.order))
	out := make([]rawMatch, 0, c.lines)
	for _, p := range paths {
		from := len(out)
		for _, line := range c.kept[p] {
			var m rawMatch
			if err := json.Unmarshal(line, &m); err != nil {
				return nil, fmt.Errorf("reading the engine's output: %w", err)
			}
			out = append(out, m)
		}
		// The engine prints parents first; files of two languages in several parts.
		slices.SortStableFunc(out[from:], func(a, b rawMatch) int { return a.Range.Byte.Start - b.Range.Byte.Start })
	}
	if c.need > 0 && len(out) > c.need {
		out = out[:c.need]
	}
	return out, nil
}

// A pathHeap has the last path on top.
type pathHeap []string

func (h pathHeap) Len() int           { return len(h) }
func (h pathHeap) Less(i, j int) bool { return h[i] > h[j] }
func (h pathHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *pathHeap) Push(x any)        { *h = append(*h, x.(string)) }
func (h *pathHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}
