//go:build unix

package format_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet/format"
	"github.com/whet-dev/whet/internal/peer"
)

// prettierProject is a project whose prettier is the real one.
func prettierProject(t *testing.T, files map[string]string) (*os.Root, *format.Engine) {
	t.Helper()
	return real{program: "prettier", project: files, file: "first.ts"}.make(t, "")
}

// formatted writes text, has it formatted, and returns what became of it.
func formatted(t *testing.T, root *os.Root, e *format.Engine, name, text string) (string, error) {
	t.Helper()
	put(t, filepath.Join(root.Name(), name), text)
	_, err := e.Format(t.Context(), format.Edit{Root: root, Name: name})
	return get(t, root, name), err
}

// What the configuration says is asked anew for each file, in whatever file it
// stands.
func TestPeerPrettierConfiguration(t *testing.T) {
	const text = "function f() {\n  return 'one';\n}\n"
	for _, c := range []struct {
		name          string
		before, after map[string]string
		first, second string
	}{
		{
			"JSON",
			map[string]string{".prettierrc.json": `{"semi": true}`},
			map[string]string{".prettierrc.json": `{"semi": false, "singleQuote": true}`},
			"function f() {\n  return \"one\";\n}\n", "function f() {\n  return 'one'\n}\n",
		},
		{
			"code",
			map[string]string{".prettierrc.cjs": "module.exports = {singleQuote: true}"},
			map[string]string{".prettierrc.cjs": "module.exports = {semi: false}"},
			text, "function f() {\n  return \"one\"\n}\n",
		},
		{
			"a module",
			map[string]string{"prettier.config.mjs": "export default {singleQuote: true}"},
			map[string]string{"prettier.config.mjs": "export default {semi: false}"},
			text, "function f() {\n  return \"one\"\n}\n",
		},
		{
			".editorconfig",
			map[string]string{".prettierrc": "semi: true\n", ".editorconfig": "[*]\nindent_style = space\nindent_size = 4\n"},
			map[string]string{".editorconfig": "[*]\nindent_style = tab\n"},
			"function f() {\n    return \"one\";\n}\n", "function f() {\n\treturn \"one\";\n}\n",
		},
		{
			"a nearer one",
			map[string]string{".prettierrc": "semi: true\n"},
			map[string]string{"sub/.prettierrc": "semi: false\n"},
			"function f() {\n  return \"one\";\n}\n", "function f() {\n  return \"one\"\n}\n",
		},
		{
			".prettierignore",
			map[string]string{".prettierrc": "semi: false\n"},
			map[string]string{".prettierignore": "sub/*.ts\n"},
			"function f() {\n  return \"one\"\n}\n", text,
		},
		{
			"no longer ignored",
			map[string]string{".prettierrc": "semi: false\n", ".prettierignore": "sub\n"},
			map[string]string{".prettierignore": "other\n"},
			text, "function f() {\n  return \"one\"\n}\n",
		},
		{
			".gitignore",
			map[string]string{".prettierrc": "semi: false\n", ".gitignore": "sub/\n!sub/a.ts\n"},
			map[string]string{".gitignore": "nothing\n"},
			text, "function f() {\n  return \"one\"\n}\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root, e := prettierProject(t, c.before)
			for i, want := range []string{c.first, c.second} {
				got, err := formatted(t, root, e, "sub/a.ts", text)
				if err != nil && !errors.Is(err, format.ErrNone) {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("call %d (-want +got):\n%s", i+1, diff)
				}
				for name, text := range c.after {
					put(t, filepath.Join(root.Name(), name), text)
				}
			}
		})
	}
}

// A plugin that ends or stops the process where the text says so. It writes
// down each process that loads it: a worker has no main module.
const trap = `
const { parsers } = require("prettier/plugins/babel");
const worker = !require.main;
require("fs").appendFileSync(__dirname + "/pids", process.pid + (worker ? " worker\n" : " command\n"));
function preprocess(text) {
  if (text.includes("diesInWorker") && worker) process.exit(3);
  if (text.includes("diesAlways")) process.exit(3);
  if (text.includes("hangs")) for (;;);
  if (text.includes("throws")) throw new Error("thrown\nat a place");
  if (text.includes("prints")) console.log('{"text": "printed"}');
  return text;
}
module.exports = { parsers: { babel: { ...parsers.babel, preprocess } } };
`

