package applypatch

import "bytes"

// editEarlier tries a patch that doesn't fit the file against the text that
// the file had before it was formatted, and carries the change over. It
// reports whether that worked; nothing has happened if it didn't.
func (pl *planner) editEarlier(e *entry, s *Section) bool {
	if pl.opt.earlier == nil {
		return false
	}
	was := pl.opt.earlier(e.real)
	if was == nil || !bytes.Equal(was.Formatted, e.cur) {
		return false
	}
	written := newText(was.Written)
	ps, err := resolve(written, e.show, s.Chunks, pl.opt)
	if err != nil {
		return false
	}
	now := was.Rebase(was.Written, was.Formatted, written.apply(edits(ps), keepNewline))
	t := newText(e.cur)
	es := t.becoming(newText(now))
	if !bytes.Equal(t.apply(es, keepNewline), now) {
		return false // a final newline or a line ending that one edit can't say
	}
	for i := range ps {
		r := ps[i].report()
		r.Notes = append(r.Notes, "written against the text before it was formatted")
		r.Lines = [2]int{es[0].line + 1, es[0].line + max(es[0].n, 1)}
		e.chunks = append(e.chunks, r)
	}
	e.track(t, es)
	e.cur = now
	return true
}

// becoming returns the one edit that turns t into now.
func (t *text) becoming(now *text) []edit {
	n, m := t.lines(), now.lines()
	head, tail := 0, 0
	for head < min(n, m) && bytes.Equal(t.line(head), now.line(head)) {
		head++
	}
	for tail < min(n, m)-head && bytes.Equal(t.line(n-1-tail), now.line(m-1-tail)) {
		tail++
	}
	return []edit{{line: head, n: n - head - tail, off: t.offset(head), end: t.offset(n - tail), add: now.all()[head : m-tail]}}
}
