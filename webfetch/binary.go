package webfetch

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"image"
	_ "image/gif" // dimensions of the formats that the standard library reads
	_ "image/jpeg"
	_ "image/png"
	"io"
	"mime"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

const maxListed = 200 // entries of an archive

// binary fills in what can be said of a body that isn't text, and reads it
// whole only to save it.
func (x *reading) binary(ctx context.Context, kind string, ended bool) error {
	w, d := x.w, x.d
	d.Kind, d.ContentType = "binary", firstNonEmpty(d.ContentType, kind)
	d.Binary = &binaryFile{Kind: binaryKind(kind), Limit: int(binaryLimitOf(x.r))}
	head, _, _ := unpack(x.encoding(), x.raw, ended)
	if c, _, err := image.DecodeConfig(bytes.NewReader(head)); err == nil {
		d.Binary.Width, d.Binary.Height = c.Width, c.Height
	}
	if w.ContentLength > int64(d.Binary.Limit) {
		d.Binary.TooLarge = true
		return nil
	}
	if !x.r.SaveBinary {
		return nil
	}
	if !ended {
		if _, err := x.grow(w, saveLimit+1, x.f.progress(ctx, w)); err != nil {
			return x.f.failure(ctx, w.url, "body", err)
		}
	}
	data, _, err := unpack(x.encoding(), x.raw, true)
	if len(x.raw) > saveLimit || errors.Is(err, errTooLong) || errors.Is(err, errRatio) {
		d.Binary.TooLarge = true
		return nil
	}
	if err != nil {
		return &Error{Kind: Decode, URL: w.url.Href(true), Message: "the body can't be decoded: " + err.Error(), err: err}
	}
	d.Binary.Data, d.RawBytes = data, len(data)
	return nil
}

func firstNonEmpty(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// filenameOf names the file that a body would be saved as: what the server
// says, else the end of the path if it has an extension.
func filenameOf(w *wire) string {
	if h := w.Header.Get("Content-Disposition"); h != "" {
		if _, params, err := mime.ParseMediaType(h); err == nil && params["filename"] != "" {
			return safeName(params["filename"])
		}
		if _, v, ok := strings.Cut(h, "filename="); ok {
			v, _, _ = strings.Cut(v, ";")
			if v = strings.Trim(strings.TrimSpace(v), `"`); v != "" {
				return safeName(v)
			}
		}
	}
	last := w.url.Pathname()[strings.LastIndex(w.url.Pathname(), "/")+1:]
	if !strings.Contains(last, ".") {
		return ""
	}
	if u, err := url.PathUnescape(last); err == nil {
		last = u
	}
	return safeName(last)
}

const maxName = 180

// safeName makes a name that is one plain file on every system.
func safeName(s string) string {
	s = strings.ToValidUTF8(s, "_")
	s = strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || strings.ContainsRune(`<>:"/\|?*`, r) || unicode.Is(unicode.Cf, r) {
			return '_'
		}
		return r
	}, s)
	s = strings.Trim(strings.Join(strings.Fields(s), " "), ". ")
	if s == "" {
		return "download"
	}
	stem, _, _ := strings.Cut(s, ".")
	switch up := strings.ToUpper(strings.TrimSpace(stem)); {
	case up == "CON" || up == "PRN" || up == "AUX" || up == "NUL":
		s = "_" + s
	case len(up) == 4 && (strings.HasPrefix(up, "COM") || strings.HasPrefix(up, "LPT")) && up[3] >= '0' && up[3] <= '9':
		s = "_" + s
	}
	if r := []rune(s); len(r) > maxName || len(s) > 255 {
		ext := filepath.Ext(s)
		if len(ext) > 20 {
			ext = ""
		}
		stem := []rune(strings.TrimSuffix(s, ext))
		for len(stem)+len([]rune(ext)) > maxName || len(string(stem))+len(ext) > 255 {
			stem = stem[:len(stem)-1]
		}
		s = string(stem) + ext
	}
	return s
}

// save writes a file that isn't there yet into the directory for downloads.
func (f *Fetcher) save(d *document) (string, error) {
	dir := f.opt.BinaryDir
	if dir == "" {
		dir = filepath.Join(os.TempDir(), "whet-webfetch")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("making the directory for downloads: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", fmt.Errorf("opening the directory for downloads: %w", err)
	}
	defer root.Close()
	name := d.Header.Filename
	if name == "" {
		name = fmt.Sprintf("webfetch-%d.%s", f.hooks.now().UnixMilli(), extension(d.ContentType))
	}
	ext := filepath.Ext(name)
	for i := range 1000 {
		n := name
		if i > 0 {
			n = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), i, ext)
		}
		file, err := root.OpenFile(n, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("saving %s: %w", n, err)
		}
		_, err = file.Write(d.Binary.Data)
		if cerr := file.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			root.Remove(n)
			return "", fmt.Errorf("saving %s: %w", n, err)
		}
		return filepath.Join(dir, n), nil
	}
	return "", fmt.Errorf("saving %s: a thousand files of that name exist in %s", name, dir)
}

func extension(t string) string {
	switch t {
	case "application/pdf":
		return "pdf"
	case "image/png":
		return "png"
	case "image/jpeg":
		return "jpg"
	case "image/webp":
		return "webp"
	case "application/zip":
		return "zip"
	}
	return "bin"
}

// listArchive names what an archive holds.
func listArchive(data []byte) []string {
	var names []string
	add := func(name string, size int64) bool {
		names = append(names, fmt.Sprintf("%s (%d bytes)", stripControls(clip(name, 300)), size))
		return len(names) < maxListed
	}
	if z, err := zip.NewReader(bytes.NewReader(data), int64(len(data))); err == nil {
		for _, e := range z.File {
			if !add(e.Name, int64(min(e.UncompressedSize64, 1<<62))) {
				break
			}
		}
		return names
	}
	var r io.Reader = bytes.NewReader(data)
	if g, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		r = io.LimitReader(g, 64<<20)
	}
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if err != nil || !add(h.Name, h.Size) {
			return names
		}
	}
}
