package applypatch

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// applier is what one host's own applier does differently from the others. The
// behaviours were observed on Codex 0.171.0 and OpenCode 1.18.33 and read in
// the source of OpenCode's newest engine.
type applier struct {
	name        Dialect
	keepCR      bool // a carriage return at the end of a patch line is part of it
	keepContext bool // context lines keep the file's bytes
	fileEOL     bool // new lines take the file's first line ending
	losesBlank  bool // a blank last line is lost
	stripsBOM   bool // matches without the byte order mark and puts it back
	noMove      bool
	eofMark     bool // the end-of-file mark is understood
}

var (
	codexApplier = applier{name: Codex, keepContext: true, fileEOL: true, eofMark: true}
	v1Applier    = applier{name: OpenCodeV1, keepCR: true, losesBlank: true, stripsBOM: true}
	coreApplier  = applier{name: OpenCodeCore, keepCR: true, losesBlank: true, stripsBOM: true, noMove: true}
	nextApplier  = applier{name: OpenCodeNext, losesBlank: true, stripsBOM: true, eofMark: true}
)

func (d Dialect) appliers() []applier {
	switch d {
	case Codex:
		return []applier{codexApplier}
	case OpenCodeV1:
		return []applier{v1Applier}
	case OpenCodeCore:
		return []applier{coreApplier}
	case OpenCodeNext:
		return []applier{nextApplier}
	case OpenCode:
		return []applier{v1Applier, nextApplier}
	}
	return []applier{codexApplier, v1Applier, nextApplier}
}

// Replay applies patch to files as the host's own applier would: a model of it,
// for the canonical part of the format, that refuses whatever the appliers
// disagree about. files maps the paths as written in the patch; the result has
// the files that the patch changed, nil for a removed one.
func Replay(d Dialect, files map[string][]byte, patch string) (map[string][]byte, error) {
	var first map[string][]byte
	for i, a := range d.appliers() {
		out, err := a.replay(files, patch)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.name, err)
		}
		if i == 0 {
			first = out
		} else if !equalFiles(first, out) {
			return nil, errors.New("the appliers disagree")
		}
	}
	return first, nil
}

func equalFiles(a, b map[string][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || !bytes.Equal(v, w) || (v == nil) != (w == nil) {
			return false
		}
	}
	return true
}

func (a *applier) replay(files map[string][]byte, patch string) (map[string][]byte, error) {
	secs, err := a.parse(patch)
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, s := range secs {
		if _, twice := out[s.Path]; twice {
			return nil, errors.New("a path twice")
		}
		old, there := files[s.Path]
		there = there && old != nil
		switch {
		case s.Op == Add && there, s.Op != Add && !there:
			return nil, fmt.Errorf("%s: missing or in the way", s.Path)
		case s.Op == Add:
			out[s.Path] = []byte(strings.Join(append(slices.Clone(s.Add), ""), "\n"))
			continue
		case s.Op == Delete:
			out[s.Path] = nil
			continue
		}
		now, err := a.update(old, s.Chunks)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Path, err)
		}
		if s.MoveTo != "" {
			if a.noMove || s.MoveTo == s.Path || files[s.MoveTo] != nil {
				return nil, errors.New("this move is not supported")
			}
			out[s.Path], out[s.MoveTo] = nil, now
			continue
		}
		out[s.Path] = now
	}
	return out, nil
}

// parse reads the part of the format that all appliers read alike.
func (a *applier) parse(patch string) ([]Section, error) {
	lines := strings.Split(patch, "\n")
	n := len(lines)
	if n < 3 || lines[0] != beginMark || lines[n-1] != endMark {
		return nil, errors.New("not the plain envelope")
	}
	var secs []Section
	var c *Chunk
	for _, l := range lines[1 : n-1] {
		if !a.keepCR {
			l = strings.TrimSuffix(l, "\r")
		}
		var s *Section
		if len(secs) > 0 {
			s = &secs[len(secs)-1]
		}
		name, op := header(l)
		switch {
		case op != "":
			secs, c = append(secs, Section{Op: op, Path: name}), nil
		case s == nil && strings.HasPrefix(l, envMark):
		case s == nil:
			return nil, errors.New("text before the first section")
		case s.Op == Update && strings.HasPrefix(l, moveMark+" ") && s.MoveTo == "" && c == nil:
			s.MoveTo = strings.TrimPrefix(l, moveMark+" ")
		case s.Op == Update && strings.HasPrefix(l, "@@"):
			s.Chunks = append(s.Chunks, Chunk{})
			c = &s.Chunks[len(s.Chunks)-1]
			if l != "@@" {
				if strings.HasPrefix(l, "@@ -") || !strings.HasPrefix(l, "@@ ") {
					return nil, errors.New("a header that is no anchor")
				}
				c.Anchors = []string{l[3:]}
			}
		case c != nil && l == eofMark && a.eofMark && len(c.Lines) > 0:
			c.EOF = true
		case c != nil && !c.EOF && l != "" && strings.IndexByte(" -+", l[0]) >= 0 && (l[0] != ' ' || strings.TrimSpace(l) != endMark):
			c.Lines = append(c.Lines, Line{Op: l[0], Text: l[1:]})
		case s.Op == Add && strings.HasPrefix(l, "+"):
			s.Add = append(s.Add, l[1:])
		default:
			return nil, fmt.Errorf("line %q", l)
		}
	}
	for _, s := range secs {
		if s.Op == Update && len(s.Chunks) == 0 || slices.ContainsFunc(s.Chunks, func(c Chunk) bool { return len(c.Lines) == 0 }) {
			return nil, errors.New("nothing in a section")
		}
	}
	return secs, nil
}

