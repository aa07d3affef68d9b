package pdftext

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet/internal/peer"
)

// build writes a file of the given objects, the first of them the catalog.
func build(trailer string, objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	for i, o := range objects {
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Root 1 0 R %s >>\nstartxref\n0\n%%%%EOF\n", trailer)
	return b.Bytes()
}

func streamOf(entries, content string) string {
	return fmt.Sprintf("<< /Length %d %s >>\nstream\n%s\nendstream", len(content), entries, content)
}

func deflated(s string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	w.Write([]byte(s))
	w.Close()
	return b.String()
}

const (
	catalog   = "<< /Type /Catalog /Pages 2 0 R >>"
	pagesOne  = "<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
	pageOne   = "<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> /XObject << /X 6 0 R >> >> >>"
	helvetica = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
	hello     = "BT /F1 12 Tf 72 720 Td (Hello, caf\\351 \\(now\\)) Tj 0 -14 Td [(Sec) 20 (ond) -400 (line)] TJ 0 -40 Td (New paragraph) Tj ET"
	helloText = "Hello, café (now)\nSecond line\n\nNew paragraph"
)

func TestExtract(t *testing.T) {
	cid := []string{
		catalog, pagesOne, pageOne, streamOf("", "BT /F1 10 Tf 10 10 Td <00030004> Tj ET"),
		"<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H /ToUnicode 6 0 R /DescendantFonts [<< /DW 600 /W [3 [500] 4 9 700] >>] >>",
		streamOf("", "1 beginbfchar <0003> <4E16> endbfchar 1 beginbfrange <0004> <0008> <754C> endbfrange"),
	}
	for _, tt := range []struct {
		name string
		file []byte
		want string
	}{
		{"plain", build("", catalog, pagesOne, pageOne, streamOf("", hello), helvetica), helloText},
		{"flate", build("", catalog, pagesOne, pageOne, streamOf("/Filter /FlateDecode", deflated(hello)), helvetica), helloText},
		{"hex in flate", build("", catalog, pagesOne, pageOne, streamOf("/Filter [/AHx /Fl]", fmt.Sprintf("%x>", deflated(hello))), helvetica), helloText},
		{"ascii85", build("", catalog, pagesOne, pageOne, streamOf("/Filter /A85", "6<\\%_0gSqh;d2J;1,U=,Bl7Q+@3BB%+DG_8D]j.N~>"), helvetica), ""},
		{"wrong length", build("", catalog, pagesOne, pageOne, strings.Replace(streamOf("", hello), "/Length ", "/Length 9", 1), helvetica), helloText},
		{"no tree", build("", "<< /Type /Catalog >>", "null", pageOne, streamOf("", hello), helvetica), helloText},
		{"cut off", bytes.SplitAfter(build("", catalog, pagesOne, pageOne, streamOf("", hello), helvetica), []byte("WinAnsiEncoding >>"))[0], helloText},
		{"inline image", build("", catalog, pagesOne, pageOne, streamOf("", "BI /W 2 /H 2 ID \x00(EIx]\x01 EI "+hello), helvetica), helloText},
		{"form", build("", catalog, pagesOne, pageOne, streamOf("", "q 1 0 0 1 5 5 cm /X Do Q"), helvetica,
			streamOf("/Subtype /Form /Resources << /Font << /F1 5 0 R >> >>", hello)), helloText},
		{"form that draws itself", build("", catalog, pagesOne, pageOne, streamOf("", hello+" /X Do"), helvetica,
			streamOf("/Subtype /Form /Resources << /XObject << /X 6 0 R >> >>", "/X Do /X Do")), helloText},
		{"wide codes", build("", cid...), "世界"},
		{"differences", build("", catalog, pagesOne, pageOne, streamOf("", "BT /F1 10 Tf (\\001\\002\\003) Tj ET"),
			"<< /Type /Font /Subtype /Type1 /Encoding << /Differences [1 /Euro /fi /uni4E16] >> >>"), "€fi世"},
		{"image only", build("", catalog, pagesOne, pageOne, streamOf("", "/X Do"), helvetica, streamOf("/Subtype /Image /Filter /DCTDecode", "\xff\xd8")), ""},
		{"object stream", objectStream(), helloText},
		{"later object wins", append(build("", catalog, pagesOne, pageOne, streamOf("", "BT ET"), helvetica),
			[]byte("4 0 obj\n"+streamOf("", hello)+"\nendobj\n")...), helloText},
		{"rotated", build("", catalog, pagesOne, pageOne, streamOf("", "BT /F1 12 Tf 0 1 -1 0 100 100 Tm (Up) Tj ( wards) Tj ET"), helvetica), "Up wards"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := Extract(t.Context(), tt.file)
			if err != nil {
				t.Fatal(err)
			}
			if len(d.Pages) != 1 {
				t.Fatalf("%d pages", len(d.Pages))
			}
			if tt.name == "ascii85" {
				return // only that it ends
			}
			if diff := cmp.Diff(tt.want, d.Pages[0]); diff != "" {
				t.Error(diff)
			}
			if d.Empty() != (tt.want == "") {
				t.Errorf("empty is %v", d.Empty())
			}
		})
	}
}

