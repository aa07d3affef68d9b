package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/net/html"

	"github.com/whet-dev/whet/internal/measure"
	"github.com/whet-dev/whet/webfetch"
	"github.com/whet-dev/whet/webfetch/article"
	"github.com/whet-dev/whet/webfetch/md"
)

const (
	pageURL  = "http://fakehost/test/page.html"
	jsdom    = "jsdom + Readability + turndown"
	linkedom = "linkedom + Readability + turndown"
	python   = "readability-lxml + html2text"
	h2m      = "html-to-markdown (Go)"
)

type job struct {
	File     string `json:"file"`
	URL      string `json:"url"`
	Extract  bool   `json:"extract,omitempty"`  // stop after the extraction
	Fragment bool   `json:"fragment,omitempty"` // only render
}

// A worker is a peer in a process of its own that stays warm.
type worker struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
}

func start(ctx context.Context, name string, argv ...string) (*worker, error) {
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Stderr = io.Discard
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	return &worker{name, c, in, bufio.NewReaderSize(out, 1<<20)}, nil
}

func (p *worker) do(j job) (time.Duration, error) {
	b, err := json.Marshal(j)
	if err != nil {
		return 0, err
	}
	if _, err := p.in.Write(append(b, '\n')); err != nil {
		return 0, fmt.Errorf("%s: %w", p.name, err)
	}
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return 0, fmt.Errorf("%s: %w", p.name, err)
	}
	var r struct{ NS int64 }
	err = json.Unmarshal(line, &r)
	return time.Duration(r.NS), err
}

func (p *worker) stop() {
	p.in.Close()
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// workers starts the peers that are installed, and says which aren't.
func workers(ctx context.Context, w io.Writer, dir string) map[string]*worker {
	found := map[string]*worker{}
	add := func(name string, argv ...string) {
		p, err := start(ctx, name, argv...)
		if err == nil {
			if _, err = p.do(warmUp(dir)); err == nil {
				found[name] = p
				return
			}
			p.stop()
		}
		fmt.Fprintf(w, "%s is not measured: %v\n\n", name, err)
	}
	add(jsdom, "node", "bench/webfetch/worker.cjs", "jsdom")
	add(linkedom, "node", "bench/webfetch/worker.cjs", "linkedom")
	add(python, "/usr/bin/python3", "bench/webfetch/worker.py")
	build := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(dir, "h2m"), ".")
	build.Dir = "bench/webfetch/h2m"
	if err := build.Run(); err == nil {
		add(h2m, filepath.Join(dir, "h2m"))
	} else {
		fmt.Fprintf(w, "%s is not measured: %v\n\n", h2m, err)
	}
	return found
}

func warmUp(dir string) job {
	file := filepath.Join(dir, "warm.html")
	if err := os.WriteFile(file, []byte("<html><body><p>"+strings.Repeat("Some words, and more. ", 60)), 0o600); err != nil {
		panic(err) // our own temporary directory
	}
	return job{File: file, URL: pageURL}
}

// A race is one kind of work done by us and by peers.
type race struct {
	title string
	peers []string
	job   func(page) job
	ours  func(source string) error
}

// speed converts page after page, each by all contenders before the next.
func speed(ctx context.Context, w io.Writer, pages []page, rounds int, dir string) error {
	ps := workers(ctx, w, dir)
	defer func() {
		for _, p := range ps {
			p.stop()
		}
	}()
	articles, err := extracted(ctx, pages, dir)
	if err != nil {
		return err
	}
	for _, r := range []race{
		{
			"Extraction alone",
			[]string{jsdom, linkedom},
			func(p page) job { return job{File: p.source, URL: pageURL, Extract: true} },
			func(source string) error {
				doc, err := html.ParseWithOptions(strings.NewReader(source), html.ParseOptionEnableScripting(false))
				if err != nil {
					return err
				}
				_, err = article.Extract(ctx, doc)
				return err
			},
		},
		{
			"Page to Markdown",
			[]string{jsdom, linkedom, python},
			func(p page) job { return job{File: p.source, URL: pageURL} },
			func(source string) error {
				_, err := webfetch.Convert(ctx, source, pageURL)
				return err
			},
		},
		{
			"HTML of the article to Markdown",
			[]string{jsdom, h2m},
			func(p page) job { return job{File: articles[p.name], Fragment: true} },
			func(source string) error {
				doc, err := html.Parse(strings.NewReader(source))
				if err != nil {
					return err
				}
				md.Render(doc, md.Options{})
				return nil
			},
		},
	} {
		if err := r.run(w, pages, rounds, ps); err != nil {
			return err
		}
	}
	return growth(ctx, w, pages, rounds, ps)
}

