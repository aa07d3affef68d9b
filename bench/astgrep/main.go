// Astgrep measures a structural search as an agent makes it, a whole process of
// whet against bare ast-grep on the same tree, pattern by pattern, and fails if
// the two don't find the same number of matches.
//
//	go run ./bench/astgrep [LANG=DIR ...]
//
// Without trees it takes those that scripts/peers and Go itself bring along:
// viem's TypeScript and src/internal of Go. Both programs run in one session of
// the system and print into a pipe.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/whet-dev/whet/astgrep"
	"github.com/whet-dev/whet/internal/measure"
	"github.com/whet-dev/whet/internal/peer"
)

// patterns of differing selectivity, the most selective first; the last have no
// word that a file could lack.
var patterns = map[string][]string{
	"typescript": {
		"new InvalidAddressError($$$A)", "Symbol.for($A)", "console.log($$$A)", "throw new $E($$$A)",
		"$P.then($F)", "await $F($$$A)", "if ($C) { return $X }", "($P) => $B",
	},
	"go": {
		"sync.Pool{$$$A}", "strings.NewReplacer($$$A)", "defer $M.Unlock()", "go func() { $$$B }()",
		"errors.New($A)", "switch $X := $Y.(type) { $$$C }", "if err != nil { return $X, err }", "$A = append($A, $$$B)",
	},
	"python": {
		"hashlib.sha256($A)", "setattr($O, $N, $V)", "warnings.warn($$$A)", "raise ValueError($$$A)",
		"yield $X", "isinstance($A, $B)", "if $C: return $X", "$A = $B",
	},
	"rust": {
		"std::mem::transmute($A)", "tokio::spawn($A)", "unreachable!($$$A)", "$X.expect($M)",
		"unsafe { $$$B }", "$X.unwrap()", "let $A = $B;", "$F($A)",
	},
}

func main() {
	rounds := flag.Int("rounds", 5, "runs of each contender, in turns")
	flag.Parse()
	measure.Main("astgrep", func(ctx context.Context, w io.Writer) error { return run(ctx, w, *rounds, flag.Args()) })
}

func run(ctx context.Context, w io.Writer, rounds int, trees []string) error {
	bare := peer.Lookup("ast-grep")
	if bare == "" {
		return errors.New("ast-grep is not installed; run scripts/peers")
	}
	temp, err := os.MkdirTemp("", "whet-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	whet, err := measure.BuildWhet(ctx, temp)
	if err != nil {
		return err
	}
	if len(trees) == 0 {
		if trees, err = defaultTrees(ctx, temp); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "%s\n\n", measure.Machine())
	for _, t := range trees {
		lang, dir, _ := strings.Cut(t, "=")
		if patterns[lang] == nil {
			return fmt.Errorf("no patterns for %q", lang)
		}
		if err := tree(ctx, w, rounds, &contenders{bare, whet, lang, dir, temp}); err != nil {
			return err
		}
	}
	return nil
}

// defaultTrees unpacks viem, and finds Go's sources.
func defaultTrees(ctx context.Context, temp string) ([]string, error) {
	if out, err := exec.CommandContext(ctx, "tar", "-xzf", ".peers/packs/viem-2.57.20.tgz", "-C", temp).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("unpacking viem, which scripts/peers brings: %w\n%s", err, out)
	}
	goroot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	return []string{
		"typescript=" + filepath.Join(temp, "package"),
		"go=" + filepath.Join(strings.TrimSpace(string(goroot)), "src", "internal"),
	}, nil
}

type contenders struct {
	bare, whet, lang, dir, state string
}

func tree(ctx context.Context, w io.Writer, rounds int, c *contenders) error {
	fmt.Fprintf(w, "### %s\n\n| pattern | matches | files parsed | ast-grep | whet | faster | less CPU |\n|---|---:|---:|---:|---:|---:|---:|\n", c.lang)
	curve := measure.Curve{Title: "A structural search against how many files hold its words: " + c.lang, X: "files parsed", Y: "milliseconds, medians", Names: []string{"ast-grep", "whet"}}
	for _, p := range patterns[c.lang] {
		a, err := c.count(ctx, p)
		if err != nil {
			return err
		}
		rows, err := measure.Compare(rounds,
			measure.Contender{Name: "ast-grep", Run: func() error { _, err := c.runBare(ctx, p); return err }},
			measure.Contender{Name: "whet", Run: func() error { _, err := c.runWhet(ctx, p); return err }},
		)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "| `%s` | %d | %d of %d | %v | %v | %.2fx | %.2fx |\n", strings.ReplaceAll(p, "|", `\|`), a.Total, a.Parsed, a.Searched,
			measure.Round(rows[0].Median), measure.Round(rows[1].Median), 1/rows[1].Ratio,
			1/rows[1].CPURatio)
		curve.Add(float64(a.Parsed), rows[0].Median.Seconds()*1000, rows[1].Median.Seconds()*1000)
	}
	fmt.Fprintln(w)
	return curve.Write(w, "astgrep-"+c.lang)
}

// count compares what the two find.
func (c *contenders) count(ctx context.Context, pattern string) (a astgrep.Answer, err error) {
	bare, err := c.runBare(ctx, pattern)
	if err != nil {
		return a, err
	}
	out, err := c.runWhet(ctx, pattern)
	if err != nil {
		return a, err
	}
	r := struct{ Data *astgrep.Answer }{&a}
	if err := json.Unmarshal(out, &r); err != nil {
		return a, err
	}
	if n := bytes.Count(bare, []byte("\n")); n != a.Total && a.Reading == nil {
		return a, fmt.Errorf("%s in %s: ast-grep finds %d, whet %d", pattern, c.dir, n, a.Total)
	}
	return a, nil
}

func (c *contenders) runBare(ctx context.Context, pattern string) ([]byte, error) {
	return c.output(ctx, c.bare, "run", "--lang="+c.lang, "--pattern="+pattern, "--json=stream", ".")
}

func (c *contenders) runWhet(ctx context.Context, pattern string) ([]byte, error) {
	args, err := json.Marshal(map[string]string{"lang": c.lang, "pattern": pattern})
	if err != nil {
		return nil, err
	}
	return c.output(ctx, c.whet, "call", "ast_grep_search", string(args), "--json")
}

// output runs a program; one that finds nothing ends with 1.
func (c *contenders) output(ctx context.Context, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "WHET_STATE="+c.state, "PATH="+filepath.Dir(peer.Lookup("ast-grep"))+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == 1 {
		err = nil
	}
	return out, err
}
