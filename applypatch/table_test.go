package applypatch_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet/applypatch"
)

// The tables' notation: lines joined by |, with a final newline unless ¬ ends
// them; ␍ is a carriage return before the newline, → a tab, · a space at a
// line's end, ∅ an empty line, ⏏ the end-of-file mark.
func unfold(s string) string {
	s, bare := strings.CutSuffix(s, "¬")
	s = strings.NewReplacer("|", "\n", "␍", "\r", "→", "\t", "·", " ", "∅", "", "⏏", "*** End of File").Replace(s)
	if !bare {
		s += "\n"
	}
	return s
}

// wrap makes a patch of one file, f, from its chunks.
func wrap(body string) string {
	return "*** Begin Patch\n*** Update File: f\n" + unfold(body) + "*** End Patch"
}

type result struct {
	files files // what is there after
	plan  *applypatch.Plan
	err   error
}

// try plans and renders a patch over files in a new directory.
func try(t *testing.T, fs files, patch string, opt applypatch.Options) result {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, fs)
	return tryIn(t, dir, patch, opt)
}

func tryIn(t *testing.T, dir, patch string, opt applypatch.Options) (r result) {
	t.Helper()
	p, err := applypatch.Parse(patch)
	if err != nil {
		return result{err: err}
	}
	w, err := applypatch.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r.plan, r.err = applypatch.Resolve(w, p, opt)
	if r.err != nil {
		return r
	}
	if r.err = r.plan.Commit(t.Context(), filepath.Join(t.TempDir(), "txn")); r.err != nil {
		return r
	}
	r.files = read(t, dir)
	return r
}

