package astgrep

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/whet-dev/whet/internal/peer"
)

// corpora are real sources, from the peers and from Go itself.
var corpora = []struct{ lang, module, dir string }{
	{"typescript", "rxjs", "src"},
	{"javascript", "tar", "dist"},
	{"python", "node-gyp", "gyp"},
	{"java", "@capacitor/android", "capacitor/src"},
	{"swift", "@capacitor/ios", "Capacitor"},
	{"solidity", "@openzeppelin/contracts", "."},
	{"css", "bootstrap", "scss"},
	{"json", "@openzeppelin/contracts", "build"},
	{"go", "", "net/http"},
}

const (
	corpusFiles = 24
	patterns    = 36 // of each corpus
)

// The heart of the pre-filter: patterns cut from real code, with meta-variables
// put in at random, must find byte for byte what the bare engine finds.
func TestPrefilterChangesNothing(t *testing.T) {
	e := engine(t)
	n, found := 0, 0
	for _, c := range corpora {
		t.Run(c.lang, func(t *testing.T) {
			dir, files := corpus(t, c.lang, c.module, c.dir)
			cut := newCutter(t, e, dir, c.lang, files)
			want := patterns
			if testing.Short() {
				want = 4
			}
			for tried, got := 0, 0; got < want; tried++ {
				if tried > 20*want {
					t.Fatalf("only %d of %d patterns could be cut", got, want)
				}
				p := cut.pattern()
				strictness := []string{"", "", "", "ast", "cst", "relaxed", "signature"}[cut.rand.IntN(7)]
				bare, err := bareEngine(t, e, dir, c.lang, p, strictness)
				if err != nil {
					continue // not one complete node
				}
				got++
				n++
				if len(bare) > 0 {
					found++
				}
				for _, whole := range []bool{false, true} {
					if whole && n%6 != 0 {
						continue // the same files and the same engine
					}
					if ours := ourEngine(t, e, dir, c.lang, p, strictness, whole); !slices.Equal(ours, bare) {
						t.Errorf("%s pattern %q, strictness %q, without pre-filter %v: %d matches, bare ast-grep %d\n%s",
							c.lang, p, strictness, whole, len(ours), len(bare), strings.Join(missing(ours, bare), "\n"))
					}
				}
			}
		})
	}
	t.Logf("%d patterns, of which %d match", n, found)
	if !testing.Short() && (n < 300 || found < n/2) {
		t.Errorf("%d patterns, of which %d match: that proves too little", n, found)
	}
}

func missing(ours, bare []string) (out []string) {
	for _, b := range bare {
		if !slices.Contains(ours, b) && len(out) < 3 {
			out = append(out, "missing: "+brief(b, 300))
		}
	}
	for _, o := range ours {
		if !slices.Contains(bare, o) && len(out) < 6 {
			out = append(out, "extra: "+brief(o, 300))
		}
	}
	return out
}