// Whatever becomes of a worker, its file is formatted or stays as it was, and
// the next one is formatted; nothing is left running.
func TestPeerPrettierWorkerInTrouble(t *testing.T) {
	t.Parallel()
	root, e := prettierProject(t, map[string]string{".prettierrc.json": `{"plugins": ["./trap.cjs"]}`, "trap.cjs": trap})
	e.TimeoutMs = 60_000
	fine := func() {
		t.Helper()
		if got, err := formatted(t, root, e, "fine.js", "f( 'fine' )\n"); err != nil || got != "f(\"fine\");\n" {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	processes := func() []string { return strings.Fields(get(t, root, "pids")) }
	fine()
	for _, c := range []struct {
		text, want string
		err        string
		timeout    int
		started    string // of what kind, in order, by then and the next fine file
	}{
		{text: "f( prints )\n", want: "f(prints);\n"},
		{text: "f( throws )\n", want: "f( throws )\n", err: "prettier failed: Error: thrown"},
		{text: "f( , )\n", want: "f( , )\n", err: "prettier failed: SyntaxError: Unexpected token"},
		{text: "f( diesInWorker )\n", want: "f(diesInWorker);\n", started: "command worker"},
		{text: "f( diesAlways )\n", want: "f( diesAlways )\n", err: "prettier failed (exit 3)", started: "command worker"},
		{text: "f( hangs )\n", want: "f( hangs )\n", err: "prettier was stopped after 2s", timeout: 2000, started: "worker"},
	} {
		before := len(processes())
		if c.timeout > 0 {
			e.TimeoutMs = c.timeout
		}
		got, err := formatted(t, root, e, "a.js", c.text)
		e.TimeoutMs = 60_000
		if got != c.want || c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%q became %q, %v; want %q, %q", c.text, got, err, c.want, c.err)
		}
		fine()
		var started []string
		for i, word := range processes()[before:] {
			if i%2 == 1 {
				started = append(started, word)
			}
		}
		if got := strings.Join(started, " "); got != c.started {
			t.Errorf("%q started %q, want %q", c.text, got, c.started)
		}
	}
	// One that somebody kills while it is idle.
	last := processes()
	pid, err := strconv.Atoi(last[len(last)-2])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	fine()
	e.Close()
	for i, word := range processes() {
		if pid, err := strconv.Atoi(word); err == nil && i%2 == 0 {
			gone(t, pid)
		}
	}
}

// gone waits for the process to end.
func gone(t *testing.T, pid int) {
	t.Helper()
	for range 1000 {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil && syscall.Kill(pid, 0) != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d is still there", pid)
}

// Several calls at once share a worker and don't mix up their texts.
func TestPeerPrettierAtOnce(t *testing.T) {
	t.Parallel()
	root, e := prettierProject(t, map[string]string{".prettierrc": "semi: false\n"})
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			name := fmt.Sprintf("f%d.ts", i)
			if err := root.WriteFile(name, fmt.Appendf(nil, "f( %d );\n", i), 0o666); err != nil {
				t.Error(err)
			}
			_, err := e.Format(t.Context(), format.Edit{Root: root, Name: name})
			got, readErr := root.ReadFile(name)
			if want := fmt.Sprintf("f(%d)\n", i); err != nil || readErr != nil || string(got) != want {
				t.Errorf("%s is %q, %v, %v; want %q", name, got, errors.Join(err, readErr), err, want)
			}
		})
	}
	wg.Wait()
}

// Over a tree of real files the worker does what prettier's own command does:
// the same bytes, and the same files left alone.
func TestPeerPrettierTree(t *testing.T) {
	t.Parallel()
	config := map[string]string{
		".prettierrc.json": `{"semi": false, "overrides": [{"files": "**/rxjs/**", "options": {"singleQuote": true, "printWidth": 100}}, {"files": "*.md", "options": {"proseWrap": "always"}}]}`,
		".prettierignore":  "**/ignored/**\n*.min.css\n",
		".editorconfig":    "root = true\n[*.scss]\nindent_style = tab\n",
	}
	ours, e := prettierProject(t, config)
	theirs, _ := prettierProject(t, config)
	var names []string
	for _, from := range []struct {
		pkg, under string
		exts       string
		most       int
	}{
		{"rxjs", "src/internal/operators", ".ts", 30},
		{"bootstrap", "scss", ".scss", 15},
		{"bootstrap", "js/src", ".js", 12},
		{"bootstrap", ".", ".json .md", 4},
		{"tar", ".", ".json .md .js", 10},
		{"node-gyp", ".", ".json .md .js .yml .yaml", 20},
	} {
		names = append(names, gather(t, peer.Module(t, from.pkg), from.under, strings.Fields(from.exts), from.most, ours, theirs)...)
	}
	for _, name := range []string{"src/ignored/a.ts", "src/b.min.css", "src/broken.ts"} {
		text := "const  a = {\n"
		put(t, filepath.Join(ours.Name(), name), text)
		put(t, filepath.Join(theirs.Name(), name), text)
		names = append(names, name)
	}
	if len(names) < 80 {
		t.Fatalf("only %d files to compare", len(names))
	}
	cmd := exec.CommandContext(t.Context(), peer.Find(t, "prettier"), "--write", "--log-level=silent", ".")
	cmd.Dir = theirs.Name()
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 2 { // for the broken one
		t.Fatal(err)
	}
	changed := 0
	for _, name := range names {
		before := get(t, ours, name)
		o, err := e.Format(t.Context(), format.Edit{Root: ours, Name: name, Check: true})
		failure := (*format.Failure)(nil)
		if err != nil && !errors.Is(err, format.ErrNone) && !(errors.As(err, &failure) && name == "src/broken.ts") {
			t.Errorf("%s: %v", name, err)
		}
		if o.Changed() {
			changed++
		}
		want := get(t, theirs, name)
		if strings.Contains(before, "\r\n") {
			want = strings.ReplaceAll(want, "\n", "\r\n") // whet keeps them, prettier makes its own
		}
		if diff := cmp.Diff(want, string(o.Formatted)); diff != "" {
			t.Errorf("%s (-prettier +whet):\n%s", name, diff)
		}
	}
	if changed < len(names)/2 {
		t.Errorf("only %d of %d files were to be changed", changed, len(names))
	}
	t.Logf("%d files, %d of them changed", len(names), changed)
}

// gather copies the first files with these endings into each root, and returns
// their names.
func gather(t *testing.T, module, under string, exts []string, most int, into ...*os.Root) (names []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(module, under), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "node_modules" || len(names) == most {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > 8<<10 {
			return err
		}
		for _, ext := range exts {
			if filepath.Ext(path) != ext {
				continue
			}
			rel, err := filepath.Rel(filepath.Dir(module), path)
			if err != nil {
				return err
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			name := filepath.Join("src", rel)
			for _, root := range into {
				put(t, filepath.Join(root.Name(), name), string(b))
			}
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
