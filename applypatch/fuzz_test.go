package applypatch

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func seedPatches(f *testing.F) {
	for _, s := range []string{
		"*** Begin Patch\n*** Update File: f\n@@ x\n a\n-b\n+B\n c\n*** End Patch",
		"```\n*** Begin Patch\n*** Add File: g\n+a\n+\n*** Delete File: f\n*** End Patch\n```",
		"cd d && apply_patch <<'E'\n*** Begin Patch\n*** Update File: f\n*** Move to: g\n@@ -1,2 +1,2 @@ h\n a\n\\ No newline at end of file\n-b\n*** End of File\n*** End Patch\nE",
		`["bash","-lc","apply_patch <<X\n*** Begin Patch\n*** End Patch\nX"]`,
	} {
		f.Add(s)
	}
}

// FuzzParse: no input makes it panic, and every refusal names a line that is there.
func FuzzParse(f *testing.F) {
	seedPatches(f)
	f.Fuzz(func(t *testing.T, s string) {
		p, err := Parse(s)
		if err != nil {
			e := err.(*Error)
			if n := strings.Count(s, "\n") + strings.Count(s, `\n`) + 1; e.At.PatchLine < 0 || e.At.PatchLine > n || e.Kind != Validation {
				t.Errorf("patch line %d of %d: %v", e.At.PatchLine, n, e)
			}
			if len(e.Error()) > MaxReport {
				t.Errorf("the report has %d bytes", len(e.Error()))
			}
			return
		}
		for _, sec := range p.Sections {
			if sec.Path == "" || sec.Op == Update && len(sec.Chunks) == 0 && sec.MoveTo == "" {
				t.Errorf("an empty section: %+v", sec)
			}
		}
	})
}

// FuzzResolve takes a file and the body of a chunk. Whatever the outcome:
// exact stays exact, and no byte changes that the chunk doesn't name.
func FuzzResolve(f *testing.F) {
	f.Add("a\nb\nc\n", " a\n-b\n+B\n c")
	f.Add("a\r\nb\r\nc", "-b\n+B")
	f.Add("\ufeffif x:\n\ty\n\tz\n", " if x:\n-    y\n+    q\n     z")
	f.Add("one two\nthree “four”\nfive six\nseven\n", " one  two\n-three \"four\"\n+3\n five sax\n seven")
	f.Fuzz(func(t *testing.T, file, chunk string) {
		p, err := Parse("*** Begin Patch\n*** Update File: f\n@@\n" + chunk + "\n*** End Patch")
		if err != nil || len(p.Sections) != 1 || len(p.Sections[0].Chunks) == 0 || binary([]byte(file)) {
			return
		}
		cs := p.Sections[0].Chunks
		tx := newText([]byte(file))
		ps, err := resolve(tx, "f", cs, Options{})
		if want, ok := literal(file, cs); ok {
			if err != nil {
				t.Fatalf("it fits byte for byte, and yet: %v", err)
			}
			if got := tx.apply(edits(ps), keepNewline); string(got) != want {
				t.Fatalf("it fits byte for byte: got %q, want %q", got, want)
			}
		}
		if err != nil {
			if len(err.Error()) > MaxReport || utf8.ValidString(file) && utf8.ValidString(chunk) && !utf8.ValidString(err.Error()) {
				t.Errorf("bad report: %q", err)
			}
			return
		}
		if ps[0].tier != LineNumbers { // that tier cuts them off the additions
			untouched(t, tx, edits(ps), cs)
		}
	})
}

// literal applies a single chunk whose old lines stand in an LF file byte for
// byte at exactly one place.
func literal(file string, cs []Chunk) (string, bool) {
	if len(cs) != 1 || strings.Contains(file, "\r") || strings.HasPrefix(file, utf8BOM) || !strings.HasSuffix(file, "\n") || cs[0].EOF || len(cs[0].Anchors) > 0 {
		return "", false
	}
	old, now := "\n", "\n"
	for _, l := range cs[0].Lines {
		if strings.Contains(l.Text, "\r") {
			return "", false
		}
		if l.Op != '+' {
			old += l.Text + "\n"
		}
		if l.Op != '-' {
			now += l.Text + "\n"
		}
	}
	f := "\n" + file
	i := strings.Index(f, old)
	if old == "\n" || i < 0 || strings.Contains(f[i+1:], old) {
		return "", false
	}
	return (f[:i] + now + f[i+len(old):])[1:], true
}

