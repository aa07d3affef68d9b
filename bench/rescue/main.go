// Rescue measures how often a stale patch lands where it belongs: whet beside
// the real Codex applier and the published oh-my-opencode-slim engine, on the
// same cases, in one run.
//
// The cases come from published versions of Go modules. For three versions
// OLD, MID and NEW of a file, the patch is a real change MID→NEW, the file it
// is applied to is the one of OLD, and the right answer is their three-way
// merge, kept only where git finds it clean. Noise is then put on the patch, as
// models and editors do.
//
//	go run ./bench/rescue                 generate, run and print the table
//	go run ./bench/rescue -show wrong     with every case that whet got wrong
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/whet-dev/whet/internal/measure"
)

// modules are the default corpus: MODULE@OLD,MID,NEW.
var modules = []string{
	"golang.org/x/tools@v0.20.0,v0.25.0,v0.30.0",
	"golang.org/x/net@v0.30.0,v0.40.0,v0.50.0",
	"golang.org/x/crypto@v0.20.0,v0.28.0,v0.36.0",
	"golang.org/x/sys@v0.20.0,v0.26.0,v0.32.0",
	"k8s.io/apimachinery@v0.29.0,v0.31.0,v0.33.0",
	"github.com/gohugoio/hugo@v0.120.0,v0.125.0,v0.135.0",
	"github.com/spf13/cobra@v1.6.0,v1.8.0,v1.9.1",
	"github.com/prometheus/client_golang@v1.17.0,v1.19.0,v1.21.0",
	"google.golang.org/grpc@v1.60.0,v1.64.0,v1.68.0",
}

func main() {
	seed := flag.Uint64("seed", 1, "seed of the choice of cases")
	perKind := flag.Int("per-kind", 50, "cases of each kind of noise")
	show := flag.String("show", "", "print whet's cases with this outcome: refused or wrong")
	out := flag.String("out", "", "also write the cases to this `file`, a JSON object a line")
	only := flag.Bool("whet", false, "run whet alone")
	flag.Parse()
	mods := modules
	if flag.NArg() > 0 {
		mods = flag.Args()
	}
	measure.Main("rescue", func(ctx context.Context, _ io.Writer) error {
		return run(ctx, *seed, *perKind, mods, *out, *show, *only)
	})
}

func run(ctx context.Context, seed uint64, perKind int, mods []string, out, show string, only bool) error {
	cases, twins, err := corpus(ctx, seed, perKind, mods)
	if err != nil {
		return err
	}
	fmt.Printf("%d cases; %d left out because the patch fits byte for byte, once, at another place than the merge's\n", len(cases), twins)
	if out != "" {
		if err := save(out, cases); err != nil {
			return err
		}
	}
	engines := []engine{whetEngine{}}
	if !only {
		engines = append(engines, peers()...)
	}
	table := map[string]map[string]*tally{}
	for i, e := range engines {
		start := time.Now()
		outs, err := e.run(ctx, cases)
		if err != nil {
			fmt.Printf("%s can't be run: %v\n", e.name(), err)
			continue
		}
		for k, c := range cases {
			verdict := judge(c, outs[k])
			for _, row := range []string{c.Kind, "all"} {
				if table[row] == nil {
					table[row] = map[string]*tally{}
				}
				if table[row][e.name()] == nil {
					table[row][e.name()] = &tally{}
				}
				table[row][e.name()].count(verdict)
			}
			if i == 0 && verdict == show {
				fmt.Printf("--- %s %s\n%s\n%s\n", c.ID, c.From, c.Patch, outs[k].note)
			}
		}
		fmt.Fprintf(os.Stderr, "%s: %v\n", e.name(), time.Since(start).Round(time.Millisecond))
	}
	printTable(table, engines)
	return nil
}

func save(name string, cases []Case) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	e := json.NewEncoder(f)
	for _, c := range cases {
		if err := e.Encode(c); err != nil {
			return err
		}
	}
	return nil
}

// outcome is what an engine made of a case.
type outcome struct {
	text    string
	refused bool
	note    string
}

func judge(c Case, o outcome) string {
	switch {
	case o.refused:
		return "refused"
	case o.text == c.Truth:
		return "correct"
	}
	return "wrong"
}

type tally struct{ correct, refused, wrong int }

func (t *tally) count(verdict string) {
	switch verdict {
	case "correct":
		t.correct++
	case "refused":
		t.refused++
	default:
		t.wrong++
	}
}

func printTable(table map[string]map[string]*tally, engines []engine) {
	var rows []string
	for r := range table {
		if r != "all" {
			rows = append(rows, r)
		}
	}
	slices.Sort(rows)
	fmt.Print("| correct / refused / wrong |")
	for _, e := range engines {
		fmt.Printf(" %s |", e.name())
	}
	fmt.Print("\n|---|" + strings.Repeat("---|", len(engines)) + "\n")
	for _, r := range append(rows, "all") {
		fmt.Printf("| %s |", r)
		for _, e := range engines {
			if t := table[r][e.name()]; t != nil {
				fmt.Printf(" %d / %d / %d |", t.correct, t.refused, t.wrong)
			} else {
				fmt.Print(" – |")
			}
		}
		fmt.Println()
	}
}
