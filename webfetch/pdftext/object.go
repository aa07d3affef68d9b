package pdftext

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strconv"
)

type (
	name   string
	str    string
	ref    int
	array  []any
	dict   map[name]any
	op     string // an operator of a content stream, or a bare word
	stream struct {
		dict dict
		raw  []byte
	}
)

// A file finds and reads objects.
type file struct {
	data     []byte
	ctx      context.Context
	where    map[int]int    // object → offset behind "obj"
	packed   map[int][2]int // object → stream that holds it, offset in there
	streams  map[int][]byte // decoded object streams
	cache    map[int]any
	trailers []dict // the last one first
	budget   int    // bytes that may still be decoded
}

// index looks for "N G obj" all over the file; a later object replaces an
// earlier one of its number.
func (f *file) index() {
	f.where, f.packed, f.streams = map[int]int{}, map[int][2]int{}, map[int][]byte{}
	for at := 0; ; {
		i := bytes.Index(f.data[at:], []byte("obj"))
		if i < 0 || len(f.where) >= maxObjects {
			break
		}
		i += at
		at = i + 3
		if n, ok := numberBefore(f.data[:i]); ok && !bytes.HasSuffix(f.data[:i], []byte("end")) {
			f.where[n] = i + 3
		}
	}
	for at := len(f.data); ; {
		i := bytes.LastIndex(f.data[:at], []byte("trailer"))
		if i < 0 || len(f.trailers) > 64 {
			break
		}
		if d, ok := (&lexer{b: f.data, at: i + 7}).value(0).(dict); ok {
			f.trailers = append(f.trailers, d)
		}
		at = i
	}
	for _, n := range f.numbers() {
		if f.ctx.Err() != nil {
			return
		}
		head := f.data[f.where[n]:min(len(f.data), f.where[n]+400)]
		if !bytes.Contains(head, []byte("/ObjStm")) && !bytes.Contains(head, []byte("/XRef")) && !bytes.Contains(head, []byte("/Catalog")) {
			continue
		}
		switch v := f.resolve(ref(n)).(type) {
		case stream:
			switch v.dict["Type"] {
			case name("XRef"):
				f.trailers = append(f.trailers, v.dict)
			case name("ObjStm"):
				f.unpackIndex(n, v)
			}
		case dict:
			if v["Type"] == name("Catalog") {
				f.trailers = append(f.trailers, dict{"Root": ref(n)})
			}
		}
	}
}

func (f *file) numbers() []int { return slices.Sorted(maps.Keys(f.where)) }

// numberBefore reads the object number in "12 0 " at the end of b.
func numberBefore(b []byte) (int, bool) {
	b = bytes.TrimRight(b[max(0, len(b)-40):], " \t\r\n\x00\f")
	gen := len(b) - len(bytes.TrimRight(b, "0123456789"))
	if gen == 0 || gen > 5 {
		return 0, false
	}
	b = b[:len(b)-gen]
	t := bytes.TrimRight(b, " \t\r\n\x00\f")
	if len(t) == len(b) {
		return 0, false
	}
	digits := t[len(bytes.TrimRight(t, "0123456789")):]
	n, err := strconv.Atoi(string(digits))
	return n, err == nil && n < 1<<28
}

// unpackIndex notes the objects that an object stream holds.
func (f *file) unpackIndex(n int, s stream) {
	data, err := f.decode(s)
	first := f.integer(s.dict["First"])
	if err != nil && len(data) == 0 || first < 0 || first > len(data) {
		return
	}
	f.streams[n] = data
	l := &lexer{b: data[:first]}
	for range min(f.integer(s.dict["N"]), maxObjects) {
		num, ok1 := l.value(0).(float64)
		off, ok2 := l.value(0).(float64)
		if !ok1 || !ok2 || off < 0 || int(off) > len(data)-first {
			return
		}
		if _, plain := f.where[int(num)]; !plain {
			f.packed[int(num)] = [2]int{n, first + int(off)}
		}
	}
}

// resolve follows a reference to the object itself.
func (f *file) resolve(v any) any {
	for range 32 {
		r, ok := v.(ref)
		if !ok {
			return v
		}
		v = f.object(int(r))
	}
	return nil
}

func (f *file) object(n int) any {
	if v, ok := f.cache[n]; ok {
		return v
	}
	f.cache[n] = nil // an object that needs itself to be read has no value
	var v any
	if at, ok := f.where[n]; ok {
		v = f.read(at)
	} else if p, ok := f.packed[n]; ok {
		v = (&lexer{b: f.streams[p[0]], at: p[1]}).value(0)
	}
	f.cache[n] = v
	return v
}

func (f *file) read(at int) any {
	l := &lexer{b: f.data, at: at}
	v := l.value(0)
	d, ok := v.(dict)
	if !ok {
		return v
	}
	l.space()
	if !bytes.HasPrefix(f.data[l.at:], []byte("stream")) {
		return d
	}
	start := l.at + 6
	if bytes.HasPrefix(f.data[start:], []byte("\r\n")) {
		start += 2
	} else if start < len(f.data) && (f.data[start] == '\n' || f.data[start] == '\r') {
		start++
	}
	start = min(start, len(f.data))
	end := start + f.integer(d["Length"])
	if end <= start || end > len(f.data) || !bytes.Contains(f.data[end:min(len(f.data), end+20)], []byte("endstream")) {
		i := bytes.Index(f.data[start:], []byte("endstream"))
		if i < 0 {
			i = len(f.data) - start
		}
		end = start + i
	}
	return stream{d, f.data[start:end]}
}

// dict returns v as a dictionary, nil if it isn't one.
func (f *file) dict(v any) dict {
	switch d := f.resolve(v).(type) {
	case dict:
		return d
	case stream:
		return d.dict
	}
	return nil
}

func (f *file) integer(v any) int {
	n, _ := f.resolve(v).(float64)
	if n > 1<<31 || n < -1<<31 {
		return 0
	}
	return int(n)
}

func (f *file) number(v any) float64 {
	n, _ := f.resolve(v).(float64)
	return n
}
