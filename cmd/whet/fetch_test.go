package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestFetchScripts runs the scripts that need a web server.
func TestFetchScripts(t *testing.T) {
	var requests atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("/guide", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `<!doctype html><title>Guide - Site</title><nav><a href=/>Menu entry</a></nav><main><h1>Guide</h1>
<p>The first paragraph explains, with some commas, what the guide is about, and it is long enough to be taken for text.</p>
<h2 id=install>Install</h2><p>Install it with the package manager, then run the program.</p>
<pre><code class="language-sh">go install example.test/x@latest</code></pre></main><footer>Imprint</footer>`)
	})
	mux.HandleFunc("/counter", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprintf(w, "request %d\n", requests.Add(1))
	})
	mux.HandleFunc("/pic.png", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00\x3a\x7e\x9b\x55")
	})
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://elsewhere.test/", http.StatusFound)
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close) // the scripts run in parallel, after this function
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "fetch"),
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", filepath.Join(e.WorkDir, ".home"))
			e.Setenv("SITE", srv.URL)
			e.Setenv("HOSTPORT", strings.TrimPrefix(srv.URL, "http://"))
			return nil
		},
	})
}
