// Webfetch measures extraction and rendering against the usual tools, in turns
// in one run: Readability on jsdom and on linkedom with turndown under Node,
// html-to-markdown in Go, readability-lxml with html2text in Python.
//
// The pages are those that Mozilla tests Readability with. They are other
// people's articles, so they aren't kept here: they come with a Go module.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/whet-dev/whet/internal/measure"
)

func main() {
	pages := flag.Int("pages", 0, "measure only this many pages; 0 is all")
	rounds := flag.Int("rounds", 3, "times that every page is converted")
	flag.Parse()
	measure.Main("webfetch", func(ctx context.Context, w io.Writer) error { return run(ctx, w, *pages, *rounds) })
}

func run(ctx context.Context, w io.Writer, limit, rounds int) error {
	fmt.Fprintf(w, "%s\n\n", measure.Machine())
	pages, err := corpus(ctx)
	if err != nil {
		return err
	}
	if err := quality(ctx, w, pages); err != nil {
		return err
	}
	if limit > 0 && limit < len(pages) { // evenly spread
		var some []page
		for i := range limit {
			some = append(some, pages[i*len(pages)/limit])
		}
		pages = some
	}
	dir, err := os.MkdirTemp("", "whet-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := speed(ctx, w, pages, rounds, dir); err != nil {
		return err
	}
	if err := cold(ctx, w, pages, dir); err != nil {
		return err
	}
	return inside(ctx, w)
}
