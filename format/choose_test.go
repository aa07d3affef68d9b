package format

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestChoose(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs are shell scripts")
	}
	const all = "prettier biome oxfmt black clang-format ruff uv rustfmt yapf"
	for _, c := range []struct {
		name    string
		files   string // "path" or "path=content"
		path    string // programs on PATH; "" for all of them
		options Options
		file    string
		want    string // formatter and its directory, or what the error says
	}{
		{name: "nothing configured, program there", file: "a.c", want: "no formatter"},
		{name: "nothing configured, Python", file: "a.py", want: "no formatter"},
		{name: "the language's own", file: "a.rs", want: "rustfmt ."},
		{name: "the language's own, missing", path: "black", file: "a.rs", want: "no formatter"},
		{name: "nearest configuration", files: "a/.prettierrc=: b/biome.json", file: "a/x/y.ts", want: "prettier a"},
		{name: "nearest configuration, other side", files: "a/.prettierrc=: b/biome.json", file: "b/y.ts", want: "biome b"},
		{name: "nothing at the root", files: "a/.prettierrc=: b/biome.json", file: "y.ts", want: "no formatter"},
		{name: "nested", files: "biome.json a/.prettierrc=:", file: "a/y.ts", want: "prettier a"},
		{name: "both in one directory", files: "biome.json .prettierrc=: .oxfmtrc.json", file: "y.ts", want: "biome ."},
		{name: "both, one program", files: "biome.json .prettierrc=:", path: "prettier", file: "y.ts", want: "prettier ."},
		{name: "both, preferred", files: "biome.json .prettierrc=:", options: Options{Prefer: []string{"prettier"}}, file: "y.ts", want: "prettier ."},
		{name: "both, one disabled", files: "biome.json .prettierrc=:", options: Options{Use: map[string]Use{"biome": {Disabled: true}}}, file: "y.ts", want: "prettier ."},
		{name: "configured and missing", files: "biome.json", path: "black", file: "y.ts", want: "biome is not installed (configured in biome.json)"},
		{name: "a nearer dependency doesn't beat a configuration", files: `biome.json a/package.json={"dependencies":{"prettier":"3"}}`, file: "a/y.ts", want: "biome ."},
		{name: "dependency", files: `package.json={"devDependencies":{"oxfmt":"1"}}`, file: "a/y.ts", want: "oxfmt ."},
		{name: "key in package.json", files: `package.json={"prettier":{}}`, file: "y.ts", want: "prettier ."},
		{name: "not a manifest", files: `package.json=oops`, file: "y.ts", want: "no formatter"},
		{name: "table in pyproject", files: "pyproject.toml=[tool.black]", file: "a/b.py", want: "black ."},
		{name: "nearest of two manifests", files: "pyproject.toml=[tool.black] a/pyproject.toml=[tool.ruff]", file: "a/b.py", want: "ruff a"},
		{name: "uv for ruff", files: "ruff.toml", path: "uv", file: "b.py", want: "uv ."},
		{name: "ruff off is uv off", files: "ruff.toml", options: Options{Use: map[string]Use{"ruff": {Disabled: true}}}, file: "b.py", want: "no formatter"},
		{name: "uv off is ruff off", files: "ruff.toml", options: Options{Use: map[string]Use{"uv": {Disabled: true}}}, file: "b.py", want: "no formatter"},
		{name: "extensions by options", options: Options{Use: map[string]Use{"black": {Extensions: []string{".pyx"}}}}, file: "b.pyx", want: "black ."},
		{name: "and not the others then", files: "pyproject.toml=[tool.black]", options: Options{Use: map[string]Use{"black": {Extensions: []string{".pyx"}}}}, file: "b.py", want: "no formatter"},
		{name: "editorconfig that says nothing of scripts", files: ".editorconfig=[*.md] indent_style=space", file: "a.sh", want: "no formatter"},
		{name: "editorconfig for scripts", files: ".editorconfig=[*]\nindent_style=space", file: "a.sh", want: "shfmt ."},
		{name: "longest ending", files: "Gemfile=htmlbeautifier", path: "htmlbeautifier", file: "a.html.erb", want: "htmlbeautifier ."},
		{name: "no ending at all", files: ".prettierrc=:", file: "Makefile", want: "no formatter"},
		{name: "only an ending", files: ".prettierrc=:", file: ".ts", want: "no formatter"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProject(t)
			bin := t.TempDir()
			for name := range strings.FieldsSeq(all) {
				if c.path == "" || strings.Contains(c.path, name) {
					p.executable(filepath.Join(bin, name), standIn)
				}
			}
			for name := range strings.FieldsSeq(c.path) {
				p.executable(filepath.Join(bin, name), standIn)
			}
			t.Setenv("PATH", bin+":/usr/bin:/bin")
			t.Setenv("WHET_RECORD", filepath.Join(t.TempDir(), "record"))
			for f := range strings.SplitSeq(c.files, " ") {
				if name, content, _ := strings.Cut(f, "="); name != "" {
					p.write(name, content)
				}
			}
			if name, content, ok := strings.Cut(c.files, "="); ok && strings.HasPrefix(name, ".editorconfig") {
				p.write(name, content)
			}
			p.engine.Options = c.options
			p.write(c.file, "x\n")
			choice, err := p.engine.Choose(t.Context(), p.root, c.file)
			got := choice.Formatter
			if err == nil {
				rel, err := filepath.Rel(p.dir, choice.Dir)
				if err != nil {
					t.Fatal(err)
				}
				got += " " + rel
			} else {
				got = err.Error()
			}
			if !strings.HasPrefix(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// The nearest installed version runs, and not the one on PATH.
func TestNearestProgram(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs are shell scripts")
	}
	p := newProject(t)
	bin := t.TempDir()
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	for _, d := range []string{bin, filepath.Join(p.dir, "node_modules/.bin"), filepath.Join(p.dir, "a/node_modules/.bin")} {
		p.executable(filepath.Join(d, "prettier"), standIn)
	}
	p.write(".prettierrc", "semi: false")
	for file, want := range map[string]string{"a/x.ts": "a/node_modules/.bin/prettier", "b/x.ts": "node_modules/.bin/prettier"} {
		p.write(file, "x\n")
		c, err := p.engine.Choose(t.Context(), p.root, file)
		if err != nil || c.Program != filepath.Join(p.dir, want) {
			t.Errorf("%s: got %s, %v", file, c.Program, err)
		}
		if len(c.Code) != 1 || c.Code[0] != c.Program {
			t.Errorf("%s: the project's own program needs trust; got %v", file, c.Code)
		}
	}
}

// Nothing that a repository brings runs before it is trusted.
func TestUntrusted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs are shell scripts")
	}
	for name, files := range map[string]string{
		"installed program":      "node_modules/.bin/prettier .prettierrc=:",
		"configuration in code":  "prettier.config.mjs",
		"plugins":                ".prettierrc=plugins:",
		"shared configuration":   `.prettierrc="@some/config"`,
		"shared, in the package": `package.json={"prettier":"@some/config"}`,
		"grit plugins":           `biome.json={"plugins":["./x.grit"]}`,
		"oxfmt in code":          "oxfmt.config.ts",
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			bin := t.TempDir()
			t.Setenv("PATH", bin+":/usr/bin:/bin")
			record := filepath.Join(t.TempDir(), "record")
			t.Setenv("WHET_RECORD", record)
			for _, name := range []string{"prettier", "biome", "oxfmt"} {
				p.executable(filepath.Join(bin, name), standIn)
			}
			for f := range strings.FieldsSeq(files) {
				name, content, _ := strings.Cut(f, "=")
				p.write(name, content)
			}
			_ = p.root.Chmod("node_modules/.bin/prettier", 0o777) // if there
			p.write("a.ts", "some   words\n")
			p.engine.Trusted = nil
			_, err := p.format("a.ts", Edit{})
			if err == nil || !strings.Contains(err.Error(), "would run as a program") {
				t.Errorf("got %v", err)
			}
			if got := p.read("a.ts"); got != "some   words\n" {
				t.Errorf("the file became %q", got)
			}
		})
	}
}
