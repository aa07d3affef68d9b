package md_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/whet-dev/whet/webfetch/md"
)

func TestRender(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{
			"table", "<table><thead><tr><th>Name<th align=right>Size<tbody><tr><td>a|b<td>1<tr><td><code>x|y</code><td>2</table>",
			"| Name | Size |\n|---|--:|\n| a\\|b | 1 |\n| `x\\|y` | 2 |\n",
		},
		{"table without header", "<table><tr><td>a<td>b<tr><td>c<td>d</table>", "|  |  |\n|---|---|\n| a | b |\n| c | d |\n"},
		{
			"spans", "<table><tr><th>k<th>v<th>w<tr><td rowspan=2>a<td>1<td>2<tr><td colspan=2>3</table>",
			"| k | v | w |\n|---|---|---|\n| a | 1 | 2 |\n| a | 3 |  |\n",
		},
		{"break in header", "<table><tr><th>a<br>b<th>c<tr><td>1<td>2</table>", "| a<br>b | c |\n|---|---|\n| 1 | 2 |\n"},
		{
			"list in cell", "<table><tr><th>opt<th>values<tr><td>speed<td><ul><li>fast<li>slow</ul></table>",
			"| opt | values |\n|---|---|\n| speed | - fast<br>- slow |\n",
		},
		{"code in cell", "<table><tr><th>a<tr><td><pre>x = 1\ny = 2</pre></table>", "| a |\n|---|\n| `x = 1`<br>`y = 2` |\n"},
		{"caption", "<table><caption>Sizes</caption><tr><th>a<tr><td>1</table>", "Sizes\n\n| a |\n|---|\n| 1 |\n"},
		{"layout table", "<table><tr><td><h2>T</h2><p>x</table>", "## T\n\nx\n"},
		{"gutter table", `<table class=highlighttable><tr><td class=linenos><pre>1
2</pre><td class=code><pre class="highlight-go">a
b</pre></table>`, "```go\na\nb\n```\n"},
		{"gutter rows", `<table class=hljs-ln><tr><td class=hljs-ln-numbers>1<td>a<tr><td class=hljs-ln-numbers>2<td>b</table>`, "```\na\nb\n```\n"},
		{"language-x", "<pre><code class='language-js'>x</code></pre>", "```js\nx\n```\n"},
		{"hljs", "<pre><code class='hljs ruby'>x</code></pre>", "```ruby\nx\n```\n"},
		{"github", "<div class='highlight highlight-source-shell'><pre>x</pre></div>", "```shell\nx\n```\n"},
		{"sphinx", "<div class='highlight-python notranslate'><div class='highlight'><pre><span></span>x</pre></div></div>", "```python\nx\n```\n"},
		{"pre class", "<pre class=rust>x</pre>", "```rust\nx\n```\n"},
		{"data-lang", "<pre data-lang=toml>x</pre>", "```toml\nx\n```\n"},
		{"code as written", "<pre>   a\n\n\n  b\n</pre>", "```\n   a\n\n\n  b\n```\n"},
		{"fence in code", "<pre>```\nx\n```</pre>", "````\n```\nx\n```\n````\n"},
		{"template literal", "<pre><code>`a ${b} \\n`</code></pre>", "```\n`a ${b} \\n`\n```\n"},
		{"lines of divs", "<pre><div>a</div><div>b</div></pre>", "```\na\nb\n```\n"},
		{"parens in link", "<a href='/a(b)'>x</a>", "[x](/a(b))\n"},
		{"few escapes", "<p>snake_case arr[0] a*b 2 * 3 ~/x C:\\dir", "snake_case arr[0] a\\*b 2 * 3 ~/x C:\\dir\n"},
		{"generic", "<p>Map&lt;T&gt; 1 &lt; 2", "Map\\<T> 1 < 2\n"},
		{"card", "<a href=/x><h3>T</h3><p>text</p></a>", "### [T](/x)\n\ntext\n"},
		{"tasks", "<ul><li><input type=checkbox checked> a<li><input type=checkbox> b</ul>", "- [x] a\n- [ ] b\n"},
		{"a tilde that would close", "<p>~/a (~/b) (~5)", "~/a (\\~/b) (~5)\n"},
		{"strike", "<p>a <del>b</del> <s>c</s>", "a ~~b~~ ~~c~~\n"},
		{"mathml", "<p>so <math><semantics><mi>x</mi><annotation encoding='application/x-tex'>x^2</annotation></semantics></math>.", "so $x^2$.\n"},
		{"template", "<template>x</template><p>y", "y\n"},
		{"data image", "<img alt=logo src='data:image/png;base64," + strings.Repeat("A", 100) + "'>", "![logo](data:omitted)\n"},
		{"ol start", "<ol start=9><li>a<li>b</ol>", "9. a\n10. b\n"},
		{"nested list", "<ul><li>a<ul><li>b</ul><li>c</ul>", "- a\n  - b\n- c\n"},
		{"break in heading", "<h2>a<br>b</h2>", "## a b\n"},
		{"select", "<p>a<select><option>x</select>b", "ab\n"},
		{"sup", "<p>x<sup>2</sup> y<sub>i</sub> z<sup><a href=#f1>1</a></sup>", "x² y<sub>i</sub> z[1](#f1)\n"},
		{"definitions", "<dl><dt>term<dd>meaning<dt><code>f(x)</code><dd><p>one<p>two</dl>", "- **term**\n\n  meaning\n- **`f(x)`**\n\n  one\n\n  two\n"},
		{"code with links", "<code>func <a href=#T>T</a>()</code>", "`func `[`T`](#T)`()`\n"},
		{"two breaks", "<p>a<br><br>b<br>c", "a\n\nb  \nc\n"},
		{"script text", "<p>a<script><b>x</b></script>b", "ab\n"},
		{"strong before letters", "<p>a<strong>「b」</strong>c", "a<strong>「b」</strong>c\n"},
		{"strong japanese", "<p>これは<strong>強調</strong>です", "これは**強調**です\n"},
		{"quote", "<blockquote><p>a<p>b</blockquote>", "> a\n>\n> b\n"},
		{"list start in text", "<p>1. x<p>- y<p># z<p>+ w", "1\\. x\n\n\\- y\n\n\\# z\n\n\\+ w\n"},
		{"javascript link", "<a href='javascript:alert(1)'>x</a>", "x\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := md.Render(parse(t, tt.in), md.Options{})
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestPlain(t *testing.T) {
	in := "<h1>T</h1><p>a <b>b</b> <a href=/x>c_d</a><ul><li>one<li>two</ul><pre>  x\n\ny</pre><table><tr><th>k<th>v<tr><td>1<td>2</table>"
	want := "T\n\na b c_d\n\n- one\n- two\n\n  x\n\ny\n\nk\tv\n1\t2\n"
	if d := cmp.Diff(want, md.Render(parse(t, in), md.Options{Plain: true})); d != "" {
		t.Error(d)
	}
}

func TestHostileSizes(t *testing.T) {
	for name, in := range map[string]string{
		"colspan":  "<table>" + strings.Repeat("<tr><td colspan=1000 rowspan=1000>x", 1000) + "</table>",
		"nested":   strings.Repeat("<blockquote>", 400) + "x",
		"lists":    strings.Repeat("<ul><li>", 240) + "x",
		"brs":      strings.Repeat("a<br><br>", 50000),
		"unclosed": strings.Repeat("<b>", 500) + "x",
		"spans":    strings.Repeat("<span>a", 400),
		"links":    strings.Repeat("<a href=/x>y</a> ", 20000),
	} {
		t.Run(name, func(t *testing.T) {
			if n := len(md.Render(parse(t, in), md.Options{})); n > 2<<20 {
				t.Errorf("%d bytes of input became %d", len(in), n)
			}
		})
	}
}

// FuzzRender holds the renderer to its promise: no visible text is lost on the
// way through Markdown and back.
func FuzzRender(f *testing.F) {
	for _, s := range []string{"<p>a*b_c`d", "<em>a<strong>b</strong></em>", "<pre>```", "<ul><li>- a", "<table><tr><td>a|b", "<a href='x y'>]</a>", "<p>&amp;lt; \\"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		start := time.Now()
		md.Render(parse(t, s), md.Options{Plain: true})
		out := md.Render(parse(t, s), md.Options{Images: md.ImagesNone})
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("%d bytes took %v", len(s), took)
		}
		if strings.Contains(out, "\x00") {
			t.Errorf("a NUL in %q", out)
		}
		plainOnly := !strings.ContainsAny(s, "<&\x00\\") && strings.ToValidUTF8(s, "") == s
		if plainOnly {
			want, got := visible(parse(t, s)), visible(parse(t, toHTML(t, out)))
			if want != got {
				t.Errorf("text %q came back as %q by way of %q", want, got, out)
			}
		}
	})
}
