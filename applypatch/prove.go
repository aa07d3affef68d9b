package applypatch

import (
	"bytes"
	"slices"
)

// A Limit names what a host's own applier can't keep.
type Limit string

// The limits.
const (
	LimitFinalNewline  Limit = "final_newline"
	LimitTrailingBlank Limit = "trailing_blank_line"
	LimitLineEndings   Limit = "line_endings"
)

// A Rendered is a patch for a host, proved on a model of its applier.
type Rendered struct {
	Text    string
	Changed bool    // Text is not the text that was given
	Limits  []Limit // what the host will not keep as the plan wants it
	Hosts   []Outcome
}

// An Outcome is what a host's applier makes of one file, where that isn't what
// the plan wants.
type Outcome struct{ Path, Host, Want string }

// Render returns a patch that the dialect's appliers turn into what the plan
// wants. original, the text that the plan was made from, is returned untouched
// if it does so already. An error means that no rendering could be proved.
func (p *Plan) Render(d Dialect, original string) (*Rendered, error) {
	files := p.before()
	moves := slices.ContainsFunc(p.Files, func(f File) bool { return f.Op == Move })
	r := &Rendered{Text: p.render(d == OpenCodeCore)}
	same := true
	appliers := d.appliers()
	if d == AnyDialect && !moves {
		appliers = append(appliers, coreApplier)
	}
	for _, a := range appliers {
		got, err := a.replay(files, r.Text)
		if err != nil {
			return nil, unproved(string(a.name) + ": " + err.Error())
		}
		if err := p.compare(r, got); err != nil {
			return nil, err
		}
		if same {
			was, err := a.replay(files, original)
			same = err == nil && (p.matches(was) || equalFiles(was, got))
		}
	}
	if same {
		r.Text = original
	}
	r.Changed = !same
	return r, nil
}

func unproved(why string) *Error {
	return &Error{Kind: Internal, Code: RenderUnproved, Message: "no rendering is safe for this host: " + why}
}

// before is the workspace as the host will find it.
func (p *Plan) before() map[string][]byte {
	m := map[string][]byte{}
	for i := range p.Files {
		f := &p.Files[i]
		m[f.Path] = f.Old
		if f.Op == Move {
			m[f.From] = f.moved
		}
	}
	return m
}

func (p *Plan) matches(got map[string][]byte) bool {
	return !slices.ContainsFunc(p.Files, func(f File) bool { return !bytes.Equal(got[f.Path], f.New) }) && len(got) >= len(p.Files)
}

// compare notes where a host's outcome differs from the plan's by something
// that it can't keep; any other difference is an error.
func (p *Plan) compare(r *Rendered, got map[string][]byte) error {
	for i := range p.Files {
		f := &p.Files[i]
		have, ok := got[f.Path]
		if !ok || (have == nil) != (f.New == nil) {
			return unproved(f.Path)
		}
		if bytes.Equal(have, f.New) {
			continue
		}
		limit := limitOf(f.New, have)
		if limit == "" {
			return unproved(f.Path)
		}
		if !slices.Contains(r.Limits, limit) {
			r.Limits = append(r.Limits, limit)
		}
		if o := (Outcome{f.Path, string(have), string(f.New)}); !slices.Contains(r.Hosts, o) {
			r.Hosts = append(r.Hosts, o)
		}
	}
	return nil
}

func limitOf(want, have []byte) Limit {
	lf := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")) }
	switch {
	case bytes.Equal(append(slices.Clip(want), '\n'), have), bytes.Equal(append(slices.Clip(want), "\r\n"...), have):
		return LimitFinalNewline
	case bytes.Equal(want, append(slices.Clip(have), '\n')), bytes.Equal(want, append(slices.Clip(have), "\r\n"...)):
		return LimitTrailingBlank
	case bytes.Equal(lf(want), lf(have)):
		return LimitLineEndings
	case bytes.Equal(bytes.TrimRight(lf(want), "\n"), bytes.TrimRight(lf(have), "\n")):
		return LimitFinalNewline
	}
	return ""
}
