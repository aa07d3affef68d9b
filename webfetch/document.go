package webfetch

import "time"

// schema changes when documents kept on disk can no longer be read.
const schema = "1"

// A document is a page as it is kept: read, decoded, extracted, but not yet cut
// to what one call asks for.
type document struct {
	Kind        string // how it was read: "html", "markdown", "json", "feed", "pdf", ...
	URL         string // final
	Status      int
	ContentType string
	Header      headers
	Hops        []Hop
	Upgraded    bool
	Proxied     bool

	Raw      string // decoded source, for other formats and selectors
	HTML     string // the extracted part
	Markdown string
	Plain    string // text form, where it isn't made from HTML

	Title     string
	Canonical string
	Headings  []string
	Lang      string
	Words     int
	Extracted bool
	Coverage  float64
	Signals   []string
	Notes     []string

	Declared    string // charset of the header
	Charset     string
	Guessed     bool
	Warning     string
	Truncated   bool
	Reason      string
	RawBytes    int
	Hidden      int
	AlternateOf string // the page that named this document as its Markdown form
	Refresh     string // where the page sends its reader at once
	llmsLinks   pageLinks

	LLMs      string // address of the llms.txt in force
	UsedLLMs  bool
	LLMsError string

	Binary *binaryFile

	Stored, Expires time.Time
	Vary            bool
}

type headers struct {
	ETag, LastModified, Filename, ContentSignal, RobotsTag, MarkdownTokens string
	ContentLength                                                          int64
}

// A binaryFile is what is known of a page that isn't text.
type binaryFile struct {
	Kind          string // "image", "audio", "video", "pdf", "binary"
	Width, Height int
	Data          []byte `json:",omitempty"`
	TooLarge      bool
	Limit         int
}

// pageLinks are the addresses that a page names beside its text.
type pageLinks struct{ markdown, describedby string }

// size is about how many bytes of memory a document takes.
func (d *document) size() int {
	n := 1024 + len(d.Raw) + len(d.HTML) + len(d.Markdown) + len(d.Plain)
	if d.Binary != nil {
		n += len(d.Binary.Data)
	}
	return n
}

func (d *document) signal(s string) {
	for _, have := range d.Signals {
		if have == s {
			return
		}
	}
	d.Signals = append(d.Signals, s)
}