// untouched checks that the edits delete only lines that the chunks delete, add
// only lines that they add, and leave every other byte.
func untouched(t *testing.T, tx *text, es []edit, cs []Chunk) {
	t.Helper()
	dels, adds := 0, map[string]int{}
	for _, c := range cs {
		for _, l := range c.Lines {
			switch l.Op {
			case '-':
				dels++
			case '+':
				adds[strings.TrimLeft(l.Text, " \t")]++
			}
		}
	}
	pos := 0
	var kept []byte
	for _, e := range es {
		if e.off < pos || e.end < e.off || e.line+e.n > tx.lines() || e.off != tx.offset(e.line) || e.end != tx.offset(e.line+e.n) {
			t.Fatalf("edits out of order: %+v", es)
		}
		kept = append(kept, tx.b[pos:e.off]...)
		pos = e.end
		dels -= e.n
		for _, a := range e.add {
			if adds[strings.TrimLeft(a, " \t")]--; adds[strings.TrimLeft(a, " \t")] < 0 {
				t.Fatalf("%q is not of the patch", a)
			}
		}
	}
	if dels < 0 {
		t.Fatalf("more lines deleted than the patch has")
	}
	kept = append(kept, tx.b[pos:]...)
	none := slices.Clone(es)
	for i := range none {
		none[i].add = nil
	}
	got := bytes.TrimPrefix(tx.apply(none, keepNewline), []byte(utf8BOM))
	if !bytes.Equal(bytes.TrimRight(got, "\r\n"), bytes.TrimRight(kept, "\r\n")) {
		t.Fatalf("untouched bytes changed: %q, want %q", got, kept)
	}
}

// FuzzRender: what is rendered is proved on the models, and means to us what it
// was made from.
func FuzzRender(f *testing.F) {
	f.Add("a\nb\nc\nb\n", "@@\n-c\n+C\n@@\n-b\n+B")
	f.Add("*** End Patch\r\nb\r\n\r\n", "@@\n *** End Patch\n-b\n+B")
	f.Add("\ufeffa\n\n\n", "@@\n+x\n a")
	f.Fuzz(func(t *testing.T, file, chunks string) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		w, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		original := "*** Begin Patch\n*** Update File: f\n" + chunks + "\n*** End Patch"
		p, err := Parse(original)
		if err != nil || len(p.Sections) != 1 || p.Sections[0].Path != "f" || p.Sections[0].MoveTo != "" {
			return
		}
		plan, err := Resolve(w, p, Options{})
		if err != nil {
			return
		}
		for _, d := range []Dialect{Codex, OpenCode, AnyDialect} {
			r, err := plan.Render(d, original)
			if err != nil {
				continue // refusing to render is safe
			}
			again, err := Parse(r.Text)
			if err != nil {
				t.Fatalf("%s: the rendering can't be read: %v\n%s", d, err, r.Text)
			}
			back, err := Resolve(w, again, Options{})
			if CodeOf(err) == NoChange && len(r.Limits) > 0 {
				continue
			}
			if err != nil {
				t.Fatalf("%s: the rendering doesn't fit: %v\n%s", d, err, r.Text)
			}
			if got, want := back.Files[0].New, plan.Files[0].New; !bytes.Equal(got, want) && limitOf(want, got) == "" {
				t.Fatalf("%s: the rendering gives %q, want %q\n%s", d, got, want, r.Text)
			}
		}
	})
}

// FuzzPaths: no path makes a patch write outside its workspace.
func FuzzPaths(f *testing.F) {
	for _, s := range []string{"f", "../out/f", "/etc/passwd", "link/f", "d/../../out/f", "\"../out/f\"", "a/../../out/f", "..", ".", "link", "dangling"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, path, to string) {
		base := t.TempDir()
		root, out := filepath.Join(base, "w"), filepath.Join(base, "out")
		for _, d := range []string{root, out, filepath.Join(root, "d")} {
			if err := os.Mkdir(d, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range []string{filepath.Join(root, "f"), filepath.Join(out, "f")} {
			if err := os.WriteFile(p, []byte("a\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_ = os.Symlink(out, filepath.Join(root, "link"))
		_ = os.Symlink(filepath.Join(out, "new"), filepath.Join(root, "dangling"))
		if strings.HasPrefix(path, base) || strings.HasPrefix(to, base) {
			return
		}
		w, err := Open(root)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		no := false
		for _, s := range []string{"*** Add File: " + path + "\n+x", "*** Update File: " + path + "\n*** Move to: " + to + "\n@@\n-a\n+A", "*** Delete File: " + path} {
			p, err := Parse("*** Begin Patch\n" + s + "\n*** End Patch")
			if err != nil {
				continue
			}
			if plan, err := Resolve(w, p, Options{Durable: &no}); err == nil {
				_ = plan.Commit(t.Context(), "")
			}
		}
		es, err := os.ReadDir(out)
		b, _ := os.ReadFile(filepath.Join(out, "f"))
		if err != nil || len(es) != 1 || string(b) != "a\n" {
			t.Fatalf("outside: %v %q", es, b)
		}
		if es, _ := os.ReadDir(base); len(es) != 2 {
			t.Fatalf("beside the workspace: %v", es)
		}
	})
}
