package webfetch

import (
	"archive/zip"
	"bytes"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type answer struct {
	contentType string
	body        string
	header      map[string]string
	status      int
}

// serving makes a site of fixed answers by path.
func serving(t *testing.T, answers map[string]answer) *site {
	return newSite(t, func(w http.ResponseWriter, r *http.Request) {
		a, ok := answers[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		for k, v := range a.header {
			w.Header().Set(k, v)
		}
		if a.contentType == "none" {
			w.Header()["Content-Type"] = nil
		} else if a.contentType != "" {
			w.Header().Set("Content-Type", a.contentType)
		}
		if a.status != 0 {
			w.WriteHeader(a.status)
		}
		fmt.Fprint(w, a.body)
	})
}

func pngImage(t *testing.T, w, h int) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func zipFile(t *testing.T, names ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, n := range names {
		if _, err := z.Create(n); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestKinds(t *testing.T) {
	py := "\n\n\n    import x\n\n\n\n    print('`')\n"
	answers := map[string]answer{
		"/oct-text":  {contentType: "application/octet-stream", body: "plain words\n"},
		"/oct-html":  {contentType: "application/octet-stream", body: guidePage},
		"/oct-zip":   {contentType: "application/octet-stream", body: zipFile(t, "a/b.txt")},
		"/oct-png":   {contentType: "application/octet-stream", body: pngImage(t, 3, 2)},
		"/no-type":   {contentType: "none", body: guidePage},
		"/txt-html":  {contentType: "text/plain", body: guidePage},
		"/svg":       {contentType: "image/svg+xml", body: `<svg xmlns="http://www.w3.org/2000/svg"><title>Flow</title><text>Start here</text></svg>`},
		"/x.py":      {contentType: "text/plain", body: py},
		"/a.json":    {contentType: "application/json", body: `{"b":[1,2,{"c":"` + strings.Repeat("d", 80) + `"}]}`},
		"/bad.json":  {contentType: "application/json", body: `{"b": nope}`},
		"/a.csv":     {contentType: "text/csv", body: "name,size\na|b,1\n\"c\nd\",2\n"},
		"/a.md":      {contentType: "text/markdown; charset=utf-8", body: "# T\n\n\n\ntext  \n```\n\n\n\nx\n```\n"},
		"/front.md":  {contentType: "text/markdown", body: "---\ntitle: x\n---\n\n# T\n"},
		"/rss":       {contentType: "application/rss+xml", body: `<rss><channel><title>News</title><link>https://n.test</link><item><title>One &amp; only</title><link>https://n.test/1</link><pubDate>Mon, 02 Jan 2006</pubDate><description>&lt;p&gt;Short &lt;b&gt;text&lt;/b&gt;&lt;/p&gt;</description></item></channel></rss>`},
		"/atom":      {contentType: "text/xml", body: `<feed xmlns="http://www.w3.org/2005/Atom"><title>F</title><entry><title>E</title><link rel="self" href="https://f.test/self"/><link href="https://f.test/e"/><updated>2024-01-02</updated></entry></feed>`},
		"/sitemap":   {contentType: "application/xml", body: `<urlset><url><loc>https://s.test/a</loc><lastmod>2024-05-06</lastmod></url></urlset>`},
		"/xml":       {contentType: "application/xml", body: `<config><a>1</a></config>`},
		"/n.ipynb":   {contentType: "text/plain", body: `{"metadata":{"language_info":{"name":"python"}},"cells":[{"cell_type":"markdown","source":["# N\n","text"]},{"cell_type":"code","source":"print(1)","outputs":[{"text":["1\n"]}]}]}`},
		"/empty":     {contentType: "text/html", body: ""},
		"/pdf-lie":   {contentType: "text/html", body: "%PDF-1.4\n%\xe2\xe3\xcf\xd3 nothing more"},
		"/x.yaml":    {contentType: "application/yaml", body: "a: 1\n"},
		"/vendor":    {contentType: "application/vnd.acme.thing", body: "key=value\n"},
		"/file.diff": {contentType: "text/x-diff", body: "--- a\n+++ b\n"},
	}
	for _, b := range []string{
		"application/gzip", "application/x-tar", "font/woff2", "application/wasm", "application/msword", "application/zip", "video/mp4", "audio/mpeg",
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	} {
		answers["/bin/"+b] = answer{contentType: b, body: "\x00\x01\x02binary\xff\xfe"}
	}
	s := serving(t, answers)
	f := s.fetcher(Options{})
	get := func(path string) *Page { return page(t, f, Request{URL: "https://k.test" + path}) }

	for path, want := range map[string]string{
		"/oct-text": "plain words\n", "/x.py": "```py\n" + strings.TrimSuffix(py, "\n") + "\n```\n", "/a.md": answers["/a.md"].body,
		"/a.json":   "```json\n{\n  \"b\": [\n    1,\n    2,\n    {\n      \"c\": \"" + strings.Repeat("d", 80) + "\"\n    }\n  ]\n}\n```\n",
		"/bad.json": "```json\n{\"b\": nope}\n```\n",
		"/a.csv":    "| name | size |\n|---|---|\n| a\\|b | 1 |\n| c<br>d | 2 |\n",
		"/rss":      "# News\n\n- [One & only](https://n.test/1) (Mon, 02 Jan 2006)\n  Short text\n",
		"/atom":     "# F\n\n- [E](https://f.test/e) (2024-01-02)\n",
		"/sitemap":  "- <https://s.test/a> (2024-05-06)\n",
		"/xml":      "```xml\n<config><a>1</a></config>\n```\n",
		"/n.ipynb":  "# N\ntext\n\n```python\nprint(1)\n```\n\nOutput:\n\n```\n1\n```\n",
		"/x.yaml":   "```yaml\na: 1\n```\n", "/vendor": "key=value\n", "/file.diff": "```diff\n--- a\n+++ b\n```\n",
	} {
		if d := cmp.Diff(want, get(path).Content); d != "" {
			t.Errorf("%s: %s", path, d)
		}
	}
	for _, path := range []string{"/oct-html", "/no-type", "/txt-html"} {
		p := get(path)
		contains(t, p.Content, "# Guide", "```sh\ngo install")
		lacks(t, p.Content, "Menu entry", "Imprint")
	}
	contains(t, get("/svg").Content, "Flow\nStart here", "```svg\n<svg")
	if p := get("/x.py"); p.SourceKind != "source" {
		t.Errorf("kind %s", p.SourceKind)
	}
	if got := page(t, f, Request{URL: "https://k.test/x.py", Format: "text"}).Content; got != py {
		t.Errorf("text of a source file: %q", got)
	}
	contains(t, get("/front.md").String(), "Source content:\n\n---\ntitle: x\n")
	if p := get("/empty"); !strings.Contains(strings.Join(p.Signals, " "), "empty_content") {
		t.Errorf("signals %v", p.Signals)
	}
	for path := range answers {
		if strings.HasPrefix(path, "/bin/") || path == "/oct-zip" || path == "/oct-png" {
			p := get(path)
			lacks(t, p.String(), "\x00", "binary\xff")
			contains(t, p.String(), "binary_metadata_only: true", "Re-run with save_binary=true")
		}
	}
	if p := get("/oct-png"); p.BinaryKind != "image" || p.Width != 3 || p.Height != 2 {
		t.Errorf("image: %s %dx%d", p.BinaryKind, p.Width, p.Height)
	}
}

func TestBinaries(t *testing.T) {
	var written atomic.Int64
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		switch r.URL.Path {
		case "/big.png":
			if r.URL.RawQuery == "" {
				w.Header().Set("Content-Length", fmt.Sprint(3<<20))
			}
			for range 3 << 20 / 1024 {
				n, err := w.Write(bytes.Repeat([]byte{0xff}, 1024))
				written.Add(int64(n))
				if err != nil {
					return
				}
			}
		case "/huge.png":
			w.Header().Set("Content-Length", fmt.Sprint(11<<20))
		case "/a.zip":
			w.Header().Set("Content-Type", "application/zip")
			fmt.Fprint(w, zipFile(t, "one.txt", "dir/two\x1b[31m.txt"))
		default:
			if v := r.URL.Query().Get("cd"); v != "" {
				w.Header().Set("Content-Disposition", v)
			}
			fmt.Fprint(w, pngImage(t, 1, 1))
		}
	})
	s.noTLS = true
	dir := filepath.Join(t.TempDir(), "with space")
	f := s.fetcher(Options{BinaryDir: dir})
	p := page(t, f, Request{URL: "http://b.test:80/big.png?"})
	if !p.MetadataOnly || p.Limit != binaryLimit {
		t.Errorf("metadata only %v, limit %d", p.MetadataOnly, p.Limit)
	}
	page(t, f, Request{URL: "http://b.test/big.png?x"})
	if n := written.Load(); n > 512<<10 {
		t.Errorf("%d bytes of a picture that nobody wants were sent", n)
	}
	p = page(t, f, Request{URL: "http://b.test/huge.png", SaveBinary: true})
	contains(t, p.String(), "Image content omitted because it exceeds the download limit.", "download_limit_bytes: 10485760")

	for i, tt := range []struct{ url, cd, name string }{
		{"/p.png", "", "p.png"},
		{"/p.png", "", "p-1.png"},
		{"/q%20r.png", "", "q r.png"},
		{"/x", `attachment; filename="../../etc/passwd"`, "_.._etc_passwd"},
		{"/x", `attachment; filename*=UTF-8''na%C3%AFve.png`, "naïve.png"},
		{"/x", `attachment; filename="CON.txt"`, "_CON.txt"},
		{"/x", `attachment; filename="..."`, "download"},
		{"/x", `attachment; filename="a` + strings.Repeat("b", 300) + `.tar"`, "a" + strings.Repeat("b", 175) + ".tar"},
		{"/x", `attachment; filename="C:\x\y.txt"`, "C__x_y.txt"},
	} {
		q := fmt.Sprintf("?n=%d", i)
		if tt.cd != "" {
			q += "&cd=" + strings.NewReplacer(" ", "%20", `"`, "%22", ";", "%3B", "%", "%25", "*", "%2A", `\`, "%5C").Replace(tt.cd)
		}
		p := page(t, f, Request{URL: "http://b.test" + tt.url + q, SaveBinary: true})
		if filepath.Base(p.SavedPath) != tt.name || filepath.Dir(p.SavedPath) != dir {
			t.Errorf("%s %s: saved as %s, want %s", tt.url, tt.cd, p.SavedPath, tt.name)
			continue
		}
		info, err := os.Stat(p.SavedPath)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", p.SavedPath, info, err)
		}
	}
	p = page(t, f, Request{URL: "http://b.test/a.zip", SaveBinary: true})
	contains(t, p.Content, "It holds:", "- one.txt (0 bytes)", "- dir/two.txt")
	lacks(t, p.Content, "\x1b")
}

func TestSaveRefusesLinks(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(filepath.Join(outside, "stolen"), filepath.Join(dir, "p.png")); err != nil {
		t.Skip(err)
	}
	f, err := New(Options{BinaryDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	path, err := f.save(&document{Header: headers{Filename: "p.png"}, Binary: &binaryFile{Data: []byte("x")}})
	if err != nil || filepath.Base(path) != "p-1.png" {
		t.Errorf("saved to %s, %v", path, err)
	}
	if _, err := os.Stat(filepath.Join(outside, "stolen")); err == nil {
		t.Error("a link led outside")
	}
}

func TestPaths(t *testing.T) {
	for in, want := range map[string]string{
		"https://github.com/o/r/blob/main/dir/a%20b.go":  "https://raw.githubusercontent.com/o/r/main/dir/a%20b.go",
		"https://gitlab.com/g/s/p/-/blob/main/x.py":      "https://gitlab.com/g/s/p/-/raw/main/x.py",
		"https://bitbucket.org/o/r/src/main/x.py":        "https://bitbucket.org/o/r/raw/main/x.py",
		"https://gist.github.com/u/0123456789abcdef0123": "https://gist.githubusercontent.com/u/0123456789abcdef0123/raw",
		"https://github.com/o/r/issues/1":                "",
		"https://example.test/o/r/blob/main/x":           "",
	} {
		a, err := parseAddress(in)
		if err != nil {
			t.Fatal(err)
		}
		f := &Fetcher{}
		from := f.rewrite(a)
		if want == "" && from != "" || want != "" && (a.href() != want || from != in) {
			t.Errorf("%s: %s from %q", in, a.href(), from)
		}
	}
}
