package webfetch

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"golang.org/x/net/html/charset"
)

var samples = []struct{ label, text string }{
	{"gbk", "人工智能正在改变世界，许多研究人员认为它会影响我们的生活方式。今天的天气很好，我们去公园散步吧。"},
	{"shift_jis", "日本語の文章です。これは文字コードの判定を確かめるための、少し長い文章になっています。カタカナも含みます。"},
	{"euc-jp", "日本語の文章です。これは文字コードの判定を確かめるための、少し長い文章になっています。カタカナも含みます。"},
	{"euc-kr", "한국어 문장입니다. 문자 집합을 올바르게 판별하는지 확인하기 위한 조금 긴 문장입니다. 오늘은 날씨가 좋습니다."},
	{"big5", "這是一個繁體中文的網頁，用來檢查編碼是否正確。今天的天氣很好，我們一起去公園散步吧。許多人都喜歡。"},
	{"koi8-r", "Это русский текст, который нужен для проверки кодировки. Сегодня хорошая погода, и мы пойдём гулять в парк."},
	{"windows-1251", "Это русский текст, который нужен для проверки кодировки. Сегодня хорошая погода, и мы пойдём гулять в парк."},
	{"iso-8859-7", "Αυτό είναι ένα ελληνικό κείμενο που χρησιμοποιείται για τον έλεγχο της κωδικοποίησης της σελίδας."},
	{"windows-1252", "Die Straße führt über die Brücke; der Käse kostet 5 € – so ist’s recht. Ça va très bien, merci."},
	{"utf-8", "Grüße, 世界, мир, 🌍"},
}

func encode(t testing.TB, label, text string) []byte {
	t.Helper()
	e, _ := charset.Lookup(label)
	b, err := e.NewEncoder().Bytes([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", label, err)
	}
	return b
}

func TestDecodeText(t *testing.T) {
	filler := "<!doctype html><html><head><title>t</title>" + strings.Repeat("<script>var x = 1;</script>\n", 100)
	for _, s := range samples {
		t.Run(s.label, func(t *testing.T) {
			raw := encode(t, s.label, s.text)
			if d := decodeText(raw, s.label, false); d.text != s.text || d.guessed || d.warning != "" {
				t.Errorf("header: %q (%s)", d.text, d.charset)
			}
			if d := decodeText(raw, `"`+strings.ToUpper(s.label)+`"`, false); d.text != s.text {
				t.Errorf("quoted header: %q", d.text)
			}
			for _, meta := range []string{"<meta charset=" + s.label + ">", `<meta http-equiv="Content-Type" content="text/html; charset=` + s.label + `">`} {
				for _, before := range []string{"<html><head>", filler} {
					if d := decodeText(append([]byte(before+meta+"</head><body>"), raw...), "", true); !strings.HasSuffix(d.text, s.text) {
						t.Errorf("meta after %d bytes: %q (%s)", len(before), d.text[len(d.text)-60:], d.charset)
					}
				}
			}
			d := decodeText(append([]byte(strings.Repeat("a b c\n", 400)), raw...), "", false)
			if !strings.HasSuffix(d.text, s.text) {
				t.Errorf("no declaration: %q (%s)", d.text[2400:], d.charset)
			}
			if d.guessed != (s.label != "utf-8") || (d.warning == "") != (s.label == "utf-8") {
				t.Errorf("no declaration: guessed %v, warning %q", d.guessed, d.warning)
			}
		})
	}
}

func TestDecodeOddities(t *testing.T) {
	utf16le := []byte{0xff, 0xfe, 'h', 0, 'i', 0, 0xe9, 0}
	utf16be := []byte{0xfe, 0xff, 0, 'h', 0, 'i', 0, 0xe9}
	for _, tt := range []struct {
		name   string
		in     []byte
		header string
		html   bool
		want   string
		warn   string
	}{
		{"UTF-16LE mark", utf16le, "", false, "hié", ""},
		{"UTF-16BE mark", utf16be, "utf-8", false, "hié", ""},
		{"UTF-8 mark", []byte("\xef\xbb\xbfhi"), "windows-1252", false, "hi", ""},
		{"unknown label", []byte("héllo"), "bogus", false, "héllo", "Unsupported charset decoder: bogus"},
		{"utf-8 that isn't", encode(t, "windows-1252", strings.Repeat("Käse über Straße. ", 20)), "utf-8", false, strings.Repeat("Käse über Straße. ", 20), "The page says UTF-8 but isn't"},
		{"one bad byte", []byte(strings.Repeat("text é ", 100) + "\xff end"), "utf-8", false, strings.Repeat("text é ", 100) + "\ufffd end", ""},
		{"XML declaration", []byte("<?xml version=\"1.0\" encoding=\"iso-8859-1\"?><a>\xe9</a>"), "", false, "<?xml version=\"1.0\" encoding=\"iso-8859-1\"?><a>é</a>", ""},
		{"empty", nil, "", true, "", ""},
		{"meta in body is no declaration", []byte("<body><meta charset=gbk>é"), "", true, "<body><meta charset=gbk>é", ""},
	} {
		d := decodeText(tt.in, tt.header, tt.html)
		if d.text != tt.want || !strings.HasPrefix(d.warning, tt.warn) || tt.warn == "" && d.warning != "" {
			t.Errorf("%s: %q, warning %q", tt.name, d.text, d.warning)
		}
	}
}

func FuzzDecodeText(f *testing.F) {
	for _, s := range samples {
		f.Add(encode(f, s.label, s.text), s.label, true)
		f.Add(encode(f, s.label, s.text), "", false)
	}
	f.Fuzz(func(t *testing.T, b []byte, label string, isHTML bool) {
		d := decodeText(b, label, isHTML)
		if strings.ToValidUTF8(d.text, "") != d.text {
			t.Errorf("the text is not UTF-8: %q", d.text)
		}
		if len(d.text) > 8*len(b)+64 {
			t.Errorf("%d bytes became %d", len(b), len(d.text))
		}
	})
}

func packed(t *testing.T, coding string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "raw":
		w, err = flate.NewWriter(&b, 6)
	case "br":
		w = brotli.NewWriterLevel(&b, 4)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestContentEncodings(t *testing.T) {
	text := strings.Repeat("The quick brown fox, 世界. ", 500)
	bodies := map[string]struct {
		header string
		data   []byte
	}{
		"gzip": {"gzip", packed(t, "gzip", []byte(text))}, "deflate": {"deflate", packed(t, "deflate", []byte(text))},
		"raw deflate": {"deflate", packed(t, "raw", []byte(text))}, "br": {"br", packed(t, "br", []byte(text))},
		"upper case": {"GZIP", packed(t, "gzip", []byte(text))}, "never asked for": {"zstd", []byte("\x28\xb5\x2f\xfd\x00\x00")}, "double": {"br, gzip", packed(t, "gzip", packed(t, "br", []byte(text)))},
		"identity": {"identity", []byte(text)}, "mislabelled": {"gzip", []byte(text)}, "mislabelled br": {"br", []byte(text)},
		"unknown": {"lzma", []byte{0, 1, 2, 3}}, "four": {"gzip, gzip, gzip, gzip", []byte(text)}, "broken": {"gzip", []byte{0x1f, 0x8b, 0, 1, 2}},
		"cut": {"gzip", packed(t, "gzip", []byte(text))[:120]},
	}
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		b := bodies[r.URL.Query().Get("b")]
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Content-Encoding", b.header)
		w.Write(b.data)
	})
	f := s.fetcher(Options{})
	for name := range bodies {
		t.Run(name, func(t *testing.T) {
			r := Request{URL: "https://example.test/?b=" + strings.ReplaceAll(name, " ", "+")}
			switch name {
			case "unknown", "never asked for", "four", "broken":
				fails(t, f, r, Decode)
				return
			}
			p := page(t, f, r)
			if name == "cut" {
				if p.DecodeWarning == "" || !strings.HasPrefix(text, strings.TrimSuffix(p.Content, "\n")) {
					t.Errorf("warning %q, content %q", p.DecodeWarning, clip(p.Content, 100))
				}
				return
			}
			if p.Content != text {
				t.Errorf("content %q", clip(p.Content, 200))
			}
			if strings.HasPrefix(name, "mislabelled") != (p.DecodeWarning != "") {
				t.Errorf("warning %q", p.DecodeWarning)
			}
		})
	}
}

