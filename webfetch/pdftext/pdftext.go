// Package pdftext reads the text of PDF files.
//
// It looks for the objects of a file itself and doesn't rely on its index, so
// that damaged files read as far as they go. It draws nothing, decodes no
// images, and stops at limits of time and memory that no honest file reaches.
package pdftext

import (
	"context"
	"errors"
	"strings"
)

// The limits.
const (
	maxPages   = 5000
	maxObjects = 1_000_000
	maxStream  = 16 << 20  // bytes of one decoded stream
	maxDecoded = 256 << 20 // bytes of all decoded streams
	maxText    = 32 << 20  // bytes of text
)

// The errors of [Extract].
var (
	ErrEncrypted = errors.New("the file is encrypted")
	ErrNotPDF    = errors.New("the file is no PDF or too damaged to read")
)

// A Document is the text of a file.
type Document struct {
	Title string
	Pages []string
	// Partial says that a limit or damage ended the reading early.
	Partial bool
}

// Empty reports whether no page has text, as in a scanned document.
func (d *Document) Empty() bool {
	for _, p := range d.Pages {
		if strings.TrimSpace(p) != "" {
			return false
		}
	}
	return true
}

// Extract reads the text of a PDF file. When the context ends, what was read
// until then is returned.
func Extract(ctx context.Context, data []byte) (*Document, error) {
	f := &file{data: data, ctx: ctx, budget: maxDecoded, cache: map[int]any{}}
	f.index()
	if len(f.where) == 0 {
		return nil, ErrNotPDF
	}
	if f.encrypted() {
		return nil, ErrEncrypted
	}
	pages := f.pages()
	if len(pages) == 0 {
		return nil, ErrNotPDF
	}
	d := &Document{Title: f.title()}
	fonts := map[int]*font{}
	total := 0
	for _, p := range pages {
		if ctx.Err() != nil || total > maxText || f.budget <= 0 {
			d.Partial = true
			break
		}
		in := &interpreter{f: f, fonts: fonts, layout: &layout{}}
		in.page(p)
		text := in.layout.String()
		total += len(text)
		d.Pages = append(d.Pages, text)
	}
	return d, nil
}

func (f *file) title() string {
	for _, t := range f.trailers {
		info := f.dict(t["Info"])
		if s, ok := f.resolve(info["Title"]).(str); ok {
			return strings.TrimSpace(textString(string(s)))
		}
	}
	return ""
}

func (f *file) encrypted() bool {
	for _, t := range f.trailers {
		if f.dict(t["Encrypt"]) != nil {
			return true
		}
	}
	return false
}

// A page is its dictionary with what it inherits.
type page struct {
	dict      dict
	resources dict
}

func (f *file) pages() []page {
	var out []page
	seen := map[int]bool{}
	var walk func(v any, resources dict, depth int)
	walk = func(v any, resources dict, depth int) {
		if r, ok := v.(ref); ok {
			if seen[int(r)] {
				return
			}
			seen[int(r)] = true
		}
		d := f.dict(v)
		if d == nil || depth > 64 || len(out) >= maxPages || f.ctx.Err() != nil {
			return
		}
		if r := f.dict(d["Resources"]); r != nil {
			resources = r
		}
		if kids, ok := f.resolve(d["Kids"]).(array); ok {
			for _, k := range kids {
				walk(k, resources, depth+1)
			}
			return
		}
		out = append(out, page{d, resources})
	}
	for _, t := range f.trailers {
		if root := f.dict(t["Root"]); root != nil && len(out) == 0 {
			walk(root["Pages"], nil, 0)
		}
	}
	if len(out) > 0 {
		return out
	}
	for _, n := range f.numbers() { // no tree that leads anywhere: every page that is there
		if d := f.dict(ref(n)); d != nil && f.resolve(d["Type"]) == name("Page") && len(out) < maxPages {
			out = append(out, page{d, f.dict(d["Resources"])})
		}
	}
	return out
}
