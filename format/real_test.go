package format_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet/format"
	"github.com/whet-dev/whet/internal/peer"
)

// A real formatter, and a file for it.
type real struct {
	name    string
	file    string
	program string            // looked for as a peer; "" if it is built in
	project map[string]string // other files
	bad     string            // badly formatted
	good    string            // the same, formatted
	broken  string            // a syntax error; "" if the formatter takes anything
	use     *format.Use       // for one that isn't built in
	shim    string            // module of npm around which a script makes the program
}

var reals = []real{
	{
		name: "gofmt", file: "a.go",
		bad: "package a\n\nfunc  f( ) {\n  println(1)\n}\n", good: "package a\n\nfunc f() {\n\tprintln(1)\n}\n", broken: "package a\n\nfunc f( {\n",
	},
	{
		name: "gofumpt", file: "a.go", program: "gofumpt", project: map[string]string{".golangci.yml": "linters:\n  enable: [gofumpt]\n"},
		bad: "package a\n\nfunc  f( ) {\n\n  println(1)\n}\n", good: "package a\n\nfunc f() {\n\tprintln(1)\n}\n", broken: "package a\n\nfunc f( {\n",
	},
	{
		name: "shfmt", file: "a.sh", project: map[string]string{".editorconfig": "[*.sh]\nindent_style = space\nindent_size = 2\n"},
		bad: "if true;then\n     echo   one\nfi\n", good: "if true; then\n  echo one\nfi\n", broken: "if true; then\n",
	},
	{
		name: "prettier", file: "a.ts", program: "prettier", project: map[string]string{".prettierrc": "semi: false\n"},
		bad: "const  alpha = { beta:1 };\n", good: "const alpha = { beta: 1 }\n", broken: "const = {;\n",
	},
	{
		// It leaves a daemon behind, which must not outlive the call.
		name: "prettierd", file: "a.ts", program: "prettierd", project: map[string]string{".prettierrc": "semi: false\n"},
		use: &format.Use{Command: []string{"prettierd", "$FILE"}, Stdin: true, Extensions: []string{".ts"}},
		bad: "const  alpha = { beta:1 };\n", good: "const alpha = { beta: 1 }\n", broken: "const = {;\n",
	},
	{
		name: "biome", file: "a.ts", program: "biome", project: map[string]string{"biome.json": `{"formatter": {"indentStyle": "space"}}`},
		bad: "function f(){\nreturn 'one'}\n", good: "function f() {\n  return \"one\";\n}\n", broken: "const = {;\n",
	},
	{
		name: "oxfmt", file: "a.ts", program: "oxfmt", project: map[string]string{".oxfmtrc.json": "{}"},
		bad: "function f(){\nreturn 'one'}\n", good: "function f() {\n  return \"one\";\n}\n", broken: "const = {;\n",
	},
	{
		name: "taplo", file: "a.toml", program: "taplo", project: map[string]string{"taplo.toml": ""},
		bad: "[alpha]\nbeta   =  \"one\"\n", good: "[alpha]\nbeta = \"one\"\n", broken: "[alpha\nbeta = = 1\n",
	},
	{
		name: "rustfmt", file: "src/a.rs", program: "rustfmt",
		project: map[string]string{"Cargo.toml": "[package]\nname = \"a\"\nedition = \"2021\"\n", "src/b.rs": "fn  badly( ) {}\n"},
		bad:     "mod b;\n\nasync fn  f( ) {\n  println!(\"one\");\n}\n", good: "mod b;\n\nasync fn f() {\n    println!(\"one\");\n}\n", broken: "fn f( {\n",
	},
	{
		name: "clang-format", file: "a.c", program: "clang-format", project: map[string]string{".clang-format": "BasedOnStyle: LLVM\n"},
		bad: "int  main( void ){return   0;}\n", good: "int main(void) { return 0; }\n",
	},
	{
		name: "black", file: "a.py", program: "black", project: map[string]string{"pyproject.toml": "[tool.black]\nline-length = 88\n"},
		bad: "def f( a ):\n  return  {'one':a}\n", good: "def f(a):\n    return {\"one\": a}\n", broken: "def f(:\n",
	},
	{
		// The real engine behind a stand-in for its command line, of which there is no package.
		name: "ruff", file: "a.py", program: "node", shim: "@astral-sh/ruff-wasm-nodejs", project: map[string]string{"ruff.toml": ""},
		bad: "def f( a ):\n  return  {'one':a}\n", good: "def f(a):\n    return {\"one\": a}\n", broken: "def f(:\n",
	},
	{
		name: "yapf", file: "a.py", program: "yapf3", project: map[string]string{".style.yapf": "[style]\nbased_on_style = pep8\n"},
		bad: "def f( a ):\n  return  {'one':a}\n", good: "def f(a):\n    return {'one': a}\n", broken: "def f(:\n",
	},
	{
		name: "rubocop", file: "a.rb", program: "rubocop",
		project: map[string]string{".rubocop.yml": "AllCops:\n  NewCops: disable\n  SuggestExtensions: false\n"},
		bad:     "def alpha( one )\n   one+1\nend\n", good: "def alpha(one)\n  one + 1\nend\n", // broken code comes back as it is
	},
	{
		name: "ormolu", file: "a.hs", program: "ormolu", project: map[string]string{".ormolu": ""},
		bad: "module  Alpha where\n\nf :: Int->Int\nf   x = x\n", good: "module Alpha where\n\nf :: Int -> Int\nf x = x\n", broken: "module where = =\n",
	},
	{
		name: "terraform", file: "a.tf", program: "terraform",
		bad: "variable \"one\" {\n type=string\n}\n", good: "variable \"one\" {\n  type = string\n}\n", broken: "variable {{\n",
	},
}