// corpus copies some source files into a folder of their own.
func corpus(t *testing.T, lang, module, sub string) (dir string, files []string) {
	root := ""
	if module != "" {
		root = peer.Module(t, module)
	} else {
		out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
		if err != nil {
			t.Skipf("there are no sources of Go: %v", err)
		}
		root = filepath.Join(strings.TrimSpace(string(out)), "src")
	}
	l, err := findLanguage(lang)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	var all []string
	err = filepath.WalkDir(filepath.Join(root, sub), func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && hasExt(p, l.exts) {
			if info, err := d.Info(); err == nil && info.Size() > 200 && info.Size() < 14_000 {
				all = append(all, p)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	step := max(1, len(all)/corpusFiles)
	for i := 0; i < len(all); i += step {
		text, err := os.ReadFile(all[i])
		if err != nil {
			t.Fatal(err)
		}
		if i/step%4 == 3 { // the engine makes trees of broken files too
			text = damage(text, i)
		}
		name := fmt.Sprintf("%03d%s", i, filepath.Ext(all[i]))
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, name)
	}
	if len(files) < 10 {
		t.Fatalf("only %d files of %s", len(files), lang)
	}
	return dir, files
}

// damage cuts a few pieces out of text.
func damage(text []byte, seed int) []byte {
	r := rand.New(rand.NewPCG(2, uint64(seed)))
	for range 6 {
		i := r.IntN(len(text))
		text = slices.Delete(text, i, min(len(text), i+1+r.IntN(25)))
	}
	return bytes.ToValidUTF8(text, nil)
}

// bareEngine returns what ast-grep itself prints, sorted.
func bareEngine(t *testing.T, e Engine, dir, lang, pattern, strictness string) ([]string, error) {
	t.Helper()
	w := workspaceFor(t, e, dir)
	args := []string{"run", "--lang=" + lang, "--pattern=" + pattern, "--json=stream"}
	if strictness != "" {
		args = append(args, "--strictness="+strictness)
	}
	var out bytes.Buffer
	_, err := w.run(t.Context(), &out, append(args, ".")...)
	return lines(out.String()), err
}

// lines returns the lines of JSON in s, sorted: the engine orders neither files
// nor the keys of an object.
func lines(s string) []string {
	var out []string
	for l := range strings.Lines(s) {
		var v any
		if json.Unmarshal([]byte(l), &v) != nil {
			return []string{"no JSON: " + l}
		}
		b, _ := json.Marshal(v) // what was JSON is JSON
		out = append(out, string(b))
	}
	slices.Sort(out)
	return out
}

func workspaceFor(t *testing.T, e Engine, dir string) *workspace {
	t.Helper()
	w, err := open(e, dir, defaultTimeout)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.close)
	return w
}

// ourEngine returns the lines that a search keeps, without repairs.
func ourEngine(t *testing.T, e Engine, dir, lang, pattern, strictness string, whole bool) []string {
	t.Helper()
	s, err := begin(e, &Query{Dir: dir, Lang: lang, Pattern: pattern, Strictness: strictness, Whole: whole})
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	r, err := s.read(t.Context(), s.lang, reading{pattern: pattern, strictness: strictness})
	if err != nil {
		t.Fatalf("reading %q: %v", pattern, err)
	}
	f, err := s.once(t.Context(), r, 0)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, ls := range f.kept {
		for _, l := range ls {
			b.Write(append(l, '\n'))
		}
	}
	return lines(b.String())
}

// seed is $WHET_SEED, so that other patterns can be had than those of every day.
func seed() uint64 {
	n, _ := strconv.ParseUint(os.Getenv("WHET_SEED"), 10, 64)
	return n
}

// A cutter cuts patterns from files by the nodes in them.
type cutter struct {
	rand  *rand.Rand
	text  map[string]string
	nodes []rawMatch
}

func newCutter(t *testing.T, e Engine, dir, lang string, files []string) *cutter {
	c := &cutter{rand: rand.New(rand.NewPCG(seed(), uint64(len(lang)))), text: map[string]string{}}
	w := workspaceFor(t, e, dir)
	for range 8 {
		name := files[c.rand.IntN(len(files))]
		if c.text[name] != "" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		c.text[name] = string(text)
		var out bytes.Buffer
		if _, err := w.run(t.Context(), &out, "run", "--lang="+lang, "--pattern=$A", "--json=stream", name); err != nil {
			t.Fatal(err)
		}
		for _, l := range lines(out.String()) {
			var m rawMatch
			if err := json.Unmarshal([]byte(l), &m); err != nil {
				t.Fatal(err)
			}
			if n := len(m.Text); n >= 3 && n <= 240 {
				c.nodes = append(c.nodes, m)
			}
		}
	}
	if len(c.nodes) == 0 {
		t.Fatal("no nodes")
	}
	return c
}

// pattern returns the text of a node, in which nodes are meta-variables.
func (c *cutter) pattern() string {
	n := c.nodes[c.rand.IntN(len(c.nodes))]
	start, end := n.Range.Byte.Start, n.Range.Byte.End
	var inner []rawSpan
	for _, m := range c.nodes {
		if s := m.Range.Byte; m.File == n.File && s.Start >= start && s.End <= end && s.End-s.Start < end-start {
			inner = append(inner, s)
		}
	}
	c.rand.Shuffle(len(inner), func(i, j int) { inner[i], inner[j] = inner[j], inner[i] })
	var holes []rawSpan
	for _, s := range inner[:min(len(inner), c.rand.IntN(4))] {
		if !slices.ContainsFunc(holes, func(h rawSpan) bool { return s.Start < h.End && h.Start < s.End }) {
			holes = append(holes, s)
		}
	}
	slices.SortFunc(holes, func(a, b rawSpan) int { return a.Start - b.Start })
	var b strings.Builder
	text := c.text[n.File]
	for i, h := range holes {
		b.WriteString(text[start:h.Start])
		b.WriteString([]string{"$A", "$_", "$$$ARGS", "$$$", "$" + string(rune('B'+i))}[c.rand.IntN(5)])
		start = h.End
	}
	return b.String() + text[start:end]
}
