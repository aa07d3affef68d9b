package main

import (
	"encoding/json"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/whet-dev/whet/internal/escape"
)

// isTerminal tells whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// colour tells whether a stream is a terminal of a person who wants colours.
func colour(stream any) bool {
	return isTerminal(stream) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// shown is a text as it is or, for a terminal, with marks for what is hidden.
func shown(stream any, text string) string {
	if isTerminal(stream) {
		return escape.Lines(text)
	}
	return text
}

// jsonLines writes each value on a line of its own, text as it is.
func jsonLines(w io.Writer) *json.Encoder {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e
}

// printJSON writes one value over as many lines as a person wants to read.
func printJSON(w io.Writer, v any) error {
	e := jsonLines(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
