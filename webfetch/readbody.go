package webfetch

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const (
	saveLimit   = maxBody // of what is saved to a file
	binaryLimit = 2 << 20 // of what is looked at without saving
)

func readHeaders(w *wire) headers {
	h := headers{
		ETag: w.Header.Get("Etag"), LastModified: w.Header.Get("Last-Modified"), Filename: filenameOf(w),
		ContentSignal: w.Header.Get("Content-Signal"), MarkdownTokens: w.Header.Get("X-Markdown-Tokens"),
	}
	if v := w.Header.Get("X-Robots-Tag"); strings.Contains(strings.ToLower(v), "noai") {
		h.RobotsTag = v
	}
	digits := strings.TrimSpace(w.Header.Get("Content-Length"))
	if i := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); i > 0 {
		digits = digits[:i]
	}
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil && n >= 0 {
		h.ContentLength = n
	}
	return h
}

// A reading is an answer's body on its way into a document.
type reading struct {
	f     *Fetcher
	r     *Request
	w     *wire
	d     *document
	label string // the charset that the server declares
	body
}

func (x *reading) encoding() string { return x.w.Header.Get("Content-Encoding") }

// read reads what is needed of the body and fills the document from it.
func (x *reading) read(ctx context.Context) error {
	f, w, d := x.f, x.w, x.d
	if t := d.ContentType; w.ContentLength > binaryLimitOf(x.r) && !isTextType(t) && t != "application/pdf" && !unknownType(t) && t != "application/octet-stream" {
		return x.binary(ctx, t, true)
	}
	progress := f.progress(ctx, w)
	ended, err := x.grow(w, sniffLen, progress)
	if err != nil && len(x.raw) == 0 {
		return f.failure(ctx, w.url, "body", err)
	}
	head, _, _ := unpack(x.encoding(), x.raw, ended)
	kind := effectiveType(d.ContentType, head, w.url.Pathname())
	if d.Status > 299 && !isTextType(kind) {
		return nil // an error page that isn't text says nothing
	}
	if !isTextType(kind) && kind != "application/pdf" {
		if !unknownType(kind) || !textual(head) {
			return x.binary(ctx, kind, ended)
		}
		kind = "text/plain"
	}
	if !ended && err == nil {
		ended, err = x.grow(w, maxBody, progress)
	}
	switch {
	case err != nil && broken(err):
		x.truncated, x.reason = true, "the connection ended early"
	case err != nil:
		return f.failure(ctx, w.url, "body", err)
	case !ended:
		x.truncated, x.reason = true, "the page is longer than 10 MiB"
	}
	if err := x.decode(ended); err != nil {
		return err
	}
	d.Truncated, d.Reason, d.RawBytes = x.truncated, x.reason, len(x.data)
	return x.interpret(ctx, kind)
}

func binaryLimitOf(r *Request) int64 {
	if r.SaveBinary {
		return saveLimit
	}
	return binaryLimit
}

// unknownType reports whether a type says nothing about being text or not.
func unknownType(t string) bool {
	main, _, ok := strings.Cut(t, "/")
	return !ok || main != "image" && main != "audio" && main != "video" && main != "font" && t != "application/octet-stream" && !knownBinary(t)
}

func knownBinary(t string) bool {
	switch t {
	case "application/zip", "application/gzip", "application/x-gzip", "application/x-tar", "application/wasm", "application/msword",
		"application/vnd.ms-excel", "application/vnd.ms-powerpoint", "application/x-bzip2", "application/x-xz", "application/zstd",
		"application/x-7z-compressed", "application/vnd.rar", "application/java-archive", "application/x-elf", "application/epub+zip":
		return true
	}
	return strings.HasPrefix(t, "application/vnd.openxmlformats") || strings.HasPrefix(t, "application/vnd.oasis") || strings.HasPrefix(t, "application/font")
}

func (x *reading) decode(whole bool) error {
	data, warning, err := unpack(x.encoding(), x.raw, whole)
	x.data = data
	x.d.Warning = joinNotes(x.d.Warning, warning)
	switch {
	case errors.Is(err, errRatio), errors.Is(err, errTooLong):
		x.truncated, x.reason = true, err.Error()
	case err != nil:
		return &Error{
			Kind: Decode, URL: x.w.url.Href(true), Status: x.w.StatusCode, err: err,
			Message: fmt.Sprintf("the body can't be decoded from %s: %v", x.encoding(), err),
		}
	}
	return nil
}

// interpret makes text of a body by its kind.
func (x *reading) interpret(ctx context.Context, kind string) error {
	if kind == "application/pdf" {
		return x.pdf(ctx)
	}
	w, d := x.w, x.d
	t := decodeText(x.data, x.label, isHTML(kind))
	d.Charset, d.Guessed = t.charset, t.guessed
	d.Warning = joinNotes(d.Warning, t.warning)
	if isHTML(kind) || kind == "text/plain" && looksHTML([]byte(t.text[:min(len(t.text), 1024)])) {
		if err := readHTML(ctx, d, t.text, w.url, !x.r.WholePage); err != nil {
			return x.f.failure(ctx, w.url, "body", err)
		}
		for _, h := range d.Hops {
			if loginPath(h.To) && !hasSignal(d, "login_wall") {
				d.signal("login_wall")
			}
		}
		return nil
	}
	readText(d, t.text, kind, w.url.Pathname())
	if strings.TrimSpace(t.text) == "" {
		d.signal("empty_content")
	}
	return nil
}

func loginPath(u string) bool {
	_, path, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(u, "https://"), "http://"), "/")
	path, _, _ = strings.Cut(path, "?")
	for s := range strings.SplitSeq(strings.ToLower(path), "/") {
		if s == "login" || s == "signin" || s == "sign-in" || s == "sign_in" || s == "log-in" {
			return true
		}
	}
	return false
}

type progressKey struct{}

// progress returns who wants to hear of the download, if anybody does: the one
// who made the call, or the fetcher's owner.
func (f *Fetcher) progress(ctx context.Context, w *wire) func(done, total int64) {
	report, ok := ctx.Value(progressKey{}).(func(done, total int64, url string))
	if !ok {
		report = f.opt.Progress
	}
	if report == nil {
		return nil
	}
	return func(done, total int64) { report(done, total, w.url.Href(true)) }
}

// linkHeaders reads the Link header of the page.
func (f *Fetcher) linkHeaders(d *document, w *wire) {
	for _, h := range w.Header.Values("Link") {
		for part := range strings.SplitSeq(h, ",") {
			ref, params, ok := strings.Cut(part, ">")
			ref = strings.TrimPrefix(strings.TrimSpace(ref), "<")
			params = strings.ToLower(strings.ReplaceAll(params, `"`, ""))
			u, err := resolve(w.url, ref)
			if !ok || err != nil {
				continue
			}
			switch {
			case strings.Contains(params, "rel=alternate") && strings.Contains(params, "text/markdown"):
				d.llmsLinks.markdown = u.Href(true)
			case strings.Contains(params, "rel=describedby") && strings.Contains(ref, "llms"):
				d.llmsLinks.describedby = u.Href(true)
			}
		}
	}
}
