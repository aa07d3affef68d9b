package applypatch_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet/applypatch"
)

type files map[string]string

// body wraps sections; a line "f" in the tables is "*** Update File: f".
func body(s string) string { return "*** Begin Patch\n" + s + "\n*** End Patch" }

var patchTests = []struct {
	id    string
	files files
	patch string
	want  files // nil if refused
	code  applypatch.Code
	line  int // patch line of the refusal; 0 not looked at
}{
	{id: "G4 CRLF patch", files: files{"f": "a\n"}, patch: strings.ReplaceAll(body("*** Update File: f\n@@\n-a\n+A"), "\n", "\r\n"), want: files{"f": "A\n"}},
	{id: "G5 here-document", files: files{"f": "a\n"}, patch: "cat <<'X'\n" + body("*** Update File: f\n@@\n-a\n+A") + "\nX\n", want: files{"f": "A\n"}},
	{id: "G6 cd", files: files{"d/f": "a\n"}, patch: "cd d && apply_patch <<EOF\n" + body("*** Update File: f\n@@\n-a\n+A") + "\nEOF", want: files{"d/f": "A\n"}},
	{id: "G7 fence", files: files{"f": "a\n"}, patch: "```diff\n" + body("*** Update File: f\n@@\n-a\n+A") + "\n```\n", want: files{"f": "A\n"}},
	{id: "argument array", files: files{"f": "a\n"}, patch: `["apply_patch","*** Begin Patch\n*** Update File: f\n@@\n-a\n+A\n*** End Patch"]`, want: files{"f": "A\n"}},
	{id: "shell argument array", files: files{"f": "a\n"}, patch: `["bash","-lc","apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: f\n@@\n-a\n+A\n*** End Patch\nEOF"]`, want: files{"f": "A\n"}},
	{id: "G8 prose", files: files{"f": "a\n"}, patch: "Here it is:\n" + body("*** Update File: f\n@@\n-a\n+A"), code: applypatch.TextOutside, line: 1},
	{id: "G9 no end", files: files{"f": "a\n"}, patch: "*** Begin Patch\n*** Update File: f\n@@\n-a\n+A", code: applypatch.MissingEnd, line: 5},
	{id: "G10 no begin", files: files{"f": "a\n"}, patch: "*** Update File: f\n@@\n-a\n+A\n*** End Patch", want: files{"f": "A\n"}},
	{id: "headless", files: files{"f": "a\n"}, patch: "@@\n-a\n+A", code: applypatch.MissingBegin, line: 1},
	{id: "G11 two envelopes", files: files{"f": "a\n", "g": "b\n"}, patch: body("*** Update File: f\n@@\n-a\n+A") + "\n" + body("*** Update File: g\n@@\n-b\n+B"), want: files{"f": "A\n", "g": "B\n"}},
	{id: "G12 end twice", files: files{"f": "a\n"}, patch: body("*** Update File: f\n@@\n-a\n+A") + "\n*** End Patch", want: files{"f": "A\n"}},
	{id: "text after the end", files: files{"f": "a\n"}, patch: body("*** Update File: f\n@@\n-a\n+A") + "\nthanks", code: applypatch.TextOutside, line: 7},
	{id: "end quoted before begin", files: files{"f": "a\n"}, patch: "*** End Patch ends it\n" + body("*** Update File: f\n@@\n-a\n+A"), code: applypatch.TextOutside, line: 1},
	{id: "G15 add without plus", patch: body("*** Add File: f\n+a\nb"), code: applypatch.AddLinePrefix, line: 4},
	{id: "G15 empty line in add", patch: body("*** Add File: f\n+a\n\n+b"), code: applypatch.AddLinePrefix, line: 4},
	{id: "G16 empty file", patch: body("*** Add File: f"), want: files{"f": ""}},
	{id: "G16 one empty line", patch: body("*** Add File: f\n+"), want: files{"f": "\n"}},
	{id: "G17", files: files{"f": "a\n"}, patch: body("*** Frobnicate File: f"), code: applypatch.UnknownHeader, line: 2},
	{id: "G18", patch: "*** Begin Patch\n*** End Patch", code: applypatch.EmptyPatch},
	{id: "G20 move alone", files: files{"f": "a\n"}, patch: body("*** Update File: f\n*** Move to: g"), want: files{"g": "a\n"}},
	{id: "G21 escaped", files: files{"f": "a\n"}, patch: `*** Begin Patch\n*** Update File: f\n@@\n-a\n+A\n*** End Patch`, code: applypatch.EscapedNewlines},
	{
		id: "G22 end mark as context", files: files{"f": "*** End Patch\nb\n", "g": "z\n"},
		patch: body("*** Update File: f\n@@\n *** End Patch\n-b\n+B\n*** Update File: g\n@@\n-z\n+Z"), want: files{"f": "*** End Patch\nB\n", "g": "Z\n"},
	},
	{id: "no space after colon, indented", files: files{"f": "a\n"}, patch: "*** Begin Patch\n  *** Update File:f\n@@\n-a\n+A\n  *** End Patch  ", want: files{"f": "A\n"}},
	{id: "environment", files: files{"f": "a\n"}, patch: body("*** Environment ID: x\n*** Update File: f\n@@\n-a\n+A"), want: files{"f": "A\n"}},
	{id: "blank lines between", files: files{"f": "a\n"}, patch: "\n" + body("\n*** Update File: f\n@@\n-a\n+A\n\n*** Delete File: f") + "\n\n", want: files{}},
	{id: "doubled begin", files: files{"f": "a\n"}, patch: "*** Begin Patch\n*** Add File: g\n+x\n*** Begin Patch\n*** End Patch", code: applypatch.MissingEnd, line: 4},
	{id: "chunk after end-of-file mark", files: files{"f": "a\nb\n"}, patch: body("*** Update File: f\n@@\n-a\n+A\n*** End of File\n-b\n+B"), code: applypatch.UnexpectedLine, line: 7},
	{id: "move to elsewhere", patch: body("*** Delete File: f\n*** Move to: g"), code: applypatch.UnknownHeader, line: 3},
	{id: "deep path", patch: body("*** Add File: " + strings.Repeat("a/", 3000) + "b\n+x"), code: applypatch.BadPath, line: 2},
	{id: "long path", patch: body("*** Add File: " + strings.Repeat("a", 5000) + "\n+x"), code: applypatch.BadPath, line: 2},
	{id: "control character", patch: body("*** Add File: a\x07b\n+x"), code: applypatch.BadPath, line: 2},

	{id: "P6 root", patch: body("*** Add File: .\n+x"), code: applypatch.NotRegular},
	{id: "directory", files: files{"d/f": "x\n"}, patch: body("*** Delete File: d"), code: applypatch.NotRegular},
	{id: "P7 dotdot name", files: files{"..x/f": "a\n"}, patch: body("*** Update File: ..x/f\n@@\n-a\n+A"), want: files{"..x/f": "A\n"}},
	{id: "P8 quoted", files: files{"f": "a\n"}, patch: body("*** Update File: \"f\"\n@@\n-a\n+A"), want: files{"f": "A\n"}},
	{id: "P8 a/", files: files{"f": "a\n"}, patch: body("*** Update File: a/f\n@@\n-a\n+A"), want: files{"f": "A\n"}},
	{id: "/ as root", files: files{"f": "a\n"}, patch: body("*** Update File: /f\n@@\n-a\n+A"), want: files{"f": "A\n"}},
	{id: "composition of the name", files: files{"cafe\u0301": "a\n"}, patch: body("*** Update File: caf\u00e9\n@@\n-a\n+A"), want: files{"cafe\u0301": "A\n"}},
	{id: "spaces in the name", files: files{"my file": "a\n"}, patch: body("*** Update File: my file\n@@\n-a\n+A"), want: files{"my file": "A\n"}},

	{id: "C1 twice", files: files{"f": "a\nb\nc\nd\n"}, patch: body("*** Update File: f\n@@\n-a\n+A\n*** Update File: f\n@@\n-d\n+D"), want: files{"f": "A\nb\nc\nD\n"}},
	{id: "C1 other spelling", files: files{"f": "a\nb\n"}, patch: body("*** Update File: f\n@@\n-a\n+A\n*** Update File: ./f\n@@\n-b\n+B"), want: files{"f": "A\nB\n"}},
	{id: "C2", files: files{"f": "a\nb\n"}, patch: body("*** Update File: f\n@@\n-b\n+B\n*** Update File: f\n@@\n-B\n+BB"), want: files{"f": "a\nBB\n"}},
	{id: "C3", patch: body("*** Add File: n\n+a\n+b\n*** Update File: n\n*** Move to: m\n@@\n-b\n+B"), want: files{"m": "a\nB\n"}},
	{id: "C4", files: files{"f": "a\nb\n"}, patch: body("*** Update File: f\n*** Move to: g\n@@\n-a\n+A\n*** Update File: g\n@@\n-b\n+B"), want: files{"g": "A\nB\n"}},
	{id: "C5", files: files{"f": "x\n"}, patch: body("*** Delete File: f\n*** Add File: f\n+y"), want: files{"f": "y\n"}},
	{id: "C6 delete twice", files: files{"f": "x\n"}, patch: body("*** Delete File: f\n*** Delete File: f"), code: applypatch.FileMissing},
	{id: "C6 update after delete", files: files{"f": "x\n"}, patch: body("*** Delete File: f\n*** Update File: f\n@@\n-x\n+y"), code: applypatch.FileMissing},
	{id: "C7", files: files{"f": "x\n"}, patch: body("*** Add File: n\n+a\n*** Delete File: n"), code: applypatch.NoChange},
	{id: "C8 move to itself", files: files{"f": "a\n"}, patch: body("*** Update File: f\n*** Move to: f\n@@\n-a\n+A"), want: files{"f": "A\n"}},
	{id: "C9", files: files{"f": "a\n", "g": "b\n"}, patch: body("*** Update File: f\n*** Move to: g\n@@\n-a\n+A"), code: applypatch.Exists},
	{id: "C9 add", files: files{"g": "b\n"}, patch: body("*** Add File: g\n+x"), code: applypatch.Exists},
	{id: "C10", files: files{"f": "a\n", "g": "b\n"}, patch: body("*** Update File: f\n@@\n-a\n+A\n*** Update File: g\n@@\n-nope\n+x"), code: applypatch.NotFound},
	{id: "C11 parent is a file", files: files{"f": "a\n", "g": "b\n"}, patch: body("*** Update File: f\n@@\n-a\n+A\n*** Add File: g/x\n+y"), code: applypatch.IO},
	{id: "swap", files: files{"f": "a\n", "g": "b\n"}, patch: body("*** Update File: f\n*** Move to: t\n*** Update File: g\n*** Move to: f\n*** Update File: t\n*** Move to: g"), want: files{"f": "b\n", "g": "a\n"}},
	{id: "move then add at the source", files: files{"f": "a\n"}, patch: body("*** Update File: f\n*** Move to: g\n*** Add File: f\n+new"), want: files{"f": "new\n", "g": "a\n"}},
	{id: "new directories", patch: body("*** Add File: x/y/z\n+a"), want: files{"x/y/z": "a\n"}},
	{id: "missing file", files: files{"main.go": "a\n"}, patch: body("*** Update File: main.god\n@@\n-a\n+A"), code: applypatch.FileMissing},
}

