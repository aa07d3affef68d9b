package webfetch

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/gogs/chardet"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// decoded is what became of a body's bytes.
type decoded struct {
	text     string
	charset  string // canonical label
	guessed  bool   // nobody declared it
	warning  string
	replaced int // characters that could not be decoded
}

// metaWindow is how much of a page is searched for a declaration. Standards ask
// for the first KiB; pages in the field put it behind their scripts.
const metaWindow = 64 << 10

// decodeText turns bytes into UTF-8. The byte order mark wins, then the
// header's charset, then the page's own declaration, then validity as UTF-8,
// then a guess by statistics, then windows-1252.
func decodeText(b []byte, header string, isHTML bool) decoded {
	if label, rest := byteOrderMark(b); label != "" {
		return convert(rest, label)
	}
	warning := ""
	for _, label := range []string{header, declared(b, isHTML)} {
		label = strings.Trim(strings.TrimSpace(label), `"'`)
		if label == "" {
			continue
		}
		e, name := charset.Lookup(label)
		if e == nil {
			warning = "Unsupported charset decoder: " + clip(label, 40)
			continue
		}
		if name == "utf-8" && !mostlyUTF8(b) {
			d := guess(b, isHTML)
			d.warning = "The page says UTF-8 but isn't; decoded as " + d.charset
			return d
		}
		d := convert(b, name)
		d.warning = warning
		return d
	}
	if utf8.Valid(trimPartialRune(b)) || warning != "" {
		return decoded{text: strings.ToValidUTF8(string(b), "\ufffd"), charset: "utf-8", warning: warning}
	}
	d := guess(b, isHTML)
	d.warning = "Guessed charset without declaration: " + d.charset
	return d
}

func byteOrderMark(b []byte) (string, []byte) {
	switch {
	case bytes.HasPrefix(b, []byte{0xef, 0xbb, 0xbf}):
		return "utf-8", b[3:]
	case bytes.HasPrefix(b, []byte{0xff, 0xfe}):
		return "utf-16le", b[2:]
	case bytes.HasPrefix(b, []byte{0xfe, 0xff}):
		return "utf-16be", b[2:]
	}
	return "", b
}

func convert(b []byte, label string) decoded {
	e, name := charset.Lookup(label)
	if e == nil || name == "utf-8" || e == encoding.Nop {
		s := strings.ToValidUTF8(string(b), "\ufffd")
		return decoded{text: s, charset: "utf-8", replaced: strings.Count(s, "\ufffd")}
	}
	out, err := e.NewDecoder().Bytes(b)
	if err != nil {
		out = bytes.ToValidUTF8(b, []byte("\ufffd"))
	}
	return decoded{text: strings.ToValidUTF8(string(out), "\ufffd"), charset: name, replaced: bytes.Count(out, []byte("\ufffd"))}
}

// mostlyUTF8 allows for a few bad bytes, one in two hundred, as damaged pages
// have them.
func mostlyUTF8(b []byte) bool {
	bad, total := 0, 0
	for rest := trimPartialRune(b); len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		if r == utf8.RuneError && n == 1 {
			bad++
		}
		if n > 1 || r == utf8.RuneError {
			total++
		}
		rest = rest[n:]
	}
	return bad == 0 || bad*200 <= len(b) && bad*2 <= total
}

// guess tells the encoding from the statistics of the bytes.
func guess(b []byte, isHTML bool) decoded {
	detector := chardet.NewTextDetector()
	if isHTML {
		detector = chardet.NewHtmlDetector()
	}
	label := "windows-1252"
	if r, err := detector.DetectBest(telling(b)); err == nil && r != nil && r.Confidence >= 20 {
		if e, name := charset.Lookup(aliasOf(r.Charset)); e != nil && name != "utf-8" {
			label = name
		}
	}
	d := convert(b, label)
	if label != "windows-1252" && d.replaced*20 > utf8.RuneCountInString(d.text) {
		d = convert(b, "windows-1252")
	}
	d.guessed = true
	return d
}

// telling is the part of a text that tells its encoding: lines that aren't all
// ASCII.
func telling(b []byte) []byte {
	const enough = 64 << 10
	var sample []byte
	for line := range bytes.Lines(b) {
		if bytes.ContainsFunc(line, func(r rune) bool { return r >= utf8.RuneSelf }) {
			sample = append(sample, line[:min(len(line), enough)]...)
		}
		if len(sample) >= enough {
			break
		}
	}
	return sample
}

// aliasOf names the detector's answers as the web does.
func aliasOf(name string) string {
	switch name {
	case "GB-18030", "GB18030":
		return "gb18030"
	case "ISO-8859-1":
		return "windows-1252"
	case "ISO-8859-8-I":
		return "iso-8859-8-i"
	}
	return strings.ToLower(name)
}

// declared finds the encoding that a document names itself: in its XML
// declaration, or in a meta element.
func declared(b []byte, isHTML bool) string {
	head := b[:min(len(b), metaWindow)]
	if bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("<?xml")) {
		line, _, _ := bytes.Cut(head, []byte("?>"))
		if _, v, ok := strings.Cut(strings.ToLower(string(line)), "encoding="); ok && len(v) > 1 {
			v = v[1:]
			if i := strings.IndexAny(v, `"'`); i > 0 && !strings.HasPrefix(v, "utf-16") {
				return v[:i]
			}
		}
	}
	if !isHTML {
		return ""
	}
	return metaCharset(head)
}

func metaCharset(head []byte) string {
	z := html.NewTokenizer(bytes.NewReader(head))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			if string(name) == "body" {
				return ""
			}
			if string(name) != "meta" {
				continue
			}
			var label, content string
			pragma := false
			for more {
				var k, v []byte
				k, v, more = z.TagAttr()
				switch string(k) {
				case "charset":
					label = string(v)
				case "http-equiv":
					pragma = strings.EqualFold(string(v), "content-type")
				case "content":
					content = string(v)
				}
			}
			if label == "" && pragma {
				if i := strings.Index(strings.ToLower(content), "charset="); i >= 0 {
					label, _, _ = strings.Cut(content[i+8:], ";")
				}
			}
			if label = strings.ToLower(strings.TrimSpace(label)); label != "" {
				if strings.HasPrefix(label, "utf-16") {
					return "utf-8" // it could not have been read as ASCII
				}
				return label
			}
		}
	}
}
