package applypatch

import "bytes"

const (
	quickChunks = 4        // with more chunks one pass for all is faster
	quickSize   = 16 << 10 // below it a pass costs nothing
)

// quick places chunks that stand in the file byte for byte, each once and in
// order, by searching the file as one string: no line table, no hashes. nil
// means that the whole ladder has to look.
func quick(t *text, blocks []*block) []placement {
	if len(blocks) > quickChunks || len(t.b) < quickSize || t.sep != '\n' {
		return nil
	}
	ps := make([]placement, 0, len(blocks))
	from, line, pos := 0, 0, 0
	for _, b := range blocks {
		off, ok := t.once(b)
		if !ok || off < from {
			return nil
		}
		line += bytes.Count(t.b[pos:off], []byte{'\n'})
		pos = off
		p := t.placeAt(b, off, line)
		if len(p.edits) == 0 {
			return nil
		}
		from = p.edits[len(p.edits)-1].end
		ps = append(ps, p)
	}
	return ps
}

// once returns the only place where b's old lines stand byte for byte.
func (t *text) once(b *block) (off int, ok bool) {
	if len(b.keys) == 0 || b.EOF || len(b.Anchors) > 0 && b.says() < 1 {
		return 0, false
	}
	long, before := 0, 0
	for i := range b.keys {
		if len(b.keys[i].raw) > len(b.keys[long].raw) {
			long = i
		}
	}
	for i := range long {
		before += len(b.keys[i].raw) + 1
	}
	var tail []byte // what stands before and after the longest line
	for i := range b.keys {
		tail = append(append(tail, b.keys[i].raw...), '\n')
	}
	needle := []byte(b.keys[long].raw)
	if len(needle) < 4 {
		return 0, false
	}
	needle = needle[max(0, len(needle)-60):]
	skip := before + len(b.keys[long].raw) - len(needle)
	off = -1
	for pos := 0; ; {
		i := bytes.Index(t.b[pos:], needle)
		if i < 0 {
			return off, off >= 0
		}
		pos += i + 1
		if at := pos - 1 - skip; t.hasBlock(at, tail) {
			if off >= 0 {
				return 0, false
			}
			off = at
		}
	}
}

// hasBlock reports whether the lines of block stand at off. The file's last
// line may lack its newline.
func (t *text) hasBlock(off int, block []byte) bool {
	if off < 0 || off > 0 && t.b[off-1] != '\n' {
		return false
	}
	rest := t.b[off:]
	return bytes.HasPrefix(rest, block) || len(rest) == len(block)-1 && bytes.Equal(rest, block[:len(rest)])
}

// placeAt is block.place without a line table: the block starts at byte off.
func (t *text) placeAt(b *block, off, line int) placement {
	p := placement{tier: Exact, start: line, end: line, score: 1}
	var e *edit
	for _, l := range b.Lines {
		next := min(off+len(l.Text)+1, len(t.b))
		switch {
		case l.Op == ' ':
			e = nil
			off, p.end = next, p.end+1
			continue
		case e == nil:
			p.edits = append(p.edits, edit{line: p.end, off: off, end: off})
			e = &p.edits[len(p.edits)-1]
		}
		if l.Op == '-' {
			e.n++
			off, e.end = next, next
			p.end++
		} else {
			e.add = append(e.add, l.Text)
		}
	}
	return p
}