// ruffShim takes the place of a command of ruff, as whet calls it.
const ruffShim = `#!/usr/bin/env node
const [command, flag, file, dash, ...rest] = process.argv.slice(2);
if (command !== "format" || flag !== "--stdin-filename" || !file || dash !== "-" || rest.length) process.exit(2);
const { Workspace, PositionEncoding } = require(%q);
try {
  process.stdout.write(new Workspace({}, PositionEncoding.Utf8).format(require("fs").readFileSync(0, "utf8")));
} catch (e) {
  console.error("error: " + e);
  process.exit(2);
}
`

// make makes a project with the real's files and text in its file.
func (r real) make(t *testing.T, text string) (*os.Root, *format.Engine) {
	t.Helper()
	dir := t.TempDir()
	switch {
	case r.shim != "":
		peer.Find(t, r.program)
		put(t, filepath.Join(dir, "vendor/bin", r.name), fmt.Sprintf(ruffShim, peer.Module(t, r.shim)))
		if err := os.Chmod(filepath.Join(dir, "vendor/bin", r.name), 0o755); err != nil {
			t.Fatal(err)
		}
	case r.program != "":
		link(t, dir, peer.Find(t, r.program))
	}
	for name, text := range r.project {
		put(t, filepath.Join(dir, name), text)
	}
	put(t, filepath.Join(dir, r.file), text)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	e := &format.Engine{Trusted: func(string, []string) error { return nil }}
	e.TimeoutMs = 60_000 // Ruby takes ten seconds to start on a busy machine
	if r.use != nil {
		use := *r.use
		home := t.TempDir() // for what it keeps between calls
		use.Environment = map[string]string{"HOME": home, "XDG_RUNTIME_DIR": home}
		e.Use = map[string]format.Use{r.name: use}
	}
	t.Cleanup(e.Close)
	return root, e
}

// link makes the program the project's own, which is where one that isn't on
// PATH is found.
func link(t *testing.T, dir, program string) {
	t.Helper()
	from, to := program, filepath.Join(dir, "vendor", "bin", filepath.Base(program))
	if filepath.Base(filepath.Dir(program)) == ".bin" {
		from, to = filepath.Dir(filepath.Dir(program)), filepath.Join(dir, "node_modules")
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(from, to); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, root *os.Root, name string) string {
	t.Helper()
	b, err := root.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// tree describes every file under the root but one, with its time.
func tree(t *testing.T, root *os.Root, but string) map[string]string {
	t.Helper()
	m := map[string]string{}
	err := fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == but {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		m[path] = info.Mode().String() + info.ModTime().String()
		if info.Mode().IsRegular() {
			m[path] += get(t, root, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Every real formatter gives the text it should, keeps the file's form, leaves
// its neighbours alone, and never spoils what it can't read.
func TestPeerFormatters(t *testing.T) {
	for _, r := range reals {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			root, e := r.make(t, r.bad)
			if err := root.Chmod(r.file, 0o640); err != nil {
				t.Fatal(err)
			}
			others := tree(t, root, r.file)
			formatted := func(text, want string) {
				t.Helper()
				if err := root.WriteFile(r.file, []byte(text), 0); err != nil {
					t.Fatal(err)
				}
				o, err := e.Format(t.Context(), format.Edit{Root: root, Name: r.file})
				// A daemon that is ended after each call leaves its port behind, and
				// prettierd gives up on that now and then.
				for range 5 {
					if r.name != "prettierd" || err == nil || !strings.Contains(err.Error(), "Could not connect") {
						break
					}
					o, err = e.Format(t.Context(), format.Edit{Root: root, Name: r.file})
				}
				if err != nil || o.Formatter != r.name {
					t.Fatalf("got %q, %v", o.Formatter, err)
				}
				if diff := cmp.Diff(want, get(t, root, r.file)); diff != "" {
					t.Errorf("from %q (-want +got):\n%s", text, diff)
				}
			}
			crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
			formatted(r.bad, r.good)
			formatted(r.good, r.good)
			formatted("\ufeff"+crlf(r.bad), "\ufeff"+crlf(r.good))
			if diff := cmp.Diff(others, tree(t, root, r.file)); diff != "" {
				t.Errorf("other files changed (-want +got):\n%s", diff)
			}
			if info, err := root.Stat(r.file); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			if r.broken == "" {
				return
			}
			put(t, filepath.Join(root.Name(), r.file), r.broken)
			_, err := e.Format(t.Context(), format.Edit{Root: root, Name: r.file})
			if failure := (*format.Failure)(nil); !errors.As(err, &failure) || strings.Contains(failure.Text, "\n") {
				t.Errorf("a syntax error: got %v, want a Failure of one line", err)
			} else {
				t.Log(failure)
			}
			if got := get(t, root, r.file); got != r.broken {
				t.Errorf("a syntax error changed the file to %q", got)
			}
		})
	}
}