// growth shows how long pages of growing size take.
func growth(ctx context.Context, w io.Writer, pages []page, rounds int, ps map[string]*worker) error {
	const points = 9
	bySize := slices.SortedFunc(slices.Values(pages), func(a, b page) int { return size(a.source) - size(b.source) })
	names := []string{jsdom, linkedom, python}
	curve := measure.Curve{Title: "Page to Markdown against the size of the page", X: "bytes", Y: fmt.Sprintf("milliseconds, median of %d", rounds), Names: append([]string{"whet"}, names...)}
	for i := range points {
		p := bySize[i*(len(bySize)-1)/(points-1)]
		source, err := os.ReadFile(p.source)
		if err != nil {
			return err
		}
		times := make([][]time.Duration, len(curve.Names))
		for range rounds {
			begin := time.Now()
			if _, err := webfetch.Convert(ctx, string(source), pageURL); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			times[0] = append(times[0], time.Since(begin))
			for j, name := range names {
				if ps[name] == nil {
					continue
				}
				d, err := ps[name].do(job{File: p.source, URL: pageURL})
				if err != nil {
					return fmt.Errorf("%s: %w", p.name, err)
				}
				times[j+1] = append(times[j+1], d)
			}
		}
		ms := make([]float64, len(times))
		for j, ds := range times {
			ms[j] = math.NaN()
			if len(ds) > 0 {
				ms[j] = median(ds).Seconds() * 1000
			}
		}
		curve.Add(float64(len(source)), ms...)
	}
	return curve.Write(w, "webfetch")
}

// extracted keeps the article of every page in a file.
func extracted(ctx context.Context, pages []page, dir string) (map[string]string, error) {
	files := map[string]string{}
	for _, p := range pages {
		doc, err := parseFile(p.source)
		if err != nil {
			return nil, err
		}
		a, err := article.Extract(ctx, doc)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		var b strings.Builder
		if err := html.Render(&b, a.Content); err != nil {
			return nil, err
		}
		files[p.name] = filepath.Join(dir, p.name+".html")
		if err := os.WriteFile(files[p.name], []byte(b.String()), 0o600); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func (r race) run(w io.Writer, pages []page, rounds int, ps map[string]*worker) error {
	ratios, sums, own := map[string][]float64{}, map[string]time.Duration{}, time.Duration(0)
	for _, p := range pages {
		source, err := os.ReadFile(r.job(p).File)
		if err != nil {
			return err
		}
		times := map[string][]time.Duration{}
		var ours []time.Duration
		for range rounds {
			begin := time.Now()
			if err := r.ours(string(source)); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			ours = append(ours, time.Since(begin))
			for _, name := range r.peers {
				if peer := ps[name]; peer != nil {
					d, err := peer.do(r.job(p))
					if err != nil {
						return fmt.Errorf("%s: %w", p.name, err)
					}
					times[name] = append(times[name], d)
				}
			}
		}
		own += median(ours)
		for name, ds := range times {
			ratios[name] = append(ratios[name], float64(median(ds))/float64(median(ours)))
			sums[name] += median(ds)
		}
	}
	fmt.Fprintf(w, "### %s, %d pages, %d rounds\n\n", r.title, len(pages), rounds)
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintln(t, "|\t|\tmedian of the pages' ratios\t|\tratio of the sums\t|")
	fmt.Fprintln(t, "|---\t|\t---:\t|\t---:\t|")
	fmt.Fprintf(t, "|\twhet (%v a page)\t|\t1\t|\t1\t|\n", (own / time.Duration(len(pages))).Round(10*time.Microsecond))
	for _, name := range r.peers {
		if rs := ratios[name]; rs != nil {
			slices.Sort(rs)
			fmt.Fprintf(t, "|\t%s\t|\t%.1f\t|\t%.1f\t|\n", strings.TrimSuffix(name, map[bool]string{true: " + turndown"}[r.title == "Extraction alone"]),
				rs[len(rs)/2], float64(sums[name])/float64(own))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

func median(ds []time.Duration) time.Duration {
	s := slices.Sorted(slices.Values(ds))
	return s[len(s)/2]
}
