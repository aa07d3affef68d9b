package pdftext

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"encoding/ascii85"
	"errors"
	"fmt"
	"io"
)

var errTooLarge = errors.New("the stream is too large")

// decode applies a stream's filters. What could be had of a damaged stream is
// returned with the error.
func (f *file) decode(s stream) ([]byte, error) {
	filters := f.list(s.dict["Filter"])
	params := f.list(s.dict["DecodeParms"])
	if len(filters) > 8 {
		return nil, errTooLarge
	}
	data := s.raw
	for i, filter := range filters {
		var p dict
		if i < len(params) {
			p = f.dict(params[i])
		}
		n, _ := f.resolve(filter).(name)
		out, err := f.filter(n, data, p)
		if err != nil && len(out) == 0 {
			return nil, err
		}
		if f.budget -= len(out); f.budget < 0 {
			return nil, errTooLarge
		}
		data = out
	}
	return data, nil
}

// list returns v as a list; one value is a list of one.
func (f *file) list(v any) array {
	switch v := f.resolve(v).(type) {
	case nil:
		return nil
	case array:
		return v
	default:
		return array{v}
	}
}

func (f *file) filter(n name, data []byte, p dict) ([]byte, error) {
	switch n {
	case "FlateDecode", "Fl":
		out, err := inflate(data)
		return f.predict(out, p), err
	case "LZWDecode", "LZW":
		early := 1
		if v, ok := f.resolve(p["EarlyChange"]).(float64); ok {
			early = int(v)
		}
		return f.predict(unlzw(data, early), p), nil
	case "ASCIIHexDecode", "AHx":
		if i := bytes.IndexByte(data, '>'); i >= 0 {
			data = data[:i]
		}
		return unhex(data), nil
	case "ASCII85Decode", "A85":
		data = bytes.TrimPrefix(bytes.TrimSpace(data), []byte("<~"))
		if i := bytes.IndexByte(data, '~'); i >= 0 {
			data = data[:i]
		}
		return limited(ascii85.NewDecoder(bytes.NewReader(data)))
	case "RunLengthDecode", "RL":
		return unrun(data), nil
	}
	return nil, fmt.Errorf("the filter %s is not one of text", n)
}

func inflate(data []byte) ([]byte, error) {
	z, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		if len(data) < 3 {
			return nil, err
		}
		return limited(flate.NewReader(bytes.NewReader(data[2:])))
	}
	return limited(z)
}

func limited(r io.Reader) ([]byte, error) {
	out, err := io.ReadAll(io.LimitReader(r, maxStream))
	return out, err
}

func unrun(data []byte) []byte {
	var out []byte
	for i := 0; i < len(data) && len(out) < maxStream; {
		n := int(data[i])
		i++
		switch {
		case n < 128:
			end := min(len(data), i+n+1)
			out = append(out, data[i:end]...)
			i = end
		case n > 128 && i < len(data):
			out = append(out, bytes.Repeat(data[i:i+1], 257-n)...)
			i++
		case n == 128:
			return out
		}
	}
	return out
}

// unlzw decodes LZW with codes of growing width, most significant bit first.
func unlzw(data []byte, early int) []byte {
	const clear, end = 256, 257
	table := make([][]byte, 258, 4096)
	for i := range 256 {
		table[i] = []byte{byte(i)}
	}
	var out, prev []byte
	width, bits, have := 9, 0, 0
	for _, c := range data {
		bits, have = bits<<8|int(c), have+8
		for have >= width {
			code := bits >> (have - width) & (1<<width - 1)
			have -= width
			bits &= 1<<have - 1
			var entry []byte
			switch {
			case code == end || len(out) > maxStream:
				return out
			case code == clear:
				table, width, prev = table[:258], 9, nil
				continue
			case code < len(table):
				entry = table[code]
			case code == len(table) && prev != nil:
				entry = append(bytes.Clone(prev), prev[0])
			default:
				return out
			}
			out = append(out, entry...)
			if prev != nil && len(table) < 4096 {
				table = append(table, append(bytes.Clone(prev), entry[0]))
			}
			prev = entry
			switch n := len(table) + early; {
			case n >= 2048:
				width = 12
			case n >= 1024:
				width = 11
			case n >= 512:
				width = 10
			}
		}
	}
	return out
}

// predict undoes the PNG and TIFF predictors.
func (f *file) predict(data []byte, p dict) []byte {
	predictor := f.integer(p["Predictor"])
	if predictor < 2 {
		return data
	}
	orDefault := func(v any, d int) int {
		if n := f.integer(v); n > 0 && n < 1<<16 {
			return n
		}
		return d
	}
	colors, depth, columns := orDefault(p["Colors"], 1), orDefault(p["BitsPerComponent"], 8), orDefault(p["Columns"], 1)
	bpp := max(1, colors*depth/8)
	width := (colors*depth*columns + 7) / 8
	if predictor == 2 {
		for at := 0; at+width <= len(data) && depth == 8; at += width {
			for i := bpp; i < width; i++ {
				data[at+i] += data[at+i-bpp]
			}
		}
		return data
	}
	var out []byte
	prev := make([]byte, width)
	for at := 0; at < len(data); at += width + 1 {
		row := make([]byte, width)
		copy(row, data[at+1:])
		unfilter(data[at], row, prev, bpp)
		out = append(out, row...)
		prev = row
	}
	return out
}

func unfilter(kind byte, row, up []byte, bpp int) {
	for i := range row {
		var left, corner byte
		if i >= bpp {
			left, corner = row[i-bpp], up[i-bpp]
		}
		switch kind {
		case 1:
			row[i] += left
		case 2:
			row[i] += up[i]
		case 3:
			row[i] += byte((int(left) + int(up[i])) / 2)
		case 4:
			row[i] += paeth(left, up[i], corner)
		}
	}
}

func paeth(a, b, c byte) byte {
	p := int(a) + int(b) - int(c)
	distance := func(x byte) int { return max(p-int(x), int(x)-p) }
	if distance(a) <= distance(b) && distance(a) <= distance(c) {
		return a
	}
	if distance(b) <= distance(c) {
		return b
	}
	return c
}
