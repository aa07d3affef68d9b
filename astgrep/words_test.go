package astgrep

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func show(needles []needle) (out []string) {
	for _, n := range needles {
		s := string(n.text)
		if n.whole {
			s = "|" + s + "|"
		}
		out = append(out, s)
	}
	return out
}

func TestNeedles(t *testing.T) {
	const tree = "Debug Pattern:\n" + `try_statement
  try
  statement_block
    {
    MetaVar $$$B
    finally
    }
  call_expression
    identifier report
    string
      "
      string_fragment two words
      "
    comment /* unheard */
  catch
  identifier x
` + "\n"
	for _, tt := range []struct {
		lang, strictness string
		want             []string
	}{
		{"javascript", "", []string{"|report|", "words", "|catch|", "|try|", "two"}},
		{"javascript", "cst", []string{"|report|", "words", "|catch|", "|try|", "two"}},
		{"javascript", "ast", []string{"|report|", "words", "two"}},
		{"javascript", "relaxed", nil},
		{"javascript", "signature", nil},
		{"php", "", []string{"report", "words", "two"}},
	} {
		l, err := findLanguage(tt.lang)
		if err != nil {
			t.Fatal(err)
		}
		r := reading{strictness: tt.strictness, tree: parseTree(tree)}
		if diff := cmp.Diff(tt.want, show(r.needles(l))); diff != "" {
			t.Errorf("%s %s: %s", tt.lang, tt.strictness, diff)
		}
	}
}