var chunkTests = []struct {
	id, file, patch string
	want            string          // "" if refused
	code            applypatch.Code // of the refusal
	tier            applypatch.Tier // of the last chunk; "" not looked at
	opt             applypatch.Options
}{
	{id: "G1", file: "a|b|c", patch: "@@| a|-b|+B| c", want: "a|B|c", tier: applypatch.Exact},
	{id: "G2 no @@", file: "a|b|c", patch: " a|-b|+B", want: "a|B|c"},
	{id: "G3 bare empty line", file: "a|∅|b", patch: "@@| a|∅|-b|+B", want: "a|∅|B"},
	{id: "G13 garbage", file: "a|b", patch: "@@| a|garbage|-b|+B", code: applypatch.UnexpectedLine},
	{id: "G14 spaces lost", file: "a|b|c", patch: "@@|a|-b|+B|c", want: "a|B|c"},
	{id: "G19", file: "a", patch: "∅", code: applypatch.EmptyUpdate},
	{id: "G23 unified header", file: "a|b|c", patch: "@@ -2,1 +2,1 @@|-b|+B", want: "a|B|c"},
	{id: "G23 abbreviated", file: "a|b|c", patch: "@@ -2 +2 @@|-b|+B", want: "a|B|c"},
	{id: "G23 hint decides", file: "x|1|2|3|4|5|x", patch: "@@ -7,1 +7,1 @@|-x|+X", want: "x|1|2|3|4|5|X"},
	{id: "G23 near hint doesn't", file: "x|1|2|3|4|5|x", patch: "@@ -6,1 +6,1 @@|-x|+X", code: applypatch.Ambiguous},

	{id: "T1 space kept", file: "a·|b", patch: "@@| a|-b|+B", want: "a·|B", tier: applypatch.RightTrimmed},
	{id: "T2 quotes kept", file: "x “q”|b", patch: "@@| x \"q\"|-b|+B", want: "x “q”|B", tier: applypatch.Folded},
	{id: "T3", file: "say(“hi”)", patch: "@@|-say(\"hi\")|+say(\"yo\")", want: "say(\"yo\")", tier: applypatch.Folded},
	{id: "T4 no-break space", file: "a\u00a0b", patch: "@@|-a b|+c", want: "c"},
	{id: "T4 narrow space", file: "a\u202fb", patch: "@@|-a b|+c", want: "c"},
	{id: "T4 minus", file: "a\u2212b", patch: "@@|-a-b|+c", want: "c"},
	{id: "T4 ellipsis", file: "a…", patch: "@@|-a...|+c", want: "c"},
	{id: "T4 zero width", file: "a\u200bb", patch: "@@|-ab|+c", want: "c"},
	{id: "T4 non-breaking hyphen", file: "top\u2011level", patch: "@@|-top-level|+c", want: "c"},
	{id: "T5 composition", file: "cafe\u0301", patch: "@@|-caf\u00e9|+tea", want: "tea"},
	{id: "T6 one line, other level", file: "r:|    k: 1", patch: "@@|-k: 1|+k: 2", code: applypatch.Conflict},
	{id: "T7 tabs", file: "def f():|→x = 1|→y = 2", patch: "@@| def f():|-    x = 1|+    x = 3|     y = 2", want: "def f():|→x = 3|→y = 2", tier: applypatch.Indented},
	{id: "T8 outdented", file: "class A:|    def f(self):|        x = 1|        return x", patch: "@@| def f(self):|-    x = 1|+    x = 2|     return x", want: "class A:|    def f(self):|        x = 2|        return x", tier: applypatch.Indented},
	{id: "T9 twice", file: "  def f:|    x = 1|    y|q|    def f:|      x = 1|      y", patch: "@@| def f:|-  x = 1|+  x = 2|   y", code: applypatch.Ambiguous},
	{id: "T10 not convertible", file: "def f():|→x = 1|→y = 2", patch: "@@| def f():|-    x = 1|+    if z:|+→   x = 3|     y = 2", code: applypatch.Conflict},
	{id: "T11 line numbers", file: "a|b|c", patch: "@@| 1\tA|-2\tb|+2\tB| 3\tc", code: applypatch.NotFound},
	{id: "T11 numbered", file: "a|b|c", patch: "@@| 1:a|-2:b|+2:B| 3:c", want: "a|B|c", tier: applypatch.LineNumbers},
	{id: "T11 numbered, additions not", file: "a|b|c", patch: "@@| 7→a|-8→b|+B| 9→c", want: "a|B|c", tier: applypatch.LineNumbers},
	{id: "T11 numbers with a gap", file: "a|b|c", patch: "@@| 1:a|-3:b|+3:B", code: applypatch.NotFound},
	{id: "T12 extra empty context", file: "a|b", patch: "@@| a|-b|+B| ", want: "a|B"},
	{id: "indentation lost to nothing", file: "if a:|    if b:|        x|        y|    z", patch: "@@| if b:|-x|+x2| y|+y2", code: applypatch.Conflict},
	{id: "no re-indent when off", file: "def f():|→x = 1|→y = 2", patch: "@@| def f():|-    x = 1|+    x = 3|     y = 2", code: applypatch.Conflict, opt: applypatch.Options{Indent: "off"}},

	{id: "L1", file: "x|y|x", patch: "@@|-x|+X", code: applypatch.Ambiguous},
	{id: "L2", file: "f1|x|f2|x", patch: "@@ f2|-x|+X", want: "f1|x|f2|X"},
	{id: "L3 nested", file: "class A|  def f|    x|class B|  def f|    x", patch: "@@ class B|@@   def f|-    x|+    y", want: "class A|  def f|    x|class B|  def f|    y"},
	{id: "L4 anchor is the line", file: "b|c", patch: "@@ b|-b|+B", want: "B|c"},
	{id: "L5 anchor unknown", file: "fn foo(a)|b", patch: "@@ fn foo()|-b|+B", want: "fn foo(a)|B"},
	{id: "L6 part of a line", file: "func A(){|x|}|func B(){|x|}", patch: "@@ func B()|-x|+y", want: "func A(){|x|}|func B(){|y|}"},
	{id: "L7 anchor unknown, two places", file: "func A(){|x|}|func B(){|x|}", patch: "@@ func C()|-x|+y", code: applypatch.Ambiguous},
	{id: "anchored function lacks it", file: "func A() {|  x|}|func B() {|  z|}|func C() {|  x|}", patch: "@@ func B()|-  x|+  y", code: applypatch.Ambiguous},
	{id: "anchored function has it twice", file: "func A() {|  x|  x|}|func B() {|  x|}", patch: "@@ func A()|-  x|+  y", code: applypatch.Ambiguous},
	{id: "L8", file: "x|y|x", patch: "@@|-x|+X|⏏", want: "x|y|X"},
	{id: "L9", file: "x|y|z", patch: "@@|-x|+X|⏏", want: "X|y|z"},
	{id: "L10 out of order", file: "a|b|c|d", patch: "@@|-d|+D|@@|-a|+A", want: "A|b|c|D"},
	{id: "L11 shared context", file: "a|b|c", patch: "@@|-a|+A| b|@@| b|-c|+C", want: "A|b|C"},
	{id: "L12", file: "a|b", patch: "@@|-a|+A|@@|-a|+B", code: applypatch.Overlap},
	{id: "L13 any will do", file: "p|∅|∅|∅|q", patch: "@@|-", want: "p|∅|∅|q"},
	{id: "L14", file: "x|a|x|b", patch: "@@|-a|+A|@@|-x|+X", want: "x|A|X|b"},

	{id: "I1", file: "a|b|c", patch: "@@ a|+Z", want: "a|Z|b|c"},
	{id: "I2", file: "k|a|k|b", patch: "@@ k|+Z", code: applypatch.Ambiguous},
	{id: "I3", file: "a", patch: "@@ nope|+Z", code: applypatch.NotFound},
	{id: "I4", file: "a|b", patch: "@@|+Z", want: "a|b|Z"},
	{id: "I5", file: "¬", patch: "@@|+A", want: "A"},
	{id: "I6", file: "a|b¬", patch: "@@|+Z|⏏", want: "a|b|Z¬"},

	{id: "S1", file: "l1|stale|r1", patch: "@@| l1|-old|+new| r1", want: "l1|new|r1", tier: applypatch.StaleReplace, opt: applypatch.Options{Stale: applypatch.StaleBounded}},
	{id: "S1 similar", file: "l1|stale|r1", patch: "@@| l1|-old|+new| r1", code: applypatch.NotFound},
	{id: "S1 alike", file: "l1|return compute(a, b)|r1", patch: "@@| l1|-return compute(a)|+return nil| r1", want: "l1|return nil|r1", tier: applypatch.StaleReplace},
	{id: "S1 refuse", file: "l1|return compute(a, b)|r1", patch: "@@| l1|-return compute(a)|+return nil| r1", code: applypatch.NotFound, opt: applypatch.Options{Stale: applypatch.StaleRefuse}},
	{id: "S2", file: "l|MID|r|q", patch: "@@| l| mid|-r|+R| q", want: "l|MID|R|q", tier: applypatch.Aligned},
	{id: "S3", file: "a1|x1|b1|c1", patch: "@@| a1| b1|-c1|+C1", want: "a1|x1|b1|C1", tier: applypatch.Aligned},
	{id: "S4 far apart", file: "l|" + strings.Repeat("z|", 300) + "r", patch: "@@| l|-old|+new| r", code: applypatch.NotFound, opt: applypatch.Options{Stale: applypatch.StaleBounded}},
	{id: "S5", file: "left|a1|right|q|left|a2|right", patch: "@@| left|-old|+new| right", code: applypatch.Ambiguous, opt: applypatch.Options{Stale: applypatch.StaleBounded}},
	{id: "S6", file: "l1|r1", patch: "@@| l1|-old|+new| r1", code: applypatch.NotFound, opt: applypatch.Options{Stale: applypatch.StaleBounded}},
	{id: "S7", file: "l1|new|r1", patch: "@@| l1|-old|+new| r1", code: applypatch.AlreadyApplied},
	{id: "S8 sixty lines", file: numbered(60, "changed", "") + "end", patch: "@@|" + numbered(59, "", " ") + "-line 59 of many|+new", want: numbered(59, "changed", "") + "new|end", tier: applypatch.Aligned},
	{id: "S9 a line of it stands elsewhere", file: "the unique old line is here|" + numbered(40, "", "") + "alpha one|beta two|gamma three", patch: "@@| the unique old line is here| alpha one|-beta two|+B| gamma three", code: applypatch.Conflict},
	{id: "S10 foreign line where it inserts", file: "alpha one|foreign|beta two", patch: "@@| alpha one|+new| beta two", code: applypatch.Conflict},
	{id: "S11", file: "top|A|B-stale|C|D|E|bottom", patch: "@@| A|-B|-C|-D|-E|+B|+C|+D|+X", want: "top|A|B|C|D|X|bottom", opt: applypatch.Options{Stale: applypatch.StaleBounded}},

	{id: "E1 CRLF", file: "a␍|b␍|c␍", patch: "@@| a|-b|+B|+N| c", want: "a␍|B␍|N␍|c␍"},
	{id: "E2 mixed", file: "a␍|b|c␍|d", patch: "@@| a| b|-c|+C| d", want: "a␍|b|C␍|d"},
	{id: "E3", file: "a|b¬", patch: "@@|-a|+A", want: "A|b¬"},
	{id: "E4 byte order mark", file: "\ufeffa|b", patch: "@@|-a|+A", want: "\ufeffA|b"},
	{id: "E4 insert above it", file: "\ufeffa|b", patch: "@@|+Z| a", want: "\ufeffZ|a|b"},
	{id: "E5", file: "a|∅|∅", patch: "@@|-a|+A", want: "A|∅|∅"},
	{id: "E6 classic Mac", file: "a\rb\rc\r¬", patch: "@@|-b|+B", want: "a\rB\rc\r¬"},
	{id: "E7 other encoding", file: "caf\xe9|b", patch: "@@|-b|+B", want: "caf\xe9|B"},
	{id: "E8", file: "a\x00|b", patch: "@@|-b|+B", code: applypatch.BinaryOrUTF16},
	{id: "no newline asked for", file: "a|b", patch: "@@|-b|+B|\\ No newline at end of file", want: "a|B¬"},
	{id: "newline asked for", file: "a|b¬", patch: "@@|-b|\\ No newline at end of file|+b", want: "a|b"},
	{id: "N1", file: "a", patch: "@@|-a|+a", code: applypatch.NoChange},

	// Failures that people reported of other appliers.
	{id: "append without final newline", file: "h|w¬", patch: "@@| w|+t", want: "h|w|t¬"},
	{id: "last of two by the end mark", file: "m|e|x|m|e¬", patch: "@@|-m|-e|+M|+e|⏏", want: "m|e|x|M|e¬"},
	{id: "end mark before another chunk", file: "a|c", patch: "@@|-a|+b|⏏|@@|-c|+d", want: "b|d"},
	{id: "the end mark's text as content", file: "*** End of File|b", patch: "@@| *** End of File|-b|+B", want: "*** End of File|B"},
	{id: "line without prefix vanishes", file: "l|q", patch: "@@| l|+x|oops", code: applypatch.UnexpectedLine},
	{id: "end mark after an earlier chunk", file: "a|b|c|b", patch: "@@|-a|+A|@@|-b|+B|⏏", want: "A|b|c|B"},
	{id: "deleted line isn't there", file: "foo|baz|qux", patch: "@@| foo|-bar|+new| qux", code: applypatch.NotFound},
	{id: "append chunk first", file: "a|b|c", patch: "@@|+end|@@|-a|+A", want: "A|b|c|end"},
	{id: "blocks told apart by indentation", file: "if a:|  x|  y|if b:|    x|    y", patch: "@@|-x|+z| y", code: applypatch.Ambiguous},
	{id: "tab against spaces, one line", file: "→foo()", patch: "@@|-    foo()|+    bar()", code: applypatch.Conflict},
	{id: "entities stay", file: "a &amp; b|c", patch: "@@|-a & b|+x| c", code: applypatch.NotFound},
}

