package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/whet-dev/whet/cmd/internal/cli"
	"github.com/whet-dev/whet/internal/escape"
	"github.com/whet-dev/whet/kit"
	"github.com/whet-dev/whet/webfetch"
)

func fetchCommand() *cobra.Command {
	var r webfetch.Request
	var asJSON, metadata, noCache bool
	var timeout time.Duration
	var maxAge int
	var loopback, out string
	c := &cobra.Command{
		Use:     "fetch URL",
		Short:   "Fetch a web page as clean Markdown",
		GroupID: "people",
		Long: `Fetch a web page as clean Markdown.

Menus and other surroundings are left out; code, tables, notes and formulas
stay. Only public addresses are reached, and servers on this machine if the URL
names localhost, 127.0.0.1 or [::1].`,
		Example: `  whet fetch https://docs.example.com/page
  whet fetch https://docs.example.com/page --find "timeout option"
  whet fetch https://example.com/paper.pdf --pages 2-5
  whet fetch localhost:3000/api/health --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			r.URL = localURL(args[0])
			r.Timeout = timeout.Seconds()
			if c.Flags().Changed("max-age") {
				r.MaxAge = &maxAge
			}
			place, err := open(c, "")
			if err != nil {
				return err
			}
			o := kit.Fetching(place.config.Config)
			o.Version, o.BinaryDir = cli.Version(), out
			if c.Flags().Changed("loopback") {
				o.Network.Loopback = webfetch.Loopback(loopback)
			}
			if !noCache {
				o.CacheDir = cacheDir()
			}
			show := &progress{w: c.ErrOrStderr(), start: time.Now()}
			if isTerminal(c.ErrOrStderr()) {
				o.Progress = show.report
			}
			p, err := fetch(c.Context(), o, r)
			show.clear()
			if err != nil {
				return fetchFailed(c, err, asJSON)
			}
			return printPage(c, p, asJSON, metadata)
		},
	}
	f := c.Flags()
	f.StringVarP(&r.Format, "format", "f", "markdown", "`form` of the result: markdown, text or html")
	f.DurationVar(&timeout, "timeout", 30*time.Second, "give up after this long, at most 2m")
	f.BoolVar(&r.WholePage, "whole", false, "the whole page, not only its main content")
	f.StringVar(&r.Find, "find", "", "only the sections that match these `words` best")
	f.StringVar(&r.Prompt, "prompt", "", "answer this `question` about the page, by webfetch.model of the configuration or its best sections")
	f.StringVar(&r.Section, "section", "", "only the section with this `heading` or #fragment")
	f.StringVar(&r.Selector, "selector", "", "only what this CSS `selector` matches")
	f.IntVar(&r.StartIndex, "start", 0, "begin at this `character`")
	f.IntVar(&r.MaxLength, "max-length", 0, "at most this many `characters`; 0 is all")
	f.StringVar(&r.Links, "links", "inline", "targets of links: inline, none or list")
	f.StringVar(&r.Images, "images", "full", "what is kept of images: full, alt or none")
	f.StringVar(&r.Pages, "pages", "", "`pages` of a PDF: 3 or 2-5")
	f.StringVar(&r.LLMs, "llms-txt", "auto", "the site's llms.txt: auto, always or never")
	f.BoolVar(&r.Raw, "raw", false, "the source as it was sent")
	f.BoolVar(&r.SaveBinary, "save", false, "write what isn't text to a file and print its path")
	f.StringVar(&out, "out", ".", "`directory` for --save")
	f.IntVar(&maxAge, "max-age", 0, "use a remembered copy of at most this many `seconds`; 0 fetches anew")
	f.BoolVar(&noCache, "no-cache", false, "neither read nor keep copies on disk")
	f.StringVar(&loopback, "loopback", "explicit", "servers on this machine: explicit, never or always")
	f.BoolVar(&metadata, "metadata", false, "print what is known of the page before it")
	f.BoolVar(&asJSON, "json", false, "print the page and what is known of it as JSON")
	return c
}

func fetch(ctx context.Context, o webfetch.Options, r webfetch.Request) (*webfetch.Page, error) {
	f, err := webfetch.New(o)
	if err != nil {
		return nil, usageError{err}
	}
	defer f.Close()
	return f.Fetch(ctx, r)
}

// localURL adds the scheme that people leave out for a server on their own
// machine: few of those speak TLS.
func localURL(s string) string {
	for _, h := range []string{"localhost", "127.0.0.1", "[::1]"} {
		if rest, ok := strings.CutPrefix(s, h); ok && (rest == "" || rest[0] == ':' || rest[0] == '/') {
			return "http://" + s
		}
	}
	return s
}

func cacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "whet", "webfetch")
}

func fetchFailed(c *cobra.Command, err error, asJSON bool) error {
	var e *webfetch.Error
	if !errors.As(err, &e) {
		return err
	}
	if c.Context().Err() != nil {
		return context.Canceled
	}
	if asJSON {
		if err := printJSON(c.OutOrStdout(), e); err != nil {
			return err
		}
		return exit(exitFailed)
	}
	if e.Kind == webfetch.InvalidRequest || e.Kind == webfetch.InvalidURL {
		return usageError{sentence(e)}
	}
	return sentence(e)
}

// sentence is an error with its advice, for people.
func sentence(e *webfetch.Error) error {
	text := e.Error()
	if e.Redirect != "" && e.Kind == webfetch.BlockedRedirect {
		text += "\n  it leads to " + e.Redirect
	}
	if e.Hint != "" {
		text += "\n  " + e.Hint
	}
	return errors.New(escape.Lines(text))
}

func printPage(c *cobra.Command, p *webfetch.Page, asJSON, metadata bool) error {
	w := c.OutOrStdout()
	if asJSON {
		return printJSON(w, p)
	}
	text := p.Content
	if metadata {
		text = p.String()
	} else {
		for _, s := range p.Signals {
			if s != "very_short_content" && !strings.HasPrefix(s, "non_english") { // anyone can see these
				fmt.Fprintln(c.ErrOrStderr(), "whet: note:", escape.Lines(s))
			}
		}
	}
	text = shown(w, text)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// A progress shows a line for downloads that take long.
type progress struct {
	w     io.Writer
	start time.Time
	last  time.Time
	shown bool
}

func (p *progress) report(done, total int64, _ string) {
	now := time.Now()
	if now.Sub(p.start) < time.Second || now.Sub(p.last) < 200*time.Millisecond {
		return
	}
	p.last, p.shown = now, true
	of := ""
	if total > 0 {
		of = fmt.Sprintf(" of %.1f MB", float64(total)/1e6)
	}
	fmt.Fprintf(p.w, "\r\x1b[Kfetching: %.1f MB%s", float64(done)/1e6, of)
}

func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
