package search

import (
	"bytes"
	"context"
	"unicode/utf8"

	"github.com/whet-dev/whet/internal/escape"
	"github.com/whet-dev/whet/internal/plainfile"
)

// A Match is one matching line or, for a multiline query, one match with the
// lines that it touches.
type Match struct {
	Path    string   `json:"path"`
	Line    int      `json:"line"`   // from 1
	Column  int      `json:"column"` // the byte of the line where the match begins, from 1
	Text    string   `json:"text"`
	Clipped bool     `json:"clipped"` // Text is a part of the line
	Before  []string `json:"before,omitempty"`
	After   []string `json:"after,omitempty"`
}

func (m Match) size() int {
	n := len(m.Path) + len(m.Text) + 16
	for _, l := range m.Before {
		n += len(l) + 8
	}
	for _, l := range m.After {
		n += len(l) + 8
	}
	return n
}

// rows reads the matches of one file, without the first skip and at most room.
func (g *grep) rows(ctx context.Context, file string, skip, room int) (out []Match, err error) {
	f, err := plainfile.OpenIn(g.dir, file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	m := g.pattern.matcher(ctx, g.Multiline)
	line := 1 // of the byte at counted
	var r reader
	err = r.blocks(f, func(text []byte) bool {
		counted := 0
		m.each(text, func(start, end int) bool {
			if skip > 0 {
				skip--
				return true
			}
			line += bytes.Count(text[counted:start], []byte("\n"))
			counted = start
			row := g.row(m, text, start, end)
			row.Path, row.Line = g.shown(file), line
			out = append(out, row)
			return len(out) < room
		})
		line += bytes.Count(text[counted:], []byte("\n"))
		return len(out) < room && ctx.Err() == nil
	})
	return out, err
}

func (g *grep) row(by *matcher, text []byte, start, end int) (m Match) {
	first := bytes.LastIndexByte(text[:start], '\n') + 1
	last := lineEnd(text, end)
	if g.Multiline {
		if end > start && text[end-1] == '\n' {
			last = end - 1
		}
		m.Column = start - first + 1
		lines := text[first:trimCR(text, first, last)]
		m.Text, m.Clipped = head(lines)
	} else {
		var t string
		t, m.Column, m.Clipped = by.clip(text[start:end])
		m.Text = valid(t)
	}
	m.Before, m.After = g.around(text, first, last)
	return m
}

// around returns the lines before first and after last.
func (g *grep) around(text []byte, first, last int) (before, after []string) {
	for range g.Context {
		if first == 0 {
			break
		}
		end := first - 1
		first = bytes.LastIndexByte(text[:end], '\n') + 1
		l, _ := head(text[first:trimCR(text, first, end)])
		before = append([]string{l}, before...)
	}
	for range g.Context {
		if last+1 >= len(text) {
			break
		}
		start := last + 1
		last = lineEnd(text, start)
		l, _ := head(text[start:trimCR(text, start, last)])
		after = append(after, l)
	}
	return before, after
}

func lineEnd(text []byte, from int) int {
	if i := bytes.IndexByte(text[from:], '\n'); i >= 0 {
		return from + i
	}
	return len(text)
}

// head returns text, or the beginning of it.
func head(text []byte) (string, bool) {
	if len(text) <= longLine {
		return valid(string(text)), false
	}
	return valid(cut(text, []span{{0, 0}})), true
}

// valid escapes s if it isn't UTF-8, which JSON can't hold.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return escape.Text(s)
}
