//go:build linux

package main

import (
	"bytes"
	"io"
	"math"
	"strings"
	"testing"
	"time"
)

// A few seconds of it: no crash, each request answered once, nothing read or
// changed outside of the project, nothing left behind.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("builds whet and keeps two cores busy for seconds")
	}
	whet, err := build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var samples bytes.Buffer
	sum, err := soak(t.Context(), settings{long: 5 * time.Second, seed: 7, rate: 40, whet: whet, csv: &samples, out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if !sum.faults.none() {
		var b strings.Builder
		sum.print(&b)
		t.Error(b.String())
	}
	for _, face := range []string{"mcp initialize", "rpc initialize"} {
		if sum.counts.of[face] == nil {
			t.Errorf("no call of the kind %s", face)
		}
	}
	if n := strings.Count(samples.String(), "\n"); n < 4 {
		t.Errorf("%d lines of samples", n)
	}
}

func TestGrowth(t *testing.T) {
	series := func(at func(i int) float64) (out []sample) {
		for i := range 600 {
			out = append(out, sample{at: float64(i), memory: at(i)})
		}
		return out
	}
	tests := []struct {
		name      string
		at        func(i int) float64
		level, by float64
	}{
		{"flat", func(int) float64 { return 50 }, 50, 0},
		{"warms up, then flat", func(i int) float64 { return 50 + min(float64(i), 150) }, 200, 0},
		{"grows", func(i int) float64 { return float64(i) }, 400, 400},
		{"shrinks", func(i int) float64 { return 1000 - float64(i) }, 600, -400},
		{"peaks", func(i int) float64 { return 50 + 500*float64(i%7/6) }, 50, 0},
		{"one step down", func(i int) float64 { return 50 + 100*float64(1-i/550) }, 150, 0},
	}
	for _, tt := range tests {
		got := growth(series(tt.at), memory)
		if math.Abs(got.level-tt.level) > 15 || math.Abs(got.by-tt.by) > 15 {
			t.Errorf("%s: at %.0f by %.0f, want %.0f by %.0f", tt.name, got.level, got.by, tt.level, tt.by)
		}
	}
}

// What a broken server would say is noticed.
func TestAnswersAreChecked(t *testing.T) {
	const id1 = `"jsonrpc":"2.0","id":1,`
	tests := []struct{ name, lines, want string }{
		{"answered", `{` + id1 + `"result":{}}`, ""},
		{"answered twice", `{` + id1 + `"result":{}}` + "\n" + `{` + id1 + `"result":{}}`, "an answer nobody waits for"},
		{"another's answer", `{"jsonrpc":"2.0","id":2,"result":{}}`, "an answer nobody waits for"},
		{"neither result nor error", `{"jsonrpc":"2.0","id":1}`, "an answer without or with both result and error"},
		{"both", `{` + id1 + `"result":{},"error":{"code":1}}`, "an answer without or with both result and error"},
		{"a log line", "INFO hello", "output that is not JSON-RPC"},
		{"a file of another directory", `{` + id1 + `"result":{"text":"... BIRD ..."}}`, "told what lies outside of the project"},
	}
	for _, tt := range tests {
		f := newFaults(io.Discard)
		c := &conn{in: discard{}, faults: f, canary: []byte("BIRD"), waiting: map[int]chan answer{}, silent: map[int]bool{}, ended: make(chan struct{})}
		c.ask("ping", nil)
		c.read(strings.NewReader(tt.lines + "\n"))
		got := ""
		for kind := range f.n {
			got += kind
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

type discard struct{ io.Writer }

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }
