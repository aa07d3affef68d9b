package source_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet/market/source"
	"github.com/whet-dev/whet/market/tree"
)

// sample is a small package with a script.
var sample = []entry{
	{name: "plugin.json", body: `{"name":"x"}`},
	{name: "skills/café au lait/SKILL.md", body: "a\r\nb"},
	{name: "run.sh", body: "#!/bin/sh\n", mode: 0o755},
	{name: "empty"},
}

// names are the files of a tree, with a * after one with the exec bit.
func names(t tree.Tree) (out []string) {
	for _, f := range t {
		name := f.Name
		if f.Exec {
			name += "*"
		}
		out = append(out, name)
	}
	return out
}

func writeDir(t *testing.T, dir string, entries []entry) {
	t.Helper()
	for _, e := range entries {
		file := filepath.Join(dir, filepath.FromSlash(e.name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := e.mode
		if mode == 0 {
			mode = 0o644
		}
		var err error
		if e.link != "" {
			err = os.Symlink(e.link, file)
		} else {
			err = os.WriteFile(file, []byte(e.body), mode)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// The same files have the same digest, whatever they came in.
func TestForms(t *testing.T) {
	const digest = "sha256:ba7bc53dae3fcf81127f4d9658849bb534816315d012499babbb972ddec822a1"
	dir := t.TempDir()
	var zipped, tarred, wrapped, bare, npm bytes.Buffer
	makeZip(t, &zipped, sample)
	makeTar(t, &tarred, sample)
	z := gzip.NewWriter(&bare)
	makeTar(t, z, append([]entry{{name: "./", mode: fs.ModeDir | 0o755}}, prefixed("./", sample)...))
	z.Close()
	makeZip(t, &wrapped, append(prefixed("repo-1.0/", sample), entry{name: "__MACOSX/repo-1.0/._x", body: "x"}))
	z = gzip.NewWriter(&npm)
	makeTar(t, z, prefixed("package/", sample))
	z.Close()
	writeDir(t, filepath.Join(dir, "my package"), sample)
	for name, data := range map[string][]byte{
		"x.zip": zipped.Bytes(), "x.mcpb": zipped.Bytes(), "x.tar": tarred.Bytes(), "x.tar.gz": bare.Bytes(), "wrapped.zip": wrapped.Bytes(), "npm.tgz": npm.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]source.Info{
		"my package":  {Name: "my package", Kind: "directory"},
		"x.zip":       {Name: "x", Kind: "archive"},
		"x.mcpb":      {Name: "x", Kind: "archive"},
		"x.tar":       {Name: "x", Kind: "archive"},
		"x.tar.gz":    {Name: "x", Kind: "archive"},
		"wrapped.zip": {Name: "wrapped", Kind: "archive"},
		"npm.tgz":     {Name: "npm", Kind: "archive"},
	} {
		t.Run(file, func(t *testing.T) {
			if runtime.GOOS == "windows" && want.Kind == "directory" {
				t.Skip("there are no exec bits in Windows' directories")
			}
			path := filepath.Join(dir, file)
			got, info, err := source.Read(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			if got.Digest() != digest {
				t.Errorf("%s %v", got.Digest(), names(got))
			}
			if (info.Archive != "") != (want.Kind == "archive") {
				t.Errorf("the archive's digest is %q", info.Archive)
			}
			if info.Path == "" || !filepath.IsAbs(info.Path) {
				t.Errorf("path %q", info.Path)
			}
			if info.Name != want.Name || info.Kind != want.Kind {
				t.Errorf("%+v", info)
			}
		})
	}
}

func prefixed(prefix string, entries []entry) (out []entry) {
	for _, e := range entries {
		e.name = prefix + e.name
		out = append(out, e)
	}
	return out
}

// Links inside become copies: a real plugin has its skills that way.
func TestLinks(t *testing.T) {
	entries := []entry{
		{name: "shared/one/SKILL.md", body: "1"},
		{name: "shared/one/run.sh", body: "2", mode: 0o755},
		{name: "skills/one", link: "../shared/one"},
		{name: "AGENTS.md", body: "a"},
		{name: "docs/CLAUDE.md", link: "./../AGENTS.md"},
	}
	want := []string{"AGENTS.md", "docs/CLAUDE.md", "shared/one/SKILL.md", "shared/one/run.sh*", "skills/one/SKILL.md", "skills/one/run.sh*"}
	dir := t.TempDir()
	for name, write := range map[string]func(*testing.T, string){
		"x.zip": func(t *testing.T, file string) { writeFile(t, file, func(b *bytes.Buffer) { makeZip(t, b, entries) }) },
		"x.tar": func(t *testing.T, file string) { writeFile(t, file, func(b *bytes.Buffer) { makeTar(t, b, entries) }) },
		"dir":   func(t *testing.T, file string) { writeDir(t, file, entries) },
	} {
		t.Run(name, func(t *testing.T) {
			if name == "dir" && runtime.GOOS == "windows" {
				t.Skip("links need a privilege there")
			}
			file := filepath.Join(dir, name)
			write(t, file)
			got, _, err := source.Read(t.Context(), file)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, names(got)); d != "" {
				t.Error(d)
			}
		})
	}
}

func writeFile(t *testing.T, file string, fill func(*bytes.Buffer)) {
	t.Helper()
	var b bytes.Buffer
	fill(&b)
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestNotes(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x.tar")
	writeFile(t, file, func(b *bytes.Buffer) { makeTar(t, b, []entry{{name: "a", body: "x", mode: 0o755 | fs.ModeSetuid}}) })
	got, info, err := source.Read(t.Context(), file)
	if err != nil || !got[0].Exec || len(info.Notes) != 1 || info.Notes[0].Code != "mode-dropped" {
		t.Errorf("%v %v %v", got, info.Notes, err)
	}
	writeDir(t, filepath.Join(dir, "d"), []entry{{name: "a", body: "x"}, {name: ".git/config", body: "x"}, {name: "sub/.git", body: "gitdir: x"}})
	got, info, err = source.Read(t.Context(), filepath.Join(dir, "d"))
	if err != nil || len(got) != 1 || len(info.Notes) != 2 || info.Notes[0].Code != "left-out" {
		t.Errorf("%v %v %v", names(got), info.Notes, err)
	}
}

func TestSingleFiles(t *testing.T) {
	dir := t.TempDir()
	writeDir(t, dir, []entry{{name: "Review/SKILL.md", body: "s"}, {name: "Review/other", body: "o"}, {name: "acme.json", body: `{"schemaVersion":1}`}, {name: "plugin.json", body: "{}"}})
	for path, want := range map[string]string{"Review/SKILL.md": "Review", "acme.json": "acme"} {
		got, info, err := source.Read(t.Context(), filepath.Join(dir, filepath.FromSlash(path)))
		if err != nil || len(got) != 1 || got[0].Name != filepath.Base(path) || info.Kind != "file" || info.Name != want {
			t.Errorf("%s: %v %+v %v", path, names(got), info, err)
		}
	}
	// A manifest isn't the package.
	_, _, err := source.Read(t.Context(), filepath.Join(dir, "plugin.json"))
	if e := (*source.Error)(nil); !errors.As(err, &e) || e.Code != "unreadable" || !strings.Contains(e.Text, "the directory that it belongs to") {
		t.Error(err)
	}
}

func TestPaths(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	writeDir(t, dir, []entry{{name: "p q/plugin.json", body: "{}"}, {name: "a/b/plugin.json", body: "{}"}, {name: "odd#name/plugin.json", body: "{}"}})
	url := "file://" + filepath.ToSlash(dir) + "/p%20q"
	if runtime.GOOS == "windows" {
		url = "file:///" + filepath.ToSlash(dir) + "/p%20q"
	}
	for _, tt := range []struct{ path, code string }{
		{"p q", ""},
		{"./p q/", ""},
		{url, ""},
		{"a/b", ""}, // it is there, so no shorthand
		{"odd#name", ""},
		{"https://example.com/x.zip", "not-a-local-path"},
		{"git@github.com:acme/x.git", "not-a-local-path"},
		{"acme/reviewer", "not-a-local-path"},
		{"acme/reviewer@1.0.0", "not-a-local-path"},
		{"npm:reviewer", "not-a-local-path"},
		{"file://server/share/x", "not-a-local-path"},
		{"file:relative", "not-a-local-path"},
		{"./none", "not-found"},
		{"none", "not-found"},
		{"", "not-found"},
		{"a\x00b", "not-found"},
		{"none.bundle#main", "not-found"},
	} {
		_, _, err := source.Read(t.Context(), tt.path)
		code := ""
		if e := (*source.Error)(nil); errors.As(err, &e) {
			code = e.Code
		} else if err != nil {
			code = err.Error()
		}
		if code != tt.code {
			t.Errorf("%q: %v, want %q", tt.path, err, tt.code)
		}
	}
}

func TestSplit(t *testing.T) {
	dir := t.TempDir()
	writeDir(t, dir, []entry{{name: "odd#name/plugin.json", body: "{}"}})
	for path, want := range map[string][2]string{
		"dir":                              {"dir", ""},
		"dir#x":                            {"dir", "x"},
		"x.bundle#main":                    {"x.bundle#main", ""},
		filepath.Join(dir, "odd#name"):     {filepath.Join(dir, "odd#name"), ""},
		"x.zip#y":                          {"x.zip", "y"},
		strings.Repeat("a", 300) + "#plug": {strings.Repeat("a", 300), "plug"},
	} {
		file, plugin := source.Split(path)
		if file != want[0] || plugin != want[1] {
			t.Errorf("%q: %q %q", path, file, plugin)
		}
	}
}

// The limits that people meet.
func TestLimits(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.zip")
	for n, code := range map[int]string{source.MaxEntries: "", source.MaxEntries + 1: "too-many-files"} {
		writeFile(t, file, func(b *bytes.Buffer) { makeZip(t, b, many(n)) })
		_, _, err := source.Read(t.Context(), file)
		if e := (*source.Error)(nil); (err == nil) != (code == "") || errors.As(err, &e) && e.Code != code {
			t.Errorf("%d entries: %v", n, err)
		}
	}
	if source.MaxEntries != 8192 || source.MaxFile != 16<<20 || source.MaxTotal != 64<<20 {
		t.Error("docs/marketplace-formats.md has other limits")
	}
}

func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	writeDir(t, dir, sample)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := source.Read(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestUnreadable(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("everything can be read here")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), nil, 0); err != nil {
		t.Fatal(err)
	}
	_, _, err := source.Read(t.Context(), dir)
	if e := (*source.Error)(nil); !errors.As(err, &e) || e.Code != "unreadable" {
		t.Error(err)
	}
}