// TestBombs serves small bodies that decode to 256 MiB.
func TestBombs(t *testing.T) {
	zeros := make([]byte, 256<<20)
	for i := range zeros {
		zeros[i] = 'a'
	}
	bombs := map[string][]byte{}
	for _, c := range []string{"gzip", "br"} {
		bombs[c] = packed(t, c, zeros)
	}
	zeros = nil
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		c := r.URL.Query().Get("c")
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Encoding", c)
		w.Write(bombs[c])
	})
	f := s.fetcher(Options{})
	for c := range bombs {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p := page(t, f, Request{URL: "https://example.test/?c=" + c, MaxLength: 100})
		runtime.ReadMemStats(&after)
		if !p.Truncated || p.Total > maxBody {
			t.Errorf("%s: truncated %v, %d characters", c, p.Truncated, p.Total)
		}
		if grown := int64(after.TotalAlloc-before.TotalAlloc) >> 20; grown > 120 {
			t.Errorf("%s: %d MiB were allocated", c, grown)
		}
	}
}

func TestEndlessAndShortBodies(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		switch r.URL.Path {
		case "/endless":
			chunk := bytes.Repeat([]byte("0123456789abcde\n"), 4096)
			for {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		case "/short":
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, "only this")
		case "/reset":
			w.Header().Set("Content-Length", "100000")
			fmt.Fprint(w, strings.Repeat("some text\n", 100))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case "/header":
			w.Header().Set("X-Big", strings.Repeat("a", 400<<10))
		}
	})
	f := s.fetcher(Options{})
	p := page(t, f, Request{URL: "https://example.test/endless", MaxLength: 1000})
	if !p.Truncated || p.Total != maxBody {
		t.Errorf("endless: truncated %v at %d", p.Truncated, p.Total)
	}
	s.noTLS = true
	for _, path := range []string{"short", "reset"} {
		p = page(t, f, Request{URL: "http://plain.test:8080/" + path})
		if !p.Truncated || p.TruncatedWhy != "the connection ended early" || !strings.Contains(p.Content, "[..content truncated..]") {
			t.Errorf("%s: %q, %q", path, p.TruncatedWhy, clip(p.Content, 60))
		}
	}
	fails(t, f, Request{URL: "http://plain.test:8080/header"}, Connect)
}
