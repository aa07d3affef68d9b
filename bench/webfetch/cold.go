package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"slices"

	"github.com/whet-dev/whet/internal/measure"
	"github.com/whet-dev/whet/webfetch"
)

// cold measures whole processes: whet fetching a page from a server on this
// machine against Node starting up, and Node and Python converting the page
// from a file.
func cold(ctx context.Context, w io.Writer, pages []page, dir string) error {
	slices.SortFunc(pages, func(a, b page) int { return size(a.source) - size(b.source) })
	p := pages[len(pages)/2]
	source, err := os.ReadFile(p.source)
	if err != nil {
		return err
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write(source) }))
	defer srv.Close()
	whet, err := measure.BuildWhet(ctx, dir)
	if err != nil {
		return err
	}
	line, err := json.Marshal(job{File: p.source, URL: pageURL})
	if err != nil {
		return err
	}
	memory := map[string]int64{}
	process := func(name string, argv ...string) measure.Contender {
		return measure.Contender{Name: name, Run: func() error {
			c := exec.CommandContext(ctx, argv[0], argv[1:]...)
			c.Stdin = bytes.NewReader(append(line, '\n'))
			if err := c.Run(); err != nil {
				return err
			}
			memory[name] = max(memory[name], peak(c.ProcessState))
			return nil
		}}
	}
	cs := []measure.Contender{process("whet fetch", whet, "fetch", "--no-cache", srv.URL)}
	for _, peer := range [][]string{
		{"node -e 0 (does nothing)", "node", "-e", "0"},
		{jsdom, "node", "bench/webfetch/worker.cjs", "jsdom"},
		{linkedom, "node", "bench/webfetch/worker.cjs", "linkedom"},
		{python, "/usr/bin/python3", "bench/webfetch/worker.py"},
	} {
		if c := process(peer[0], peer[1:]...); c.Run() == nil {
			cs = append(cs, c)
		}
	}
	rows, err := measure.Compare(9, cs...)
	if err != nil {
		return err
	}
	if err := measure.Print(w, fmt.Sprintf("A whole process on a page of %d KB", len(source)>>10), rows); err != nil {
		return err
	}
	if runtime.GOOS == "linux" {
		fmt.Fprint(w, "Peak memory:")
		for _, c := range cs {
			fmt.Fprintf(w, " %s %d MB;", c.Name, memory[c.Name]>>10)
		}
		fmt.Fprint(w, "\n\n")
	}
	return nil
}

func size(file string) int {
	info, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return int(info.Size())
}

// inside measures parts of one fetch in this process.
func inside(ctx context.Context, w io.Writer) error {
	body := bytes.Repeat([]byte("<p>Some words, and more of them, to make a page.</p>\n"), 400)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<html><body><main>%s</main></body></html>", body)
	}))
	defer srv.Close()
	f, err := webfetch.New(webfetch.Options{})
	if err != nil {
		return err
	}
	defer f.Close()
	anew := 0
	get := func(age *int) error {
		_, err := f.Fetch(ctx, webfetch.Request{URL: srv.URL, MaxAge: age})
		return err
	}
	rows, err := measure.Compare(200,
		measure.Contender{Name: "from the server", Run: func() error { return get(&anew) }},
		measure.Contender{Name: "from memory", Run: func() error { return get(nil) }},
		measure.Contender{Name: "address read and judged", Run: func() error {
			_, err := f.Patterns(webfetch.Request{URL: "http://docs.example.com/a/b?c=d#e"})
			return err
		}},
		measure.Contender{Name: "a new fetcher", Run: func() error { _, err := webfetch.New(webfetch.Options{}); return err }},
	)
	if err != nil {
		return err
	}
	return measure.Print(w, "Inside one process, a page of 20 KB on this machine", rows)
}