// What can't be read for sure is not a tree, and then nothing is left out.
func TestParseTree(t *testing.T) {
	for text, want := range map[string]string{
		"Debug Pattern:\na\n  b c\n":                            "a > b:c",
		"Debug Pattern:\na\n  MetaVar $A\n\nWarning: Pattern x": "a > MetaVar:$A",
		"Debug Pattern:\nidentifier foo\n":                      "identifier:foo",
		"Debug Pattern:\na\n    b\n":                            "",
		"Debug Pattern:\na\nb\n":                                "",
		"Debug Pattern:\na b\n  c\n":                            "",
		"Debug Pattern:\na\n  b c\n\n  d e\n":                   "",
		"Debug Pattern:\na\n   b\n":                             "",
		"Debug Pattern:\n":                                      "",
		"":                                                      "",
		"error":                                                 "",
	} {
		got := ""
		if n := parseTree(text); n != nil {
			var parts []string
			n.walk(func(n *node) bool {
				parts = append(parts, strings.TrimSuffix(n.kind+":"+n.text, ":"))
				return true
			})
			got = strings.Join(parts, " > ")
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestNeedleIn(t *testing.T) {
	for _, tt := range []struct {
		needle string // | around a whole word
		text   string
		want   bool
	}{
		{"find", "refinding", true},
		{"|find|", "refinding", false},
		{"|find|", "find", true},
		{"|find|", "a.find(b)", true},
		{"|find|", "find_ find2 xfind", false},
		{"|find|", "findfind find", true},
		{"|find|", "$find$", true},
		{"|find|", "éfindé", true},
		{"|or|", "0xfor x", true},
		{"|or|", "1or x", true},
		{"|or|", "for x", false},
		{"|$f|", "a$f", true},
		{"|f$|", "f$g", true},
		{"|f|", "", false},
	} {
		text, whole := strings.CutPrefix(tt.needle, "|")
		n := needle{[]byte(strings.TrimSuffix(text, "|")), whole}
		if got := n.in([]byte(tt.text)); got != tt.want {
			t.Errorf("%s in %q: %v", tt.needle, tt.text, got)
		}
	}
}

func TestBatches(t *testing.T) {
	paths := []string{"aaa", "bbb", "ccccccccccccccccccccccccccccccc", "d"}
	want := [][]string{{"aaa", "bbb"}, {"ccccccccccccccccccccccccccccccc"}, {"d"}}
	if diff := cmp.Diff(want, batches(paths, 24)); diff != "" {
		t.Error(diff)
	}
	if got := batches(nil, 24); got != nil {
		t.Errorf("%q", got)
	}
}

// The collector keeps what comes first by path, in whatever order and pieces
// the engine prints.
func TestCollector(t *testing.T) {
	var all []byte
	for _, f := range []int{7, 2, 9, 0, 4, 2} {
		for i := range 3 {
			all = fmt.Appendf(all, `{"text":",\"file\":\"no\"","range":{"byteOffset":{"start":%d,"end":9}},"file":"f%d\n","lines":""}`+"\n", i, f)
		}
	}
	for _, piece := range []int{1, 7, 100, len(all)} {
		c := newCollector(7, func() { t.Error("full") })
		for rest := all; len(rest) > 0; {
			n := min(piece, len(rest))
			if m, err := c.Write(rest[:n]); m != n || err != nil {
				t.Fatal(m, err)
			}
			rest = rest[n:]
		}
		ms, err := c.matches()
		if err != nil || c.total != 18 || len(c.count) != 5 || len(ms) != 7 {
			t.Fatalf("%v, total %d, files %d, %d kept", err, c.total, len(c.count), len(ms))
		}
		var got []string
		for _, m := range ms {
			got = append(got, fmt.Sprintf("%s%d", strings.TrimSpace(m.File), m.Range.Byte.Start))
		}
		if diff := cmp.Diff(strings.Fields("f00 f01 f02 f20 f20 f21 f21"), got); diff != "" {
			t.Error(diff)
		}
		if len(c.kept) > 3 {
			t.Errorf("%d files kept", len(c.kept))
		}
	}
	c := newCollector(0, func() {})
	_, _ = c.Write([]byte("what?\n"))
	if _, err := c.matches(); err == nil {
		t.Error("no error for what is no match")
	}
}

func FuzzParseTree(f *testing.F) {
	f.Add("Debug Pattern:\na\n  b c\n    MetaVar $A\n")
	f.Add("Debug Pattern:\n\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		if n := parseTree(text); n != nil {
			for _, l := range languages() {
				for _, needle := range (reading{tree: n}).needles(l) {
					if !strings.Contains(text, string(needle.text)) {
						t.Errorf("needle %q is not in %q", needle.text, text)
					}
				}
			}
			_, _ = n.source(), shape(n)
		}
	})
}

func FuzzCollector(f *testing.F) {
	f.Add([]byte(`{"text":"a","file":"b\\","range":{}}`+"\n"), 3)
	f.Add([]byte(`{"text":"a","file":`+"\n"), 1)
	f.Fuzz(func(t *testing.T, out []byte, piece int) {
		c := newCollector(2, func() {})
		for rest := out; len(rest) > 0; {
			n := min(max(1, piece%100), len(rest))
			_, _ = c.Write(rest[:n])
			rest = rest[n:]
		}
		_, _ = c.matches()
	})
}

// fileOf must agree with a decoder on every line that is JSON.
func FuzzFileOf(f *testing.F) {
	f.Add(`a"b`, `c\d"`)
	f.Add(`,"file":"`, "é\n")
	f.Fuzz(func(t *testing.T, text, file string) {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		m := struct {
			Text string `json:"text"`
			File string `json:"file"`
			More string `json:"lines"`
		}{text, file, text}
		if err := e.Encode(m); err != nil {
			t.Fatal(err)
		}
		got, err := fileOf(bytes.TrimSpace(b.Bytes()))
		if want := strings.ToValidUTF8(file, "\ufffd"); err != nil || len([]rune(got)) == 0 && want != "" {
			t.Errorf("%q: got %q, %v", b.String(), got, err)
		}
		if json.Unmarshal(b.Bytes(), &m) == nil && got != m.File {
			t.Errorf("%q: got %q, want %q", b.String(), got, m.File)
		}
	})
}

func FuzzRewrite(f *testing.F) {
	f.Add("f($$$A, $B)\n\t$C", "a\n\tb", "\t")
	f.Fuzz(func(t *testing.T, rewrite, value, indent string) {
		_ = checkRewrite(rewrite, variables(value))
		if got := reindent(value, indent, indent); got != value {
			t.Errorf("reindent changed %q to %q", value, got)
		}
		s := &searcher{q: &Query{Rewrite: &rewrite, Pattern: value}, lang: language{name: "python"}}
		file := []byte(indent + value)
		_ = s.expand(rewrite, rawMatch{Text: string(file), Range: rawRange{Byte: rawSpan{0, len(file)}}}, file, indent)
	})
}
