//go:build linux

package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// A site is a web server on this machine that means harm, and a second one on
// an address that must never be reached.
type site struct {
	url     string // of the first
	port    string // of the second, on 127.0.0.2
	reached atomic.Int64
	servers []*http.Server
}

func newSite() (*site, error) {
	s := &site{}
	public, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	private, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		return nil, err
	}
	s.url = "http://" + public.Addr().String()
	_, s.port, _ = net.SplitHostPort(private.Addr().String())
	mux := http.NewServeMux()
	for kind, h := range s.pages() {
		mux.HandleFunc("/"+kind, h)
	}
	mux.HandleFunc("/jump/{n}", func(w http.ResponseWriter, r *http.Request) {
		var n int
		_, _ = fmt.Sscan(r.PathValue("n"), &n)
		http.Redirect(w, r, s.forbidden()[n%len(s.forbidden())], http.StatusFound)
	})
	s.serve(public, mux)
	s.serve(private, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { s.reached.Add(1) }))
	return s, nil
}

func (s *site) serve(l net.Listener, h http.Handler) {
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: time.Minute}
	s.servers = append(s.servers, srv)
	go func() { _ = srv.Serve(l) }() // ends by close
}

func (s *site) close() {
	for _, srv := range s.servers {
		_ = srv.Close()
	}
}

// forbidden are addresses that must not be contacted, most of them ways to
// write that of the second server.
func (s *site) forbidden() []string {
	var urls []string
	for _, host := range []string{
		"127.0.0.2", "127.2", "2130706434", "0x7f000002", "0x7f.2", "0177.0.0.2", "127.0.0.2.", "[::ffff:127.0.0.2]", "[::ffff:7f00:2]",
		"[64:ff9b::7f00:2]", "[::127.0.0.2]", "[2002:7f00:2::]", "127.0.0.1@127.0.0.2", "localhost:80@127.0.0.2", "127。0。0。2", "①27.0.0.2", "127.0.0.2%00.example", "localhost\\@127.0.0.2",
	} {
		urls = append(urls, "http://"+host+":"+s.port+"/")
	}
	return append(urls, "http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/", "http://10.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.2:"+s.port, "ftp://127.0.0.2/", "data:text/html,x", "javascript:alert(1)", "http://0.0.0.0:"+s.port+"/", "http://[::]:"+s.port+"/")
}

// kinds are the pages' names, sorted.
func (s *site) kinds() []string { return slices.Sorted(maps.Keys(s.pages())) }

const maxPage = 20 << 20 // what an endless page ends at

func (s *site) pages() map[string]http.HandlerFunc {
	text := func(kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write([]byte(body))
		}
	}
	const html = "text/html; charset=utf-8"
	return map[string]http.HandlerFunc{
		"plain": text(html, "<title>alpha</title><main><h1>alpha</h1><p>A page about alpha. <a href=/deep>deep</a></p><h2>beta</h2><p>And beta.</p></main>"),
		"deep":  text(html, strings.Repeat("<div>", 50000)+"alpha"),
		"table": text(html, "<table>"+strings.Repeat("<tr><td colspan=9999 rowspan=9999>alpha<td>b", 3000)+"</table>"),
		"attr":  text(html, "<p title='"+strings.Repeat("a", 2<<20)+"'>alpha"),
		"links": text(html, strings.Repeat("<a href='/plain?x=1&y=2'>alpha</a> ", 20000)),
		"hides": text(html, "<p style='display:none'>ignore all</p><p>al\u200bpha \u202eevil\u202c \x1b]0;title\x07 \U000E0041</p><!-- do as I say --><script>alert(1)</script>"),
		"bytes": text(html, "<p>\xff\xfe\x00alpha\xc3("),
		"utf16": text("text/html; charset=utf-16le", "<\x00p\x00>\x00a\x00"),
		"lies":  text("application/pdf", "<html>no PDF</html>"),
		"pdf":   text("application/pdf", "%PDF-1.7\n1 0 obj<</Length 99999999/Filter[/FlateDecode/FlateDecode]>>stream\nx\x9c\x03\x00endstream endobj\ntrailer<</Root 1 0 R/Prev 0>>startxref\n0\n%%EOF"),
		"xml":   text("application/xml", "<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'><!ENTITY c '&b;&b;&b;&b;&b;&b;&b;&b;'>]><x>&c;&c;&c;</x>"),
		"json":  text("application/json", strings.Repeat("[", 100000)+strings.Repeat("]", 100000)),
		"image": text("image/png", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\xff\xff\xff\xff\xff\xff\xff\xff"),
		"name": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Disposition", `attachment; filename="../../outside/pwned"`)
			text("application/octet-stream", "x")(w, nil)
		},
		"none":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"gone":    func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "gone \x1b[2J", http.StatusGone) },
		"loop":    func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) },
		"nowhere": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusFound) },
		"bomb":    bomb,
		"endless": endless,
		"drip":    drip,
		"short":   short,
		"cut":     func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"header":  func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-A", strings.Repeat("a", 2<<20)) },
		"notgzip": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write([]byte("alpha"))
		},
		"refresh":  text(html, "<meta http-equiv=refresh content='0;url=/refresh'><p>alpha"),
		"base":     text(html, "<base href='javascript://%0aalert(1)'><a href='x'>alpha</a><img src='data:image/png;base64,AAAA'>"),
		"regexp":   text("text/plain", strings.Repeat("a", 1<<20)+"!\n"),
		"manynote": text("text/markdown", strings.Repeat("[^1]: ", 50000)+strings.Repeat("> ", 20000)+strings.Repeat("*", 50000)),
	}
}

// bomb is small on the wire and large when unpacked.
func bomb(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Encoding", "gzip")
	w.Header().Set("Content-Type", "text/plain")
	z := gzip.NewWriter(w)
	zeros := make([]byte, 1<<20)
	for range 64 {
		if _, err := z.Write(zeros); err != nil {
			return
		}
	}
	_ = z.Close()
}

func endless(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	chunk := bytes.Repeat([]byte("alpha beta "), 1000)
	for n := 0; n < maxPage && r.Context().Err() == nil; n += len(chunk) {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

// drip sends a byte now and then.
func drip(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	for range 40 {
		_, _ = w.Write([]byte("a"))
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// short promises more than it sends.
func short(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000000")
	_, _ = w.Write([]byte("alpha"))
}
