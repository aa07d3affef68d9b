package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Case is a stale patch with its right answer.
type Case struct {
	ID, Kind, From, Target, Patch, Truth string
}

// hunk is a hunk of a unified diff: lines with their prefix.
type hunk struct {
	at    int // old line, 1-based
	head  string
	lines []string
}

// source is a change with a clean merge, before noise.
type source struct {
	from, target, truth string
	hunks               []hunk
}

const maxFile = 400_000 // bytes

var textFile = regexp.MustCompile(`\.(go|md|s|c|h|sh|proto|html|js|yaml|yml)$`)

// corpus builds perKind cases of each kind of noise. twins counts the patches
// left out because byte for byte they fit, once, where the merge doesn't put
// them: such a patch speaks for the wrong place, and every applier follows it.
func corpus(ctx context.Context, seed uint64, perKind int, mods []string) (cases []Case, twins int, err error) {
	rng := rand.New(rand.NewPCG(seed, 1))
	tmp, err := os.MkdirTemp("", "rescue")
	if err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(tmp)
	g := generator{rng: rng, tmp: tmp}
	for _, m := range mods {
		if err := g.module(ctx, m); err != nil {
			return nil, 0, err
		}
	}
	rng.Shuffle(len(g.pool), func(i, j int) { g.pool[i], g.pool[j] = g.pool[j], g.pool[i] })
	fmt.Fprintf(os.Stderr, "%d clean merges\n", len(g.pool))
	for _, k := range kinds {
		n := 0
		// Each kind starts elsewhere in the pool, so that no file counts too often.
		start := rng.IntN(len(g.pool))
		for i := range g.pool {
			if n == perKind {
				break
			}
			s := g.pool[(start+i)%len(g.pool)]
			c, twin, ok := k.make(s, rng)
			g.twins += boolInt(twin)
			if ok {
				c.ID, c.Kind, c.From = fmt.Sprintf("%s/%d", k.name, n), k.name, s.from
				cases = append(cases, c)
				n++
			}
		}
	}
	return cases, g.twins, nil
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

type generator struct {
	rng   *rand.Rand
	tmp   string
	pool  []source
	twins int
}

func (g *generator) module(ctx context.Context, spec string) error {
	mod, list, _ := strings.Cut(spec, "@")
	vs := strings.Split(list, ",")
	if len(vs) != 3 {
		return fmt.Errorf("%s: want MODULE@OLD,MID,NEW", spec)
	}
	var dirs []string
	for _, v := range vs {
		d, err := download(ctx, mod+"@"+v)
		if err != nil {
			return err
		}
		dirs = append(dirs, d)
	}
	return filepath.WalkDir(dirs[1], func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !textFile.MatchString(p) {
			return err
		}
		rel, _ := filepath.Rel(dirs[1], p)
		var ts []string
		for _, d := range dirs {
			t, ok := readText(filepath.Join(d, rel))
			if !ok {
				return nil
			}
			ts = append(ts, t)
		}
		if ts[0] == ts[1] || ts[1] == ts[2] {
			return nil
		}
		return g.file(ctx, mod+"/"+rel, ts[0], ts[1], ts[2])
	})
}

func download(ctx context.Context, mod string) (string, error) {
	c := exec.CommandContext(ctx, "go", "mod", "download", "-json", mod)
	c.Dir = os.TempDir()
	b, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("downloading %s: %w", mod, err)
	}
	var v struct{ Dir string }
	return v.Dir, json.Unmarshal(b, &v)
}

func readText(p string) (string, bool) {
	b, err := os.ReadFile(p)
	return string(b), err == nil && len(b) <= maxFile && utf8.Valid(b) && !strings.ContainsAny(string(b), "\r\x00")
}

// file adds up to three changes of one file to the pool.
func (g *generator) file(ctx context.Context, from, old, mid, now string) error {
	hs, err := g.diff(ctx, mid, now)
	if err != nil || len(hs) == 0 {
		return err
	}
	for range min(3, len(hs)) {
		i, n := g.rng.IntN(len(hs)), []int{1, 1, 1, 2, 3}[g.rng.IntN(5)]
		sub := hs[i:min(len(hs), i+n)]
		truth, ok := g.merge(ctx, old, mid, applyAt(mid, sub))
		if !ok || truth == old {
			continue
		}
		if exact, ok := applyOnce(old, sub); ok && exact != truth {
			g.twins++
			continue
		}
		g.pool = append(g.pool, source{from: from, target: old, truth: truth, hunks: sub})
	}
	return nil
}

var hunkHead = regexp.MustCompile(`^@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@ ?(.*)`)

func (g *generator) diff(ctx context.Context, a, b string) (hs []hunk, err error) {
	pa, pb := filepath.Join(g.tmp, "a"), filepath.Join(g.tmp, "b")
	if err := os.WriteFile(pa, []byte(a), 0o600); err != nil {
		return nil, err
	}
	if err := os.WriteFile(pb, []byte(b), 0o600); err != nil {
		return nil, err
	}
	out, _ := exec.CommandContext(ctx, "git", "diff", "--no-index", "-U3", "--no-color", pa, pb).Output()
	bare := false
	for l := range strings.SplitSeq(string(out), "\n") {
		if m := hunkHead.FindStringSubmatch(l); m != nil {
			at, _ := strconv.Atoi(m[1])
			hs = append(hs, hunk{at: at, head: m[2]})
		} else if n := len(hs); n > 0 && l != "" && strings.IndexByte(" +-", l[0]) >= 0 {
			hs[n-1].lines = append(hs[n-1].lines, l)
		} else if strings.HasPrefix(l, `\`) {
			bare = true
		}
	}
	if bare {
		return nil, nil
	}
	return slices.DeleteFunc(hs, func(h hunk) bool { return len(h.lines) >= 60 }), nil
}

// merge is git's three-way merge; ok is false if it has conflicts.
func (g *generator) merge(ctx context.Context, ours, base, theirs string) (string, bool) {
	var ps []string
	for i, t := range []string{ours, base, theirs} {
		p := filepath.Join(g.tmp, strconv.Itoa(i))
		if os.WriteFile(p, []byte(t), 0o600) != nil {
			return "", false
		}
		ps = append(ps, p)
	}
	out, err := exec.CommandContext(ctx, "git", "merge-file", "-p", ps[0], ps[1], ps[2]).Output()
	return string(out), err == nil
}

// applyAt applies hunks at their line numbers.
func applyAt(text string, hs []hunk) string {
	lines := strings.Split(text, "\n")
	var out []string
	i := 0
	for _, h := range hs {
		at := max(0, h.at-1)
		out = append(out, lines[i:at]...)
		i = at
		for _, l := range h.lines {
			if l[0] == '+' {
				out = append(out, l[1:])
				continue
			}
			if l[0] == ' ' {
				out = append(out, lines[i])
			}
			i++
		}
	}
	return strings.Join(append(out, lines[i:]...), "\n")
}

// applyOnce applies hunks whose old lines stand in text byte for byte, each at
// exactly one place.
func applyOnce(text string, hs []hunk) (string, bool) {
	for _, h := range hs {
		var old, now strings.Builder
		old.WriteByte('\n')
		now.WriteByte('\n')
		for _, l := range h.lines {
			if l[0] != '+' {
				old.WriteString(l[1:] + "\n")
			}
			if l[0] != '-' {
				now.WriteString(l[1:] + "\n")
			}
		}
		t := "\n" + text
		if strings.Count(t, old.String()) != 1 {
			return "", false
		}
		text = strings.Replace(t, old.String(), now.String(), 1)[1:]
	}
	return text, true
}