// objectStream keeps all but the content in a compressed stream, and the root
// in a cross-reference stream, as writers have done since PDF 1.5.
func objectStream() []byte {
	parts := []string{catalog, pagesOne, pageOne, helvetica}
	numbers := []int{1, 2, 3, 5}
	var head, body strings.Builder
	for i, p := range parts {
		fmt.Fprintf(&head, "%d %d ", numbers[i], body.Len())
		body.WriteString(p + " ")
	}
	content := deflated(head.String() + body.String())
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	fmt.Fprintf(&b, "10 0 obj\n%s\nendobj\n", streamOf(fmt.Sprintf("/Type /ObjStm /N %d /First %d /Filter /FlateDecode", len(parts), head.Len()), content))
	fmt.Fprintf(&b, "4 0 obj\n%s\nendobj\n", streamOf("", hello))
	fmt.Fprintf(&b, "11 0 obj\n%s\nendobj\n", streamOf("/Type /XRef /Root 1 0 R /W [1 1 1] /Size 1", "\x00\x00\x00"))
	return b.Bytes()
}

func TestExtractRefuses(t *testing.T) {
	if _, err := Extract(t.Context(), build("/Encrypt << /Filter /Standard >>", catalog, pagesOne, pageOne)); !errors.Is(err, ErrEncrypted) {
		t.Errorf("encrypted: %v", err)
	}
	for _, s := range []string{"", "%PDF-1.4", "%PDF-1.4\n1 0 obj\n<<", "nothing", "1 0 obj 1 0 R endobj trailer << /Root 1 0 R >>"} {
		if _, err := Extract(t.Context(), []byte(s)); !errors.Is(err, ErrNotPDF) {
			t.Errorf("%q: %v", s, err)
		}
	}
}

// TestHostileFiles would hang, exhaust memory or overflow the stack of a
// careless reader.
func TestHostileFiles(t *testing.T) {
	bomb := deflated(strings.Repeat("BT (x) Tj ET ", 4<<20/13))
	for name, file := range map[string][]byte{
		"pages that hold themselves": build("", catalog, "<< /Kids [2 0 R 2 0 R] >>"),
		"deep arrays":                build("", strings.Repeat("[", 1_000_000)),
		"deep dictionaries":          build("", strings.Repeat("<< /A ", 300_000)),
		"bomb":                       build("", catalog, pagesOne, pageOne, streamOf("/Filter /FlateDecode", bomb), helvetica),
		"many filters":               build("", catalog, pagesOne, pageOne, streamOf("/Filter ["+strings.Repeat("/Fl ", 100_000)+"]", deflated("x")), helvetica),
		"wide page tree":             build("", catalog, "<< /Kids ["+strings.Repeat("3 0 R ", 500_000)+"] >>", pageOne, streamOf("", hello), helvetica),
		"length of itself":           build("", catalog, pagesOne, pageOne, "<< /Length 4 0 R >>\nstream\n"+hello+"\nendstream", helvetica),
		"objects":                    bytes.Repeat([]byte("1 0 obj 2 0 R endobj\n"), 100_000),
		"unclosed string":            build("", catalog, pagesOne, pageOne, streamOf("", strings.Repeat("(", 1<<20)), helvetica),
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			start := time.Now()
			d, err := Extract(ctx, file)
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("it took %v; its context ended after 5 seconds", took)
			}
			if err == nil && len(strings.Join(d.Pages, "")) > maxText {
				t.Error("too much text")
			}
		})
	}
}

func FuzzExtract(f *testing.F) {
	f.Add(build("", catalog, pagesOne, pageOne, streamOf("", hello), helvetica))
	f.Add(build("", catalog, pagesOne, pageOne, streamOf("/Filter /FlateDecode", deflated(hello)), helvetica))
	f.Add(build("", catalog, pagesOne, pageOne, streamOf("/Filter /LZWDecode /DecodeParms << /Predictor 12 /Columns 4 >>", hello), helvetica))
	f.Add(objectStream())
	f.Fuzz(func(t *testing.T, b []byte) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		d, err := Extract(ctx, b)
		if err == nil && len(strings.Join(d.Pages, "")) > 64*len(b)+maxText/8 {
			t.Errorf("%d bytes became %d", len(b), len(strings.Join(d.Pages, "")))
		}
		if ctx.Err() != nil {
			t.Error("it doesn't end in time")
		}
	})
}

// TestPeerPdftotext compares with poppler on a document set by groff.
func TestPeerPdftotext(t *testing.T) {
	pdftotext, groff := peer.Find(t, "pdftotext"), peer.Find(t, "groff")
	c := exec.Command(groff, "-Tpdf", "-ms")
	c.Stdin = strings.NewReader(".TL\nA title\n.NH\nFirst\n.PP\n" + strings.Repeat("The office waffles on, fluffily, about many things at once.\n", 60) +
		".NH\nSecond\n.PP\n" + strings.Repeat("Another paragraph with numbers 1, 2 and 3.\n", 60))
	file, err := c.Output()
	if err != nil {
		t.Fatalf("groff: %v", err)
	}
	c = exec.Command(pdftotext, "-", "-")
	c.Stdin = bytes.NewReader(file)
	want, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	d, err := Extract(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	words := func(s string) string { return strings.Join(strings.Fields(strings.ReplaceAll(s, "-\n", "")), " ") }
	got, theirs := strings.Fields(words(strings.Join(d.Pages, "\n"))), strings.Fields(words(string(want)))
	same := 0
	bag := map[string]int{}
	for _, w := range theirs {
		bag[w]++
	}
	for _, w := range got {
		if bag[w] > 0 {
			bag[w]--
			same++
		}
	}
	if f1 := 2 * float64(same) / float64(len(got)+len(theirs)); f1 < 0.95 {
		t.Errorf("F1 %.3f against pdftotext", f1)
	}
}
