package search

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"unicode/utf16"
	"unicode/utf8"
)

// errLarge reports a file that is larger than asked for.
var errLarge = errors.New("file is too large")

const (
	firstRead = 256 << 10 // bytes; most files fit
	blockSize = 64 << 20  // bytes of a named file that are searched at once
)

// A reader reads files into one buffer, again and again.
type reader struct{ buf []byte }

// whole returns the text of a file of at most limit bytes, valid until the next
// call.
func (r *reader) whole(f *os.File, limit int) ([]byte, error) {
	if r.buf == nil {
		r.buf = make([]byte, firstRead)
	}
	n := 0
	for {
		if n == len(r.buf) {
			if err := r.grow(f, limit); err != nil {
				return nil, err
			}
		}
		got, err := f.Read(r.buf[n:])
		n += got
		if err == io.EOF {
			return decode(r.buf[:n]), nil
		}
		if err != nil {
			return nil, err
		}
		if n > limit {
			return nil, errLarge
		}
	}
}

// grow makes room for the whole file.
func (r *reader) grow(f *os.File, limit int) error {
	size := 2 * len(r.buf)
	if info, err := f.Stat(); err == nil {
		if info.Size() > int64(limit) {
			return errLarge
		}
		size = max(size, int(info.Size())+1)
	}
	bigger := make([]byte, size)
	copy(bigger, r.buf)
	r.buf = bigger
	return nil
}

// blocks calls use with the text of a file of any size, in blocks that end
// where a line does, until it returns false.
func (r *reader) blocks(f *os.File, use func(text []byte) bool) error {
	text, err := r.whole(f, blockSize)
	if err == nil {
		use(text)
		return nil
	}
	if !errors.Is(err, errLarge) {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	r.buf = make([]byte, blockSize)
	kept := 0
	for {
		n, err := io.ReadFull(f, r.buf[kept:])
		text := r.buf[:kept+n]
		if err != nil {
			if len(text) > 0 && (err == io.EOF || err == io.ErrUnexpectedEOF) {
				use(text)
				return nil
			}
			if err == io.EOF {
				return nil
			}
			return err
		}
		end := bytes.LastIndexByte(text, '\n') + 1
		if end == 0 {
			end = len(text) // a line longer than a block is searched in parts
		}
		if !use(text[:end]) {
			return nil
		}
		kept = copy(r.buf, text[end:])
	}
}

// decode removes a byte order mark and turns UTF-16 that has one into UTF-8.
func decode(b []byte) []byte {
	switch {
	case bytes.HasPrefix(b, []byte("\xef\xbb\xbf")):
		return b[3:]
	case bytes.HasPrefix(b, []byte("\xff\xfe")):
		return decodeUTF16(b[2:], binary.LittleEndian)
	case bytes.HasPrefix(b, []byte("\xfe\xff")):
		return decodeUTF16(b[2:], binary.BigEndian)
	}
	return b
}

func decodeUTF16(b []byte, order binary.ByteOrder) []byte {
	out := make([]byte, 0, len(b))
	for len(b) >= 2 {
		r := rune(order.Uint16(b))
		b = b[2:]
		if utf16.IsSurrogate(r) && len(b) >= 2 {
			if pair := utf16.DecodeRune(r, rune(order.Uint16(b))); pair != utf8.RuneError {
				r, b = pair, b[2:]
			}
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

func isBinary(text []byte) bool { return bytes.IndexByte(text, 0) >= 0 }
