package webfetch

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/whet-dev/whet/webfetch/pdftext"
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

// pdfBudget bounds the reading of one file.
const pdfBudget = 5 * time.Second

// pdf makes text of a PDF, a section for each page; with save_binary
// the file itself is kept.
func (x *reading) pdf(ctx context.Context) error {
	if x.r.SaveBinary {
		return x.binary(ctx, "application/pdf", true)
	}
	w, d := x.w, x.d
	ctx, cancel := context.WithTimeout(ctx, pdfBudget)
	defer cancel()
	doc, err := readPDF(ctx, x.data)
	if errors.Is(err, pdftext.ErrEncrypted) {
		return &Error{Kind: UnsupportedType, URL: w.url.Href(true), Message: "the PDF is encrypted", Hint: "Re-run with save_binary to keep the file.", err: err}
	}
	if err != nil {
		return &Error{Kind: Decode, URL: w.url.Href(true), Message: "the PDF can't be read: " + err.Error(), Hint: "Re-run with save_binary to keep the file.", err: err}
	}
	d.Kind, d.Title = "pdf", clip(doc.Title, 300)
	var text strings.Builder
	for i, p := range doc.Pages {
		fmt.Fprintf(&text, "## Page %d\n\n%s\n\n", i+1, p)
	}
	d.Markdown = strings.TrimRight(text.String(), "\n") + "\n"
	d.Plain = d.Markdown
	if doc.Empty() {
		d.signal("pdf_no_text")
	}
	if doc.Partial {
		d.Truncated, d.Reason = true, "the document is too long to read in time"
	}
	return nil
}

// readPDF reads a file that may be made to break readers.
func readPDF(ctx context.Context, data []byte) (doc *pdftext.Document, err error) {
	defer func() {
		if v := recover(); v != nil {
			doc, err = nil, fmt.Errorf("the file is damaged: %v", v)
		}
	}()
	return pdftext.Extract(ctx, data)
}
