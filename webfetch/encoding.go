package webfetch

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/andybalholm/brotli"
)

// acceptEncoding leaves zstd out: what sends it also sends brotli, and the
// decoders there are build tables as the program starts, whatever it is to do.
const (
	acceptEncoding = "gzip, br"
	maxStacked     = 3
)

var errRatio = errors.New("it decompresses to more than 64 times its size")

// unpack decodes raw from the encodings that a Content-Encoding header lists.
// Whole says that raw is the entire body. What can be had of a damaged body is
// returned with the error.
func unpack(header string, raw []byte, whole bool) (data []byte, warning string, err error) {
	var codings []string
	for c := range strings.SplitSeq(strings.ToLower(header), ",") {
		if c = strings.TrimSpace(c); c != "" && c != "identity" {
			codings = append(codings, c)
		}
	}
	if len(codings) > maxStacked {
		return nil, "", fmt.Errorf("the body is encoded %d times over", len(codings))
	}
	data = raw
	for i := len(codings) - 1; i >= 0; i-- {
		var out []byte
		out, err = decompress(codings[i], data)
		if !whole && errors.Is(err, io.ErrUnexpectedEOF) {
			err = nil
		}
		if err != nil && len(out) == 0 && textual(data) {
			return data, fmt.Sprintf("The body is not encoded as %s though its header says so", codings[i]), nil
		}
		if err != nil && !errors.Is(err, errRatio) && len(out) > 0 && errors.Is(err, io.ErrUnexpectedEOF) {
			warning, err = "The compressed body ends early", nil
		}
		data = out
		if err != nil {
			return data, warning, err
		}
	}
	return data, warning, nil
}

func decompress(coding string, raw []byte) ([]byte, error) {
	var r io.Reader
	var err error
	in := bytes.NewReader(raw)
	switch coding {
	case "gzip", "x-gzip":
		r, err = gzip.NewReader(in)
	case "deflate":
		if r, err = zlib.NewReader(in); err != nil { // some servers send it raw
			in.Reset(raw)
			r, err = flate.NewReader(in), nil
		}
	case "br":
		r = brotli.NewReader(in)
	default:
		return nil, fmt.Errorf("the content encoding %q is unknown", clip(coding, 40))
	}
	if err != nil {
		return nil, err
	}
	return readBounded(r, len(raw))
}

// readBounded reads up to maxBody+1 bytes, and stops at a ratio that only bombs
// reach.
func readBounded(r io.Reader, compressed int) ([]byte, error) {
	var b bytes.Buffer
	buf := make([]byte, 32<<10)
	for b.Len() <= maxBody {
		n, err := r.Read(buf)
		b.Write(buf[:n])
		if err == io.EOF {
			return b.Bytes(), nil
		}
		if err != nil {
			return b.Bytes(), err
		}
		if b.Len() > ratioFloor && b.Len() > maxRatio*compressed {
			return b.Bytes(), errRatio
		}
	}
	return b.Bytes()[:maxBody], errTooLong
}

var errTooLong = errors.New("it is longer than 10 MiB")

// textual reports whether bytes look like text in some ASCII-based encoding.
func textual(b []byte) bool {
	b = b[:min(len(b), 2048)]
	if bytes.IndexByte(b, 0) >= 0 {
		return false
	}
	control := 0
	for _, c := range b {
		if c < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != 0x1b {
			control++
		}
	}
	if control*50 > len(b) {
		return false
	}
	if utf8.Valid(trimPartialRune(b)) {
		return true
	}
	high := 0
	for _, c := range b {
		if c >= 0x80 {
			high++
		}
	}
	return control == 0 && high*10 < len(b)*9
}

// trimPartialRune cuts an incomplete character off the end.
func trimPartialRune(b []byte) []byte {
	for i := 1; i <= 3 && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if c >= 0x80 && !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}
