package applypatch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/whet-dev/whet/internal/peer"
)

// codexBinary is the real applier: the Codex binary, called apply_patch.
func codexBinary(t *testing.T) string {
	bins, err := filepath.Glob(filepath.Join(peer.Module(t, "@openai/codex"), "..", "codex-*", "vendor", "*", "bin", "codex"))
	if err != nil || len(bins) == 0 {
		t.Skip("Codex has no binary for this machine")
	}
	return bins[0]
}

// runCodex applies a patch in dir and says whether Codex took it.
func runCodex(t *testing.T, bin, dir, patch string) error {
	t.Helper()
	home := t.TempDir()
	c := exec.CommandContext(t.Context(), bin)
	c.Args = []string{"apply_patch"}
	c.Dir, c.Stdin, c.Env = dir, strings.NewReader(patch), append(os.Environ(), "HOME="+home, "CODEX_HOME="+home)
	out, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// randomEdits changes a file at some places: the edits, and the file after them.
func randomEdits(rng *rand.Rand, file []byte) []edit {
	t := newText(file)
	var es []edit
	for at := rng.IntN(1 + t.lines()/2); at < t.lines(); at += 1 + rng.IntN(1+t.lines()) {
		e := edit{line: at, n: min(rng.IntN(4), t.lines()-at)}
		for range rng.IntN(4) {
			e.add = append(e.add, mutate(rng, string(t.line(rng.IntN(t.lines())))))
		}
		if e.n == 0 && e.add == nil {
			e.n = 1
		}
		e.off, e.end = t.offset(e.line), t.offset(e.line+e.n)
		es = append(es, e)
		at += e.n
	}
	return es
}

// sample is a random file: lines of real code, often the same ones again, in
// any style of line ending, with marks in awkward places.
func sample(rng *rand.Rand, base []string) []byte {
	lines := slices.Clone(base[:min(len(base), 1+rng.IntN(80))])
	for range rng.IntN(3) {
		i := rng.IntN(len(lines))
		lines = append(lines, lines[i:]...)
	}
	for range rng.IntN(3) {
		lines[rng.IntN(len(lines))] = []string{"", "}", "*** End Patch", "*** End of File", "@@ x", "“q” – é", " "}[rng.IntN(7)]
	}
	eol := "\n"
	if rng.IntN(4) == 0 {
		eol = "\r\n"
	}
	s := strings.Join(lines, eol)
	if rng.IntN(5) > 0 {
		s += eol
	}
	if rng.IntN(8) == 0 {
		s += eol
	}
	if rng.IntN(8) == 0 {
		s = utf8BOM + s
	}
	return []byte(s)
}

// TestPeerCodexRendering gives rendered patches of random edits to the real
// Codex: it must make what the plan wants, but for the limits that were told.
func TestPeerCodexRendering(t *testing.T) {
	bin := codexBinary(t)
	rounds, each := 15, 40
	if testing.Short() {
		rounds = 2
	}
	bases := goFiles(t, 60)
	rng := rand.New(rand.NewPCG(9, 9))
	limited := 0
	for range rounds {
		dir := t.TempDir()
		plan := randomPlan(t, rng, bases, dir, each)
		r, err := plan.Render(Codex, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := plan.Render(AnyDialect, ""); err != nil {
			t.Error(err)
		}
		if err := runCodex(t, bin, dir, r.Text); err != nil {
			t.Fatalf("%v\n%s", err, r.Text)
		}
		limited += compareHost(t, dir, plan, r)
	}
	t.Logf("%d files with a limit, all foretold", limited)
}

// randomPlan writes n random files into dir and plans random edits of them.
func randomPlan(t *testing.T, rng *rand.Rand, bases [][]string, dir string, n int) *Plan {
	t.Helper()
	plan := &Plan{}
	for i := range n {
		old := sample(rng, bases[rng.IntN(len(bases))])
		f := File{Path: fmt.Sprintf("f%d", i), Op: Update, Old: old}
		es := randomEdits(rng, old)
		f.New = newText(old).apply(es, keepNewline)
		if bytes.Equal(f.Old, f.New) {
			continue
		}
		f.count(old, es, nil)
		plan.Files = append(plan.Files, f)
		if err := os.WriteFile(filepath.Join(dir, f.Path), old, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return plan
}

// compareHost checks that a host left what the plan wants, or else what the
// rendering foretold; it returns how often the latter.
func compareHost(t *testing.T, dir string, plan *Plan, r *Rendered) (limited int) {
	t.Helper()
	for _, f := range plan.Files {
		got, err := os.ReadFile(filepath.Join(dir, f.Path))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(got, f.New) {
			continue
		}
		limited++
		if !slices.Contains(r.Hosts, Outcome{f.Path, string(got), string(f.New)}) {
			k := 0
			for k < min(len(got), len(f.New)) && got[k] == f.New[k] {
				k++
			}
			t.Errorf("%s: the host makes ...%.100q at byte %d, wanted ...%.100q", f.Path, got[k:], k, f.New[k:])
		}
	}
	return limited
}

// TestPeerOpenCodeRendering gives one rendered patch of random edits to the
// real OpenCode, by its debug command: it needs no model and no network.
func TestPeerOpenCodeRendering(t *testing.T) {
	if testing.Short() {
		t.Skip("OpenCode takes its time to start")
	}
	bins, err := filepath.Glob(filepath.Join(peer.Module(t, "opencode-ai"), "..", "opencode-linux-x64", "bin", "opencode"))
	if err != nil || len(bins) == 0 {
		t.Skip("OpenCode has no binary for this machine")
	}
	dir, home := t.TempDir(), t.TempDir()
	config := `{"formatter":false,"lsp":false,"autoupdate":false,"share":"disabled","model":"dummy/gpt-5","permission":{"edit":"allow"},
		"provider":{"dummy":{"npm":"@ai-sdk/openai-compatible","options":{"baseURL":"http://127.0.0.1:9/v1","apiKey":"x"},"models":{"gpt-5":{"name":"gpt-5"}}}}}`
	if err := os.WriteFile(filepath.Join(dir, "opencode.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Skipf("git: %v: %s", err, out)
	}
	plan := randomPlan(t, rand.New(rand.NewPCG(5, 5)), goFiles(t, 60), dir, 25)
	r, err := plan.Render(OpenCodeV1, "")
	if err != nil {
		t.Fatal(err)
	}
	args, err := json.Marshal(map[string]string{"patchText": r.Text})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, bins[0], "debug", "agent", "build", "--tool", "apply_patch", "--params", string(args))
	c.Dir = dir
	c.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+home, "XDG_STATE_HOME="+home, "XDG_CACHE_HOME="+home,
		"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %.2000s", err, out)
	}
	t.Logf("%d of %d files with a limit, all foretold", compareHost(t, dir, plan, r), len(plan.Files))
}

// TestPeerCodexModel gives patches of many kinds, good and bad, to the real
// Codex and to our model of it: what the model takes, Codex takes, and both
// make the same of it.
func TestPeerCodexModel(t *testing.T) {
	bin := codexBinary(t)
	rounds := 150
	if testing.Short() {
		rounds = 15
	}
	bases := goFiles(t, 60)
	rng := rand.New(rand.NewPCG(7, 7))
	took := 0
	for i := range rounds {
		d := newDrift(rng, bases[rng.IntN(len(bases))])
		var b strings.Builder
		for _, l := range d.file {
			b.WriteString(l.text + "\n")
		}
		old := []byte(b.String())
		patch := "*** Begin Patch\n*** Update File: f\n@@\n" + show(d.chunk) + []string{"", "", "*** End of File\n"}[rng.IntN(3)] + "*** End Patch"
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "f"), old, 0o600); err != nil {
			t.Fatal(err)
		}
		model, err := Replay(Codex, map[string][]byte{"f": old}, patch)
		real := runCodex(t, bin, dir, patch)
		if err != nil {
			if real == nil {
				t.Logf("%d: Codex takes it, the model says %v", i, err)
			}
			continue
		}
		took++
		got, rerr := os.ReadFile(filepath.Join(dir, "f"))
		if real != nil || rerr != nil || !bytes.Equal(got, model["f"]) {
			t.Fatalf("%d: the model takes it, Codex: %v, %d and %d bytes\n%s", i, real, len(model["f"]), len(got), patch)
		}
	}
	t.Logf("%d of %d taken by both", took, rounds)
}

