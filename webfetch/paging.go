package webfetch

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A piece is part of a text, cut where a reader can stop. The bodies of all
// pieces, in order, are the text.
type piece struct {
	body        string
	open, close string // the fence line that continues a cut code block, and the one that ends it
	next, total int    // in characters; next is 0 at the end
}

// cut returns the piece that begins at the character start and has at most max
// characters, 0 for all.
func cut(s string, start, max int) piece {
	total := utf8.RuneCountInString(s)
	from := byteAt(s, start)
	p := piece{body: s[from:], total: total}
	if start > 0 {
		_, p.open = fenceAt(s[:from])
	}
	if max <= 0 || total-start <= max {
		return p
	}
	end := stop(s, from, from+byteAt(s[from:], max))
	p.body = s[from:end]
	p.next = start + utf8.RuneCountInString(p.body)
	if fence, _ := fenceAt(s[:end]); fence != "" {
		p.close = fence
	}
	return p
}

// byteAt is the offset of the n-th character.
func byteAt(s string, n int) int {
	if n <= 0 {
		return 0
	}
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// stop moves the end of a piece back to the best place in its last half:
// between blocks, else between lines, else between words.
func stop(s string, from, end int) int {
	least := from + (end-from)/2
	fence, _ := fenceAt(s[:from])
	block, line := 0, 0
	for at := from; at < end; {
		l, _, more := strings.Cut(s[at:], "\n")
		next := at + len(l) + 1
		if !more || next > end {
			break
		}
		fence = nextFence(fence, l)
		if next >= least {
			line = next
			if fence == "" && strings.TrimSpace(strings.TrimLeft(l, "> ")) == "" {
				block = next
			}
		}
		at = next
	}
	switch {
	case block > 0:
		return block
	case line > 0:
		return line
	}
	if i := strings.LastIndexByte(s[least:end], ' '); i >= 0 {
		return least + i + 1
	}
	return end
}

// fenceAt returns the fence that is open at the end of s, and the line that
// opened it.
func fenceAt(s string) (fence, opener string) {
	for l := range strings.SplitSeq(s, "\n") {
		was := fence
		if fence = nextFence(fence, l); was == "" && fence != "" {
			opener = l
		}
	}
	if fence == "" {
		return "", ""
	}
	return fence, opener
}

// String is the piece as it is shown, ending in where to go on.
func (p piece) String() string {
	var b strings.Builder
	if p.open != "" {
		b.WriteString(p.open + "\n")
	}
	b.WriteString(p.body)
	if p.close != "" {
		if !strings.HasSuffix(p.body, "\n") {
			b.WriteByte('\n')
		}
		b.WriteString(p.close + "\n")
	}
	if p.next > 0 {
		s := strings.TrimRight(b.String(), "\n")
		return s + fmt.Sprintf("\n\n[content continues: start_index=%d of %d]\n", p.next, p.total)
	}
	return b.String()
}
