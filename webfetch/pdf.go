package webfetch

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// pageRange reads "3" or "2-5".
func pageRange(s string) (from, to int, err error) {
	a, b, ranged := strings.Cut(strings.TrimSpace(s), "-")
	from, err = strconv.Atoi(strings.TrimSpace(a))
	to = from
	if ranged && err == nil {
		to, err = strconv.Atoi(strings.TrimSpace(b))
	}
	if err != nil || from < 1 || to < from {
		return 0, 0, fmt.Errorf("pages is %q; it must be a number such as 3 or a range such as 2-5", clip(s, 40))
	}
	return from, to, nil
}

// pdfPages cuts the pages asked for out of the text of a PDF.
func pdfPages(text, pages string) (string, error) {
	from, to, err := pageRange(pages)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	last := 0
	for _, x := range splitSections(text) {
		n, err := strconv.Atoi(strings.TrimPrefix(x.title, "Page "))
		if x.level != 2 || err != nil {
			continue
		}
		last = n
		if n >= from && n <= to {
			b.WriteString(text[x.start:x.own])
		}
	}
	if b.Len() == 0 {
		return "", fmt.Errorf("the document has %d pages; %s is not among them", last, pages)
	}
	return b.String(), nil
}

func (f *Fetcher) interpretPDF(ctx context.Context, d *document, w *wire, b *body, r *Request) error {
	return f.readBinary(ctx, d, w, b, "application/pdf", r, true)
}