// TestPeerCodexScenarios runs the scenarios that both must end alike.
func TestPeerCodexScenarios(t *testing.T) {
	bin := codexBinary(t)
	for name, s := range map[string]struct {
		files map[string]string
		patch string
		want  map[string]string
	}{
		"add":           {nil, "*** Add File: a/b\n+x", map[string]string{"a/b": "x\n"}},
		"several":       {map[string]string{"m": "1\n2\n", "d": "x\n"}, "*** Add File: n\n+c\n*** Delete File: d\n*** Update File: m\n@@\n-2\n+two", map[string]string{"n": "c\n", "m": "1\ntwo\n"}},
		"chunks":        {map[string]string{"m": "1\n2\n3\n4\n"}, "*** Update File: m\n@@\n-2\n+b\n@@\n-4\n+d", map[string]string{"m": "1\nb\n3\nd\n"}},
		"move":          {map[string]string{"o": "x\ny\n"}, "*** Update File: o\n*** Move to: r/o\n@@\n-x\n+X", map[string]string{"r/o": "X\ny\n"}},
		"append":        {map[string]string{"m": "1\n"}, "*** Update File: m\n@@\n+2", map[string]string{"m": "1\n2\n"}},
		"end of file":   {map[string]string{"m": "1\n2\n"}, "*** Update File: m\n@@\n 1\n-2\n+3\n*** End of File", map[string]string{"m": "1\n3\n"}},
		"typography":    {map[string]string{"m": "a – b\n"}, "*** Update File: m\n@@\n-a - b\n+c", map[string]string{"m": "c\n"}},
		"deletion only": {map[string]string{"m": "1\n2\n3\n"}, "*** Update File: m\n@@\n 1\n-2\n 3", map[string]string{"m": "1\n3\n"}},
		"missing":       {map[string]string{"m": "1\n"}, "*** Update File: m\n@@\n-2\n+3", map[string]string{"m": "1\n"}},
		"no such file":  {map[string]string{"m": "1\n"}, "*** Delete File: q", map[string]string{"m": "1\n"}},
		"bad header":    {map[string]string{"m": "1\n"}, "*** Frob File: q", map[string]string{"m": "1\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			patch := "*** Begin Patch\n" + s.patch + "\n*** End Patch"
			for _, who := range []string{"Codex", "whet"} {
				dir := t.TempDir()
				for n, text := range s.files {
					if err := os.WriteFile(filepath.Join(dir, n), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if who == "Codex" {
					_ = runCodex(t, bin, dir, patch)
				} else if w, err := Open(dir); err != nil {
					t.Fatal(err)
				} else if p, err := Parse(patch); err == nil {
					if plan, err := Resolve(w, p, Options{}); err == nil {
						if err := plan.Commit(t.Context(), ""); err != nil {
							t.Fatal(err)
						}
					}
				}
				got := map[string]string{}
				for n := range s.want {
					if b, err := os.ReadFile(filepath.Join(dir, n)); err == nil {
						got[n] = string(b)
					}
				}
				if !maps.Equal(got, s.want) {
					t.Errorf("%s: %v, want %v", who, got, s.want)
				}
			}
		})
	}
}
