package pdftext

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

type glyph struct {
	text  string
	width float64 // thousandths of the size
	space bool    // the one-byte code 32, to which word spacing applies
}

// A font tells what the codes of a string mean and how wide they are.
type font struct {
	wide     bool // codes of two bytes
	unicode  *cmap
	utf16    bool // codes are UTF-16
	simple   [256]string
	widths   map[int]float64
	standard float64 // width of what has none
}

// font reads a font once.
func (in *interpreter) font(v any) *font {
	n := -1
	if r, ok := v.(ref); ok {
		n = int(r)
		if ft, ok := in.fonts[n]; ok {
			return ft
		}
	}
	d := in.f.dict(v)
	if d == nil {
		return nil
	}
	ft := in.f.readFont(d)
	if n >= 0 {
		in.fonts[n] = ft
	}
	return ft
}

func (f *file) readFont(d dict) *font {
	ft := &font{widths: map[int]float64{}, standard: 500}
	if s, ok := f.resolve(d["ToUnicode"]).(stream); ok {
		if data, err := f.decode(s); err == nil {
			ft.unicode = readCMap(data)
		}
	}
	if f.resolve(d["Subtype"]) == name("Type0") {
		ft.wide = true
		if n, ok := f.resolve(d["Encoding"]).(name); ok && ft.unicode == nil && (strings.Contains(string(n), "UCS2") || strings.Contains(string(n), "UTF16")) {
			ft.utf16 = true
		}
		if ds := f.list(d["DescendantFonts"]); len(ds) > 0 {
			f.cidWidths(ft, f.dict(ds[0]))
		}
		return ft
	}
	base, _ := f.resolve(d["BaseFont"]).(name)
	f.simpleEncoding(ft, d, string(base))
	first := f.integer(d["FirstChar"])
	ws, _ := f.resolve(d["Widths"]).(array)
	for i, w := range ws {
		if i < 256 {
			ft.widths[first+i] = f.number(w)
		}
	}
	if strings.Contains(string(base), "Courier") {
		ft.standard = 600
	}
	if desc := f.dict(d["FontDescriptor"]); desc != nil {
		if w := f.number(desc["MissingWidth"]); w > 0 {
			ft.standard = w
		}
	}
	if m, ok := f.resolve(d["FontMatrix"]).(array); ok && len(m) == 6 { // a Type 3 font has units of its own
		k := f.number(m[0]) * 1000
		for c, w := range ft.widths {
			ft.widths[c] = w * k
		}
	}
	return ft
}

// cidWidths reads the W array: "c [w1 w2 ...]" and "first last w".
func (f *file) cidWidths(ft *font, d dict) {
	ft.standard = 1000
	if _, ok := f.resolve(d["DW"]).(float64); ok {
		ft.standard = f.number(d["DW"])
	}
	w, _ := f.resolve(d["W"]).(array)
	for i := 0; i+1 < len(w) && len(ft.widths) < 1<<17; {
		first := f.integer(w[i])
		if list, ok := f.resolve(w[i+1]).(array); ok {
			for j, v := range list {
				ft.widths[first+j] = f.number(v)
			}
			i += 2
			continue
		}
		if i+2 >= len(w) {
			return
		}
		for c := first; c <= min(f.integer(w[i+1]), first+1<<16); c++ {
			ft.widths[c] = f.number(w[i+2])
		}
		i += 3
	}
}

func (f *file) simpleEncoding(ft *font, d dict, base string) {
	enc := f.resolve(d["Encoding"])
	table := encodingNamed("Standard", base)
	var differences array
	switch e := enc.(type) {
	case name:
		table = encodingNamed(string(e), base)
	case dict:
		if n, ok := f.resolve(e["BaseEncoding"]).(name); ok {
			table = encodingNamed(string(n), base)
		}
		differences, _ = f.resolve(e["Differences"]).(array)
	}
	ft.simple = table
	code := 0
	for _, v := range differences {
		switch v := f.resolve(v).(type) {
		case float64:
			code = int(v)
		case name:
			if code >= 0 && code < 256 {
				if s := glyphText(string(v)); s != "" {
					ft.simple[code] = s
				}
			}
			code++
		}
	}
}

// encodingNamed returns one of the encodings that every reader knows.
func encodingNamed(n, base string) (t [256]string) {
	for c := 32; c < 127; c++ {
		t[c] = string(rune(c))
	}
	var cm *charmap.Charmap
	switch n {
	case "WinAnsiEncoding":
		cm = charmap.Windows1252
	case "MacRomanEncoding":
		cm = charmap.Macintosh
	}
	if cm != nil {
		for c := 128; c < 256; c++ {
			if r := cm.DecodeByte(byte(c)); r != utf8.RuneError {
				t[c] = string(r)
			}
		}
		return t
	}
	t['\''], t['`'] = "’", "‘"
	for _, pair := range strings.Fields("161¡ 162¢ 163£ 164⁄ 165¥ 166ƒ 167§ 168¤ 169' 170“ 171« 172‹ 173› 174fi 175fl 177– 178† 179‡ 180· 182¶ 183• 184‚ 185„ 186” 187» 188… 189‰ 191¿ 208— 225Æ 227ª 232Ł 233Ø 234Œ 235º 241æ 245ı 248ł 249ø 250œ 251ß") {
		if c, err := strconv.Atoi(pair[:3]); err == nil {
			t[c] = pair[3:]
		}
	}
	if i := strings.IndexByte(base, '+'); i >= 0 {
		base = base[i+1:]
	}
	if strings.HasPrefix(base, "CM") || strings.HasPrefix(base, "LM") { // TeX's own text encoding
		for i, s := range []string{"ff", "fi", "fl", "ffi", "ffl"} {
			t[11+i] = s
		}
		t['"'], t['\\'], t['{'], t['|'] = "”", "“", "–", "—"
	}
	return t
}

// glyphs splits a string into what it shows.
func (ft *font) glyphs(s string) []glyph {
	var out []glyph
	step := 1
	if ft.wide {
		step = 2
	}
	for i := 0; i+step <= len(s); i += step {
		code := int(s[i])
		if step == 2 {
			code = code<<8 | int(s[i+1])
		}
		w, ok := ft.widths[code]
		if !ok {
			w = ft.standard
		}
		g := glyph{width: w, space: step == 1 && code == 32}
		switch {
		case ft.unicode != nil && ft.unicode.has(code):
			g.text = ft.unicode.text(code)
		case ft.utf16:
			g.text = string(utf16.Decode([]uint16{uint16(code)}))
		case !ft.wide:
			g.text = ft.simple[code]
		}
		out = append(out, g)
	}
	return out
}

// textString decodes a string meant for people: UTF-16 with a mark, or Latin.
func textString(s string) string {
	if strings.HasPrefix(s, "\xfe\xff") {
		return utf16be(s[2:])
	}
	if strings.HasPrefix(s, "\xef\xbb\xbf") {
		return strings.ToValidUTF8(s[3:], "")
	}
	out, err := charmap.Windows1252.NewDecoder().String(s)
	if err != nil {
		return ""
	}
	return out
}

func utf16be(s string) string {
	var u []uint16
	for i := 0; i+1 < len(s); i += 2 {
		u = append(u, uint16(s[i])<<8|uint16(s[i+1]))
	}
	return string(utf16.Decode(u))
}