func header(l string) (string, Op) {
	for mark, op := range map[string]Op{addMark: Add, delMark: Delete, updMark: Update} {
		if name, ok := strings.CutPrefix(l, mark+" "); ok && strings.TrimSpace(name) == name && name != "" {
			return name, op
		}
	}
	return "", ""
}

func (a *applier) update(old []byte, chunks []Chunk) ([]byte, error) {
	if !utf8.Valid(old) { // Codex refuses it, the others write U+FFFD over what they can't read
		return nil, errors.New("the file is not UTF-8")
	}
	s := string(old)
	bom := a.stripsBOM && strings.HasPrefix(s, utf8BOM)
	if bom {
		s = s[len(utf8BOM):]
	}
	eol := "\n"
	if i := strings.IndexByte(s, '\n'); a.fileEOL && i > 0 && s[i-1] == '\r' {
		eol = "\r\n"
	}
	file := strings.Split(s, "\n")
	if file[len(file)-1] == "" {
		file = file[:len(file)-1]
	}
	cr := strings.TrimSuffix(eol, "\n")
	out, err := a.splice(file, chunks, cr)
	if err != nil {
		return nil, err
	}
	if n := len(out); n > 0 && !strings.HasSuffix(out[n-1], cr) && !strings.HasSuffix(s, "\n") {
		out[n-1] += cr
	}
	if n := len(out); n == 0 || !a.losesBlank || out[n-1] != "" {
		out = append(out, "")
	}
	s = strings.Join(out, "\n")
	if bom {
		s = utf8BOM + strings.TrimPrefix(s, utf8BOM)
	}
	return []byte(s), nil
}

// splice makes the changes. Lines keep their carriage returns; a new line gets cr.
func (a *applier) splice(file []string, chunks []Chunk, cr string) (out []string, err error) {
	at, done := 0, 0
	for _, c := range chunks {
		for _, anchor := range c.Anchors {
			q := a.seek(file, []string{anchor}, at, false)
			if q < 0 {
				return nil, fmt.Errorf("anchor %q not found", anchor)
			}
			at = q + 1
		}
		var old []string
		for _, l := range c.old() {
			old = append(old, l.Text)
		}
		p := len(file)
		if len(old) > 0 {
			p = a.seek(file, old, at, c.EOF)
		}
		if p < at || p < done {
			return nil, errors.New("chunk not found")
		}
		out = append(out, file[done:p]...)
		i := p
		for _, l := range c.Lines {
			switch {
			case l.Op == '+':
				out = append(out, l.Text+cr)
			case l.Op == '-':
				i++
			case a.keepContext:
				out = append(out, file[i])
				i++
			default:
				out = append(out, l.Text)
				i++
			}
		}
		at, done = i, i
	}
	return append(out, file[done:]...), nil
}

// seek finds pattern at or after from, by the looser comparison only if the
// stricter ones find nothing.
func (a *applier) seek(file, pattern []string, from int, eof bool) int {
	if len(pattern) > len(file) {
		return -1
	}
	if eof {
		from = max(from, len(file)-len(pattern))
	}
	for _, form := range []func(string) string{
		func(s string) string { return a.bare(s) },
		func(s string) string { return strings.TrimRightFunc(s, hostSpace) },
		func(s string) string { return strings.TrimFunc(s, hostSpace) },
		func(s string) string { return strings.TrimFunc(plainASCII(s), hostSpace) },
	} {
		want := make([]string, len(pattern))
		for i, p := range pattern {
			want[i] = form(p)
		}
		for i := from; i+len(pattern) <= len(file); i++ {
			k := 0
			for k < len(pattern) && form(file[i+k]) == want[k] {
				k++
			}
			if k == len(pattern) {
				return i
			}
		}
	}
	return -1
}

// bare is how an applier sees a line at its strictest.
func (a *applier) bare(s string) string {
	if a.fileEOL {
		return strings.TrimSuffix(s, "\r")
	}
	return s
}

func hostSpace(r rune) bool { return unicode.IsSpace(r) || r == 0xfeff }

// plainASCII is the typography that all appliers forgive.
func plainASCII(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 0x2018 && r <= 0x201b:
			return '\''
		case r >= 0x201c && r <= 0x201f:
			return '"'
		case r >= 0x2010 && r <= 0x2015:
			return '-'
		case r == 0xa0:
			return ' '
		}
		return r
	}, s)
}