func TestPatches(t *testing.T) {
	for _, tt := range patchTests {
		t.Run(tt.id, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, tt.files)
			r := tryIn(t, dir, tt.patch, applypatch.Options{})
			if tt.want == nil {
				if got := applypatch.CodeOf(r.err); got != tt.code {
					t.Fatalf("got %q (%v), want %s", got, r.err, tt.code)
				}
				if e := r.err.(*applypatch.Error); tt.line > 0 && e.At.PatchLine != tt.line {
					t.Errorf("patch line %d, want %d: %v", e.At.PatchLine, tt.line, e)
				}
				if diff := cmp.Diff(files(nilToEmpty(tt.files)), read(t, dir)); diff != "" {
					t.Error("refused, and yet -before +after", diff)
				}
				return
			}
			if r.err != nil {
				t.Fatal(r.err)
			}
			if diff := cmp.Diff(tt.want, read(t, dir)); diff != "" {
				t.Error("-want +got", diff)
			}
			checkRender(t, r.plan, tt.patch)
		})
	}
}

func nilToEmpty(f files) files {
	if f == nil {
		return files{}
	}
	return f
}

func write(t testing.TB, dir string, fs files) {
	t.Helper()
	for name, text := range fs {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// read returns every file below dir; a link as "-> target".
func read(t testing.TB, dir string) files {
	t.Helper()
	fs := files{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if d.Type()&os.ModeSymlink != 0 {
			to, err := os.Readlink(path)
			fs[filepath.ToSlash(rel)] = "-> " + to
			return err
		}
		b, err := os.ReadFile(path)
		fs[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fs
}

func TestPaths(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links and / paths")
	}
	base := t.TempDir()
	root, out := filepath.Join(base, "w", "sub"), filepath.Join(base, "out")
	write(t, base, files{"w/sub/f": "a\n", "w/x": "a\n", "w/sub-x/f": "a\n", "out/f": "a\n"})
	for link, to := range map[string]string{"escape": out, "inside": "f", "dangling": filepath.Join(out, "new"), "loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	w, err := applypatch.Open(root, filepath.Join(base, "w"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	narrow, err := applypatch.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer narrow.Close()
	edit := "\n@@\n-a\n+A"
	for _, tt := range []struct {
		id   string
		w    *applypatch.Workspace
		sect string
		path string // of the rendered section
		code applypatch.Code
	}{
		{id: "P1", w: narrow, sect: "*** Update File: " + root + "/f" + edit, path: "f"},
		{id: "P2", w: w, sect: "*** Update File: " + base + "/w/x" + edit, path: "../x"},
		{id: "P2 without the worktree", w: narrow, sect: "*** Update File: " + base + "/w/x" + edit, code: applypatch.OutsideWorkspace},
		{id: "sibling with the same start", w: narrow, sect: "*** Update File: ../sub-x/f" + edit, code: applypatch.OutsideWorkspace},
		{id: "P3", w: w, sect: "*** Update File: ../../out/f" + edit, code: applypatch.OutsideWorkspace},
		{id: "P4", w: w, sect: "*** Update File: f\n*** Move to: escape/new/x", code: applypatch.OutsideWorkspace},
		{id: "dangling link out", w: w, sect: "*** Add File: dangling\n+x", code: applypatch.OutsideWorkspace},
		{id: "loop", w: w, sect: "*** Add File: loop\n+x", code: applypatch.OutsideWorkspace},
		{id: "through .. back in", w: narrow, sect: "*** Update File: ../sub/f" + edit, path: "f"},
		{id: "P5", w: narrow, sect: "*** Update File: inside" + edit, path: "f"},
		{id: "a link's removal", w: narrow, sect: "*** Delete File: escape", path: "escape"},
	} {
		t.Run(tt.id, func(t *testing.T) {
			p, err := applypatch.Parse(body(tt.sect))
			if err != nil {
				t.Fatal(err)
			}
			plan, err := applypatch.Resolve(tt.w, p, applypatch.Options{})
			if applypatch.CodeOf(err) != tt.code {
				t.Fatalf("got %v, want %q", err, tt.code)
			}
			if tt.code == "" && plan.Files[0].Path != tt.path {
				t.Errorf("path %q, want %q", plan.Files[0].Path, tt.path)
			}
		})
	}
}

// TestLinksAndModes checks what survives a commit: modes, hard links, links.
func TestLinksAndModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Unix modes and links")
	}
	dir := t.TempDir()
	write(t, dir, files{"run": "a\n", "hard": "a\n", "real": "a\n", "gone": "a\n", "moved": "a\n"})
	must(t, os.Chmod(filepath.Join(dir, "run"), 0o755))
	must(t, os.Chmod(filepath.Join(dir, "moved"), 0o750))
	must(t, os.Link(filepath.Join(dir, "hard"), filepath.Join(dir, "twin")))
	must(t, os.Symlink("real", filepath.Join(dir, "link")))
	must(t, os.Symlink("real", filepath.Join(dir, "dead")))
	edit := "\n@@\n-a\n+A\n"
	r := tryIn(t, dir, body("*** Update File: run"+edit+"*** Update File: hard"+edit+"*** Update File: link"+edit+"*** Delete File: dead\n*** Delete File: gone\n*** Update File: moved\n*** Move to: to/there"+strings.TrimSuffix(edit, "\n")), applypatch.Options{})
	if r.err != nil {
		t.Fatal(r.err)
	}
	want := files{"run": "A\n", "hard": "A\n", "twin": "A\n", "real": "A\n", "link": "-> real", "to/there": "A\n"}
	if diff := cmp.Diff(want, read(t, dir)); diff != "" {
		t.Error("-want +got", diff)
	}
	for name, mode := range map[string]os.FileMode{"run": 0o755, "to/there": 0o750} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != mode {
			t.Errorf("%s has mode %v, want %v (%v)", name, info.Mode(), mode, err)
		}
	}
}

func TestReadOnlyFile(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, files{"f": "a\n", "g": "a\n"})
	must(t, os.Chmod(filepath.Join(dir, "g"), 0o444))
	r := tryIn(t, dir, body("*** Update File: f\n@@\n-a\n+A\n*** Update File: g\n@@\n-a\n+A"), applypatch.Options{})
	if got := applypatch.CodeOf(r.err); got != applypatch.Permission {
		t.Errorf("got %v, want permission", r.err)
	}
	if diff := cmp.Diff(files{"f": "a\n", "g": "a\n"}, read(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestChangedMeanwhile(t *testing.T) { // C12
	dir := t.TempDir()
	write(t, dir, files{"f": "a\n", "g": "b\n"})
	w, err := applypatch.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	p, err := applypatch.Parse(body("*** Update File: g\n@@\n-b\n+B\n*** Update File: f\n@@\n-a\n+A\n*** Add File: h\n+x"))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := applypatch.Resolve(w, p, applypatch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, files{"f": "z\n"})
	if err := plan.Commit(t.Context(), ""); applypatch.CodeOf(err) != applypatch.FileChanged {
		t.Errorf("got %v, want file_changed", err)
	}
	write(t, dir, files{"f": "a\n", "h": "mine\n"})
	if err := plan.Commit(t.Context(), ""); applypatch.CodeOf(err) != applypatch.Exists {
		t.Errorf("got %v, want exists", err)
	}
	must(t, os.Remove(filepath.Join(dir, "h")))
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := plan.Commit(cancelled, ""); err == nil {
		t.Error("a cancelled commit went through")
	}
	if diff := cmp.Diff(files{"f": "a\n", "g": "b\n"}, read(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