// numbered is n telling lines with a prefix; the fifth is changed if asked for.
func numbered(n int, change, prefix string) string {
	var b strings.Builder
	for i := range n {
		if i == 4 && change != "" {
			b.WriteString("line four was " + change + "|")
			continue
		}
		fmt.Fprintf(&b, "%sline %d of many|", prefix, i)
	}
	return b.String()
}

func TestChunks(t *testing.T) {
	for _, tt := range chunkTests {
		t.Run(tt.id, func(t *testing.T) {
			file := unfold(tt.file)
			r := try(t, files{"f": file}, wrap(tt.patch), tt.opt)
			if tt.want == "" {
				if got := applypatch.CodeOf(r.err); got != tt.code {
					t.Errorf("got %q (%v), want %s", got, r.err, tt.code)
				}
				return
			}
			if r.err != nil {
				t.Fatal(r.err)
			}
			if diff := cmp.Diff(unfold(tt.want), r.files["f"]); diff != "" {
				t.Error("-want +got", diff)
			}
			chunks := r.plan.Files[0].Chunks
			if got := chunks[len(chunks)-1].Tier; tt.tier != "" && got != tt.tier {
				t.Errorf("tier %s, want %s", got, tt.tier)
			}
			if !strings.Contains(tt.id, "encoding") && !strings.Contains(tt.id, "Mac") && !strings.HasPrefix(tt.id, "new") && !strings.HasPrefix(tt.id, "no new") {
				checkRender(t, r.plan, wrap(tt.patch))
			}
		})
	}
}

// checkRender renders for every dialect: Render itself replays.
func checkRender(t *testing.T, p *applypatch.Plan, original string) {
	t.Helper()
	for _, d := range []applypatch.Dialect{applypatch.Codex, applypatch.OpenCodeV1, applypatch.OpenCodeCore, applypatch.OpenCodeNext, applypatch.OpenCode, applypatch.AnyDialect} {
		if _, err := p.Render(d, original); err != nil {
			t.Errorf("%s: %v", d, err)
		}
	}
}
