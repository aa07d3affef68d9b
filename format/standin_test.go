package format

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A standIn takes the place of a formatter that can't be had: it writes down
// how it was called and squeezes spaces.
const standIn = `#!/bin/sh
if [ "$1" = --help ] || [ "$2" = --help ]; then echo "An R language formatter"; exit; fi
{ pwd -P; for a in "$@"; do printf '%s\n' "$a"; done; } >"$WHET_RECORD"
env | sort >"$WHET_RECORD.env"
for last; do :; done
case "$0:$last" in
*/air:*|*/dart:*|*/pint:*) sed 's/  */ /g' "$last" >"$last.new" && mv "$last.new" "$last" ;;
*) sed 's/  */ /g' ;;
esac
`

// How each formatter is called, from the directory of its configuration. FILE
// is the file's path. Real ones of the same names run in TestPeerFormatters.
func TestCommands(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-ins are shell scripts")
	}
	for _, c := range []struct {
		name, file string
		config     string // "path" or "path=content"
		want       string // directory and arguments
		env        string
	}{
		{"gofumpt", "sub/a.go", ".golangci.yml=enable: [gofumpt]", ".", "GOTOOLCHAIN=local"},
		{"mix", "sub/lib/a.ex", "sub/mix.exs", "sub format --stdin-filename FILE -", "HEX_OFFLINE=1"},
		{"biome", "sub/a.ts", "sub/biome.jsonc", "sub format --stdin-file-path=FILE", ""},
		{"oxfmt", "sub/a.ts", ".oxfmtrc.json", ". --stdin-filepath FILE", ""},
		{"prettier", "sub/a.ts", "package.json={\"devDependencies\": {\"prettier\": \"3\"}}", ". --stdin-filepath FILE", ""},
		{"deno", "sub/a.ts", "sub/deno.json", "sub fmt --ext=ts -", "DENO_NO_UPDATE_CHECK=1"},
		{"zig", "sub/a.zig", "", "sub fmt --stdin", ""},
		{"zig", "sub/a.zon", "", "sub fmt --stdin --zon", ""},
		{"clang-format", "sub/a.C", ".clang-format", ". --assume-filename=FILE", ""},
		{"ktlint", "a.kt", ".editorconfig=ktlint_standard = enabled", ". --format --stdin --log-level=none", ""},
		{"ruff", "a.py", "pyproject.toml=[tool.ruff]", ". format --stdin-filename FILE -", ""},
		{"uv", "a.py", "ruff.toml", ". --offline format -- --stdin-filename FILE -", "UV_OFFLINE=1"},
		{"black", "a.py", "pyproject.toml=[tool.black]", ". -q --stdin-filename FILE -", ""},
		{"yapf", "a.py", ".style.yapf", ".", ""},
		{"air", "a.R", "air.toml", ". format FILE", ""},
		{"standardrb", "a.rb", ".standard.yml", ". --fix --stderr --format quiet --stdin FILE", ""},
		{"rubocop", "a.rb", "Gemfile=gem 'rubocop'", ". --fix-layout --stderr --format quiet --stdin FILE", ""},
		{"htmlbeautifier", "a.html.erb", "Gemfile=gem 'htmlbeautifier'", ".", ""},
		{"dart", "lib/a.dart", "pubspec.yaml", ". format FILE", ""},
		{"ocamlformat", "a.ml", ".ocamlformat", ". --name=FILE -", ""},
		{"terraform", "sub/a.tf", "", "sub fmt -", "CHECKPOINT_DISABLE=1"},
		{"latexindent", "a.tex", "latexindent.yaml", ". -g /dev/null -", ""},
		{"gleam", "src/a.gleam", "gleam.toml", ". format --stdin", ""},
		{"nixfmt", "a.nix", "flake.nix=formatter = pkgs.nixfmt;", ".", ""},
		{"rustfmt", "src/a.rs", "Cargo.toml=edition = \"2018\"", ". --emit stdout --edition 2018", "RUSTUP_AUTO_INSTALL=0"},
		{"pint", "a.php", "composer.json={\"require-dev\": {\"laravel/pint\": \"1\"}}", ". FILE", ""},
		{"ormolu", "a.hs", ".ormolu", ". --stdin-input-file FILE", ""},
		{"cljfmt", "a.clj", ".cljfmt.edn", ". fix --quiet -", ""},
		{"dfmt", "a.d", ".editorconfig=dfmt_brace_style = otbs", ".", ""},
		{"taplo", "a.toml", ".taplo.toml", ". fmt -", ""},
		{"stylua", "a.lua", "stylua.toml", ". --stdin-filepath FILE -", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProject(t)
			bin := t.TempDir()
			p.executable(filepath.Join(bin, c.name), standIn)
			t.Setenv("PATH", bin+":/usr/bin:/bin")
			record := filepath.Join(t.TempDir(), "record")
			t.Setenv("WHET_RECORD", record)
			if c.config != "" {
				name, content, _ := strings.Cut(c.config, "=")
				p.write(name, content)
			}
			p.write(c.file, "some   words\n")
			o, err := p.format(c.file, Edit{})
			if err != nil || o.Formatter != c.name {
				t.Fatalf("got %q, %v", o.Formatter, err)
			}
			if got := p.read(c.file); got != "some words\n" {
				t.Errorf("the file is %q", got)
			}
			call := strings.Fields(slurp(t, record))
			want := strings.Fields(strings.ReplaceAll(c.want, "FILE", filepath.Join(p.dir, c.file)))
			want[0] = filepath.Join(p.dir, want[0])
			if diff := cmp.Diff(want, call); diff != "" {
				t.Errorf("the call (-want +got):\n%s", diff)
			}
			env := strings.Split(slurp(t, record+".env"), "\n")
			for _, kv := range []string{"NO_COLOR=1", c.env} {
				if kv != "" && !slices.Contains(env, kv) {
					t.Errorf("the environment lacks %s", kv)
				}
			}
		})
	}
}

func slurp(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A project is a directory for a test.
type project struct {
	t      *testing.T
	dir    string // without links
	root   *os.Root
	engine *Engine
}

func newProject(t *testing.T) *project {
	t.Helper()
	t.Setenv("WHET_STATE", t.TempDir())
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := &project{t: t, dir: dir, root: root, engine: &Engine{Trusted: func(string, []string) error { return nil }}}
	t.Cleanup(func() { p.engine.Close(); root.Close() })
	return p
}

func (p *project) write(name, text string) {
	p.t.Helper()
	if err := p.root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		p.t.Fatal(err)
	}
	if err := p.root.WriteFile(name, []byte(text), 0o666); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) read(name string) string {
	p.t.Helper()
	return slurp(p.t, filepath.Join(p.dir, name))
}

func (p *project) executable(path, script string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(script), 0o777); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) format(name string, e Edit) (Outcome, error) {
	e.Root, e.Name = p.root, name
	return p.engine.Format(p.t.Context(), e)
}

// use makes script the formatter of .x files: as a filter, or in place.
func (p *project) use(script string, filter bool) {
	p.t.Helper()
	path := filepath.Join(p.t.TempDir(), "fake")
	p.executable(path, "#!/bin/sh\n"+script+"\n")
	p.engine.Use = map[string]Use{"fake": {Command: []string{path, "$FILE"}, Stdin: filter, Extensions: []string{".x"}}}
}
